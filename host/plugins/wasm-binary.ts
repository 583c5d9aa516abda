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

  byte(): number {
    const byte = this.#bytes[this.offset++];
    if (byte === undefined) throw new RangeError('it ends in the middle of a section');
    return byte;
  }

  /** An unsigned LEB128 number of at most 32 bits. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('it has a malformed number');
  }

  /** Passes over bytes. */
  skip(count: number): void {
    this.offset += count;
    if (this.offset > this.#bytes.length) throw new RangeError('it ends in the middle of a section');
  }

  /** Passes over a LEB128 number of any size and sign. */
  skipNumber(): void {
    while (this.byte() >= 0x80);
  }

  /** Passes over a name. */
  skipName(): void {
    this.skip(this.unsigned());
  }
}

/** The LEB128 bytes of a number of at most 32 bits. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
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
