import type { HeaderFile } from './gguf.ts';

/** A file that is no ONNX model, or is truncated. The message goes after the name of the file. */
export class DamagedOnnx extends Error {}

/**
 * Messages of ONNX's protobuf on the way to the texts that name further files and to the properties of the model, by
 * the numbers of their fields.
 */
const MESSAGES = {
  model: { 7: 'graph', 14: 'property', 20: 'training', 25: 'function' },
  graph: { 1: 'node', 5: 'tensor', 15: 'sparse' },
  training: { 1: 'graph', 2: 'graph' },
  function: { 7: 'node', 11: 'attribute' },
  node: { 5: 'attribute' },
  attribute: { 5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse' },
  sparse: { 1: 'tensor', 2: 'tensor' },
  tensor: { 13: 'entry' },
  entry: { 1: 'key', 2: 'value' },
  property: { 1: 'key', 2: 'value' },
} as const;
type Message = keyof typeof MESSAGES;

/** Fields of the model that each file has. */
const IR_VERSION = 1;
const GRAPH = 7;

const VARINT = 0;
const EIGHT_BYTES = 1;
const DELIMITED = 2;
const FOUR_BYTES = 5;

const WINDOW_BYTES = 64 * 1024;
/** Most bytes of a number of protobuf. */
const MAX_VARINT = 10;
/** Most bytes of the key or value of an entry and of a property. Longer properties are not read. */
const MAX_TEXT = 4096;
const MAX_PROPERTY = WINDOW_BYTES;
/** Most messages inside each other; the same limit as protobuf's. */
const MAX_DEPTH = 100;
/** Most fields; models with billions of parameters have a few hundred thousand. */
const MAX_FIELDS = 5_000_000;

/**
 * Returns the names of further files that have tensors of a model, as the model writes them. Reads no tensors. Throws
 * `DamagedOnnx` unless the file has the fields of an ONNX model and ends with the last of them.
 */
export async function readExternalFiles(file: HeaderFile): Promise<string[]> {
  const reader = new OnnxReader(file);
  await reader.model();
  return [...reader.locations];
}

/**
 * Returns the properties of a model by their names, such as the characters that its outputs stand for. Throws as
 * {@link readExternalFiles}.
 */
export async function readProperties(file: HeaderFile): Promise<ReadonlyMap<string, string>> {
  const reader = new OnnxReader(file);
  await reader.model();
  return reader.properties;
}

class OnnxReader {
  readonly locations = new Set<string>();
  readonly properties = new Map<string, string>();
  readonly #file: HeaderFile;
  readonly #topFields = new Set<number>();
  #at = 0;
  #fields = 0;
  /** The bytes of the file from `#start` on that are in memory. */
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: HeaderFile) {
    this.#file = file;
  }

  async model(): Promise<void> {
    await this.#message('model', this.#file.bytes, 0);
    if (!this.#topFields.has(IR_VERSION) || !this.#topFields.has(GRAPH))
      throw new DamagedOnnx('it is not an ONNX model');
  }

  /** Reads the fields up to `end`. */
  async #message(message: Message, end: number, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw new DamagedOnnx(`its graphs are nested more than ${MAX_DEPTH} levels deep`);
    const parts: Readonly<Record<number, Message | 'key' | 'value'>> = MESSAGES[message];
    let key = '';
    let value = '';
    while (this.#at < end) {
      if ((this.#fields += 1) > MAX_FIELDS) throw new DamagedOnnx(`it has more than ${MAX_FIELDS} fields`);
      const tag = await this.#varint(end);
      const number = Math.floor(tag / 8);
      if (depth === 0) this.#topFields.add(number);
      const wire = tag % 8;
      if (wire === VARINT) await this.#varint(end);
      else if (wire === EIGHT_BYTES) this.#skip(8, end);
      else if (wire === FOUR_BYTES) this.#skip(4, end);
      else if (wire === DELIMITED) {
        const length = await this.#varint(end);
        const part = parts[number];
        const begin = this.#at;
        this.#skip(length, end);
        if (part === undefined || (message === 'property' && length > MAX_PROPERTY)) continue;
        this.#at = begin;
        if (part === 'key' || part === 'value') {
          if (message === 'entry' && length > MAX_TEXT)
            throw new DamagedOnnx(`it names a file with more than ${MAX_TEXT} bytes`);
          const text = await this.#text(length);
          if (part === 'key') key = text;
          else value = text;
        } else await this.#message(part, begin + length, depth + 1);
      } else throw new DamagedOnnx('it is not an ONNX model');
    }
    if (message === 'entry' && key === 'location') this.locations.add(value);
    if (message === 'property') this.properties.set(key, value);
  }

  /** Reads a number, exact up to 2^53. Lengths and numbers of fields are smaller. */
  async #varint(end: number): Promise<number> {
    const most = Math.min(MAX_VARINT, end - this.#at);
    if (this.#at + most > this.#start + this.#window.length) await this.#fill();
    let value = 0;
    let scale = 1;
    for (let index = 0; index < most; index += 1) {
      const byte = this.#window[this.#at - this.#start + index] ?? 0;
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte >= 0x80) continue;
      this.#at += index + 1;
      return value;
    }
    throw new DamagedOnnx('it is truncated or not an ONNX model');
  }

  async #text(length: number): Promise<string> {
    if (this.#at + length > this.#start + this.#window.length) await this.#fill();
    const from = this.#at - this.#start;
    this.#at += length;
    return this.#window.toString('utf8', from, from + length);
  }

  #skip(bytes: number, end: number): void {
    this.#at += bytes;
    if (this.#at <= end) return;
    const has = end === this.#file.bytes ? `, but it has ${end}` : '';
    throw new DamagedOnnx(`it is truncated or not an ONNX model: ${this.#at} bytes are needed${has}`);
  }

  /** Puts the bytes from `#at` on into memory. */
  async #fill(): Promise<void> {
    this.#start = this.#at;
    this.#window = await this.#file.read(this.#at, Math.min(WINDOW_BYTES, this.#file.bytes - this.#at));
  }
}
