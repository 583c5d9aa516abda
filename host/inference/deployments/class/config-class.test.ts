import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaError } from '../../../base/core/errors.ts';
import { configClass } from './config-class.ts';
import { SentimentConfig, SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import {
  LlamaTextGenerationConfig,
  LlamaTextGenerationDeployment,
} from '../builtin/llama-text-generation-deployment.ts';
import {
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  WhisperModelSize,
} from '../builtin/speech/whisper-deployment.ts';

const Configs = suite('configuration classes and options');

const refused = (run: () => unknown): AanaError => {
  try {
    run();
  } catch (error) {
    return error as AanaError;
  }
  return assert.unreachable('it was not refused') as never;
};

Configs('become the JSON of user_config, including defaults', () => {
  const config = new WhisperConfig({ model_size: WhisperModelSize.MEDIUM, compute_type: WhisperComputeType.FLOAT16 });
  assert.equal(JSON.parse(JSON.stringify(config)), {
    model_size: 'medium',
    compute_type: 'float16',
    batch_size: 8,
  });
  assert.equal(config.toJSON(), JSON.parse(JSON.stringify(config)));
  assert.equal(JSON.parse(JSON.stringify({ user_config: new WhisperConfig() })), {
    user_config: { model_size: 'base', compute_type: 'int8', batch_size: 8 },
  });
});

Configs('are frozen instances of their class with typed fields', () => {
  const config = new LlamaTextGenerationConfig({ default_sampling_params: { temperature: 0.5 } });
  const temperature: number | null | undefined = config.default_sampling_params.temperature;
  assert.is(temperature, 0.5);
  assert.instance(config, LlamaTextGenerationConfig);
  assert.throws(() => Object.assign(config, { model_id: 'other' }), TypeError);
  assert.throws(() => Object.assign(config.model_kwargs, { n_seq_max: 1 }), TypeError);
  config.toJSON().model_kwargs.n_seq_max = 1;
  assert.is(config.model_kwargs.n_seq_max, 4);
});

Configs('treat an undefined field as absent', () => {
  assert.is(new WhisperConfig({ model_size: undefined }).model_size, 'base');
});

const BAD: readonly (readonly [what: string, make: () => unknown, message: RegExp])[] = [
  [
    'an unknown key',
    () => new WhisperConfig({ model: 'base' } as never),
    /^WhisperConfig: model: Extra inputs are not permitted; did you mean "model_size"\?$/,
  ],
  [
    'an unknown key inside',
    () => new LlamaTextGenerationConfig({ model_kwargs: { ctx: 1 } } as never),
    /^LlamaTextGenerationConfig: model_kwargs\.ctx: Extra inputs/,
  ],
  [
    'an unknown compute type',
    () => new WhisperConfig({ compute_type: 'int4' }),
    /^WhisperConfig: compute_type: .*must be one of int8, int8_float32/,
  ],
  [
    'a value out of range',
    () => new SentimentConfig({ good: 'fine' } as never),
    /^SentimentConfig: good: Input should be a valid array$/,
  ],
  ['no object', () => new WhisperConfig('base' as never), /^WhisperConfig: Input should be an object$/],
  ['null', () => new WhisperConfig(null as never), /^WhisperConfig: Input should be an object$/],
];
for (const [what, make, message] of BAD) {
  Configs(`refuse ${what} by the name of the class and the key`, () => {
    const error = refused(make);
    assert.is(error.name, 'ValidationError');
    assert.match(error.message, message);
  });
}

Configs('options return a deployment with checked options and a complete user_config', () => {
  const { definition, options } = WhisperDeployment.options({
    num_replicas: 2,
    ray_actor_options: { num_gpus: 0.25 },
    user_config: new WhisperConfig({ model_size: WhisperModelSize.TINY }),
  });
  assert.is(definition.name, 'WhisperDeployment');
  assert.equal(
    [options.type, options.num_replicas, options.ray_actor_options, options.max_queued_requests],
    ['WhisperDeployment', 2, { num_gpus: 0.25 }, 100],
  );
  assert.equal(options.user_config, { model_size: 'tiny', compute_type: 'int8', batch_size: 8 });
  assert.equal(JSON.parse(JSON.stringify(options)), options);
});

Configs('options may be left out', () => {
  assert.is(LlamaTextGenerationDeployment.options().options.user_config['model_id'], 'qwen2.5-coder-0.5b-instruct');
  assert.equal(SentimentDeployment.options().options.user_config, { good: ['good', 'great'] });
});

const BAD_OPTIONS: readonly (readonly [what: string, make: () => unknown, message: RegExp])[] = [
  [
    'an unknown option',
    () => WhisperDeployment.options({ replicas: 2 } as never),
    /^WhisperDeployment\.options: replicas: Extra inputs/,
  ],
  [
    'an unknown resource',
    () => WhisperDeployment.options({ ray_actor_options: { gpus: 1 } } as never),
    /^WhisperDeployment\.options: ray_actor_options\.gpus: Extra inputs/,
  ],
  [
    'an unknown key of user_config',
    () => SentimentDeployment.options({ user_config: { bad: [] } } as never),
    /^SentimentDeployment\.options: user_config: bad: Extra inputs/,
  ],
  [
    'the configuration of another class',
    () => WhisperDeployment.options({ user_config: new SentimentConfig() as never }),
    /^WhisperDeployment\.options: user_config: good: Extra inputs/,
  ],
  [
    'a user_config that is no object',
    () => WhisperDeployment.options({ user_config: 'base' as never }),
    /^WhisperDeployment\.options: user_config: Input should be an object/,
  ],
];
for (const [what, make, message] of BAD_OPTIONS) {
  Configs(`options refuse ${what} by name`, () => {
    const error = refused(make);
    assert.is(error.name, 'ValidationError');
    assert.match(error.message, message);
  });
}

/** Compiled, never run. */
export function types(): void {
  class Other extends configClass(z.strictObject({ depth: z.number() })) {}
  // @ts-expect-error a field is missing
  const other = new Other({});
  // @ts-expect-error no such key
  WhisperDeployment.options({ user_config: { model: 'base' } });
  // @ts-expect-error the configuration of another class
  WhisperDeployment.options({ user_config: other });
  // @ts-expect-error no such option
  WhisperDeployment.options({ replicas: 1 });
}

Configs.run();
