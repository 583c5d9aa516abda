import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Sizes of a language model of Llama's architecture. */
export interface ModelShape {
  readonly layers: number;
  readonly embedding: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly contextTokens: number;
  readonly weights: keyof typeof WEIGHTS;
}

/** Llama 2's 7 B model. */
export const SEVEN_BILLION: ModelShape = { layers: 32, embedding: 4096, feedForward: 11_008, heads: 32, kvHeads: 32, contextTokens: 4096, weights: 'q4_0' };

/** The number that GGUF has for a type, numbers in a block, and bytes of a block: a 16-bit scale, then the numbers. */
const WEIGHTS = {
  f16: { type: 1, numbers: 1, bytes: 2 },
  q4_0: { type: 2, numbers: 32, bytes: 18 },
  q8_0: { type: 8, numbers: 32, bytes: 34 },
} as const;

/** About 0.002 as a 16-bit float, so that random weights give logits of an ordinary size. */
const SCALE = 0x1819;
const F32 = 0;
const ALIGNMENT = 32;
const CHUNK_BLOCKS = 65_536;

interface Tensor {
  readonly name: string;
  readonly dimensions: readonly number[];
  readonly isNorm: boolean;
}

/**
 * Writes a model of that shape with random weights; what it says makes no sense, what it costs is that of a real one. Vocabulary and template are those of `base`, a
 * GGUF file of Llama's architecture, of which the beginning up to the weights is enough. Returns the bytes written.
 */
export function writeRandomModel(base: string, out: string, shape: ModelShape): number {
  const metadata = readMetadata(readFileSync(base));
  const vocabulary = metadata.find(({ key }) => key === 'tokenizer.ggml.tokens')?.count;
  if (vocabulary === undefined) throw new Error(`${base} has no vocabulary`);
  const tensors = tensorsOf(shape, vocabulary);
  const header = headerOf(metadata, tensors, shape);
  const file = openSync(out, 'w');
  try {
    let written = writeSync(file, header);
    for (const tensor of tensors) written += writeTensor(file, tensor, shape);
    return written;
  } finally {
    closeSync(file);
  }
}

function tensorsOf({ layers, embedding, feedForward, heads, kvHeads }: ModelShape, vocabulary: number): Tensor[] {
  const kv = (embedding / heads) * kvHeads;
  const matrix = (name: string, ...dimensions: number[]): Tensor => ({ name: `${name}.weight`, dimensions, isNorm: false });
  const norm = (name: string): Tensor => ({ name: `${name}.weight`, dimensions: [embedding], isNorm: true });
  const blocks = Array.from({ length: layers }, (_, index) => {
    const block = `blk.${index}`;
    return [
      norm(`${block}.attn_norm`),
      matrix(`${block}.attn_q`, embedding, embedding),
      matrix(`${block}.attn_k`, embedding, kv),
      matrix(`${block}.attn_v`, embedding, kv),
      matrix(`${block}.attn_output`, embedding, embedding),
      norm(`${block}.ffn_norm`),
      matrix(`${block}.ffn_gate`, embedding, feedForward),
      matrix(`${block}.ffn_up`, embedding, feedForward),
      matrix(`${block}.ffn_down`, feedForward, embedding),
    ];
  });
  return [matrix('token_embd', embedding, vocabulary), norm('output_norm'), matrix('output', embedding, vocabulary), ...blocks.flat()];
}

function bytesOf({ dimensions, isNorm }: Tensor, { weights }: ModelShape): number {
  const count = dimensions.reduce((product, size) => product * size, 1);
  const { numbers, bytes } = WEIGHTS[weights];
  return isNorm ? count * 4 : (count / numbers) * bytes;
}

const padded = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

