import { delay } from './abort.ts';

/** Time, from outside: what waits can be run in simulated time. */
export interface Clock {
  /** Milliseconds from some fixed point. */
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => performance.now(), delay };

/** Whether `promise` settled within `ms`. */
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
