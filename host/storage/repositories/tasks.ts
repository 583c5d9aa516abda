import { AanaError } from '../../core/errors.ts';
import { loadStatements } from '../statements.ts';
import { statusesBefore } from '../task-state.ts';
import { type TaskOwner, TaskAttempts } from './task-attempts.ts';
import { TASK_CANCELLED } from './task-log.ts';
import type { NewTask, TaskFilter } from './task-records.ts';
import { keptBytesOf, limitKeptBytes } from './task-usage.ts';
import type { TaskHappening } from './webhook-deliveries.ts';

const sql = loadStatements('tasks', [
  'insert',
  'find',
  'findByKey',
  'cancel',
  'retry',
  'retryFailed',
  'remove',
  'prune',
]);

/** What a user may have; undefined is as much as there is. */
export interface EnqueueLimits {
  /** Tasks that wait. */
  readonly maxWaiting?: number | undefined;
  /** Bytes that tasks keep: uploads, inputs, streamed values and results. */
  readonly maxBytes?: number | undefined;
}

/** The durable queue. Every method belongs into a transaction, which tells others of it when it is committed. */
export class TaskRepository extends TaskAttempts {
  /**
   * Gives the id of the task: an older one's when its key is there for the same request. A task that is enqueued again
   * is found by its id, and as new as it was. Throws `IdempotencyKeyReused` for another request, `TooManyTasks` when
   * `maxWaiting` tasks of the user wait already, and `TaskStorageFull` when tasks of the user would keep more than
   * `maxBytes`.
   */
  async enqueue(
    task: NewTask,
    { maxWaiting, maxBytes }: EnqueueLimits = {},
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const now = this.connection.now();
    const { id, user_id: user, idempotency_key: key, request_hash: hash } = task;
    const fileBytes = task.files.reduce((sum, { bytes }) => sum + bytes, 0);
    const values = [
      id,
      task.endpoint,
      task.data,
      JSON.stringify(task.files),
      task.priority,
      user,
      task.timeout_ms,
      task.max_attempts,
      key,
      hash,
      task.traceparent ?? null,
      now,
      fileBytes,
      Buffer.byteLength(task.data),
    ];
    // Issued together, the count first, so that tasks which share a transaction are counted too.
    const [waiting, inserted, kept] = await Promise.all([
      user === null || maxWaiting === undefined ? 0 : this.waiting(user, maxWaiting),
      this.connection.query(sql.insert, values),
      user === null || maxBytes === undefined ? undefined : keptBytesOf(this.connection, user), // this task included
    ]);
    if (inserted.length > 0) {
      if (maxWaiting !== undefined && waiting >= maxWaiting) throw tooManyTasks(maxWaiting);
      if (kept && user !== null && maxBytes !== undefined) await limitKeptBytes(this.connection, user, kept, maxBytes);
      await Promise.all([this.log.tell(id, 'created', {}), this.log.tellHosts()]);
      return { id, isNew: true };
    }
    if ((await this.connection.query(sql.find, [id])).length > 0) return { id, isNew: true };
    const [older] = await this.connection.query<{ id: string; request_hash: string }>(sql.findByKey, [user, key]);
    if (older?.request_hash === hash) return { id: older.id, isNew: false };
    throw new AanaError(
      'IdempotencyKeyReused',
      'conflict',
      `the idempotency key ${JSON.stringify(key)} was used for another request`,
      { data: { task_id: older?.id ?? null } },
    );
  }

  /** Whether it was there, of this user (of anybody: null), and not ended. */
  async cancel(id: string, userId: string | null): Promise<boolean> {
    const now = this.connection.now();
    const [task] = await this.connection.query<TaskOwner & Pick<TaskHappening, 'lease_token' | 'num_retries'>>(
      sql.cancel,
      [id, userId, now, JSON.stringify(statusesBefore('cancel'))],
    );
    if (!task) return false;
    await Promise.all([
      this.endAttempt(id, task.lease_token, { endedAt: now, outcome: 'cancelled', error: null }),
      this.log.tell(id, 'cancelled', {}),
      this.connection.notify(`${TASK_CANCELLED}${id}`),
      this.log.tellWebhooks({ ...task, event: 'task.cancelled', task_id: id, status: 'cancelled', result: null }),
    ]);
    return true;
  }

  /** Whether it was there and had failed. */
  async retry(id: string, userId: string | null): Promise<boolean> {
    if ((await this.connection.query(sql.retry, [id, userId, this.connection.now()])).length === 0) return false;
    await Promise.all([this.log.tell(id, 'created', {}), this.log.tellHosts()]);
    return true;
  }

  /** Gives failed tasks new attempts, those that failed first, `limit` at most; gives their ids. */
  async retryFailed(
    userId: string | null,
    { endpoint, endpoints, error }: TaskFilter,
    limit: number,
  ): Promise<string[]> {
    const rows = await this.connection.query<{ id: string }>(sql.retryFailed, [
      userId,
      endpoint ?? null,
      error ?? null,
      this.connection.now(),
      limit,
      endpoints ? JSON.stringify(endpoints) : null,
    ]);
    if (rows.length > 0)
      await Promise.all([...rows.map(({ id }) => this.log.tell(id, 'created', {})), this.log.tellHosts()]);
    return rows.map(({ id }) => id);
  }

  /** Whether it was there and no host had it. */
  async delete(id: string, userId: string | null): Promise<boolean> {
    const isGone = (await this.connection.query(sql.remove, [id, userId])).length > 0;
    if (isGone) await this.connection.notify(id);
    return isGone;
  }

  /** Removes ended tasks that are older than `before`; gives their ids. */
  async prune(before: number, limit: number): Promise<string[]> {
    return (await this.connection.query<{ id: string }>(sql.prune, [before, limit])).map(({ id }) => id);
  }
}

/** Says that a user has so many tasks waiting that no more are taken. */
export function tooManyTasks(maxWaiting: number): AanaError {
  const message = `${maxWaiting} tasks of this user wait already, the most that may; try again when some have run, or cancel some`;
  return new AanaError('TooManyTasks', 'rate-limited', message, { data: { max_waiting: maxWaiting } });
}
