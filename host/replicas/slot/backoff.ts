const BASE_MS = 200;
const CEILING_MS = 10_000;
const REFUSED_BASE_MS = 1000;
const REFUSED_CEILING_MS = 60_000;

/**
 * Milliseconds to wait before the restart after `failures` ends in a row. `isRefused`: they were starts, and it looks
 * as if the next one would fail too.
 */
export type RestartDelay = (failures: number, isRefused: boolean) => number;

/**
 * Doubles from 0.2 s to 10 s, after refused starts from 1 s to 60 s, less up to half of it by chance. `failures` is 1
 * for the first.
 */
export function restartDelayMs(failures: number, isRefused = false, random: () => number = Math.random): number {
  const [base, ceiling] = isRefused ? [REFUSED_BASE_MS, REFUSED_CEILING_MS] : [BASE_MS, CEILING_MS];
  return Math.min(ceiling, base * 2 ** Math.max(0, failures - 1)) * (1 - random() / 2);
}
