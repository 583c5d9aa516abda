import path from 'node:path';
import { MadeFile, type MadeFileResult, type MakeOptions } from './formats/made-file.ts';
import { OnnxGraph } from './formats/onnx-writer.ts';
import { readTorchCheckpoint, type TorchWeights } from './formats/torch-checkpoint.ts';
import { type GetTensor, tensorGetter } from './speaker-tensors.ts';

const BANDS = 80;
const DIMENSIONS = 192;
const EPSILON = 1e-5;
/** Layers and dilation of each block. */
const BLOCKS = [
  [12, 1],
  [24, 2],
  [16, 2],
] as const;
/** Frames over which the context of a layer is averaged. */
const CONTEXT = 100;
/** The end of a slice that goes to the end of its axis. */
const TO_END = 1 << 30;

/** What other programs ask a model for speakers in ONNX form. */
const METADATA = {
  framework: '3d-speaker',
  language: 'Chinese-English',
  url: 'https://modelscope.cn/models/iic/speech_campplus_sv_zh_en_16k-common_advanced',
  comment: 'This model is from 3D-Speaker, Apache-2.0',
  sample_rate: 16_000,
  output_dim: DIMENSIONS,
  normalize_samples: 1,
  feature_normalize_type: 'global-mean',
};

/**
 * Converts the checkpoint of 3D-Speaker's CAM++ to ONNX. Input `x` has the features [N, frames, 80], output `embedding`
 * the vector of the speaker [N, 192]. Throws `ModelFormatError` for other files.
 */
export async function convertCampplus(
  source: string,
  target: string,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const weights = await readTorchCheckpoint(source);
  const graph = new CampplusGraph(weights, path.basename(source));
  await using out = await MadeFile.create(target, options);
  for (const part of graph.build()) await out.write(part);
  return await out.finish();
}

/** A factor and a summand for each channel. */
interface Scaling {
  readonly factor: Float64Array;
  readonly summand: Float64Array;
}

type Attributes = Readonly<Record<string, number | readonly number[]>>;

class CampplusGraph {
  readonly #graph = new OnnxGraph('campplus');
  readonly #weights: TorchWeights;
  readonly #get: GetTensor;

  constructor(weights: TorchWeights, label: string) {
    this.#weights = weights;
    this.#get = tensorGetter(weights, label, 'CAM++ for 192 dimensions');
  }

