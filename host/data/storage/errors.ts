import { AanaError, fail, kindOf } from '../../base/core/errors.ts';

/** `DatabaseException` when another try may succeed, else `DatabaseFault`. */
export type DatabaseErrorName = 'DatabaseException' | 'DatabaseFault';

/** Returns an error of the database. */
export function databaseError(name: DatabaseErrorName, message: string, cause?: unknown): AanaError {
  return fail(name, message, { data: { message }, cause });
}

/**
 * The connection was lost between COMMIT and its answer. The transaction may be committed, may still become committed,
 * or not.
 */
export class UnknownOutcomeError extends AanaError {
  constructor(message: string, cause?: unknown) {
    super('DatabaseException', kindOf('DatabaseException'), message, { data: { message }, cause });
  }
}

/** Returns whether a failed write may be committed nevertheless. */
export function mayBeCommitted(error: unknown): boolean {
  return error instanceof UnknownOutcomeError;
}

export function notFound(table: string, id: string): AanaError {
  return fail('NotFoundException', `there is no ${table} ${JSON.stringify(id)}`, {
    data: { table, id },
  });
}

/**
 * Returns a text without U+0000, and throws for one with it. PostgreSQL cannot store this character, so all databases
 * refuse it.
 */
export function checkText(what: string, text: string): string {
  if (text.includes('\0'))
    throw fail('ValidationError', `${what} has the character U+0000, which databases cannot store`);
  return text;
}

/** The same as {@link checkText}, and throws also for half of a surrogate pair, which UTF-8 cannot have. */
export function checkUnicode(what: string, text: string): string {
  if (/\p{Surrogate}/u.test(text))
    throw fail('ValidationError', `${what} has half of a surrogate pair, which is no character`);
  return checkText(what, text);
}

/** PostgreSQL's code of a statement about a table that is not there. */
const NO_SUCH_TABLE = '42P01';

/** Returns whether a statement failed because PostgreSQL has no such table. */
export function lacksTable(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === NO_SUCH_TABLE;
}
