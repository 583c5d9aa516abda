const BASE_MS = 200;
const CEILING_MS = 10_000;
const REFUSED_BASE_MS = 1000;
const REFUSED_CEILING_MS = 60_000;

/**
 * Returns the milliseconds before the restart after `failures` ends in a row. `isRefused`: all were failed starts, and
 * the next one will probably fail, too.
 */
export type RestartDelay = (failures: number, isRefused: boolean) => number;

/**
 * Returns a delay that doubles from 0.2 s to 10 s, or from 1 s to 60 s after refused starts, less a random part of up
 * to half. `failures` is 1 after the first failure.
 */
export function restartDelayMs(failures: number, isRefused = false, random: () => number = Math.random): number {
  const [base, ceiling] = isRefused ? [REFUSED_BASE_MS, REFUSED_CEILING_MS] : [BASE_MS, CEILING_MS];
  return Math.min(ceiling, base * 2 ** Math.max(0, failures - 1)) * (1 - random() / 2);
}