  build(): Buffer[] {
    let x = this.#head();
    x = this.#relu(
      this.#foldedConv(x, 'xvector.tdnn.linear', 'xvector.tdnn.nonlinear.batchnorm', { pads: [2, 2], strides: [2] }, 3),
    );
    for (const [index, [layers, dilation]] of BLOCKS.entries()) {
      for (let layer = 1; layer <= layers; layer += 1)
        x = this.#denseLayer(x, `xvector.block${index + 1}.tdnnd${layer}`, dilation);
      x = this.#transit(x, index + 1);
    }
    const pooled = this.#statistics(x);
    const vector = this.#foldedConv(pooled, 'xvector.dense.linear', 'xvector.dense.nonlinear.batchnorm', {}, 3);
    this.#graph.node('Squeeze', [vector, this.#graph.ints(2)], {}, 'embedding');
    return this.#graph.finish([['x', ['N', 'T', BANDS]]], [['embedding', ['N', DIMENSIONS]]], METADATA);
  }

  /** Adds the convolutions over time and frequency. */
  #head(): string {
    const pads = [1, 1, 1, 1];
    const spectrum = this.#graph.node('Transpose', ['x'], { perm: [0, 2, 1] });
    let x = this.#graph.node('Unsqueeze', [spectrum, this.#graph.ints(1)]);
    x = this.#relu(this.#foldedConv(x, 'head.conv1', 'head.bn1', { pads }, 4));
    for (const block of ['head.layer1.0', 'head.layer1.1', 'head.layer2.0', 'head.layer2.1']) {
      const strides = block.endsWith('0') ? [2, 1] : [1, 1];
      const inner = this.#relu(this.#foldedConv(x, `${block}.conv1`, `${block}.bn1`, { pads, strides }, 4));
      const outer = this.#foldedConv(inner, `${block}.conv2`, `${block}.bn2`, { pads }, 4);
      const shortcut = this.#weights.has(`${block}.shortcut.0.weight`)
        ? this.#foldedConv(x, `${block}.shortcut.0`, `${block}.shortcut.1`, { strides }, 4)
        : x;
      x = this.#relu(this.#graph.node('Add', [outer, shortcut]));
    }
    x = this.#relu(this.#foldedConv(x, 'head.conv2', 'head.bn2', { pads, strides: [2, 1] }, 4));
    return this.#graph.node('Reshape', [x, this.#graph.ints(0, 320, -1)]);
  }

  /** Adds a layer whose output is joined to its input. Its context weighs its channels. */
  #denseLayer(x: string, name: string, dilation: number): string {
    const graph = this.#graph;
    const normal = this.#relu(this.#scaled(x, `${name}.nonlinear1.batchnorm`));
    const y = this.#relu(this.#foldedConv(normal, `${name}.linear1`, `${name}.nonlinear2.batchnorm`, {}, 3));
    const layer = `${name}.cam_layer`;
    const local = this.#conv(y, `${layer}.linear_local`, { pads: [dilation, dilation], dilations: [dilation] });
    const parts = graph.node('AveragePool', [y], { kernel_shape: [CONTEXT], strides: [CONTEXT], ceil_mode: 1 });
    const repeated = graph.node('Expand', [
      graph.node('Unsqueeze', [parts, graph.ints(3)]),
      graph.ints(1, 1, 1, CONTEXT),
    ]);
    const flat = graph.node('Reshape', [repeated, graph.ints(0, 0, -1)]);
    const near = graph.node('Slice', [flat, graph.ints(0), this.#frameCount(y), graph.ints(2)]);
    const context = graph.node('Add', [graph.node('ReduceMean', [y], { axes: [2], keepdims: 1 }), near]);
    const squeezed = this.#relu(this.#conv(context, `${layer}.linear1`, {}));
    const weight = graph.node('Sigmoid', [this.#conv(squeezed, `${layer}.linear2`, {})]);
    return graph.node('Concat', [x, graph.node('Mul', [local, weight])], { axis: 1 });
  }

  #transit(x: string, block: number): string {
    const name = `xvector.transit${block}`;
    const y = this.#relu(this.#scaled(x, `${name}.nonlinear.batchnorm`));
    if (block < BLOCKS.length) return this.#conv(y, `${name}.linear`, {});
    return this.#relu(this.#foldedConv(y, `${name}.linear`, 'xvector.out_nonlinear.batchnorm', {}, 3));
  }

  /** Adds the mean and the standard deviation over time, which is divided by one frame less. */
  #statistics(x: string): string {
    const graph = this.#graph;
    const mean = graph.node('ReduceMean', [x], { axes: [2], keepdims: 1 });
    const difference = graph.node('Sub', [x, mean]);
    const square = graph.node('Mul', [difference, difference]);
    const sum = graph.node('ReduceSum', [square, graph.ints(2)], { keepdims: 1 });
    const count = graph.node('Cast', [this.#frameCount(x)], { to: 1 });
    const one = graph.floats('one', [1], Float32Array.of(1));
    const variance = graph.node('Div', [sum, graph.node('Sub', [count, one])]);
    return graph.node('Concat', [mean, graph.node('Sqrt', [variance])], { axis: 1 });
  }

  #frameCount(x: string): string {
    const graph = this.#graph;
    return graph.node('Slice', [graph.node('Shape', [x]), graph.ints(2), graph.ints(TO_END)]);
  }

  #relu(x: string): string {
    return this.#graph.node('Relu', [x]);
  }

  #conv(x: string, name: string, attributes: Attributes): string {
    const { shape, data } = this.#tensor(`${name}.weight`, 3);
    const inputs = [x, this.#graph.floats(`${name}.weight`, shape, data)];
    const bias = this.#weights.get(`${name}.bias`);
    if (bias) inputs.push(this.#graph.floats(`${name}.bias`, bias.shape, bias.data));
    return this.#graph.node('Conv', inputs, { kernel_shape: shape.slice(2), ...attributes });
  }

  /** Adds a convolution that contains the normalisation after it. */
  #foldedConv(x: string, name: string, norm: string, attributes: Attributes, axes: 3 | 4): string {
    const { shape, data } = this.#tensor(`${name}.weight`, axes);
    const channels = shape[0] ?? 0;
    const { factor, summand } = this.#scaling(norm, channels);
    const each = data.length / channels;
    const weights = data.map((value, at) => value * (factor[Math.floor(at / each)] ?? 0));
    const inputs = [
      x,
      this.#graph.floats(`${name}.weight`, shape, weights),
      this.#graph.floats(`${name}.bias`, [channels], Float32Array.from(summand)),
    ];
    return this.#graph.node('Conv', inputs, { kernel_shape: shape.slice(2), ...attributes });
  }

  /** Adds a normalisation that no convolution can contain, as a factor and a summand. */
  #scaled(x: string, norm: string): string {
    const channels = this.#tensor(`${norm}.running_mean`, 1).shape[0] ?? 0;
    const { factor, summand } = this.#scaling(norm, channels);
    const shape = [1, channels, 1];
    const product = this.#graph.node('Mul', [
      x,
      this.#graph.floats(`${norm}.factor`, shape, Float32Array.from(factor)),
    ]);
    return this.#graph.node('Add', [product, this.#graph.floats(`${norm}.summand`, shape, Float32Array.from(summand))]);
  }

  #scaling(norm: string, channels: number): Scaling {
    const mean = this.#get(`${norm}.running_mean`, channels);
    const variance = this.#get(`${norm}.running_var`, channels);
    const weight = this.#weights.get(`${norm}.weight`)?.data;
    const bias = this.#weights.get(`${norm}.bias`)?.data;
    const factor = Float64Array.from(variance, (value, at) => (weight?.[at] ?? 1) / Math.sqrt(value + EPSILON));
    const summand = factor.map((value, at) => (bias?.[at] ?? 0) - (mean[at] ?? 0) * value);
    return { factor, summand };
  }

  #tensor(name: string, axes: number): { readonly shape: readonly number[]; readonly data: Float32Array } {
    const data = this.#get(name, ...Array.from({ length: axes }, () => undefined));
    return { shape: this.#weights.get(name)?.shape ?? [], data };
  }
}
