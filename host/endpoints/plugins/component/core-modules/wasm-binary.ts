const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the WebAssembly binary format. */
export class Reader {
  readonly #bytes: Uint8Array;
  offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.offset = offset;
  }

  get atEnd(): boolean {
    return this.offset >= this.#bytes.length;
  }

  /** The number of bytes that are not read yet. */
  get left(): number {
    return this.#bytes.length - this.offset;
  }

  byte(): number {
    const byte = this.#bytes[this.offset++];
    if (byte === undefined) throw new RangeError('it ends in the middle of a section');
    return byte;
  }

  /** Reads an unsigned LEB128 number of at most 32 bits. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('it has a malformed number');
  }

  /** Skips bytes. */
  skip(count: number): void {
    this.offset += count;
    if (this.offset > this.#bytes.length) throw new RangeError('it ends in the middle of a section');
  }

  /** Skips a LEB128 number of any size and sign. */
  skipNumber(): void {
    while (this.byte() >= 0x80);
  }

  /** Reads a name. Throws a RangeError when it is not UTF-8. */
  name(): string {
    const bytes = this.part();
    try {
      return utf8.decode(bytes);
    } catch {
      throw new RangeError('it has a name that is not UTF-8');
    }
  }

  /** Reads a length and as many bytes, without a copy. */
  part(): Uint8Array {
    return this.bytes(this.unsigned());
  }

  /** Reads bytes, without a copy. */
  bytes(count: number): Uint8Array {
    const start = this.offset;
    this.skip(count);
    return this.#bytes.subarray(start, this.offset);
  }

  /** Skips a name. */
  skipName(): void {
    this.skip(this.unsigned());
  }
}

/** Returns the LEB128 bytes of a number of at most 32 bits. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** Returns the LEB128 bytes of a signed number of at most 32 bits. */
export function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ;) {
    const low = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Collects the bytes of a module. */
export class Writer {
  #bytes = new Uint8Array(1 << 12);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(...bytes: readonly number[]): void {
    this.#makeRoom(bytes.length);
    for (const byte of bytes) this.#bytes[this.#length++] = byte;
  }

  /** Adds a number of at most 32 bits. */
  unsigned(value: number): void {
    this.push(...unsigned(value));
  }

  copy(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The bytes so far. Later writes may change them. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #makeRoom(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + count));
    larger.set(this.written());
    this.#bytes = larger;
  }
}
