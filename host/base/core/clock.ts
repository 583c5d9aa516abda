import { delay } from './abort.ts';

/** The source of time. Tests pass a clock of their own, so that waits take simulated time. */
export interface Clock {
  /** Returns milliseconds since some fixed point. */
  now(): number;
  /** Resolves after `ms`, or rejects with the reason of the signal. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Durations, deadlines and leases use it, because the wall clock jumps. While the machine sleeps it may stand still, so
 * that what ran before goes on.
 */
export const systemClock: Clock = { now: () => performance.now(), delay: (ms, signal) => delay(ms, signal) };

/** The same time, for waits that do not keep the process running. */
export const backgroundClock: Clock = { ...systemClock, delay: (ms, signal) => delay(ms, signal, false) };

/** Returns whether `promise` settled within `ms`. */
export async function within(promise: Promise<unknown>, ms: number, clock: Clock = systemClock): Promise<boolean> {
  const waiting = new AbortController();
  const late = clock.delay(ms, waiting.signal).then(
    () => false,
    () => true,
  );
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    waiting.abort();
  }
}
