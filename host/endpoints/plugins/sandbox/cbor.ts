import { takeMemory } from './large-memory.ts';

/** A value as it crosses between host and sandbox: what a component value is in CBOR. */
export type CborValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | Base64Bytes
  | readonly CborValue[]
  | { readonly [name: string]: CborValue };

/** Bytes that cross as a text: their base64, with padding. They must not change before they are written. */
export class Base64Bytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Bytes that break the rules of CBOR or of the frames. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

const maxDepth = 64;
/** Values in one frame, each of which takes memory beside its bytes. The sandbox refuses more with the same number. */
export const maxValues = 1024 * 1024;
/** Bytes that become base64 at a time: a multiple of 3, whose text V8 takes from its heap of short-lived values. */
const base64Step = 24 * 1024;
const maxWhole = Number.MAX_SAFE_INTEGER;
const emptyBuffer = Buffer.alloc(0);

/** Appends CBOR to a buffer that grows. Writes nothing that {@link readCbor} refuses. */
export class CborWriter {
  #buffer: Buffer = emptyBuffer;
  #length = 0;
  #values = 0;

  /** `head` is the number of bytes that are left free at the beginning. */
  constructor(head = 0) {
    this.#buffer = Buffer.allocUnsafe(Math.max(256, head));
    this.#length = head;
  }

  /** The bytes so far. They change when more is written. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  write(value: CborValue | undefined, depth = 0): void {
    if (depth > maxDepth) throw new MalformedError('a value is nested too deep');
    if (++this.#values > maxValues) throw new MalformedError(`it has more than ${maxValues} values`);
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'number':
        return this.#number(value);
      case 'bigint':
        return value < 0n ? this.#head(1, -1n - value) : this.#head(0, value);
      case 'boolean':
        return this.#byte(value ? 0xf5 : 0xf4);
      case 'undefined':
        return this.#byte(0xf6);
    }
    if (value === null) return this.#byte(0xf6);
    if (value instanceof Uint8Array) {
      this.#head(2, value.length);
      this.#room(value.length);
      this.#buffer.set(value, this.#length);
      this.#length += value.length;
    } else if (value instanceof Base64Bytes) {
      this.#base64(value.bytes);
    } else if (isArray(value)) {
      this.#head(4, value.length);
      for (const item of value) this.write(item, depth + 1);
    } else {
      const entries = Object.entries(value);
      this.#head(5, entries.length);
      for (const [name, member] of entries) {
        this.write(name, depth + 1);
        this.write(member, depth + 1);
      }
    }
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = takeMemory(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#buffer[this.#length++] = byte;
  }

  #head(major: number, count: number | bigint): void {
    this.#room(9);
    const first = major << 5;
    if (count < 24) this.#buffer[this.#length++] = first | Number(count);
    else if (count < 0x100) {
      this.#buffer[this.#length++] = first | 24;
      this.#buffer[this.#length++] = Number(count);
    } else if (count < 0x1_0000) {
      this.#buffer[this.#length++] = first | 25;
      this.#length = this.#buffer.writeUInt16BE(Number(count), this.#length);
    } else if (count < 0x1_0000_0000) {
      this.#buffer[this.#length++] = first | 26;
      this.#length = this.#buffer.writeUInt32BE(Number(count), this.#length);
    } else {
      if (count > 0xffff_ffff_ffff_ffffn) throw new MalformedError('a number has more than 64 bits');
      this.#buffer[this.#length++] = first | 27;
      this.#length = this.#buffer.writeBigUInt64BE(BigInt(count), this.#length);
    }
  }

  #number(value: number): void {
    if (Number.isSafeInteger(value) && !Object.is(value, -0))
      return value < 0 ? this.#head(1, -1 - value) : this.#head(0, value);
    this.#room(9);
    this.#buffer[this.#length++] = 0xfb;
    this.#length = this.#buffer.writeDoubleBE(value, this.#length);
  }

  /** A surrogate without its partner becomes U+FFFD. */
  #text(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#head(3, bytes);
    this.#room(bytes);
    this.#length += this.#buffer.write(text, this.#length, bytes, 'utf8');
  }

  /** One text of a whole picture would take several times as long, most of it for its memory. */
  #base64({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    const length = 4 * Math.ceil(byteLength / 3);
    this.#head(3, length);
    this.#room(length);
    for (let at = 0; at < byteLength; at += base64Step) {
      const text = bytes.toString('base64', at, Math.min(byteLength, at + base64Step));
      this.#length += this.#buffer.write(text, this.#length, 'latin1');
    }
  }
}

