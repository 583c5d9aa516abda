import { delay } from './abort.ts';

/** Time, from outside: what waits can be run in simulated time. */
export interface Clock {
  /** Milliseconds from some fixed point. */
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => performance.now(), delay };
