import type { GgufSource, GgufTensor } from './gguf-source.ts';

/** ggml's numbers of types. */
const F32 = 0;
const F16 = 1;
const Q8_0 = 8;
/** Positions whose angles are in the graph; of the largest heads, they have 130 MB. */
const MOST_POSITIONS = 131_072;
const LARGEST_HEAD = 256;
/** Weights of a block of q8_0, which have a common scale. */
export const BLOCK = 32;
/** Bytes of a block: its scale as a 16-bit float, then signed bytes. */
export const BLOCK_BYTES: number = 2 + BLOCK;

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

/** Returns the bytes of a tensor in the GGUF file. */
const sourceBytes = (planned: PlannedTensor): number =>
  planned.kind === 'blocks' ? (planned.rows * planned.columns * BLOCK_BYTES) / BLOCK : bytesOf(planned);

/** Plans the file of weights. Throws `ModelFormatError`, which names what of the model cannot be converted. */
export function planDecoder(source: GgufSource): DecoderPlan {
  const shape = requireDecoder(source);
  const tensors = new Map<string, PlannedTensor>();
  let at = 0;
  let read = 0;
  for (const [name] of tensorsOf(shape, source)) {
    const planned = placed(source, source.tensors.get(name)!, at);
    tensors.set(name, planned);
    at += bytesOf(planned);
    const bytes = sourceBytes(planned);
    read += bytes;
    if (planned.tensor.offset + bytes > source.bytes) source.refuse(`its tensor ${name} does not lie inside the file`);
    // Otherwise a small file could fill the disk.
    if (read > source.bytes) source.refuse('its tensors lie over each other');
  }
  return { shape, tensors, bytes: at };
}

/**
 * Returns the sizes of a model of the families that are known, with weights of any type. Throws `ModelFormatError` for
 * another model.
 */
export function requireDecoder(source: GgufSource): DecoderShape {
  const shape = shapeOf(source);
  const known = new Set<string>();
  for (const [name, dimensions] of tensorsOf(shape, source)) {
    const tensor = source.tensors.get(name) ?? source.refuse(`it has no tensor ${name}`);
    if (String(tensor.dimensions) !== String(dimensions))
      source.refuse(`its tensor ${name} has the shape ${tensor.dimensions.join(' × ')}, not ${dimensions.join(' × ')}`);
    known.add(name);
  }
  for (const name of source.tensors.keys())
    if (!known.has(name)) source.refuse(`nothing is known of its tensor ${name}`);
  return shape;
}

/** Yields the names of the tensors that the model must have, and of those that it has and may have, with dimensions. */
function* tensorsOf(
  shape: DecoderShape,
  { tensors }: GgufSource,
): Generator<readonly [name: string, dimensions: readonly number[]]> {
  const { hidden, feedForward, headSize } = shape;
  const [queries, keys] = [shape.heads * headSize, shape.kvHeads * headSize];
  yield ['token_embd.weight', [hidden, shape.vocabulary]];
  for (let layer = 0; layer < shape.layers; layer += 1) {
    const part = `blk.${layer}`;
    yield [`${part}.attn_norm.weight`, [hidden]];
    for (const [name, rows] of Object.entries({ attn_q: queries, attn_k: keys, attn_v: keys })) {
      yield [`${part}.${name}.weight`, [hidden, rows]];
      if (tensors.has(`${part}.${name}.bias`)) yield [`${part}.${name}.bias`, [rows]];
    }
    yield [`${part}.attn_output.weight`, [queries, hidden]];
    yield [`${part}.ffn_norm.weight`, [hidden]];
    yield [`${part}.ffn_gate.weight`, [hidden, feedForward]];
    yield [`${part}.ffn_up.weight`, [hidden, feedForward]];
    yield [`${part}.ffn_down.weight`, [feedForward, hidden]];
  }
  yield ['output_norm.weight', [hidden]];
  if (tensors.has('output.weight')) yield ['output.weight', [hidden, shape.vocabulary]];
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
  if (headSize < 2 || headSize > LARGEST_HEAD)
    source.refuse(`its heads have the size ${headSize}, which is not from 2 to ${LARGEST_HEAD}`);
  const kvHeads = source.size('attention.head_count_kv') ?? heads;
  if (!(kvHeads > 0) || heads % kvHeads !== 0)
    source.refuse(`it has ${heads} heads for ${kvHeads} heads of keys and values`);
  const vocabulary = source.texts('tokens').length;
  if (vocabulary === 0) source.refuse('it has no tokens');
  return {
    layers: source.requiredSize('block_count'),
    hidden,
    feedForward: source.requiredSize('feed_forward_length'),
    heads,
    kvHeads,
    headSize,
    vocabulary,
    contextTokens: Math.min(source.requiredSize('context_length'), MOST_POSITIONS),
    epsilon: source.positive('attention.layer_norm_rms_epsilon', 1e-5),
    ropeBase: source.positive('rope.freq_base', 10_000),
    ...family,
  };
}
