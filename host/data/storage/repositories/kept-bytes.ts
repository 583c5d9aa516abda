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

/** Adds up the bytes of a user. Uncommitted transactions of other hosts do not count. */
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
