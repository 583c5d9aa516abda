const BASE_MS = 200;
const CEILING_MS = 10_000;

/** How long to wait before the restart after `failures` ends in a row (1 is the first): doubles from 0.2 s to 10 s, less up to half of it by chance. */
export function restartDelayMs(failures: number, random: () => number = Math.random): number {
  const full = Math.min(CEILING_MS, BASE_MS * 2 ** Math.max(0, failures - 1));
  return full * (1 - random() / 2);
}
