import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

export const WIDTH = 64;
const MELS = 80;
export const VOCABULARY = 51_864;
const CODES = { float32: 0, int8: 1, int16: 2, int32: 3, float16: 4 } as const;
type Type = keyof typeof CODES;

export interface TinyWhisper {
  readonly model: string;
  readonly tokenizer: string;
}

/**
 * Writes a CTranslate2 Whisper model with one narrow layer on each side and values that are easy to tell apart.
 * `weights` is the type of its matrices.
 */
export async function writeTinyWhisper(dir: string, weights: Type = 'float16'): Promise<TinyWhisper> {
  await mkdir(dir, { recursive: true });
  const model = path.join(dir, 'model.bin');
  const tokenizer = path.join(dir, 'tokenizer.json');
  await writeFile(model, modelFile(variables(weights)));
  await writeFile(tokenizer, JSON.stringify({ model: { vocab: vocabulary() } }));
  return { model, tokenizer };
}

/** Returns the values of the variables, in one type for all. */
export function tinyWhisperValues(
  type: 'float16' | 'float32',
): ReadonlyMap<string, { readonly shape: readonly number[]; readonly data: Buffer }> {
  const values = variables(type).map(
    ([name, own, shape], ordinal) => [name, { shape, data: dataOf(ordinal, vectorType(own, type), shape) }] as const,
  );
  return new Map(values);
}

const vectorType = (own: Type, wanted: 'float16' | 'float32'): Type => (own === 'int16' ? own : wanted);

type Variable = readonly [name: string, type: Type, shape: readonly number[]];

function variables(weights: Type): Variable[] {
  const linear = (name: string, out: number, into: number): Variable[] => [
    [`${name}/weight`, weights, [out, into]],
    [`${name}/bias`, 'float16', [out]],
  ];
  const norm = (name: string): Variable[] => [
    [`${name}/gamma`, 'float16', [WIDTH]],
    [`${name}/beta`, 'float16', [WIDTH]],
  ];
  const layer = (name: string): Variable[] => [
    ...norm(`${name}/ffn/layer_norm`),
    ...linear(`${name}/ffn/linear_0`, 4 * WIDTH, WIDTH),
    ...linear(`${name}/ffn/linear_1`, WIDTH, 4 * WIDTH),
    ...norm(`${name}/self_attention/layer_norm`),
    ...linear(`${name}/self_attention/linear_0`, 3 * WIDTH, WIDTH),
    ...linear(`${name}/self_attention/linear_1`, WIDTH, WIDTH),
  ];
  return [
    ['decoder/embeddings/weight', weights, [VOCABULARY, WIDTH]],
    ['decoder/position_encodings/encodings', 'float16', [4, WIDTH]],
    ['decoder/num_heads', 'int16', []],
    ...layer('decoder/layer_0'),
    ...norm('decoder/layer_0/attention/layer_norm'),
    ...linear('decoder/layer_0/attention/linear_0', WIDTH, WIDTH),
    ...linear('decoder/layer_0/attention/linear_1', 2 * WIDTH, WIDTH),
    ...linear('decoder/layer_0/attention/linear_2', WIDTH, WIDTH),
    ...norm('decoder/layer_norm'),
    ['encoder/position_encodings/encodings', 'float16', [8, WIDTH]],
    ['encoder/num_heads', 'int16', []],
    ['encoder/conv1/weight', weights, [WIDTH, MELS, 3]],
    ['encoder/conv1/bias', 'float16', [WIDTH]],
    ['encoder/conv2/weight', weights, [WIDTH, WIDTH, 3]],
    ['encoder/conv2/bias', 'float16', [WIDTH]],
    ...layer('encoder/layer_0'),
    ...norm('encoder/layer_norm'),
  ];
}

/** Returns the data of a variable. Each element encodes the number of its variable and its own index. */
function dataOf(ordinal: number, type: Type, shape: readonly number[]): Buffer {
  const count = shape.reduce((product, length) => product * length, 1);
  const bytes = { float32: 4, int8: 1, int16: 2, int32: 4, float16: 2 }[type];
  const data = Buffer.alloc(count * bytes);
  for (let index = 0; index < count; index += 1) {
    if (type === 'float16') data.writeUInt16LE(0x2c00 + ((ordinal * 31 + index) % 1024), 2 * index);
    else if (type === 'float32') data.writeFloatLE(((ordinal * 31 + index) % 1024) / 1024, 4 * index);
    else if (type === 'int16') data.writeInt16LE(2, 2 * index);
  }
  return data;
}

function modelFile(all: readonly Variable[]): Buffer {
  const text = (value: string): Buffer => {
    const length = Buffer.alloc(2);
    length.writeUInt16LE(value.length + 1);
    return Buffer.concat([length, Buffer.from(`${value}\0`)]);
  };
  const uint32 = (value: number): Buffer => {
    const out = Buffer.alloc(4);
    out.writeUInt32LE(value);
    return out;
  };
  const parts = [uint32(6), text('WhisperSpec'), uint32(3), uint32(all.length)];
  for (const [ordinal, [name, type, shape]] of all.entries()) {
    const data = dataOf(ordinal, type, shape);
    parts.push(
      text(name),
      Buffer.from([shape.length]),
      ...shape.map(uint32),
      Buffer.from([CODES[type]]),
      uint32(data.length),
      data,
    );
  }
  return Buffer.concat([...parts, uint32(0)]);
}

export function vocabulary(): Record<string, number> {
  const entries: [string, number][] = [
    ['!', 0],
    ['\u0120a', 1],
    ['\u0100', 2],
  ];
  for (let id = 3; id < 50_256; id += 1) entries.push([`t${id}`, id]);
  return Object.fromEntries(entries);
}
