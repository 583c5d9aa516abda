import path from 'node:path';
import { MadeFile, type MadeFileResult, type MakeOptions } from './formats/made-file.ts';
import { OnnxGraph } from './formats/onnx-writer.ts';
import { readTorchCheckpoint } from './formats/torch-checkpoint.ts';
import { type GetTensor, tensorGetter } from './speaker-tensors.ts';

const SAMPLE_RATE = 16_000;
const FILTERS = 80;
const FILTER_LENGTH = 251;
/** Lowest frequency and least width of a filter, in Hz. */
const LEAST_HZ = 50;
const HIDDEN = 128;
const LAYERS = 4;
const CLASSES = 7;
const EPSILON = 1e-5;
const SLOPE = 0.01;

/** What other programs ask a segmentation model in ONNX form. */
const METADATA = {
  num_speakers: 3,
  powerset_max_classes: 2,
  num_classes: CLASSES,
  sample_rate: SAMPLE_RATE,
  window_size: 160_000,
  receptive_field_size: 991,
  receptive_field_shift: 270,
  model_type: 'pyannote-segmentation-3.0',
  version: 1,
  model_author: 'pyannote',
  licence: 'MIT, Copyright CNRS',
};

/**
 * Converts the checkpoint of pyannote's segmentation 3.0 to ONNX. Input `x` has the samples of windows [N, 1, samples],
 * output `y` the log-probabilities of 7 sets of speakers for each frame [N, frames, 7].
 */
export async function convertPyannote(
  source: string,
  target: string,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const label = path.basename(source);
  const get = tensorGetter(await readTorchCheckpoint(source), label, "pyannote's segmentation 3.0");
  const graph = new OnnxGraph('pyannote_segmentation_3_0');
  buildGraph(graph, get);
  await using out = await MadeFile.create(target, options);
  await out.write(...graph.finish([['x', ['N', 1, 'T']]], [['y', ['N', 'F', CLASSES]]], METADATA));
  return await out.finish();
}

function buildGraph(graph: OnnxGraph, get: GetTensor): void {
  let x = sincNet(graph, get);
  x = graph.node('Transpose', [x], { perm: [2, 0, 1] });
  for (let layer = 0; layer < LAYERS; layer += 1) x = recurrentLayer(graph, get, x, layer);
  x = graph.node('Transpose', [x], { perm: [1, 0, 2] });
  for (const layer of [0, 1]) {
    x = linear(graph, get, x, `linear.${layer}`, HIDDEN, layer === 0 ? 2 * HIDDEN : HIDDEN);
    x = graph.node('LeakyRelu', [x], { alpha: { float: SLOPE } });
  }
  x = linear(graph, get, x, 'classifier', CLASSES, HIDDEN);
  graph.node('LogSoftmax', [x], { axis: 2 }, 'y');
}

function sincNet(graph: OnnxGraph, get: GetTensor): string {
  const weights = (name: string, ...shape: number[]): string => graph.floats(name, shape, get(name, ...shape));
  const normalised = (x: string, name: string, channels: number): string =>
    graph.node('InstanceNormalization', [x, weights(`${name}.weight`, channels), weights(`${name}.bias`, channels)], {
      epsilon: { float: EPSILON },
    });
  let x = normalised('x', 'sincnet.wav_norm1d', 1);
  x = graph.node('Conv', [x, graph.floats('sinc', [FILTERS, 1, FILTER_LENGTH], sincFilters(get))], {
    kernel_shape: [FILTER_LENGTH],
    strides: [10],
  });
  x = graph.node('Abs', [x]);
  for (const [index, channels] of [80, 60, 60].entries()) {
    if (index > 0) {
      const name = `sincnet.conv1d.${index}`;
      const inputs = index === 1 ? 80 : 60;
      x = graph.node('Conv', [x, weights(`${name}.weight`, channels, inputs, 5), weights(`${name}.bias`, channels)], {
        kernel_shape: [5],
      });
    }
    x = graph.node('MaxPool', [x], { kernel_shape: [3], strides: [3] });
    x = normalised(x, `sincnet.norm1d.${index}`, channels);
    x = graph.node('LeakyRelu', [x], { alpha: { float: SLOPE } });
  }
  return x;
}

