import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { loadStatements } from '../../statements.ts';
import { foldKept, type KeptBytes, sumOfKept } from '../kept-bytes.ts';

const sql = loadStatements('task-usage', ['sum', 'take', 'add']);

/** Returns the bytes that the tasks of a user keep: uploads, inputs, streamed values and results. */
export function keptBytesOf(connection: Connection, userId: string): Promise<KeptBytes> {
  return sumOfKept(connection, sql, userId);
}

/**
 * Throws `TaskStorageFull` when the tasks of a user keep more than `maxBytes`, which rolls back the transaction that
 * added to them.
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

/** Returns the error that the tasks of a user have no room for more bytes. */
export function taskStorageFull(usedBytes: number, maxBytes: number): AanaError {
  const message =
    `the tasks of this user would keep ${usedBytes} bytes of uploads and results, but may keep at ` +
    `most ${maxBytes} (task_queue.maximum_stored_bytes_per_user); delete ended tasks and try again`;
  return fail('TaskStorageFull', message, {
    data: { max_bytes: maxBytes, used_bytes: usedBytes },
  });
}
