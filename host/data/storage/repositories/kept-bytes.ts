import type { Connection, Statement } from '../database.ts';

/** The statements about a table of changes. The sum of a user's changes is the number of bytes that the user keeps. */
export type KeptBytesStatements = Readonly<Record<'sum' | 'take' | 'add', Statement>>;

/** The bytes that a user keeps. */
export interface KeptBytes {
  readonly bytes: number;
  /** The number of added rows. */
  readonly rows: number;
}

/** Most rows of a user that are added up each time. More rows are replaced with one. */
const MOST_ROWS = 64;

/** The first key of the advisory locks of {@link inTurn}; the second one is of the user. */
const TURN_LOCK = 416_161_618;

/**
 * Waits for the end of other transactions that add bytes for this user, so that a sum sees what they have added. Call
 * it after the last change of rows that others change, and for one user in a transaction only; otherwise two
 * transactions could wait for each other. In SQLite all writers follow each other.
 */
export async function inTurn(connection: Connection, userId: string): Promise<void> {
  if (connection.dialect === 'postgresql')
    await connection.query('select pg_advisory_xact_lock($1, hashtext($2))', [TURN_LOCK, userId]);
}

/** Adds up the bytes of a user. Other transactions that are not committed count only {@link inTurn}. */
export async function sumOfKept(connection: Connection, sql: KeptBytesStatements, userId: string): Promise<KeptBytes> {
  return (await connection.query<KeptBytes>(sql.sum, [userId]))[0] ?? { bytes: 0, rows: 0 };
}

/** Replaces many rows with one. */
export async function foldKept(
  connection: Connection,
  sql: KeptBytesStatements,
  userId: string,
  { rows }: KeptBytes,
): Promise<void> {
  if (rows <= MOST_ROWS) return;
  const taken = await connection.query<{ bytes: number }>(sql.take, [userId]);
  await connection.query(sql.add, [userId, taken.reduce((sum, row) => sum + row.bytes, 0)]);
}
