import type { GgufSource, GgufTensor } from './gguf-source.ts';

/** ggml's numbers of types. */
const F32 = 0;
const F16 = 1;
const Q8_0 = 8;
/** Positions whose angles are in the graph; of the largest heads, they have 130 MB. */
const MOST_POSITIONS = 131_072;
/** Weights of a block of q8_0, which have a common scale. */
export const BLOCK = 32;

/** The sizes of a decoder of the families Llama and Qwen2. */
export interface DecoderShape {
  readonly layers: number;
  readonly hidden: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly vocabulary: number;
  readonly contextTokens: number;
  readonly epsilon: number;
  readonly ropeBase: number;
  /** Whether the rotation of positions takes neighbours in pairs, not halves of a head. */
  readonly isInterleaved: boolean;
}

interface Matrix {
  readonly tensor: GgufTensor;
  readonly at: number;
  readonly rows: number;
  readonly columns: number;
}

/** A tensor of the model and its place in the file of weights, in bytes. */
export type PlannedTensor =
  /** A list of floats, as they are. */
  | { readonly kind: 'floats'; readonly tensor: GgufTensor; readonly at: number; readonly length: number }
  /** A matrix of 16-bit floats, as they are. */
  | ({ readonly kind: 'halves' } & Matrix)
  /** A matrix of bytes, and behind them the scales of their blocks as floats. */
  | ({ readonly kind: 'blocks' } & Matrix);

export interface DecoderPlan {
  readonly shape: DecoderShape;
  /** In the order in which they are written. */
  readonly tensors: ReadonlyMap<string, PlannedTensor>;
  /** Bytes of all tensors. */
  readonly bytes: number;
}

const ARCHITECTURES: Readonly<Record<string, Pick<DecoderShape, 'isInterleaved'>>> = {
  llama: { isInterleaved: true },
  qwen2: { isInterleaved: false },
};

/** Returns the bytes of the scales of a matrix. */
export const scaleBytes = ({ rows, columns }: Pick<Matrix, 'rows' | 'columns'>): number => 4 * rows * (columns / BLOCK);

/** Returns the bytes of a tensor in the file of weights. */
export function bytesOf(planned: PlannedTensor): number {
  if (planned.kind === 'floats') return 4 * planned.length;
  const weights = planned.rows * planned.columns;
  return planned.kind === 'halves' ? 2 * weights : weights + scaleBytes(planned);
}

/** Plans the file of weights. Throws `ModelFormatError`, which names what of the model cannot be converted. */
export function planDecoder(source: GgufSource): DecoderPlan {
  const shape = shapeOf(source);
  const tensors = new Map<string, PlannedTensor>();
  let at = 0;
  const add = (name: string, dimensions: readonly number[]): void => {
    const tensor = source.tensors.get(name) ?? source.refuse(`it has no tensor ${name}`);
    if (String(tensor.dimensions) !== String(dimensions))
      source.refuse(`its tensor ${name} has the shape ${tensor.dimensions.join(' × ')}, not ${dimensions.join(' × ')}`);
    const planned = placed(source, tensor, at);
    tensors.set(name, planned);
    at += bytesOf(planned);
  };
  const { hidden, feedForward, headSize } = shape;
  const [queries, keys] = [shape.heads * headSize, shape.kvHeads * headSize];
  add('token_embd.weight', [hidden, shape.vocabulary]);
  for (let layer = 0; layer < shape.layers; layer += 1) {
    const part = (name: string, ...dimensions: readonly number[]): void => add(`blk.${layer}.${name}`, dimensions);
    part('attn_norm.weight', hidden);
    for (const [name, rows] of Object.entries({ attn_q: queries, attn_k: keys, attn_v: keys })) {
      part(`${name}.weight`, hidden, rows);
      if (source.tensors.has(`blk.${layer}.${name}.bias`)) part(`${name}.bias`, rows);
    }
    part('attn_output.weight', queries, hidden);
    part('ffn_norm.weight', hidden);
    part('ffn_gate.weight', hidden, feedForward);
    part('ffn_up.weight', hidden, feedForward);
    part('ffn_down.weight', feedForward, hidden);
  }
  add('output_norm.weight', [hidden]);
  if (source.tensors.has('output.weight')) add('output.weight', [hidden, shape.vocabulary]);
  for (const name of source.tensors.keys())
    if (!tensors.has(name)) source.refuse(`nothing is known of its tensor ${name}`);
  return { shape, tensors, bytes: at };
}

function placed(source: GgufSource, tensor: GgufTensor, at: number): PlannedTensor {
  const { name, type } = tensor;
  const [columns = 0, rows] = tensor.dimensions;
  if (rows === undefined && type === F32) return { kind: 'floats', tensor, at, length: columns };
  if (rows !== undefined && type === F16) return { kind: 'halves', tensor, at, rows, columns };
  if (rows !== undefined && type === Q8_0 && columns % BLOCK === 0)
    return { kind: 'blocks', tensor, at, rows, columns };
  return source.refuse(`its tensor ${name} with rows of ${columns} has the type ${type} of ggml`);
}

function shapeOf(source: GgufSource): DecoderShape {
  const { architecture } = source;
  const family = Object.hasOwn(ARCHITECTURES, architecture) ? ARCHITECTURES[architecture] : undefined;
  if (!family)
    source.refuse(
      `its architecture is ${architecture}, but only ${Object.keys(ARCHITECTURES).join(' and ')} are known`,
    );
  const scaling = source.text(`${architecture}.rope.scaling.type`) ?? 'none';
  if (scaling !== 'none') source.refuse(`its positions are scaled (${scaling})`);
  const heads = source.requiredSize('attention.head_count');
  const hidden = source.requiredSize('embedding_length');
  const headSize = source.size('attention.key_length') ?? hidden / heads;
  if ((source.size('rope.dimension_count') ?? headSize) !== headSize || headSize % 2 !== 0)
    source.refuse('its positions rotate only a part of each head');
  return {
    layers: source.requiredSize('block_count'),
    hidden,
    feedForward: source.requiredSize('feed_forward_length'),
    heads,
    kvHeads: source.size('attention.head_count_kv') ?? heads,
    headSize,
    vocabulary: source.texts('tokens').length,
    contextTokens: Math.min(source.requiredSize('context_length'), MOST_POSITIONS),
    epsilon: source.size('attention.layer_norm_rms_epsilon') ?? 1e-5,
    ropeBase: source.size('rope.freq_base') ?? 10_000,
    ...family,
  };
}
