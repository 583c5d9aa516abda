import { DatabaseError } from 'pg';
import type { AanaError } from '../../core/errors.ts';
import { databaseError } from '../errors.ts';

/** SQLSTATEs of a transaction that lost against another one, or came into a deadlock: it is run again. */
const AGAIN = new Set(['40001', '40P01']);
/** Lost connections, servers that are ending, starting or out of resources. */
const LOST = /^(08|53|57P)/;
/** The server does not take writes (any more): it is a replica, or its operator says so. */
const READ_ONLY = '25006';
/** The server ended a session that left its transaction idle. */
const IDLE_IN_TRANSACTION = '25P03';
/** A statement was ended: it took too long, or an operator ended it. */
const CANCELLED = '57014';
/** A text has a character that the database cannot keep: U+0000, which a client must have sent. */
const NO_SUCH_TEXT = new Set(['22021', '22P05']);
/** The server says itself that it does not know. */
const COMPLETION_UNKNOWN = '40003';

/** What a failure of the client or an answer of the server means. */
export interface Failure {
  readonly error: AanaError;
  /** Whether the connection must not be used again. */
  readonly isLost: boolean;
  /** Whether another server may take the writes. */
  readonly isReadOnly: boolean;
}

/** @param database its address, for the message */
export function failureOf(error: unknown, database: string): Failure {
  const code = sqlState(error);
  // A plan that was prepared before the tables changed is good for nothing, and goes with its connection.
  const isStale = error instanceof DatabaseError && error.message.startsWith('cached plan must not change');
  const isReadOnly = code === READ_ONLY;
  const isLost =
    code === undefined ||
    LOST.test(code) ||
    isReadOnly ||
    code === IDLE_IN_TRANSACTION ||
    code === COMPLETION_UNKNOWN ||
    isStale;
  const kind =
    isLost || AGAIN.has(code) || code === CANCELLED
      ? 'unavailable'
      : NO_SUCH_TEXT.has(code)
        ? 'invalid-input'
        : 'internal';
  return { error: databaseError(`the database ${database}: ${reason(error)}`, kind, error), isLost, isReadOnly };
}

/**
 * Whether the answer to COMMIT leaves open what became of the transaction: there was none, or the server ended while it
 * committed.
 */
export function isUndecided(error: unknown): boolean {
  const code = sqlState(error);
  return code === undefined || /^(08|57P)/.test(code) || code === COMPLETION_UNKNOWN;
}

/** Whether a transaction that failed with this should be run again at once. */
export function runsAgain(error: unknown): boolean {
  return error instanceof Error && AGAIN.has(sqlState(error.cause) ?? '');
}

/** Undefined when the server said nothing: the failure is the connection's. */
function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? (error.code ?? '') : undefined;
}

/** Node gives several refused addresses one error without a message. */
export function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join(', ');
  return error instanceof Error ? error.message : String(error);
}
