/**
 * Milliseconds of computing that work in processes of the host counts as. They are added to what a guest computes
 * itself, under the same limit (`cpu_ms`). Estimates, because the time that a process took says as much about the
 * machine as about the work.
 */
export const hostWork = {
  /** A process is started, and a file is looked at. */
  process: 20,
  /** So many seconds of audio are decoded. */
  audio: (seconds: number): number => 20 + seconds / 2,
  /** So many pixels are decoded and scaled. */
  pixels: (count: number): number => 20 + count / 100_000,
} as const;
