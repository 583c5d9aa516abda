import { type AanaError, fail } from '../../../../base/core/errors.ts';
import { filtered, loadStatements } from '../../statements.ts';
import { statusesBefore } from '../../task-state.ts';
import { type KeyHolder, requireSameRequest } from './idempotency.ts';
import { type TaskOwner, TaskAttempts } from './task-attempts.ts';
import { TASK_CANCELLED } from './task-log.ts';
import type { NewTask, StoredFile, TaskFilter } from './task-records.ts';
import { keptBytesOf, limitKeptBytes } from './task-usage.ts';
import type { TaskHappening } from '../webhook-deliveries.ts';

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

/** Limits of a user; undefined is no limit. */
export interface EnqueueLimits {
  /** Most waiting tasks. */
  readonly maxWaiting?: number | undefined;
  /** Most bytes that tasks keep: uploads, inputs, streamed values and results. */
  readonly maxBytes?: number | undefined;
}

/** The durable queue. Each method must run in a transaction, which notifies other hosts when it is committed. */
export class TaskRepository extends TaskAttempts {
  /**
   * Stores a task and returns its id, or the id of an older task with the same idempotency key and request. A task that
   * is enqueued again, after an unknown commit, is found by its id and is still new. Throws `IdempotencyKeyReused` for
   * another request, `TooManyTasks` when `maxWaiting` tasks of the user already wait, and `TaskStorageFull` when tasks
   * of the user would keep more than `maxBytes`.
   */
  async enqueue(
    task: NewTask,
    { maxWaiting, maxBytes = Number.MAX_SAFE_INTEGER }: EnqueueLimits = {},
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const now = this.connection.now();
    const { id, user_id: user, idempotency_key: key } = task;
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
      task.request_hash,
      task.traceparent ?? null,
      now,
      fileBytes,
      Buffer.byteLength(task.data),
    ];
    // Issued together, the count first, so that tasks of the same transaction count, too.
    const [waiting, inserted, kept] = await Promise.all([
      user === null || maxWaiting === undefined ? 0 : this.waiting(user, maxWaiting),
      this.connection.query(sql.insert, values),
      user === null ? undefined : keptBytesOf(this.connection, user), // this task included
    ]);
    if (inserted.length > 0) {
      if (maxWaiting !== undefined && waiting >= maxWaiting) throw tooManyTasks(maxWaiting);
      if (kept && user !== null) await limitKeptBytes(this.connection, user, kept, maxBytes);
      await Promise.all([this.log.tell(id, 'created', {}), this.log.tellHosts()]);
      return { id, isNew: true };
    }
    if ((await this.connection.query(sql.find, [id])).length > 0) return { id, isNew: true };
    const [older] = await this.connection.query<KeyHolder>(sql.findByKey, [user, key]);
    return { id: requireSameRequest(older, task), isNew: false };
  }

  /**
   * Cancels a task. Returns its files; undefined unless the user (null: any user) had such a task and it had not ended.
   */
  async cancel(id: string, userId: string | null): Promise<readonly StoredFile[] | undefined> {
    const now = this.connection.now();
    const [row] = await this.connection.query<
      TaskOwner & Pick<TaskHappening, 'lease_token' | 'num_retries'> & FilesRow
    >(sql.cancel, [id, userId, now, JSON.stringify(statusesBefore('cancel'))]);
    if (!row) return undefined;
    const { files, ...task } = row;
    await Promise.all([
      this.endAttempt(id, task.lease_token, { endedAt: now, outcome: 'cancelled', error: null }),
      this.log.tell(id, 'cancelled', {}),
      this.connection.notify(`${TASK_CANCELLED}${id}`),
      this.log.tellWebhooks({ ...task, event: 'task.cancelled', task_id: id, status: 'cancelled', result: null }),
    ]);
    return filesOf({ files });
  }

  /** Gives a failed task new attempts. Returns whether the task existed and had failed. */
  async retry(id: string, userId: string | null): Promise<boolean> {
    if ((await this.connection.query(sql.retry, [id, userId, this.connection.now()])).length === 0) return false;
    await Promise.all([this.log.tell(id, 'created', {}), this.log.tellHosts()]);
    return true;
  }

  /** Gives at most `limit` failed tasks new attempts, starting with the task that failed first. Returns their ids. */
  async retryFailed(
    userId: string | null,
    { endpoint, endpoints, error }: TaskFilter,
    limit: number,
  ): Promise<string[]> {
    const isOneOf = {
      sqlite: 'select value from json_each(?)',
      postgresql: 'select json_array_elements_text(cast(? as json))',
    };
    const rows = await this.connection.query<{ id: string }>(
      ...filtered(
        sql.retryFailed,
        [this.connection.now(), limit],
        [
          ['user_id = ?', userId],
          ['endpoint = ?', endpoint],
          ['error = ?', error],
          [`endpoint in (${isOneOf[this.connection.dialect]})`, endpoints && JSON.stringify(endpoints)],
        ],
      ),
    );
    if (rows.length > 0)
      await Promise.all([...rows.map(({ id }) => this.log.tell(id, 'created', {})), this.log.tellHosts()]);
    return rows.map(({ id }) => id);
  }

  /** Removes a task. Returns its files; undefined unless the task existed and no host had it. */
  async delete(id: string, userId: string | null): Promise<readonly StoredFile[] | undefined> {
    const [removed] = await this.connection.query<FilesRow>(sql.remove, [id, userId]);
    if (!removed) return undefined;
    await this.connection.notify(id);
    return filesOf(removed);
  }

  /** Removes at most `limit` tasks that ended before `before`. Returns the files of each that may still be there. */
  async prune(before: number, limit: number): Promise<(readonly StoredFile[])[]> {
    return (await this.connection.query<FilesRow>(sql.prune, [before, limit])).map(filesOf);
  }
}

/** The files of a task, as JSON. */
interface FilesRow {
  readonly files: string;
}

const filesOf = ({ files }: FilesRow): readonly StoredFile[] => JSON.parse(files) as StoredFile[];

/** Returns the error that a user has too many waiting tasks. */
export function tooManyTasks(maxWaiting: number): AanaError {
  const message =
    `${maxWaiting} tasks of this user already wait, which is the most; try again when some have run, ` +
    `or cancel some`;
  return fail('TooManyTasks', message, { data: { max_waiting: maxWaiting } });
}
