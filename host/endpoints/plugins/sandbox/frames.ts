import { CborWriter, type CborValue, MalformedError } from './cbor.ts';

/**
 * Kinds of frames: `u32 length of the rest | u32 invocation | u8 kind | payload`, little endian.
 * `native/src/sandbox/process/frames.h` describes the payloads.
 */
export const frameKind = {
  run: 1,
  answer: 2,
  refuse: 3,
  cancel: 4,
  credit: 5,
  ending: 6,
  returned: 16,
  failed: 17,
  call: 18,
  tell: 19,
  output: 20,
  drop: 21,
  printed: 22,
  ready: 23,
} as const;

export interface Frame {
  readonly invocation: number;
  readonly kind: number;
  readonly payload: Buffer;
}

export const headBytes = 9;
/** Chunks below this are joined as they come. */
const smallBytes = 64 * 1024;
/** Maximum bytes of a frame after its length. */
export const maxFrameBytes = 96 * 1024 * 1024;

/** Returns a frame. Its payload is the numbers, 32 bits each, and then the value, if there is one. */
export function frameOf(
  invocation: number,
  kind: number,
  numbers: readonly number[],
  ...values: readonly (CborValue | undefined)[]
): Buffer {
  const start = Buffer.allocUnsafe(4 * numbers.length);
  numbers.forEach((number, n) => start.writeUInt32LE(number, 4 * n));
  return frameWith(invocation, kind, start, ...values);
}

/** Returns a frame. Its payload is `start`, and then the value, if there is one. Throws `MalformedError`. */
export function frameWith(
  invocation: number,
  kind: number,
  start: Uint8Array,
  ...values: readonly (CborValue | undefined)[]
): Buffer {
  const writer = new CborWriter(headBytes + start.length);
  for (const value of values) writer.write(value);
  const { bytes } = writer;
  if (bytes.length - 4 > maxFrameBytes) throw new MalformedError(`it has more than ${maxFrameBytes} bytes`);
  bytes.writeUInt32LE(bytes.length - 4, 0);
  bytes.writeUInt32LE(invocation, 4);
  bytes[8] = kind;
  bytes.set(start, headBytes);
  return bytes;
}

/** Cuts what comes from a socket into frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** Bytes of the beginning of a frame that is not complete. */
  get incompleteBytes(): number {
    return this.#bytes;
  }

  /** Returns the frames that are complete. Throws `MalformedError` for a length that no frame has. */
  take(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#joinSmall();
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame; frame = this.#next()) frames.push(frame);
    // The rest of a large frame must not keep all of it in memory.
    const [rest] = this.#chunks;
    if (rest && rest.buffer.byteLength - rest.length > smallBytes) this.#chunks[0] = Buffer.from(rest);
    return frames;
  }

  #next(): Frame | undefined {
    if (this.#bytes < 4) return undefined;
    if (this.#chunks[0]!.length < 4) this.#join();
    const length = this.#chunks[0]!.readUInt32LE(0);
    if (length < headBytes - 4 || length > maxFrameBytes) throw new MalformedError('a frame has a wrong length');
    if (this.#bytes < 4 + length) return undefined;
    if (this.#chunks[0]!.length < 4 + length) this.#join();
    const bytes = this.#chunks[0]!;
    this.#chunks[0] = bytes.subarray(4 + length);
    this.#bytes -= 4 + length;
    return {
      invocation: bytes.readUInt32LE(4),
      kind: bytes[8]!,
      payload: bytes.subarray(headBytes, 4 + length),
    };
  }

  /** Keeps the number of chunks low, however small they come. Each byte is copied a few times at most. */
  #joinSmall(): void {
    for (;;) {
      const [first, second] = this.#chunks.slice(-2);
      if (!first || !second || second.length >= smallBytes || first.length > second.length) return;
      this.#chunks.splice(-2, 2, Buffer.concat([first, second]));
    }
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}