/** Returns the filters of the first layer, 40 even and 40 odd ones, from the frequencies that were learned. */
function sincFilters(get: GetTensor): Float32Array {
  const bank = 'sincnet.conv1d.0.filterbank';
  const half = (FILTER_LENGTH - 1) / 2;
  const count = FILTERS / 2;
  const lows = get(`${bank}.low_hz_`, count, 1);
  const bands = get(`${bank}.band_hz_`, count, 1);
  const times = get(`${bank}.n_`, 1, half);
  const window = get(`${bank}.window_`, half);
  const filters = new Float32Array(FILTERS * FILTER_LENGTH);
  for (let index = 0; index < count; index += 1) {
    const low = LEAST_HZ + Math.abs(lows[index] ?? 0);
    const high = Math.min(SAMPLE_RATE / 2, Math.max(LEAST_HZ, low + LEAST_HZ + Math.abs(bands[index] ?? 0)));
    const band = high - low;
    const even = filters.subarray(index * FILTER_LENGTH, (index + 1) * FILTER_LENGTH);
    const odd = filters.subarray((count + index) * FILTER_LENGTH, (count + index + 1) * FILTER_LENGTH);
    for (let at = 0; at < half; at += 1) {
      const time = times[at] ?? 0;
      const scale = (window[at] ?? 0) / (time / 2) / (2 * band);
      const [evenValue, oddValue] = [
        (Math.sin(high * time) - Math.sin(low * time)) * scale,
        (Math.cos(low * time) - Math.cos(high * time)) * scale,
      ];
      even[at] = even[FILTER_LENGTH - 1 - at] = evenValue;
      odd[at] = oddValue;
      odd[FILTER_LENGTH - 1 - at] = -oddValue;
    }
    even[half] = 1;
  }
  return filters;
}

/** Adds a layer that reads the frames [T, N, channels] in both directions. */
function recurrentLayer(graph: OnnxGraph, get: GetTensor, x: string, layer: number): string {
  const width = layer === 0 ? 60 : 2 * HIDDEN;
  const both = (kind: string, columns: number): Float32Array[] =>
    ['', '_reverse'].map((direction) => {
      const shape = columns === 1 ? [4 * HIDDEN] : [4 * HIDDEN, columns];
      return gatesInOrder(get(`lstm.${kind}_l${layer}${direction}`, ...shape), columns);
    });
  const [inputBias, hiddenBias] = [both('bias_ih', 1), both('bias_hh', 1)];
  const biases = [0, 1].flatMap((direction) => [inputBias[direction], hiddenBias[direction]]);
  const inputs = [
    x,
    graph.floats(`lstm${layer}.W`, [2, 4 * HIDDEN, width], joined(both('weight_ih', width))),
    graph.floats(`lstm${layer}.R`, [2, 4 * HIDDEN, HIDDEN], joined(both('weight_hh', HIDDEN))),
    graph.floats(`lstm${layer}.B`, [2, 8 * HIDDEN], joined(biases)),
  ];
  const y = graph.node('LSTM', inputs, { hidden_size: HIDDEN, direction: 'bidirectional' });
  const ordered = graph.node('Transpose', [y], { perm: [0, 2, 1, 3] });
  return graph.node('Reshape', [ordered, graph.ints(0, 0, 2 * HIDDEN)]);
}

/** Turns PyTorch's order of the gates (input, forget, cell, output) into ONNX's (input, output, forget, cell). */
function gatesInOrder(weights: Float32Array, columns: number): Float32Array {
  const block = HIDDEN * columns;
  return joined([0, 3, 1, 2].map((gate) => weights.subarray(gate * block, (gate + 1) * block)));
}

function joined(parts: readonly (Float32Array | undefined)[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, part) => sum + (part?.length ?? 0), 0));
  let at = 0;
  for (const part of parts) {
    if (!part) continue;
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function linear(graph: OnnxGraph, get: GetTensor, x: string, name: string, rows: number, columns: number): string {
  const weight = get(`${name}.weight`, rows, columns);
  const transposed = Float32Array.from(
    { length: weight.length },
    (_, at) => weight[(at % rows) * columns + Math.floor(at / rows)] ?? 0,
  );
  const product = graph.node('MatMul', [x, graph.floats(`${name}.weight`, [columns, rows], transposed)]);
  return graph.node('Add', [product, graph.floats(`${name}.bias`, [rows], get(`${name}.bias`, rows))]);
}
