import type { ImageInfo } from '../../ports.ts';

/**
 * Milliseconds of computing that the host charges a guest for work in child processes, in other threads and after the
 * first wait of a call. They count against the same limit as the guest's own computing (`cpu_ms`). The numbers are
 * estimates, because the measured time of a process depends on the machine as much as on the work.
 */
export const computingCost = {
  /** Starting a process and probing a file. */
  process: 20,
  /** Reading this many bytes of a file for the guest. */
  piece: (bytes: number): number => 0.1 + bytes / 600_000,
  /** Decoding this many seconds of audio. */
  audio: (seconds: number): number => 20 + seconds / 2,
  /** Returning a frame of a video. */
  frame: 10,
  /** Decoding this many pixels of a video for a frame. */
  decoded: (pixels: number): number => pixels / 20_000_000,
  /** Decoding and scaling an image, or a frame, for which no process is started. `result` are pixels that return. */
  conversion: ({ width, height, format }: ImageInfo, result = 0): number =>
    (format === 'rawvideo' ? 1 : 20) + (width * height + result) / 100_000,
  /** Finding the words in so many characters of texts. */
  words: (chars: number): number => chars / 8_000,
  /** Checking and storing vectors of so many numbers together. */
  vectors: (numbers: number): number => numbers / 100_000,
  /**
   * Searching the nearest among vectors of so many numbers together. PostgreSQL's index compares only some of them, but
   * a plugin needs the same limit on every database.
   */
  search: (numbers: number): number => numbers / 2_000_000,
} as const;
