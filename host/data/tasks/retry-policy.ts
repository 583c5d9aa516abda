import { definitionOf, ERROR_NAMES } from '../../base/core/error-table.ts';
import { type ErrorRecord, faultOf, fromErrorRecord } from '../../base/core/errors.ts';

/** Names of errors of the Python SDK after which another attempt may succeed. */
const OF_PYTHON = ['ActorDiedError', 'OutOfMemoryError', 'PipelineRuntimeError'];

/** Names of errors after which another attempt may succeed, beside those of kind `unavailable`. */
export const RETRYABLE_EXCEPTIONS: readonly string[] = [
  ...ERROR_NAMES.filter((name) => definitionOf(name).retry),
  ...OF_PYTHON,
];

const FIRST_DELAY_MS = 1000;
/** The longest delay before another attempt. */
export const MOST_DELAY_MS = 60_000;

/** Returns whether another attempt may succeed: the error has one of the names, or something was unavailable. */
export function isRetryable({ name, kind }: ErrorRecord, names: readonly string[]): boolean {
  return names.includes(name) || kind === 'unavailable';
}

/**
 * Returns whether nothing could work on the attempt: something that it needs is away or full. That says nothing about
 * the task. A deployment may be missing on one host only.
 */
export function isUnserved(record: ErrorRecord): boolean {
  return record.name === 'DeploymentNotFound' || faultOf(fromErrorRecord(record)) === 'overload';
}

/**
 * Returns whether a task waits without using up an attempt: it could not be served, or its user has no tokens left now.
 */
export function isPutOff(record: ErrorRecord): boolean {
  return isUnserved(record) || record.name === 'TooManyRequestsException';
}

/**
 * Returns the milliseconds until a task may be claimed again that could not be served and was put off for `unservedMs`
 * before. The waits grow like those of {@link retryDelayMs}.
 */
export function unservedDelayMs(unservedMs: number, random: () => number): number {
  const delay = Math.min(MOST_DELAY_MS, Math.max(FIRST_DELAY_MS, unservedMs));
  return delay / 2 + (random() * delay) / 2;
}

/**
 * Returns the milliseconds to wait after the attempt `attempt`, counted from 1. The wait doubles with each attempt. It
 * is a random time between half and all of that, so that tasks that failed together are not repeated together.
 */
export function retryDelayMs(attempt: number, random: () => number): number {
  const delay = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 16));
  return delay / 2 + (random() * delay) / 2;
}
