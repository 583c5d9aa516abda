import type { Clock } from '../core/clock.ts';
import { AanaError } from '../core/errors.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Tries after the first. */
  readonly retries: number;
  readonly onRetry?: (error: AanaError, delayMs: number) => void;
}

export const DEFAULT_RETRIES = 3;
const BASE_MS = 200;
const CEILING_MS = 2000;

/** Which try it is, 1 for the first: a call that was admitted once is not refused for want of room in the queue. */
export type Attempt<T> = (attempt: number) => T;

/** Runs `call`, again when the replica was lost. Between tries it waits by chance, up to 0.2 s, then 0.4 s …, 2 s at most. */
export async function callWithRetry<T>(call: Attempt<Promise<T>>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt);
    } catch (error) {
      await waitOrThrow(error, attempt, options);
    }
  }
}

/** Runs `stream`, again when the replica was lost before the first value. One that gave a value ends with the error. */
export async function* streamWithRetry<T>(stream: Attempt<AsyncIterable<T>>, options: RetryOptions): AsyncGenerator<T, void, undefined> {
  let isDelivered = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const value of stream(attempt)) {
        isDelivered = true;
        yield value;
      }
      return;
    } catch (error) {
      if (isDelivered) throw error;
      await waitOrThrow(error, attempt, options);
    }
  }
}

async function waitOrThrow(error: unknown, attempt: number, { clock, random, signal, retries, onRetry }: RetryOptions): Promise<void> {
  if (!(error instanceof AanaError) || error.name !== 'ReplicaLostError' || attempt > retries) throw error;
  const delayMs = random() * Math.min(CEILING_MS, BASE_MS * 2 ** (attempt - 1));
  onRetry?.(error, delayMs);
  await clock.delay(delayMs, signal);
}
