import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaError } from '../../../base/core/errors.ts';
import { LlamaTextGenerationDeployment, WhisperDeployment } from '../index.ts';
import { check } from './check.ts';

const Check = suite('check of values that are given to deployments');

const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof AanaError && error.name === 'ValidationError', String(error));
    return error.message;
  }
  return assert.unreachable() as never;
};

Check('an unknown key of user_config comes with the keys that were perhaps meant', () => {
  const llama = (config: object) => () => LlamaTextGenerationDeployment.options({ user_config: config as never });
  assert.match(
    messageOf(llama({ model_id: 'smollm2-135m-instruct', threads: 1 })),
    /threads: Extra inputs are not permitted; did you mean "model_kwargs\.n_threads"\?$/,
  );
  const whisper = () => WhisperDeployment.options({ user_config: { model: 'base', sizes: 1 } as never });
  assert.match(messageOf(whisper), /model: Extra inputs are not permitted \(and 1 more\); did you mean "model_size"/);
});

Check('without a similar key there is no suggestion', () => {
  const schema = z.strictObject({ audio: z.string() });
  assert.match(
    messageOf(() => check(schema, { audio: '', xyz: 1 }, 'call')),
    /^call: xyz: Extra inputs are not permitted$/,
  );
  assert.match(
    messageOf(() => check(schema, { audio: 1 }, 'call')),
    /^call: audio: Input should be a valid string$/,
  );
});

Check.run();
