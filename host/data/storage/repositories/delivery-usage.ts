import type { Connection } from '../database.ts';
import { loadStatements } from '../statements.ts';
import { foldKept, sumOfKept } from './kept-bytes.ts';

const sql = loadStatements('delivery-usage', ['sum', 'take', 'add']);

/**
 * Returns whether webhooks of a user, which keep at most `maxBytes`, have room for copies of results of `bytes` in
 * total.
 */
export async function hasRoomForCopies(
  connection: Connection,
  userId: string,
  bytes: number,
  maxBytes: number,
): Promise<boolean> {
  const kept = await sumOfKept(connection, sql, userId);
  await foldKept(connection, sql, userId, kept);
  return kept.bytes + bytes <= maxBytes;
}
