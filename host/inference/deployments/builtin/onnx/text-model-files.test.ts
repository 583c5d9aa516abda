// Which files a deployment of text generation with Transformers.js takes for a model.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import { ModelStore } from '../../../../setup/models/index.ts';
import { writeTinyDecoder } from '../../../../setup/models/convert/text-onnx/tiny-decoder.test.fixture.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { dialogSize } from './dialog-size.ts';
import { onnxMemory } from './onnx-replica.ts';
import { textGenerationSpec } from './text-generation-task.ts';
import { pullTextModel } from './text-model-files.ts';

const Files = suite<{ folder: string; before: string; context: PrepareContext }>('files of models of texts');

Files.before.each(async (at) => {
  at.before = process.cwd();
  at.folder = await realpath(await mkdtemp(path.join(tmpdir(), 'aana-text-files-')));
  process.chdir(at.folder);
  at.context = {
    models: new ModelStore({ cacheDir: path.join(at.folder, 'cache'), log: silentLogger, offline: true }),
    signal: new AbortController().signal,
    progress: () => {},
    numGpus: 0,
    env: {},
    log: silentLogger,
    cpus: async () => 1,
  };
});
Files.after.each(async ({ folder, before }) => {
  process.chdir(before);
  await rm(folder, { recursive: true });
});

Files('a path of two names is no repository if it ends as a GGUF file does', async ({ context }) => {
  await mkdir('models');
  writeTinyDecoder('models/mine.gguf', { type: 'q8_0' });
  const { file, bytes } = await pullTextModel('models/mine.gguf', undefined, context);
  assert.is(file, 'converted');
  assert.ok(bytes > 0);
  const missing = await errorOf(pullTextModel('models/other.gguf', undefined, context));
  assert.match(missing.message, 'models/other.gguf is not on this machine');
  const repository = await errorOf(pullTextModel('models/mine', undefined, context));
  assert.match(repository.message, 'models/mine/generation_config.json');
});

Files('a folder that exists is meant, and not a repository of its name', async ({ folder, context }) => {
  await mkdir('models/mine/onnx', { recursive: true });
  const missing = await errorOf(pullTextModel('models/mine', undefined, context));
  assert.is(missing.message, `there is no file ${path.join(folder, 'models/mine/config.json')}`);
  await writeFile('models/mine/config.json', JSON.stringify({ model_type: 'llama' }));
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])
    await writeFile(path.join('models/mine', name), '{}');
  const noModel = await errorOf(pullTextModel('models/mine', undefined, context));
  assert.match(noModel.message, `there is no file ${path.join(folder, 'models/mine/onnx/model.onnx')}`);
});

Files('weights that a GGUF model does not get are refused', async ({ context }) => {
  const error = await errorOf(pullTextModel('models/mine.gguf', 'q4', context));
  assert.is(error.message, 'user_config: dtype: models/mine.gguf is a GGUF model, which becomes q8 or fp16, not q4');
});

Files('a dialog needs memory for the keys and values of all its tokens', async ({ context }) => {
  await mkdir('models');
  writeTinyDecoder('models/mine.gguf', { type: 'q8_0' });
  const config = { model_id: 'models/mine.gguf' };
  /** 2 layers with 2 heads for keys and values of 16 numbers each, which have 4 bytes. */
  const bytesOfToken = 2 * 2 * 2 * 16 * 4;
  for (const [wanted, tokens] of [
    [undefined, 64],
    [0, 64],
    [20, 20],
    [64, 64],
  ] as const) {
    const { sizes, spec } = await textGenerationSpec({ ...config, model_kwargs: { n_ctx: wanted } }, context);
    assert.is(spec['n_ctx'], tokens);
    assert.equal([sizes.call, sizes.calls], [2 * tokens * bytesOfToken, 5 * tokens * bytesOfToken]);
    const need = async (call: number): Promise<number> =>
      (await onnxMemory({ bytes: sizes.model, call_bytes: call })).contextBytes;
    assert.is((await need(sizes.call!)) - (await need(0)), sizes.call);
  }
  const error = await errorOf(textGenerationSpec({ ...config, model_kwargs: { n_ctx: 65 } }, context));
  assert.is(
    `${error.name}: ${error.message}`,
    'ValidationError: user_config: model_kwargs.n_ctx: 65 is more than the 64 tokens that the model was trained with',
  );
});

Files('a configuration that tells no sizes, or wrong ones, counts nothing for them', async ({ folder }) => {
  const right = { hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 2 };
  const bytesOf = async (config: unknown, wanted?: number): Promise<readonly number[]> => {
    await writeFile('config.json', typeof config === 'string' ? config : JSON.stringify(config));
    const { tokens, bytes } = await dialogSize(folder, wanted);
    return [tokens, bytes];
  };
  assert.equal(await bytesOf(right), [8192, 8192 * 2 * 4 * 2 * 16 * 4], 'as many heads for keys as for questions');
  assert.equal(await bytesOf({ ...right, head_dim: 8, num_key_value_heads: 1 }, 100), [100, 100 * 2 * 1 * 2 * 8 * 4]);
  for (const wrong of ['', '[]', 'null', '{', {}, { ...right, num_hidden_layers: 'many' }])
    assert.equal(await bytesOf(wrong, 0), [8192, 0], JSON.stringify(wrong));
  for (const wrong of [-1, 1.5, 1e300, '64', null, [64]])
    assert.equal(await bytesOf({ ...right, max_position_embeddings: wrong, num_hidden_layers: wrong }), [8192, 0]);
  assert.equal((await bytesOf({ ...right, max_position_embeddings: 100 }))[0], 100);
});

Files.run();
