import { halfOfFloat } from './formats/half.ts';

/** Number of weights in a block. Each block has its own scale. */
export const BLOCK_WEIGHTS = 32;

export interface BlockFormat {
  /** ggml's number of the type. */
  readonly type: number;
  readonly fileType: number;
  readonly blockBytes: number;
  /** Encodes the 32 values of `values` from index `from` on into `out` at offset `to`. */
  encode(values: Float32Array, from: number, out: Buffer, to: number): void;
}

const round = Math.fround; // C's float arithmetic rounds after every step

/** 32 signed bytes and a 16-bit scale. */
export const q8_0: BlockFormat = {
  type: 8,
  fileType: 2007,
  blockBytes: 34,
  encode(values, from, out, to) {
    let largest = 0;
    for (let index = 0; index < BLOCK_WEIGHTS; index += 1) {
      const size = Math.abs(values[from + index] ?? 0);
      if (size > largest) largest = size;
    }
    const scale = round(largest / 127);
    const inverse = scale === 0 ? 0 : round(1 / scale);
    out.writeUInt16LE(halfOfFloat(scale), to);
    for (let index = 0; index < BLOCK_WEIGHTS; index += 1) {
      const value = round((values[from + index] ?? 0) * inverse);
      // Rounds halves away from zero. `writeInt8` would take twice as long.
      out[to + 2 + index] = Math.trunc(value < 0 ? value - 0.5 : value + 0.5);
    }
  },
};

/**
 * 32 five-bit steps above a minimum. Layout: 16-bit step, 16-bit minimum, the fifth bits, then the other four bits in
 * pairs.
 */
export const q5_1: BlockFormat = {
  type: 7,
  fileType: 1009, // as in the published files; the current tool writes 2009 for the same data
  blockBytes: 24,
  encode(values, from, out, to) {
    let low = Infinity;
    let high = -Infinity;
    for (let index = 0; index < BLOCK_WEIGHTS; index += 1) {
      const value = values[from + index] ?? 0;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    const step = round(round(high - low) / 31);
    const inverse = step === 0 ? 0 : round(1 / step);
    out.writeUInt16LE(halfOfFloat(step), to);
    out.writeUInt16LE(halfOfFloat(low), to + 2);
    const code = (index: number): number =>
      Math.trunc(round(round(round((values[from + index] ?? 0) - low) * inverse) + 0.5)) & 0xff;
    const half = BLOCK_WEIGHTS / 2;
    let fifthBits = 0;
    for (let index = 0; index < half; index += 1) {
      const first = code(index);
      const second = code(index + half);
      out[to + 8 + index] = (first & 15) | ((second & 15) << 4);
      fifthBits |= ((first & 16) >> 4) << index;
      fifthBits |= ((second & 16) >> 4) << (index + half);
    }
    out.writeUInt32LE(fifthBits >>> 0, to + 4);
  },
};
