import { filtered, loadStatements, Repository } from '../../statements.ts';
import type { TaskStatus } from '../../task-state.ts';
import { waitingOfUser } from './task-claims.ts';
import { keptBytesOf } from './task-usage.ts';
import type { AttemptRecord, ListedTask, TaskEvent, TaskFilter, TaskRecord } from './task-records.ts';

const sql = loadStatements('task-lists', [
  'read',
  'status',
  'list',
  'count',
  'nextDue',
  'positions',
  'attempts',
  'events',
]);

/** Most bytes of an input or result in a list, as JSON, because a page has up to a thousand of each. */
const LISTED_BYTES = 8192;

/** Reads tasks and their events. A user sees only the tasks of that user; null sees all tasks. */
export class TaskLists extends Repository {
  async read(id: string, userId: string | null): Promise<TaskRecord | undefined> {
    return (await this.connection.query<TaskRecord>(sql.read, [id, userId]))[0];
  }

  /** Returns undefined when the task does not exist. The cost does not depend on the size of the task. */
  async status(id: string, userId: string | null): Promise<TaskStatus | undefined> {
    return (await this.connection.query<{ status: TaskStatus }>(sql.status, [id, userId]))[0]?.status;
  }

  /** Returns the newest tasks first. */
  async list(
    userId: string | null,
    {
      status,
      endpoint,
      error,
      limit,
      offset,
    }: TaskFilter & { readonly status?: TaskStatus | undefined; readonly limit: number; readonly offset: number },
  ): Promise<ListedTask[]> {
    const rows = await this.connection.query<Omit<ListedTask, 'omitted'> & { has_result: unknown }>(
      ...filtered(
        sql.list,
        [limit, offset, LISTED_BYTES],
        [
          ['user_id = ?', userId],
          ['status = ?', status],
          ['endpoint = ?', endpoint],
          ['error = ?', error],
        ],
      ),
    );
    return rows.map(({ has_result: hasResult, ...task }) => ({
      ...task,
      omitted: [
        ...(task.data === null ? ['data' as const] : []),
        ...(task.result === null && Boolean(hasResult) ? ['result' as const] : []),
      ],
    }));
  }

  /** Returns how many tasks of a user wait for their first or next attempt; counts up to `most`. */
  waiting(userId: string, most: number): Promise<number> {
    return waitingOfUser(this.connection, userId, most);
  }

  /** Returns the bytes that the tasks of a user keep: uploads, inputs, streamed values and results. */
  async keptBytes(userId: string): Promise<number> {
    return (await keptBytesOf(this.connection, userId)).bytes;
  }

  async count(userId: string | null): Promise<Partial<Record<TaskStatus, number>>> {
    const rows = await this.connection.query<{ status: TaskStatus; count: number }>(
      ...filtered(sql.count, [], [['user_id = ?', userId]]),
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  /** Returns the due time of the first waiting task, which may be in the past. */
  async nextDue(): Promise<number | undefined> {
    return (await this.connection.query<{ at: number | null }>(sql.nextDue))[0]?.at ?? undefined;
  }

  /** Returns the ids of the last events of those of the tasks that have not ended, by task. */
  async positions(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.connection.query<{ id: string; position: number }>(sql.positions, [JSON.stringify(ids)]);
    return new Map(rows.map(({ id, position }) => [id, position]));
  }

  /** Returns the attempts in their order. */
  attempts(id: string): Promise<AttemptRecord[]> {
    return this.connection.query<AttemptRecord>(sql.attempts, [id]);
  }

  /** Returns the events after the event `after`, in order: at most `limit`, and no further one after `bytes`. */
  events(id: string, after: number, limit: number, bytes = Number.MAX_SAFE_INTEGER): Promise<TaskEvent[]> {
    return this.connection.query<TaskEvent>(sql.events, [id, after, limit, bytes]);
  }
}