const isArray: (value: CborValue) => value is readonly CborValue[] = Array.isArray;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads one CBOR value, which must fill `bytes`. Integers beyond 2^53 are bigints, bytes are copied. Throws
 * `MalformedError` for all that {@link CborWriter} does not write.
 */
export function readCbor(bytes: Buffer): CborValue {
  const reader = new CborReader(bytes);
  const value = reader.read(0);
  reader.end();
  return value;
}

class CborReader {
  readonly #bytes: Buffer;
  #at = 0;
  #values = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(depth: number): CborValue {
    if (depth > maxDepth) throw new MalformedError('a value is nested too deep');
    if (++this.#values > maxValues) throw new MalformedError(`it has more than ${maxValues} values`);
    const first = this.#byte();
    switch (first >> 5) {
      case 0:
        return this.#number(first & 31);
      case 1: {
        const number = this.#number(first & 31);
        return typeof number === 'bigint' ? -1n - number : -1 - number;
      }
      case 2:
        return Buffer.from(this.#take(this.#count(first & 31)));
      case 3:
        return this.#text(this.#count(first & 31));
      case 4: {
        const count = this.#count(first & 31);
        const items: CborValue[] = [];
        for (let i = 0; i < count; i++) items.push(this.read(depth + 1));
        return items;
      }
      case 5:
        return this.#record(this.#count(first & 31), depth);
      default:
        return this.#simple(first);
    }
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new MalformedError('bytes follow the value');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new MalformedError('the value is cut');
    return byte;
  }

  #take(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new MalformedError('the value is cut');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #number(info: number): number | bigint {
    if (info < 24) return info;
    if (info > 27) throw new MalformedError('a value has no length');
    const size = 1 << (info - 24);
    const bytes = this.#take(size);
    if (size === 8) {
      const number = bytes.readBigUInt64BE();
      if (number < 0x1_0000_0000n) throw new MalformedError('a number is longer than necessary');
      return number <= BigInt(maxWhole) ? Number(number) : number;
    }
    const number = bytes.readUIntBE(0, size);
    if (number < (size === 1 ? 24 : 2 ** (4 * size))) throw new MalformedError('a number is longer than necessary');
    return number;
  }

  /** A count of bytes or elements that the rest is long enough for. */
  #count(info: number): number {
    const count = this.#number(info);
    if (typeof count === 'bigint' || count > this.#bytes.length - this.#at)
      throw new MalformedError('the value is cut');
    return count;
  }

  #text(count: number): string {
    const bytes = this.#take(count);
    const text = bytes.toString('utf8');
    // Almost no text has this character, and bytes that are no UTF-8 always get it.
    if (!text.includes('\ufffd')) return text;
    try {
      return strictUtf8.decode(bytes);
    } catch {
      throw new MalformedError('a text is not UTF-8');
    }
  }

  #record(count: number, depth: number): { readonly [name: string]: CborValue } {
    const record: Record<string, CborValue> = {};
    for (let i = 0; i < count; i++) {
      const name = this.read(depth + 1);
      // WIT's names, so that none changes the object's prototype.
      if (typeof name !== 'string' || !/^[a-zA-Z][a-zA-Z0-9-]*$/.test(name))
        throw new MalformedError('a field has no valid name');
      if (Object.hasOwn(record, name)) throw new MalformedError('a field is given twice');
      record[name] = this.read(depth + 1);
    }
    return record;
  }

  #simple(first: number): CborValue {
    switch (first) {
      case 0xf4:
        return false;
      case 0xf5:
        return true;
      case 0xf6:
        return null;
      case 0xfb:
        return this.#take(8).readDoubleBE();
      default:
        throw new MalformedError('a value has an unknown kind');
    }
  }
}
