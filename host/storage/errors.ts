import { AanaError, type ErrorKind } from '../core/errors.ts';

/** `unavailable` when trying again may work, `internal` otherwise. */
export function databaseError(message: string, kind: ErrorKind, cause?: unknown): AanaError {
  return new AanaError('DatabaseException', kind, message, { data: { message }, cause });
}

/**
 * The connection was lost between COMMIT and its answer: the transaction may have been committed, or may be within the
 * next moments, or not.
 */
export class UnknownOutcomeError extends AanaError {
  constructor(message: string, cause?: unknown) {
    super('DatabaseException', 'unavailable', message, { data: { message }, cause });
  }
}

/** Whether a write that failed may have been committed all the same. */
export function mayBeCommitted(error: unknown): boolean {
  return error instanceof UnknownOutcomeError;
}

export function notFound(table: string, id: string): AanaError {
  return new AanaError('NotFoundException', 'not-found', `there is no ${table} ${JSON.stringify(id)}`, {
    data: { table, id },
  });
}

/** PostgreSQL cannot keep the character U+0000; it is refused everywhere, so that what works here works there. */
export function checkText(what: string, text: string): string {
  if (text.includes('\0'))
    throw new AanaError(
      'ValidationError',
      'invalid-input',
      `${what} has the character U+0000, which a database cannot keep`,
    );
  return text;
}
