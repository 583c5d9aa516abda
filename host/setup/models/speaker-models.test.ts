// The models for speaker diarization, converted on this machine, in the real runtime.
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { speechPath } from '../../test/helpers/media/media.ts';
import { skip } from '../../test/skip.ts';
import { checkModelFile } from './convert/check-model-file.ts';
import { convertCampplus } from './convert/campplus-to-onnx.ts';
import { convertPyannote } from './convert/pyannote-to-onnx.ts';
import { messageOf } from './fixtures/message-of.ts';
import { ModelStore } from './store.ts';

interface Runtime {
  readonly InferenceSession: { create(path: string, options: object): Promise<Session> };
  readonly Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => object;
}
interface Session {
  run(feeds: object): Promise<Record<string, { readonly data: Float32Array; readonly dims: readonly number[] }>>;
}

const ONE_THREAD = { intraOpNumThreads: 1, interOpNumThreads: 1 };

const Models = suite<{ dir: string }>('models for speaker diarization');

Models.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-speakers-'));
});
Models.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

/** Returns the files of the models and of the runtime, or the reason why they cannot be fetched. */
async function pulled(): Promise<readonly string[] | string> {
  const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  try {
    const files: string[] = [];
    for (const id of ['pyannote-segmentation-3.0', 'campplus-zh-en', 'onnxruntime'])
      files.push((await store.pull(id)).path);
    return files;
  } catch (error) {
    if (error instanceof Error && ['DownloadFailed', 'ModelNotFound'].includes(error.name))
      return error.message.replaceAll('\n', ' ');
    throw error;
  }
}

const files = await pulled();
if (typeof files === 'string') skip('models for speaker diarization', files);
else {
  const [segmentation = '', embedding = '', loader = ''] = files;
  const runtime = createRequire(import.meta.url)(loader) as Runtime;

  Models('the segmentation gives the log-probabilities of the original model', async () => {
    const bytes = await readFile(speechPath());
    const begin = bytes.indexOf('data') + 8;
    const samples = Float32Array.from({ length: 160_000 }, (_, at) => bytes.readInt16LE(begin + 2 * at) / 32768);
    const session = await runtime.InferenceSession.create(segmentation, ONE_THREAD);
    const { y } = await session.run({ x: new runtime.Tensor('float32', samples, [1, 1, samples.length]) });
    assert.equal(y?.dims, [1, 589, 7]);
    for (const [frame, expected] of [
      [0, [-0.158, -5.527, -2.305, -3.211, -7.967, -8.367, -6.218]],
      [50, [-6.333, -4.981, -0.225, -1.667, -8.002, -8.087, -5.675]],
      [200, [-4.923, -4.966, -0.185, -2.111, -5.69, -6.501, -3.557]],
    ] as const)
      near(y?.data.slice(7 * frame, 7 * frame + 7), expected, 0.01);
  });

  Models('the embedding gives the vector of the original model', async () => {
    const features = Float32Array.from({ length: 298 * 80 }, (_, at) => 3 * Math.sin(0.01 * at));
    const session = await runtime.InferenceSession.create(embedding, ONE_THREAD);
    const { embedding: vector } = await session.run({ x: new runtime.Tensor('float32', features, [1, 298, 80]) });
    assert.equal(vector?.dims, [1, 192]);
    near(vector?.data.slice(0, 6), [-0.6251, -0.0746, 0.1073, -0.3246, -0.4957, 0.429], 0.001);
    near([Math.hypot(...(vector?.data ?? []))], [8.8], 0.01);
  });

  Models('a truncated file and another file are refused', async ({ dir }) => {
    assert.is(await checkModelFile(segmentation), 'onnx');
    const copy = path.join(dir, 'copy.onnx');
    for (const length of [5_000_000, 100, 1, 0]) {
      await writeFile(copy, await readFile(segmentation));
      await truncate(copy, length);
      assert.match(await messageOf(checkModelFile(copy)), /ModelFormatError: copy\.onnx: it is (truncated or )?not/);
    }
    await writeFile(copy, 'a text that is no model, although it is called one');
    assert.match(await messageOf(checkModelFile(copy)), /ModelFormatError: copy\.onnx/);
  });
}

Models('the converters refuse the checkpoint of another model', async ({ dir }) => {
  const file = path.join(dir, 'model.bin');
  await writeFile(file, 'no checkpoint');
  for (const convert of [convertPyannote, convertCampplus])
    assert.match(await messageOf(convert(file, path.join(dir, 'out.onnx'))), /ModelFormatError: model\.bin: it is/);
});

function near(actual: ArrayLike<number> | undefined, expected: readonly number[], tolerance: number): void {
  const found = Array.from(actual ?? []);
  assert.is(found.length, expected.length);
  const distance = Math.max(...found.map((value, at) => Math.abs(value - (expected[at] ?? NaN))));
  assert.ok(distance < tolerance, `${found.join(' ')} differs by ${distance}`);
}

Models.run();
