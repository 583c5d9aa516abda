import { fail } from '../../../../base/core/errors.ts';
import type { NewTask } from './task-records.ts';

/** The task of a user that has an idempotency key. */
export interface KeyHolder {
  readonly id: string;
  readonly request_hash: string;
}

/**
 * Returns the id of the task that has the idempotency key of a new one, for the same request. Throws
 * `IdempotencyKeyReused` for another request. `older` is undefined when that task was removed in the meantime.
 */
export function requireSameRequest(
  older: KeyHolder | undefined,
  { idempotency_key: key, request_hash: hash }: Pick<NewTask, 'idempotency_key' | 'request_hash'>,
): string {
  if (older?.request_hash === hash) return older.id;
  throw fail('IdempotencyKeyReused', `the idempotency key ${JSON.stringify(key)} was used for another request`, {
    data: { task_id: older?.id ?? null },
  });
}
