/** A file whose header is read. */
export interface HeaderFile {
  readonly bytes: number;
  /** Returns these bytes. Never called for bytes beyond the end. */
  read(offset: number, length: number): Promise<Buffer>;
}

export type GgufValue = string | number | readonly number[];

export interface GgufMetadata {
  /** Numbers, texts and arrays of at most 4096 numbers, by key. Of an array of texts, the number of items. */
  readonly values: ReadonlyMap<string, GgufValue>;
  /** The arrays of texts and the long arrays of numbers that the reader keeps, by key. */
  readonly arrays: ReadonlyMap<string, readonly (string | number)[]>;
  readonly tensorCount: number;
}

export interface GgufTensorEntry {
  readonly name: string;
  /** The fastest axis comes first. */
  readonly dimensions: readonly number[];
  readonly weights: number;
  /** ggml's number of the type. */
  readonly type: number;
  /** Bytes from the beginning of all weights. */
  readonly offset: number;
}

/** A header that is no GGUF header, or is damaged or truncated. The message goes after the name of the file. */
export class DamagedGguf extends Error {}

export const GGUF_MAGIC = 'GGUF';

const BLOCK_BYTES = 2 ** 16;
const MAX_HEADER_BYTES = 256 * 2 ** 20;
const MAX_COUNT = 10_000_000;
/** Most arrays inside each other. */
const MAX_DEPTH = 4;
const STRING = 8;
const ARRAY = 9;
const FLOAT32 = 6;
const FLOAT64 = 12;
/** Bytes of the values of fixed size, by type number. */
const VALUE_BYTES: readonly number[] = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
/** Shorter arrays have a number for each layer. Longer ones are scores of the vocabulary, which nobody needs here. */
const MAX_KEPT_ITEMS = 4096;

/** Reads the header of a GGUF file, first the metadata and then each tensor. Throws `DamagedGguf`. */
export class GgufReader {
  readonly #file: HeaderFile;
  readonly #kept: ReadonlySet<string>;
  readonly #arrays = new Map<string, readonly (string | number)[]>();
  #at = 0;
  /** The bytes of the file from `#start` on that are in memory. */
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  /** `kept` has the keys of arrays of texts, and of long arrays of numbers, that are read; others are skipped. */
  constructor(file: HeaderFile, kept: Iterable<string> = []) {
    this.#file = file;
    this.#kept = new Set(kept);
  }

  /** The offset of what is read next. */
  get at(): number {
    return this.#at;
  }

