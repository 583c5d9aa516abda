import { readFileSync } from 'node:fs';
import { type GgufTensor, writeGguf } from '../../../native/lib/fixtures/gguf-file.ts';
import { ggufPair } from '../../../native/lib/index.ts';
import {
  llamaSizes,
  llamaTensors,
  type LlamaShape,
  type LlamaTensor,
} from '../../../native/lib/fixtures/llama-shape.ts';
import { readGgufPairs } from '../../../native/lib/fixtures/read-gguf.ts';

/** Sizes of a model, with the type of its weights. */
export interface ModelShape extends LlamaShape {
  readonly weights: keyof typeof WEIGHTS;
}

/** The shape of Llama 2's 7 B model. */
export const SEVEN_BILLION: ModelShape = {
  layers: 32,
  embedding: 4096,
  feedForward: 11_008,
  heads: 32,
  kvHeads: 32,
  contextTokens: 4096,
  weights: 'q4_0',
};

/** GGUF's number of the type, numbers in a block, and bytes of a block: a 16-bit scale, then the numbers. */
const WEIGHTS = {
  f16: { type: 1, numbers: 1, bytes: 2 },
  q4_0: { type: 2, numbers: 32, bytes: 18 },
  q8_0: { type: 8, numbers: 32, bytes: 34 },
} as const;

/** About 0.002 as a 16-bit float, which gives random weights logits of a normal size. */
const SCALE = 0x1819;
const F32 = 0;
const CHUNK_BLOCKS = 65_536;

/**
 * Writes a model of that shape with random weights. Its text is meaningless, but it costs as much as a real model. The
 * vocabulary and the template come from `base`, a GGUF file of Llama's architecture; the part before the weights is
 * enough. Returns the number of bytes written.
 */
export function writeRandomModel(base: string, out: string, shape: ModelShape): number {
  const metadata = readGgufPairs(readFileSync(base));
  const vocabulary = metadata.find(({ key }) => key === 'tokenizer.ggml.tokens')?.count;
  if (vocabulary === undefined) throw new Error(`${base} has no vocabulary`);
  const sizes = llamaSizes(shape);
  const replaced = /^(general\.alignment|general\.file_type|llama\.vocab_size|llama\.attention\.(key|value)_length)$/;
  const kept = metadata.filter(({ key }) => !Object.hasOwn(sizes, key) && !replaced.test(key));
  const pairs = [
    ...kept.map(({ bytes }) => bytes),
    ...Object.entries(sizes).map(([key, value]) => ggufPair.uint32(key, value)),
  ];
  return writeGguf(
    out,
    pairs,
    llamaTensors(shape, vocabulary).map((tensor) => randomTensor(tensor, shape)),
  );
}

function randomTensor({ name, dimensions, isNorm }: LlamaTensor, { weights }: ModelShape): GgufTensor {
  const count = dimensions.reduce((product, size) => product * size, 1);
  if (isNorm)
    return {
      name,
      dimensions,
      type: F32,
      bytes: count * 4,
      content: () => [new Uint8Array(new Float32Array(count).fill(1).buffer)],
    };
  const { type, numbers, bytes: blockBytes } = WEIGHTS[weights];
  const bytes = (count / numbers) * blockBytes;
  return { name, dimensions, type, bytes, content: () => repeated(randomBlocks(weights), bytes) };
}

function* repeated(chunk: Buffer, bytes: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes; at += chunk.length) yield chunk.subarray(0, bytes - at);
}

const chunks = new Map<keyof typeof WEIGHTS, Buffer>();

/** Returns weights like noise, the same each time. */
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
  // Each block gets a scale. For 16-bit floats, these are the numbers themselves, with either sign.
  for (let at = 0; at < chunk.length; at += bytes)
    chunk.writeUInt16LE(weights === 'f16' ? SCALE | ((chunk[at] ?? 0) & 0x80 ? 0x8000 : 0) : SCALE, at);
  chunks.set(weights, chunk);
  return chunk;
}

/** Returns the offset of the end of all metadata of a GGUF file. The weights begin after it. */
export function endOfMetadata(file: Buffer): number {
  return 24 + readGgufPairs(file).reduce((sum, { bytes }) => sum + bytes.length, 0);
}
