import { DatabaseError } from 'pg';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { databaseError } from '../errors.ts';

/** SQLSTATEs of a transaction that lost against another one or ran into a deadlock. It is run again. */
const AGAIN = new Set(['40001', '40P01']);
/** Lost connections, and servers that are ending, starting or out of resources. */
const LOST = /^(08|53|57P)/;
/** The server is read-only: it is a replica, or an operator has set that. */
const READ_ONLY = '25006';
/** The server ended a session that left its transaction idle. */
const IDLE_IN_TRANSACTION = '25P03';
/** A statement after one that has failed in the same transaction. */
const IN_FAILED_TRANSACTION = '25P02';
/** A statement that took too long, or that an operator ended. */
const CANCELLED = '57014';
/** A text with U+0000, which the database cannot store. A client must have sent it. */
const NO_SUCH_TEXT = new Set(['22021', '22P05']);
/** The server does not know whether the transaction was committed. */
const COMPLETION_UNKNOWN = '40003';

/** The meaning of a failure of the client or of an answer of the server. */
export interface Failure {
  readonly error: AanaError;
  /** Whether the connection must not be used again. */
  readonly isLost: boolean;
  /** Whether another server may accept the writes. */
  readonly isReadOnly: boolean;
  /** Whether an earlier statement of the transaction had failed. */
  readonly isConsequence: boolean;
}

/** @param database its address, for the message */
export function failureOf(error: unknown, database: string): Failure {
  const code = sqlState(error);
  const isReadOnly = code === READ_ONLY;
  const isLost =
    code === undefined ||
    LOST.test(code) ||
    isReadOnly ||
    code === IDLE_IN_TRANSACTION ||
    code === COMPLETION_UNKNOWN ||
    isStale(error);
  const mayPass = isLost || AGAIN.has(code) || code === CANCELLED;
  const message = `the database ${database}: ${reason(error)}`;
  return {
    error:
      code !== undefined && NO_SUCH_TEXT.has(code)
        ? fail('ValidationError', message, { cause: error })
        : databaseError(mayPass ? 'DatabaseException' : 'DatabaseFault', message, error),
    isLost,
    isReadOnly,
    isConsequence: code === IN_FAILED_TRANSACTION,
  };
}

/** Returns whether the outcome of a COMMIT is unknown: there was no answer, or the server ended during the commit. */
export function isUndecided(error: unknown): boolean {
  const code = sqlState(error);
  return code === undefined || /^(08|57P)/.test(code) || code === COMPLETION_UNKNOWN;
}

/** Returns whether work that failed with this error should be run again at once. */
export function runsAgain(error: unknown): boolean {
  return error instanceof Error && (AGAIN.has(sqlState(error.cause) ?? '') || isStale(error.cause));
}

/**
 * Returns whether the plan of a statement was prepared before a migration changed its columns. The connection cannot
 * run the statement again, so it is closed.
 */
function isStale(error: unknown): boolean {
  return error instanceof DatabaseError && error.message.startsWith('cached plan must not change');
}

/** Returns undefined for failures of the connection, because the server sent no code. */
function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? (error.code ?? '') : undefined;
}

/** Returns the message of an error. Node reports several refused addresses as one error without a message. */
export function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join(', ');
  return error instanceof Error ? error.message : String(error);
}
