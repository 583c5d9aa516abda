// Pipelines that read images, in a replica, with models that are made here.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import type { ImageReference } from '../../../../base/schemas/index.ts';
import { artifactOf } from '../../../../io/artifacts/index.ts';
import { ModelStore } from '../../../../setup/models/index.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../../test/helpers/media/clips.ts';
import { skip } from '../../../../test/skip.ts';
import type { DeploymentHandle, DeploymentManager } from '../../../deployments/index.ts';
import { deployed } from '../../fixtures/real-models.ts';
import { attribute, type Graph, int64s, makeOnnx, tensor, type Value } from '../../onnx/fixtures/make-onnx.ts';

const Images = suite('pipelines of Transformers.js that read images');
// Artifacts of these deployments lie below the folder for temporary files.
const folder = await mkdtemp(join(tmpdir(), 'aana-images-'));
const managers: DeploymentManager[] = [];

Images.after.each(async () => {
  for (const manager of managers.splice(0)) await manager.shutdown({ graceMs: 0 });
});
Images.after(() => rm(folder, { recursive: true }));

const SIDE = 4;
const value = (name: string, shape: Value['shape']): Value => ({ name, type: 'float32', shape });
const PIXELS = value('pixel_values', ['batch', 3, 'height', 'width']);
/** Adds up each colour, from 0 to 1 for a pixel. */
const COLOURS: Graph['nodes'][number] = {
  operator: 'ReduceSum',
  inputs: ['pixel_values', 'sides'],
  outputs: ['sums'],
  attributes: [attribute.int('keepdims', 0)],
};
const SIDES = tensor('sides', 'int64', [2], int64s(2, 3));

async function started(task: string, config: object, processor: object, graph: Graph): Promise<DeploymentHandle> {
  const target = join(folder, task);
  await mkdir(join(target, 'onnx'), { recursive: true });
  await writeFile(join(target, 'config.json'), JSON.stringify(config));
  const size = { do_resize: true, resample: 2, do_rescale: true, rescale_factor: 1 / 255, do_normalize: false };
  await writeFile(join(target, 'preprocessor_config.json'), JSON.stringify({ ...size, ...processor }));
  await writeFile(join(target, 'onnx', 'model.onnx'), makeOnnx(graph));
  const manager = deployed({ type: 'TransformersDeployment', user_config: { model_id: target, task, threads: 1 } });
  managers.push(manager);
  await manager.start();
  return manager.handle('model');
}

const classifier = (): Promise<DeploymentHandle> =>
  started(
    'image-classification',
    {
      model_type: 'vit',
      architectures: ['ViTForImageClassification'],
      id2label: { 0: 'red', 1: 'green', 2: 'blue' },
      label2id: { red: 0, green: 1, blue: 2 },
    },
    { image_processor_type: 'ViTImageProcessor', size: { height: SIDE, width: SIDE } },
    {
      nodes: [COLOURS, { operator: 'Identity', inputs: ['sums'], outputs: ['logits'] }],
      inputs: [PIXELS],
      outputs: [value('logits', ['batch', 3])],
      tensors: [SIDES],
    },
  );

/** Returns an image whose pixels have the colours that `colourOf` says. */
async function image(
  width: number,
  height: number,
  colourOf: (x: number) => readonly [number, number, number],
): Promise<ImageReference> {
  const pixels = Buffer.from(Array.from({ length: width * height }, (_, at) => colourOf(at % width)).flat());
  const sha256 = createHash('sha256').update(pixels).digest('hex');
  const path = join(folder, `${sha256}.rgb`);
  await writeFile(path, pixels);
  return { pixels: await artifactOf(tmpdir(), path, sha256), width, height };
}

interface Label {
  readonly label: string;
  readonly score: number;
}

