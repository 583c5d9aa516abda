import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import { findEntry } from '../../../../setup/models/index.ts';
import type { PullOptions } from '../../class/deployment-definition.ts';
import {
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  whisperModelId,
  WhisperModelSize,
  whisperSize,
} from './whisper-deployment.ts';

const Config = suite('the configuration of a Whisper deployment');

const IDS: readonly (readonly [config: object, id: string])[] = [
  [{}, 'whisper-base:q8_0'],
  [{ compute_type: 'int8_float16' }, 'whisper-base:q8_0'],
  [{ compute_type: 'int16' }, 'whisper-base:q8_0'],
  [{ compute_type: 'float16' }, 'whisper-base:f16'],
  [{ compute_type: 'bfloat16' }, 'whisper-base:f16'],
  [{ compute_type: 'float32' }, 'whisper-base:f16'],
  [{ compute_type: 'q5_1' }, 'whisper-base:q5_1'],
  [{ model_size: 'tiny.en' }, 'whisper-tiny.en:q8_0'],
  [{ model_size: 'large' }, 'whisper-large-v3:q8_0'],
  [{ model_size: 'turbo', compute_type: 'float16' }, 'whisper-large-v3-turbo:f16'],
  [{ model_size: 'whisper-small' }, 'whisper-small:q8_0'],
  [{ model_size: 'whisper-base:q5_1' }, 'whisper-base:q5_1'],
];
for (const [config, id] of IDS) {
  Config(`${JSON.stringify(config)} means ${id}, which the catalogue has`, () => {
    assert.is(whisperModelId(new WhisperConfig(config)), id);
    assert.is(findEntry(id)?.id, id);
  });
}

for (const [member, model_size] of Object.entries(WhisperModelSize)) {
  for (const compute_type of Object.values(WhisperComputeType)) {
    Config(`the catalogue has WhisperModelSize.${member} as ${compute_type}`, () => {
      const id = whisperModelId(new WhisperConfig({ model_size, compute_type }));
      assert.is(findEntry(id)?.id, id);
    });
  }
}

for (const path of ['/models/my-whisper.bin', './whisper', 'owner/repo/ggml-model.bin', 'ggml-own.bin']) {
  Config(`${path} is taken as it is`, () => {
    assert.is(whisperModelId(new WhisperConfig({ model_size: path })), path);
    assert.is(whisperSize(path), undefined);
  });
}

Config('the type of the weights is that to which a folder is converted', async () => {
  for (const [compute_type, type] of [
    ['int8', 'q8_0'],
    ['float16', 'f16'],
    ['q5_1', 'q5_1'],
  ]) {
    const asked: (readonly [id: string, type: string | undefined])[] = [];
    const pull = async (id: string, { whisperType }: PullOptions): Promise<{ readonly path: string }> => {
      asked.push([id, whisperType]);
      return { path: `${id}.bin` };
    };
    const { definition, options } = WhisperDeployment.options({
      user_config: { model_size: '/models/my-whisper', compute_type },
    });
    const spec = await definition.prepare(options.user_config, {
      models: { pull },
      ...{ log: silentLogger, signal: new AbortController().signal, env: {}, numGpus: 0 },
      cpus: async () => 2,
      progress: () => {},
    });
    assert.equal(asked[0], ['/models/my-whisper', type]);
    assert.equal([spec['model_path'], spec['model_name']], ['/models/my-whisper.bin', 'whisper_my-whisper']);
  }
});

for (const type of ['int4', 'toString', 'q5', '']) {
  Config(`the compute type "${type}" is refused`, () => {
    assert.throws(
      () => new WhisperConfig({ compute_type: type }),
      /WhisperConfig: compute_type: .*must be one of int8, /,
    );
  });
}

Config.run();
