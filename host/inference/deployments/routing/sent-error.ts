import { AanaError, toErrorRecord } from '../../../base/core/errors.ts';
import type { SentError } from './table.ts';

/** Returns an error as it is sent to another host: without its stack, which differs each time. */
export function sentError(error: unknown): SentError {
  const { stack: _, ...record } = toErrorRecord(error);
  return record;
}

/** Returns the error that another host has sent. */
export function receivedError({ name, kind, message, ...options }: SentError): AanaError {
  return new AanaError(name, kind, message, options);
}
