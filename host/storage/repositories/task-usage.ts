import { AanaError } from '../../core/errors.ts';
import type { Connection } from '../database.ts';
import { loadStatements } from '../statements.ts';

const sql = loadStatements('task-usage', ['sum', 'take', 'add']);

/** Rows of a user that are added up each time; when there are more, one takes their place. */
const MOST_ROWS = 64;

/** What the tasks of a user keep. */
export interface KeptBytes {
  readonly bytes: number;
  /** Rows that this is the sum of. */
  readonly rows: number;
}

/** Returns what the tasks of a user keep: uploads, inputs, streamed values and results. */
export async function keptBytesOf(connection: Connection, userId: string): Promise<KeptBytes> {
  return (await connection.query<{ bytes: number; rows: number }>(sql.sum, [userId]))[0] ?? { bytes: 0, rows: 0 };
}

/**
 * Throws `TaskStorageFull` when the tasks of a user keep more than `maxBytes`: the transaction that added to them is then undone. Transactions of
 * other hosts that are not committed yet do not count.
 */
export async function limitKeptBytes(connection: Connection, userId: string, { bytes, rows }: KeptBytes, maxBytes: number): Promise<void> {
  if (bytes > maxBytes) throw taskStorageFull(bytes, maxBytes);
  if (rows <= MOST_ROWS) return;
  const taken = await connection.query<{ bytes: number }>(sql.take, [userId]);
  await connection.query(sql.add, [userId, taken.reduce((sum, row) => sum + row.bytes, 0)]);
}

/** Says that the tasks of a user keep so much that nothing can be added. */
export function taskStorageFull(usedBytes: number, maxBytes: number): AanaError {
  const message = `the tasks of this user would keep ${usedBytes} bytes of uploads and results, and may keep ${maxBytes} (task_queue.maximum_stored_bytes_per_user); delete tasks that have ended, then try again`;
  return new AanaError('TaskStorageFull', 'rate-limited', message, { data: { max_bytes: maxBytes, used_bytes: usedBytes } });
}
