import { type FileHandle, open } from 'node:fs/promises';

type Value = string | number | readonly number[];

const CHUNK_BYTES = 2 ** 20;
const MAX_HEADER_BYTES = 256 * 2 ** 20;
const STRING = 8;
const ARRAY = 9;
/** Bytes of the values of fixed size, by type number. */
const VALUE_BYTES: readonly number[] = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/**
 * Returns the numbers, short texts and arrays of numbers of a GGUF file's metadata, by key. Of an array of texts it
 * returns the number of items. Undefined when the file is damaged or not a GGUF file.
 */
export async function readGgufHeader(path: string): Promise<ReadonlyMap<string, Value> | undefined> {
  const file = await open(path);
  try {
    return await new HeaderReader(file).read();
  } catch (error) {
    if (error instanceof DamagedHeader) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}

class DamagedHeader extends Error {}

class HeaderReader {
  readonly #file: FileHandle;
  #buffer = Buffer.alloc(0);
  #at = 0;
  /** Offset of the buffer in the file. */
  #start = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async read(): Promise<ReadonlyMap<string, Value> | undefined> {
    await this.#need(24);
    const magic = this.#buffer.toString('latin1', 0, 4);
    const version = this.#buffer.readUInt32LE(4);
    const pairs = Number(this.#buffer.readBigUInt64LE(16));
    if (magic !== 'GGUF' || version < 2 || version > 3) return undefined;
    this.#at = 24;
    const values = new Map<string, Value>();
    for (let index = 0; index < pairs; index += 1) {
      const key = await this.#text();
      const value = await this.#value(await this.#uint32());
      if (value !== undefined) values.set(key, value);
    }
    return values;
  }

  async #value(type: number): Promise<Value | undefined> {
    if (type === STRING) return this.#text();
    if (type !== ARRAY) return this.#number(type);
    const itemType = await this.#uint32();
    const count = await this.#uint64();
    if (itemType === STRING) {
      for (let index = 0; index < count; index += 1) await this.#skip(await this.#uint64());
      return count;
    }
    const bytes = VALUE_BYTES[itemType] || damaged();
    // Shorter arrays have a number for each layer. Longer ones are scores of the vocabulary, which nobody needs here.
    if (count > 4096) return this.#skip(count * bytes);
    const items: number[] = [];
    for (let index = 0; index < count; index += 1) items.push((await this.#number(itemType)) ?? 0);
    return items;
  }

  async #number(type: number): Promise<number | undefined> {
    const bytes = VALUE_BYTES[type] || damaged();
    const at = await this.#take(bytes);
    if (type === 6) return this.#buffer.readFloatLE(at);
    if (type === 12) return this.#buffer.readDoubleLE(at);
    return bytes === 8 ? Number(this.#buffer.readBigUInt64LE(at)) : this.#buffer.readUIntLE(at, bytes);
  }

  async #uint32(): Promise<number> {
    const at = await this.#take(4); // before the buffer is used, because it may replace the buffer
    return this.#buffer.readUInt32LE(at);
  }

  async #uint64(): Promise<number> {
    const at = await this.#take(8);
    const value = Number(this.#buffer.readBigUInt64LE(at));
    return value <= MAX_HEADER_BYTES ? value : damaged();
  }

  async #text(): Promise<string> {
    const length = await this.#uint64();
    const at = await this.#take(length);
    return this.#buffer.toString('utf8', at, at + length);
  }

  async #skip(bytes: number): Promise<undefined> {
    if (this.#at + bytes <= this.#buffer.length) {
      this.#at += bytes;
      return;
    }
    this.#start += this.#at + bytes;
    if (this.#start > MAX_HEADER_BYTES) damaged();
    this.#buffer = Buffer.alloc(0);
    this.#at = 0;
  }

  /** Returns the position of the next `bytes` in the buffer. */
  async #take(bytes: number): Promise<number> {
    if (this.#at + bytes > this.#buffer.length) await this.#need(bytes);
    const at = this.#at;
    this.#at += bytes;
    return at;
  }

  async #need(bytes: number): Promise<void> {
    const rest = this.#buffer.subarray(this.#at);
    const from = this.#start + this.#at;
    if (from + bytes > MAX_HEADER_BYTES) damaged();
    const chunk = Buffer.alloc(Math.max(CHUNK_BYTES, bytes));
    const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, from + rest.length);
    this.#buffer = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    this.#start = from;
    this.#at = 0;
    if (this.#buffer.length < bytes) damaged();
  }
}

function damaged(): never {
  throw new DamagedHeader();
}
