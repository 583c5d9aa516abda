/** Named like the settings `WEBHOOK__…`; times in seconds. */
export interface RetrySchedule {
  readonly retry_delay: number;
  readonly max_retry_delay: number;
}

/** After so many failed attempts in a row, all deliveries of a target pause, for up to a minute between attempts. */
const FAILURES_BEFORE_PAUSE = 5;
const MOST_PAUSE_MS = 60_000;

/**
 * Returns the milliseconds to wait after the attempt `attempt`, counted from 1. The wait doubles with each attempt, and
 * is a random time between half and all of that. It is at least the time that the target asked for.
 */
export function retryDelayMs(
  attempt: number,
  { retry_delay: first, max_retry_delay: most }: RetrySchedule,
  retryAfterMs: number,
  random: () => number,
): number {
  const delay = Math.min(most, first * 2 ** Math.min(attempt - 1, 32)) * 1000;
  return Math.max(delay / 2 + (random() * delay) / 2, Math.min(retryAfterMs, most * 1000));
}

/** Returns the milliseconds for which a target gets no delivery after so many failed attempts in a row. */
export function pauseMs(failures: number, { max_retry_delay: most }: RetrySchedule, retryAfterMs: number): number {
  const pause =
    failures < FAILURES_BEFORE_PAUSE ? 0 : Math.min(MOST_PAUSE_MS, 1000 * 2 ** (failures - FAILURES_BEFORE_PAUSE));
  return Math.min(Math.max(pause, retryAfterMs), most * 1000);
}

/**
 * Returns the time in the header `Retry-After`, seconds or a date, in milliseconds from `now`; 0 without a valid
 * header.
 */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
