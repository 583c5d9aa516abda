import type { AanaError } from '../../base/core/errors.ts';
import { isAanaError } from './error-of.ts';

/** Returns the `AanaError` with which the promise rejects. Throws if it resolves or rejects with another error. */
export async function failure(promise: Promise<unknown>): Promise<AanaError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (isAanaError(error)) return error;
  throw error ?? new Error('it did not reject');
}

/**
 * Returns the error of class `type` with which the promise rejects. Throws if it resolves or rejects with another
 * error.
 */
export async function failureOf<E extends Error>(
  promise: Promise<unknown>,
  type: new (...args: never[]) => E,
): Promise<E> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof type) return error;
  throw error ?? new Error('it did not reject');
}