  async metadata(): Promise<GgufMetadata> {
    if ((await this.#take(4)).toString('latin1') !== GGUF_MAGIC) throw new DamagedGguf('this is not a GGUF file');
    const version = await this.#uint32();
    if (version !== 2 && version !== 3)
      throw new DamagedGguf(`GGUF version ${version} is not supported; versions 2 and 3 are`);
    const tensorCount = await this.#count();
    const pairCount = await this.#count();
    const values = new Map<string, GgufValue>();
    for (let index = 0; index < pairCount; index += 1) {
      const key = await this.#text();
      const type = await this.#uint32();
      const value = type === ARRAY && this.#kept.has(key) ? await this.#keptArray(key) : await this.#value(type, 0);
      if (value !== undefined) values.set(key, value);
    }
    return { values, arrays: this.#arrays, tensorCount };
  }

  async tensor(): Promise<GgufTensorEntry> {
    const name = await this.#text();
    const rank = await this.#uint32();
    if (rank > 4) throw new DamagedGguf('its table of tensors is damaged');
    const dimensions: number[] = [];
    for (let axis = 0; axis < rank; axis += 1) dimensions.push(await this.#count(Number.MAX_SAFE_INTEGER));
    const weights = dimensions.reduce((product, length) => product * length, 1);
    return {
      name,
      dimensions,
      weights,
      type: await this.#uint32(),
      offset: await this.#count(Number.MAX_SAFE_INTEGER),
    };
  }

  async #value(type: number, depth: number): Promise<GgufValue | undefined> {
    if (type === STRING) return this.#text();
    if (type === ARRAY && depth < MAX_DEPTH) return this.#array(depth);
    const bytes = bytesOf(type);
    return numberAt(await this.#take(bytes), 0, type, bytes);
  }

  async #array(depth: number): Promise<GgufValue | undefined> {
    const type = await this.#uint32();
    const count = await this.#count();
    if (type === STRING) {
      for (let index = 0; index < count; index += 1) {
        if (!this.#has(8)) await this.#fill(8); // most are in memory, and a vocabulary has 200,000
        this.#at += 8;
        this.#skip(countAt(this.#window, this.#at - 8 - this.#start));
      }
      return count;
    }
    if (type === ARRAY) {
      for (let index = 0; index < count; index += 1) await this.#value(type, depth + 1);
      return undefined;
    }
    const bytes = bytesOf(type);
    if (count > MAX_KEPT_ITEMS) return this.#skip(count * bytes);
    const items = await this.#take(count * bytes);
    return Array.from({ length: count }, (_, index) => numberAt(items, index * bytes, type, bytes));
  }

  /** Keeps all items of an array of texts or numbers, and returns their number. */
  async #keptArray(key: string): Promise<number> {
    const type = await this.#uint32();
    const count = await this.#count();
    const items: (string | number)[] = [];
    for (let index = 0; index < count; index += 1) {
      // Short reads come out of the window in memory.
      const item = type === STRING ? await this.#text() : await this.#value(type, MAX_DEPTH);
      if (typeof item !== 'string' && typeof item !== 'number') throw new DamagedGguf('its metadata is damaged');
      items.push(item);
    }
    this.#arrays.set(key, items);
    return count;
  }

  async #uint32(): Promise<number> {
    return (await this.#take(4)).readUInt32LE(0);
  }

  async #count(limit?: number): Promise<number> {
    return countAt(await this.#take(8), 0, limit);
  }

  async #text(): Promise<string> {
    return (await this.#take(await this.#count())).toString('utf8');
  }

  #skip(bytes: number): undefined {
    this.#at += bytes;
    if (this.#at > this.#file.bytes) throw new DamagedGguf('the file is truncated inside its metadata');
    if (this.#at > MAX_HEADER_BYTES) throw new DamagedGguf('its metadata is damaged');
  }

  async #take(bytes: number): Promise<Buffer> {
    if (!this.#has(bytes)) await this.#fill(bytes);
    const from = this.#at - this.#start;
    this.#skip(bytes);
    return this.#window.subarray(from, from + bytes);
  }

  #has(bytes: number): boolean {
    return this.#at + bytes <= this.#start + this.#window.length;
  }

  /** Puts the next `bytes` into memory. */
  async #fill(bytes: number): Promise<void> {
    const { bytes: length } = this.#file;
    const needed = this.#at + bytes;
    if (needed > length)
      throw new DamagedGguf(`the file is truncated: ${needed} bytes are needed, but it has ${length}`);
    this.#window = await this.#file.read(this.#at, Math.max(bytes, Math.min(BLOCK_BYTES, length - this.#at)));
    this.#start = this.#at;
  }
}

function bytesOf(type: number): number {
  const bytes = VALUE_BYTES[type] ?? 0;
  if (bytes === 0) throw new DamagedGguf('its metadata is damaged');
  return bytes;
}

function countAt(bytes: Buffer, at: number, limit = MAX_COUNT): number {
  const value = Number(bytes.readBigUInt64LE(at));
  if (value > limit) throw new DamagedGguf('a count in its header is damaged');
  return value;
}

function numberAt(buffer: Buffer, at: number, type: number, bytes: number): number {
  if (type === FLOAT32) return buffer.readFloatLE(at);
  if (type === FLOAT64) return buffer.readDoubleLE(at);
  return bytes === 8 ? Number(buffer.readBigUInt64LE(at)) : buffer.readUIntLE(at, bytes);
}
