// Makes decoders of a few kilobytes with random weights and a vocabulary of bytes.
import { type GgufTensor, writeGguf } from '../../../../../native/lib/fixtures/gguf-file.ts';
import { llamaSizes, llamaTensors } from '../../../../../native/lib/fixtures/llama-shape.ts';
import { ggufPair } from '../../../../../native/lib/gguf.ts';
import { halfOfFloat } from '../formats/half.ts';
import { q8_0 } from '../quantize-blocks.ts';

const SHAPE = { layers: 2, embedding: 64, feedForward: 96, heads: 4, kvHeads: 2, contextTokens: 64 };
const CONTROL = 3;
const TYPES = { f32: 0, f16: 1, q8_0: 8 } as const;

/** The tokens of a vocabulary of bytes: as GPT-2 writes them, two merged ones and two control tokens. */
function vocabulary(): string[] {
  const isShown = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let hidden = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isShown(byte) ? byte : hidden++));
  return ['<|start|>', '<|end|>', ...bytes, 'th', 'the'];
}

export interface TinyDecoder {
  /** Default: `llama`. Others get its sizes under their name. */
  readonly architecture?: string;
  /** Default: `f16`. */
  readonly type?: 'f16' | 'q8_0';
  /** Pairs that replace those with the same key, and further ones. */
  readonly pairs?: Readonly<Record<string, Buffer | undefined>>;
  /** Returns the tensors that the file has. */
  readonly change?: (tensors: readonly GgufTensor[]) => readonly GgufTensor[];
}

/** Writes a decoder. It is the same for the same options. */
export function writeTinyDecoder(
  path: string,
  { architecture = 'llama', type = 'f16', pairs: others = {}, change = (tensors) => tensors }: TinyDecoder,
): void {
  const random = numbers(7);
  const tokens = vocabulary();
  const kv = (SHAPE.embedding / SHAPE.heads) * SHAPE.kvHeads;
  const tensor = (name: string, dimensions: readonly number[], isMatrix: boolean, middle = 0): GgufTensor => {
    const weights = dimensions.reduce((product, length) => product * length, 1);
    const values = Float32Array.from({ length: weights }, () => middle + (random() - 0.5) / 2);
    const content = isMatrix ? encoded(values, type) : Buffer.from(values.buffer);
    return { name, dimensions, type: TYPES[isMatrix ? type : 'f32'], bytes: content.length, content: () => [content] };
  };
  const tensors = llamaTensors(SHAPE, tokens.length).map(({ name, dimensions, isNorm }) =>
    tensor(name, dimensions, !isNorm, isNorm ? 1 : 0),
  );
  if (architecture === 'qwen2')
    for (let layer = 0; layer < SHAPE.layers; layer += 1)
      for (const [name, length] of Object.entries({ attn_q: SHAPE.embedding, attn_k: kv, attn_v: kv }))
        tensors.push(tensor(`blk.${layer}.${name}.bias`, [length], false));
  const sizes = Object.entries(llamaSizes(SHAPE)).map(
    ([key, value]) => [key.replace('llama', architecture), value] as const,
  );
  const pairs: Readonly<Record<string, Buffer | undefined>> = {
    'general.architecture': ggufPair.text('general.architecture', architecture),
    'general.file_type': ggufPair.uint32('general.file_type', type === 'f16' ? 1 : 7),
    ...Object.fromEntries(sizes.map(([key, value]) => [key, ggufPair.uint32(key, value)])),
    epsilon: ggufPair.float32(`${architecture}.attention.layer_norm_rms_epsilon`, 1e-6),
    'tokenizer.ggml.model': ggufPair.text('tokenizer.ggml.model', 'gpt2'),
    'tokenizer.ggml.pre': ggufPair.text('tokenizer.ggml.pre', 'gpt-2'),
    'tokenizer.ggml.tokens': ggufPair.texts('tokenizer.ggml.tokens', tokens),
    'tokenizer.ggml.token_type': ggufPair.int32s(
      'tokenizer.ggml.token_type',
      tokens.map((_, id) => (id < 2 ? CONTROL : 1)),
    ),
    'tokenizer.ggml.merges': ggufPair.texts('tokenizer.ggml.merges', ['t h', 'th e']),
    bos: ggufPair.uint32('tokenizer.ggml.bos_token_id', 0),
    eos: ggufPair.uint32('tokenizer.ggml.eos_token_id', 1),
    ...others,
  };
  writeGguf(
    path,
    Object.values(pairs).flatMap((pair) => pair ?? []),
    change(tensors),
  );
}

function encoded(values: Float32Array, type: 'f16' | 'q8_0'): Buffer {
  if (type === 'f16') return Buffer.from(Uint16Array.from(values, halfOfFloat).buffer);
  const blocks = values.length / 32;
  const out = Buffer.alloc(blocks * q8_0.blockBytes);
  for (let block = 0; block < blocks; block += 1) q8_0.encode(values, 32 * block, out, block * q8_0.blockBytes);
  return out;
}

/** Returns a generator of numbers from 0 up to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
