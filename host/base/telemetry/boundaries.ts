/**
 * Seconds from a millisecond to ten minutes, because the same instrument measures no-ops and transcripts of lectures.
 */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150, 300, 600];
/** Bytes from a KiB to 16 GiB. */
const BYTES = Array.from({ length: 13 }, (_, power) => 1024 * 4 ** power);
/** Counts, such as the attempts of a task or the tokens of a step. */
const COUNTS = [1, 2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/** Returns the inclusive upper bounds of the buckets of a histogram that states none, by its unit. */
export function boundariesFor(unit: string | undefined): readonly number[] {
  if (unit === 's') return SECONDS;
  return unit === 'By' ? BYTES : COUNTS;
}