function headerOf(metadata: readonly Pair[], tensors: readonly Tensor[], shape: ModelShape): Buffer {
  const numbers: Readonly<Record<string, number>> = {
    'llama.block_count': shape.layers,
    'llama.context_length': shape.contextTokens,
    'llama.embedding_length': shape.embedding,
    'llama.feed_forward_length': shape.feedForward,
    'llama.attention.head_count': shape.heads,
    'llama.attention.head_count_kv': shape.kvHeads,
    'llama.rope.dimension_count': shape.embedding / shape.heads,
  };
  const kept = metadata.filter(({ key }) => !Object.hasOwn(numbers, key) && !/^(general\.alignment|general\.file_type|llama\.vocab_size|llama\.attention\.(key|value)_length)$/.test(key));
  const pairs = [...kept.map(({ bytes }) => bytes), ...Object.entries(numbers).map(([key, value]) => Buffer.concat([text(key), uint32(4), uint32(value)]))];
  let offset = 0;
  const infos = tensors.map((tensor) => {
    const { name, dimensions, isNorm } = tensor;
    const info = Buffer.concat([text(name), uint32(dimensions.length), ...dimensions.map(uint64), uint32(isNorm ? F32 : WEIGHTS[shape.weights].type), uint64(offset)]);
    offset += padded(bytesOf(tensor, shape));
    return info;
  });
  const header = Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(pairs.length), ...pairs, ...infos]);
  return Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length)]);
}

function writeTensor(file: number, tensor: Tensor, shape: ModelShape): number {
  const bytes = bytesOf(tensor, shape);
  if (tensor.isNorm) return writeSync(file, Buffer.concat([Buffer.from(new Float32Array(bytes / 4).fill(1).buffer), Buffer.alloc(padded(bytes) - bytes)]));
  const chunk = randomBlocks(shape.weights);
  let left = bytes;
  while (left > 0) left -= writeSync(file, chunk, 0, Math.min(left, chunk.length));
  if (padded(bytes) > bytes) writeSync(file, Buffer.alloc(padded(bytes) - bytes));
  return padded(bytes);
}

const chunks = new Map<keyof typeof WEIGHTS, Buffer>();

/** Weights like noise, the same each time. */
function randomBlocks(weights: keyof typeof WEIGHTS): Buffer {
  const known = chunks.get(weights);
  if (known) return known;
  const { bytes } = WEIGHTS[weights];
  const chunk = Buffer.alloc(CHUNK_BLOCKS * bytes);
  let state = 1;
  for (let at = 0; at < chunk.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    chunk[at] = state >>> 24;
  }
  // A scale for each block; as 16-bit floats, the numbers themselves, with either sign.
  for (let at = 0; at < chunk.length; at += bytes) chunk.writeUInt16LE(weights === 'f16' ? SCALE | ((chunk[at] ?? 0) & 0x80 ? 0x8000 : 0) : SCALE, at);
  chunks.set(weights, chunk);
  return chunk;
}

/** A key with its value, as they lie in the file. */
interface Pair {
  readonly key: string;
  readonly bytes: Buffer;
  /** Of an array: its items. */
  readonly count: number | undefined;
}

const VALUE_BYTES: readonly number[] = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

function readMetadata(file: Buffer): Pair[] {
  if (file.toString('latin1', 0, 4) !== 'GGUF') throw new Error('no GGUF file');
  let at = 24;
  const skipText = (): void => {
    at += 8 + Number(file.readBigUInt64LE(at));
  };
  const skipValue = (type: number): number | undefined => {
    if (type === 8) skipText();
    else if (type === 9) {
      const [itemType, count] = [file.readUInt32LE(at), Number(file.readBigUInt64LE(at + 4))];
      at += 12;
      for (let item = 0; item < count; item += 1) skipValue(itemType);
      return count;
    } else at += VALUE_BYTES[type] ?? 0;
    return undefined;
  };
  return Array.from({ length: Number(file.readBigUInt64LE(16)) }, () => {
    const from = at;
    skipText();
    const key = file.toString('utf8', from + 8, at);
    at += 4;
    const count = skipValue(file.readUInt32LE(at - 4));
    return { key, bytes: file.subarray(from, at), count };
  });
}

/** Returns where the weights of a GGUF file may begin at the latest: all of its metadata is before. */
export function endOfMetadata(file: Buffer): number {
  return 24 + readMetadata(file).reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
}
