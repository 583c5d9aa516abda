/** Bytes and weights of a block. */
export type BlockSize = readonly [bytes: number, weights: number];

/** Sizes of the blocks of types that Whisper files use, by ggml's number of the type. */
export const BLOCK_SIZES: Readonly<Record<number, BlockSize>> = {
  0: [4, 1],
  1: [2, 1],
  2: [18, 32],
  3: [20, 32],
  6: [22, 32],
  7: [24, 32],
  8: [34, 32],
};
