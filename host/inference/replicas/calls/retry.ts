import type { Clock } from '../../../base/core/clock.ts';
import { flatMapped } from '../../../base/core/async/async-values.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { isLoss, isPlanned } from '../process/replica-lost.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Most retries after the first try; 0 forbids all. A call whose replica the host ended on purpose moves to another
   * replica, which is not counted. After the loss of a replica there is at most one retry.
   */
  readonly retries: number;
  /** Longest wait before the first retry, and longest wait before any retry. */
  readonly delayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
  /** Returns whether a call is retried after an error other than the loss of its replica. */
  readonly isRetried?: ((error: AanaError) => boolean) | undefined;
  /** Returns whether the call can be made again at all. Default: always. */
  readonly canRepeat?: (() => boolean) | undefined;
  readonly onRetry?: (error: AanaError, delayMs: number) => void;
}

export const DEFAULT_RETRIES = 3;
const BASE_MS = 200;
const CEILING_MS = 2000;

/**
 * One try of a call. `number` counts from 1. `wasAdmitted` is whether the previous try had a replica; the call is then
 * not refused when the queue is full.
 */
export type Try<T> = (number: number, wasAdmitted: boolean) => T;

/**
 * Runs `call`, and retries it when its replica was lost. Waits a random time before each retry: up to 0.2 s, 0.4 s and
 * so on, up to 2 s by default.
 */
export async function callWithRetry<T>(call: Try<Promise<T>>, options: RetryOptions): Promise<T> {
  let wasAdmitted = false;
  const failures = new Failures();
  for (let number = 1; ; number += 1) {
    try {
      return await call(number, wasAdmitted);
    } catch (error) {
      failures.add(error);
      await waitOrThrow(error, failures, options);
      wasAdmitted = isLoss(error);
    }
  }
}

/**
 * Runs `stream`, and retries it when its replica was lost before the first value. After the first value a stream ends
 * with the error.
 */
export async function* streamWithRetry<T, R>(
  stream: Try<AsyncIterable<T, R>>,
  options: RetryOptions,
): AsyncGenerator<T, R, undefined> {
  let isDelivered = false;
  let wasAdmitted = false;
  const failures = new Failures();
  for (let number = 1; ; number += 1) {
    try {
      return yield* flatMapped(stream(number, wasAdmitted), (value) => {
        isDelivered = true;
        return [value];
      });
    } catch (error) {
      if (isDelivered) throw error;
      failures.add(error);
      await waitOrThrow(error, failures, options);
      wasAdmitted = isLoss(error);
    }
  }
}

/** Replicas that may be lost with a call before it is no longer repeated, because it may be the cause. */
const MAX_LOSSES = 1;

/**
 * Counts the failures of one call. The planned end of its replica is not counted, because it says nothing about the
 * next try.
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
  const {
    clock,
    random,
    signal,
    retries,
    delayMs = BASE_MS,
    maxDelayMs = CEILING_MS,
    isRetried,
    canRepeat,
    onRetry,
  } = options;
  const isRepeated = error instanceof AanaError && (isLoss(error) || isRetried?.(error) === true);
  if (!isRepeated || canRepeat?.() === false || failures.isTooMany(retries)) throw error;
  const waitMs = random() * Math.min(maxDelayMs, delayMs * 2 ** Math.max(0, failures.count - 1));
  onRetry?.(error, waitMs);
  await clock.delay(waitMs, signal);
}
