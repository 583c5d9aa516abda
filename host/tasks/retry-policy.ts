import type { ErrorRecord } from '../core/errors.ts';

/** Names of errors after which another attempt may succeed: those of the original, and our own for the same things. */
export const RETRYABLE_EXCEPTIONS: readonly string[] = [
  'InferenceException',
  'ActorDiedError',
  'OutOfMemoryError',
  'DatabaseException',
  'PipelineRuntimeError',
  'ReplicaLostError',
  'TimeoutError',
];

const FIRST_DELAY_MS = 1000;
const MOST_DELAY_MS = 60_000;

/** Whether another attempt may end otherwise: by its name, or because something was not available. */
export function isRetryable({ name, kind }: ErrorRecord, names: readonly string[]): boolean {
  return names.includes(name) || kind === 'unavailable';
}

/**
 * How long to wait after the attempt `attempt` (from 1 on): twice as long each time, and by chance between half and all
 * of it, so that tasks that failed together do not come back together.
 */
export function retryDelayMs(attempt: number, random: () => number): number {
  const delay = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 16));
  return delay / 2 + (random() * delay) / 2;
}
