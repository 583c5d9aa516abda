import type { ErrorRecord } from '../core/errors.ts';

/** Errors after which another attempt may succeed, as in the original, with our own names for the same things. */
const RETRYABLE = new Set([
  'InferenceException',
  'ActorDiedError',
  'OutOfMemoryError',
  'DatabaseException',
  'PipelineRuntimeError',
  'ReplicaLostError',
  'TimeoutError',
]);

const FIRST_DELAY_MS = 1000;
const MOST_DELAY_MS = 60_000;

export function isRetryable({ name, kind }: ErrorRecord): boolean {
  return RETRYABLE.has(name) || kind === 'unavailable';
}

/** How long to wait after the attempt `attempt` (from 1 on): twice as long each time, and by chance between half and all of it, so that tasks that failed together do not come back together. */
export function retryDelayMs(attempt: number, random: () => number): number {
  const delay = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 16));
  return delay / 2 + (random() * delay) / 2;
}
