/** In the words of the settings `WEBHOOK__…`; times in seconds. */
export interface RetrySchedule {
  readonly retry_delay: number;
  readonly max_retry_delay: number;
}

/**
 * From so many failed attempts in a row on, what else waits for a target waits longer, up to a minute: it is asked now
 * and then whether it is back.
 */
const FAILURES_BEFORE_PAUSE = 5;
const MOST_PAUSE_MS = 60_000;

/**
 * How long to wait after the attempt `attempt` (from 1 on): twice as long each time, and by chance between half and all
 * of it; at least what the target asked for.
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

/** How long a target is left alone after so many failed attempts in a row. */
export function pauseMs(failures: number, { max_retry_delay: most }: RetrySchedule, retryAfterMs: number): number {
  const pause =
    failures < FAILURES_BEFORE_PAUSE ? 0 : Math.min(MOST_PAUSE_MS, 1000 * 2 ** (failures - FAILURES_BEFORE_PAUSE));
  return Math.min(Math.max(pause, retryAfterMs), most * 1000);
}

/** The header `Retry-After`, seconds or a date, in milliseconds from `now` on; 0 without one that can be read. */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
