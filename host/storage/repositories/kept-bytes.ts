import type { Connection, Statement } from '../database.ts';

/** The statements about a table of changes, of which the sum is what a user keeps. */
export type KeptBytesStatements = Readonly<Record<'sum' | 'take' | 'add', Statement>>;

/** What a user keeps. */
export interface KeptBytes {
  readonly bytes: number;
  /** Rows that this is the sum of. */
  readonly rows: number;
}

/** Rows of a user that are added up each time; when there are more, one takes their place. */
const MOST_ROWS = 64;

/** Adds up what a user keeps. Transactions of other hosts that are not committed yet do not count. */
export async function sumOfKept(connection: Connection, sql: KeptBytesStatements, userId: string): Promise<KeptBytes> {
  return (await connection.query<KeptBytes>(sql.sum, [userId]))[0] ?? { bytes: 0, rows: 0 };
}

/** Puts one row in the place of many. */
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
