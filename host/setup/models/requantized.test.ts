// Writes a tiny real model with other weights, with the real addon in a child process.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { WEIGHT_TYPES } from '../../base/core/model-files/weight-types.ts';
import { nativeAddonPath } from '../../../native/lib/index.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { ggufPair } from '../../../native/lib/gguf.ts';
import { writeGguf } from '../../../native/lib/fixtures/gguf-file.ts';
import { splitGguf } from '../../../native/lib/fixtures/read-gguf.ts';
import { skip } from '../../test/skip.ts';
import { readWeightType } from './convert/check-model-file.ts';
import { messageOf } from './fixtures/message-of.ts';
import { ModelStore } from './store.ts';

const Weights = suite<{ dir: string; store: ModelStore; model: string }>('models with another type of weights');

Weights.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-weights-'));
  context.store = new ModelStore({ cacheDir: path.join(context.dir, 'cache'), log: silentLogger, offline: true });
  context.model = path.join(context.dir, 'tiny.gguf');
  writeTinyLlama(context.model);
});
Weights.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

Weights('are written once, found again, listed and removed', async ({ store, model }) => {
  const stages = new Set<string | undefined>();
  const options = {
    weightType: 'q8_0',
    onProgress: (_: number, __?: number, stage?: string) => stages.add(stage),
  } as const;
  const made = await store.pull(model, options);
  assert.is(made.id, `${model}@q8_0`);
  assert.is(await readWeightType(made.path), WEIGHT_TYPES.q8_0.fileType);
  assert.ok(made.bytes < (await store.pull(model)).bytes * 0.5);
  assert.ok(stages.has('hashing'));
  assert.equal(await store.pull(model, { weightType: 'q8_0' }), made);
  assert.equal(await store.pull(made.path, { weightType: 'q8_0' }), await store.pull(made.path), 'the type fits');
  assert.is((await store.list()).find((row) => row.path === made.path)?.state, 'present');
  assert.is((await store.resolve(made.id))?.path, made.path);
  assert.is(await store.remove(made.id), made.bytes);
  assert.is(existsSync(made.path), false);
});

Weights('are written again when the source changes', async ({ store, model }) => {
  const before = await store.pull(model, { weightType: 'q4_0' });
  writeTinyLlama(model, { beginsTexts: false });
  const after = await store.pull(model, { weightType: 'q4_0' });
  assert.is.not(after.path, before.path);
});

Weights('come from all parts of a split model', async ({ store, dir, model }) => {
  const [first = ''] = splitGguf(model, path.join(dir, 'parts'), 3);
  const made = await store.pull(first, { weightType: 'q8_0' });
  assert.is(path.basename(made.path), 'parts@q8_0.gguf');
  assert.is(made.bytes, (await store.pull(model, { weightType: 'q8_0' })).bytes);
});

Weights('name the reason when llama.cpp cannot write them, and leave no file', async ({ store, dir }) => {
  const other = path.join(dir, 'other.gguf');
  writeGguf(other, [ggufPair.text('general.architecture', 'no-such-architecture')], []);
  assert.match(
    await messageOf(store.pull(other, { weightType: 'q8_0' })),
    /^ModelFormatError: other\.gguf cannot be written with q8_0 weights: .*no-such-architecture/s,
  );
  const left = await readdir(path.join(dir, 'cache'), { recursive: true, withFileTypes: true });
  assert.equal(
    left.filter((entry) => entry.isFile()).map(({ name }) => name),
    [],
  );
  await writeFile(other, 'not a model, only a text that is longer than a header of a model file');
  assert.match(await messageOf(store.pull(other, { weightType: 'q8_0' })), /^ModelFormatError/);
});

Weights('end with the reason of the signal', async ({ store, model }) => {
  const reason = new Error('client went away');
  const pulling = store.pull(model, { weightType: 'q6_k', signal: AbortSignal.abort(reason) });
  assert.is(await pulling.catch((error: unknown) => error), reason);
});

if (existsSync(nativeAddonPath(packageRoot))) Weights.run();
else skip('models with another type of weights', 'the native addon is not built');
