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

Files.run();