Images('image-classification gives images of any size the labels that the weights were made for', async () => {
  const model = await classifier();
  const green = await image(300, 200, () => [0, 255, 0]);
  const [best, ...others] = (await model.call('call', { inputs: green, top_k: 2 })) as Label[];
  assert.equal([best?.label, others.length], ['green', 1]);
  // Each of the 16 pixels adds 1 to the sum of green.
  assert.ok(Math.abs((best?.score ?? 0) - 1 / (1 + 2 * Math.exp(-SIDE * SIDE))) < 1e-6);
  // A third of the columns is red, which the model sees after the picture is made smaller, and the rest is blue.
  const mixed = await image(30, 1, (x) => (x < 10 ? [255, 0, 0] : [0, 0, 255]));
  const list = (await model.call('call', { inputs: [mixed, green], top_k: 3 })) as Label[][];
  assert.equal(
    list.map((labels) => labels[0]?.label),
    ['blue', 'green'],
  );
  const [blue, red] = list[0] ?? [];
  assert.is(red?.label, 'red');
  const expected = Math.exp((-SIDE * SIDE) / 3);
  assert.ok(Math.abs((red?.score ?? 0) / (blue?.score ?? 1) / expected - 1) < 0.05, JSON.stringify(list[0]));
});

Images('object-detection finds the object and the box that the weights were made for', async () => {
  const model = await started(
    'object-detection',
    {
      model_type: 'detr',
      architectures: ['DetrForObjectDetection'],
      id2label: { 0: 'apple', 1: 'leaf' },
      label2id: { apple: 0, leaf: 1 },
    },
    { image_processor_type: 'DetrImageProcessor', size: { shortest_edge: SIDE, longest_edge: 2 * SIDE } },
    {
      nodes: [
        COLOURS,
        { operator: 'Unsqueeze', inputs: ['sums', 'first'], outputs: ['logits'] },
        { operator: 'Identity', inputs: ['boxes'], outputs: ['pred_boxes'] },
      ],
      inputs: [PIXELS],
      outputs: [value('logits', ['batch', 1, 3]), value('pred_boxes', [1, 1, 4])],
      tensors: [
        SIDES,
        tensor('first', 'int64', [1], int64s(1)),
        tensor('boxes', 'float32', [1, 1, 4], Buffer.from(Float32Array.of(0.5, 0.5, 0.5, 0.25).buffer)),
      ],
    },
  );
  const apple = await image(80, 40, () => [255, 0, 0]);
  const [found, ...others] = (await model.call('call', { inputs: apple })) as (Label & { box: object })[];
  assert.equal([found?.label, found?.box, others], ['apple', { xmin: 20, ymin: 15, xmax: 60, ymax: 25 }, []]);
  const parts = (await model.call('call', { inputs: apple, percentage: true })) as { box: object }[];
  assert.equal(parts[0]?.box, { xmin: 0.25, ymin: 0.375, xmax: 0.75, ymax: 0.625 });
  // The third colour stands for no object.
  assert.equal(await model.call('call', { inputs: [await image(8, 8, () => [0, 0, 255])] }), [[]]);
  const faint = await image(8, 8, () => [8, 0, 4]);
  assert.equal(await model.call('call', { inputs: faint }), []);
  assert.is(((await model.call('call', { inputs: faint, threshold: 0.3 })) as object[]).length, 1);
});

Images('texts, wrong images and arguments of other tasks are refused by name', async () => {
  const model = await classifier();
  const good = await image(2, 2, () => [1, 2, 3]);
  for (const [args, expected] of [
    [{ inputs: 'a text' }, /inputs: image-classification reads images/],
    [{ inputs: [] }, /inputs/],
    [{ inputs: { ...good, width: 3 } }, /inputs/],
    [{ inputs: good, threshold: 0.5 }, /threshold: is not an argument of image-classification/],
    [{ inputs: good, candidate_labels: ['a'] }, /candidate_labels: is not an argument/],
  ] as const) {
    const error = await errorOf(model.call('call', args as Record<string, unknown>));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input'], JSON.stringify(args));
    assert.match(error.message, expected);
  }
  const lost = { ...good, pixels: { ...good.pixels, sha256: 'a'.repeat(64) } };
  assert.is((await errorOf(model.call('call', { inputs: lost }))).name, 'ArtifactNotFound');
  assert.ok(await model.call('call', { inputs: good }));
});

const offline = await unlessOffline(async () => {
  const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  for (const id of ['onnxruntime', 'transformers']) await store.pull(id);
  return undefined;
});
if (typeof offline === 'string') skip('pipelines of Transformers.js that read images', offline);
else Images.run();
