import type { Clock } from '../../core/clock.ts';
import { AanaError } from '../../core/errors.ts';
import { isLoss, isPlanned } from '../process/replica-lost.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Tries after the first. A call whose replica the host ended by plan is moved to another one, which is no try of its
   * own; with 0 nothing is repeated. The loss of a replica is one reason for one repeat only.
   */
  readonly retries: number;
  /** The longest first wait, and the longest wait of all. */
  readonly delayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
  /** Errors that are tried again besides the loss of the replica. */
  readonly isRetried?: ((error: AanaError) => boolean) | undefined;
  readonly onRetry?: (error: AanaError, delayMs: number) => void;
}

export const DEFAULT_RETRIES = 3;
const BASE_MS = 200;
const CEILING_MS = 2000;

/**
 * Which try it is, 1 for the first, and whether the one before had a replica: what was admitted once is not refused for
 * want of room.
 */
export type Attempt<T> = (attempt: number, wasAdmitted: boolean) => T;

/**
 * Runs `call`, once more when the replica was lost. Between tries it waits by chance, up to 0.2 s, then 0.4 s …, 2 s at
 * most, unless the options say otherwise.
 */
export async function callWithRetry<T>(call: Attempt<Promise<T>>, options: RetryOptions): Promise<T> {
  let wasAdmitted = false;
  const failures = new Failures();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt, wasAdmitted);
    } catch (error) {
      failures.add(error);
      await waitOrThrow(error, failures, options);
      wasAdmitted = isLoss(error);
    }
  }
}

/**
 * Runs `stream`, once more when the replica was lost before the first value. One that gave a value ends with the error.
 */
export async function* streamWithRetry<T>(
  stream: Attempt<AsyncIterable<T>>,
  options: RetryOptions,
): AsyncGenerator<T, void, undefined> {
  let isDelivered = false;
  let wasAdmitted = false;
  const failures = new Failures();
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const value of stream(attempt, wasAdmitted)) {
        isDelivered = true;
        yield value;
      }
      return;
    } catch (error) {
      if (isDelivered) throw error;
      failures.add(error);
      await waitOrThrow(error, failures, options);
      wasAdmitted = isLoss(error);
    }
  }
}

/** Replicas that may be lost with a call before it is repeated no more: it may be what ends them. */
const MAX_LOSSES = 1;

/**
 * What went wrong with one call so far. That its replica was ended by plan says nothing about the next try, and is not
 * counted.
 */
class Failures {
  #count = 0;
  #losses = 0;

  add(error: unknown): void {
    if (error instanceof AanaError && isPlanned(error)) return;
    this.#count += 1;
    if (isLoss(error)) this.#losses += 1;
  }

  get count(): number {
    return this.#count;
  }

  isTooMany(retries: number): boolean {
    return retries === 0 || this.#count > retries || this.#losses > MAX_LOSSES;
  }
}

async function waitOrThrow(error: unknown, failures: Failures, options: RetryOptions): Promise<void> {
  const { clock, random, signal, retries, delayMs = BASE_MS, maxDelayMs = CEILING_MS, isRetried, onRetry } = options;
  const isRepeated = error instanceof AanaError && (isLoss(error) || isRetried?.(error) === true);
  if (!isRepeated || failures.isTooMany(retries)) throw error;
  const waitMs = random() * Math.min(maxDelayMs, delayMs * 2 ** Math.max(0, failures.count - 1));
  onRetry?.(error, waitMs);
  await clock.delay(waitMs, signal);
}
