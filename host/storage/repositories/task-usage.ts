import { AanaError } from '../../core/errors.ts';
import type { Connection } from '../database.ts';
import { loadStatements } from '../statements.ts';
import { foldKept, type KeptBytes, sumOfKept } from './kept-bytes.ts';

const sql = loadStatements('task-usage', ['sum', 'take', 'add']);

/** Returns what the tasks of a user keep: uploads, inputs, streamed values and results. */
export function keptBytesOf(connection: Connection, userId: string): Promise<KeptBytes> {
  return sumOfKept(connection, sql, userId);
}

/**
 * Throws `TaskStorageFull` when the tasks of a user keep more than `maxBytes`: the transaction that added to them is
 * then undone.
 */
export async function limitKeptBytes(
  connection: Connection,
  userId: string,
  kept: KeptBytes,
  maxBytes: number,
): Promise<void> {
  if (kept.bytes > maxBytes) throw taskStorageFull(kept.bytes, maxBytes);
  await foldKept(connection, sql, userId, kept);
}

/** Says that the tasks of a user keep so much that nothing can be added. */
export function taskStorageFull(usedBytes: number, maxBytes: number): AanaError {
  const message = `the tasks of this user would keep ${usedBytes} bytes of uploads and results, and may keep ${maxBytes} (task_queue.maximum_stored_bytes_per_user); delete tasks that have ended, then try again`;
  return new AanaError('TaskStorageFull', 'rate-limited', message, {
    data: { max_bytes: maxBytes, used_bytes: usedBytes },
  });
}
