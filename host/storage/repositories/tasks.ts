import { AanaError } from '../../core/errors.ts';
import type { Connection, Statement } from '../database.ts';
import { loadStatements } from '../statements.ts';
import { statusesBefore, type TaskStatus } from '../task-state.ts';
import { nextTasks, type NextTasksOptions, waitingOfUser } from './task-claims.ts';
import { type TaskHappening, WebhookDeliveryRepository } from './webhook-deliveries.ts';

const sql = loadStatements('tasks', [
  'insert', 'find', 'findByKey', 'read', 'status', 'list', 'count', 'assign', 'start', 'touch', 'hasReported', 'finish', 'hasEnded', 'adopt', 'heartbeat', 'expired',
  'cancel', 'retry', 'retryFailed', 'remove', 'prune', 'nextDue', 'beginAttempt', 'endAttempt', 'attempts', 'addEvent', 'events',
]); // prettier-ignore

/** Inputs and results are in a list when they have so many bytes at most, as JSON: a page has up to a thousand of each. */
const LISTED_BYTES = 8192;
/** As long as a text that is looked for can be. */
const ERROR_NAME_LENGTH = 255;

/** What listeners of the database are told when a task can be taken; of others they are told the id. */
export const TASKS_WAITING = 'waiting';

/** What listeners are told, with the id, besides the id itself, when a task is cancelled. */
export const TASK_CANCELLED = 'cancelled ';

export interface StoredFile {
  /** Name of the part of the form. */
  readonly name: string;
  /** Relative to the folder of the tasks. */
  readonly path: string;
  readonly bytes: number;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
}

export interface NewTask {
  readonly id: string;
  /** Path of the endpoint. */
  readonly endpoint: string;
  /** The input, as JSON. */
  readonly data: string;
  readonly files: readonly StoredFile[];
  /** Higher ones first. */
  readonly priority: number;
  readonly user_id: string | null;
  /** Time for one attempt. */
  readonly timeout_ms: number;
  readonly max_attempts: number;
  readonly idempotency_key: string | null;
  /** Same request, same hash. */
  readonly request_hash: string;
}

export interface TaskRecord {
  readonly id: string;
  readonly endpoint: string;
  /** JSON, as `result` is. */
  readonly data: string;
  readonly status: TaskStatus;
  readonly result: string | null;
  /** Name of the error that a failed task ended with. */
  readonly error: string | null;
  /** Percent. */
  readonly progress: number;
  readonly priority: number;
  readonly user_id: string | null;
  /** Attempts so far. */
  readonly num_retries: number;
  readonly created_at: number;
  readonly assigned_at: number | null;
  readonly completed_at: number | null;
}

/** A task in a list: input and result are null where they are large. */
export interface ListedTask extends Omit<TaskRecord, 'data'> {
  readonly data: string | null;
  /** Which of them were left out. */
  readonly omitted: readonly ('data' | 'result')[];
}

/** Which tasks are meant; what is not given does not matter. */
export interface TaskFilter {
  readonly endpoint?: string | undefined;
  /** Paths of endpoints: those of others are not meant. Counts for {@link TaskRepository.retryFailed}. */
  readonly endpoints?: readonly string[] | undefined;
  /** Name of the error that a failed task ended with. */
  readonly error?: string | undefined;
}

/** What became of one attempt. */
export interface AttemptRecord {
  /** Its number, from 1 on; it goes on counting when a failed task gets new attempts. */
  readonly lease_token: number;
  /** Who had it. */
  readonly host: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** The status that it left the task in, or `lost`; null while it runs. */
  readonly outcome: string | null;
  /** JSON. */
  readonly error: string | null;
}

/** One attempt at a task: who has it says so with its token. */
export interface Lease {
  readonly id: string;
  readonly lease_token: number;
  readonly num_retries: number;
  readonly max_attempts: number;
}

export interface ClaimedTask extends Lease {
  readonly endpoint: string;
  readonly data: string;
  readonly files: readonly StoredFile[];
  readonly timeout_ms: number;
  /** Higher is sooner. */
  readonly priority: number;
  readonly user_id: string | null;
}

export interface ClaimOptions extends NextTasksOptions {
  readonly leaseMs: number;
  /** Whether they begin at once: they are `running` then, as after {@link TaskRepository.start}. Default: false. */
  readonly starts?: boolean;
}

/** How an attempt ends. `release`: another one may come after `delayMs`. `expired`: its time was up, or its host was not heard of. */
export type Outcome =
  | { readonly kind: 'complete'; readonly result: string }
  | { readonly kind: 'fail'; readonly error: string; readonly expired?: boolean }
  | { readonly kind: 'release'; readonly error: string | null; readonly delayMs: number; readonly outcome: 'not_finished' | 'lost'; readonly expired?: boolean };

/** What webhooks say of a task besides what its holder knows. */
type TaskOwner = Pick<TaskHappening, 'endpoint' | 'user_id'>;

export interface TaskEvent {
  readonly id: number;
  readonly event: string;
  /** JSON. */
  readonly data: string;
  readonly created_at: number;
}

/** What an attempt has to say of itself. */
export interface AttemptBatch {
  /** Its number, from 1 on: one that is written twice is stored once. */
  readonly number: number;
  /** Streamed values, as JSON. */
  readonly chunks: readonly string[];
  /** Percent. */
  readonly progress: number | undefined;
}

/** The durable queue. Every method belongs into a transaction, which tells others of it when it is committed. */
export class TaskRepository {
  readonly #connection: Connection;
  readonly #deliveries: WebhookDeliveryRepository;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#deliveries = new WebhookDeliveryRepository(connection);
  }

  /**
   * Gives the id of the task: an older one's when its key is there for the same request. A task that is enqueued again is found by its id, and as
   * new as it was. Throws `IdempotencyKeyReused` for another request, and `TooManyTasks` when `maxWaiting` tasks of the user wait already.
   */
  async enqueue(task: NewTask, { maxWaiting }: { readonly maxWaiting?: number | undefined } = {}): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const now = this.#connection.now();
    const { id, user_id: user, idempotency_key: key, request_hash: hash } = task;
    const values = [id, task.endpoint, task.data, JSON.stringify(task.files), task.priority, user, task.timeout_ms, task.max_attempts, key, hash, now];
    // Issued together, the count first, so that tasks which share a transaction are counted too.
    const [waiting, inserted] = await Promise.all([user === null || maxWaiting === undefined ? 0 : this.waiting(user, maxWaiting), this.#connection.query(sql.insert, values)]);
    if (inserted.length > 0) {
      if (maxWaiting !== undefined && waiting >= maxWaiting) throw tooManyTasks(maxWaiting);
      await Promise.all([this.#tell(id, 'created', {}), this.#connection.notify(TASKS_WAITING)]);
      return { id, isNew: true };
    }
    if ((await this.#connection.query(sql.find, [id])).length > 0) return { id, isNew: true };
    const [older] = await this.#connection.query<{ id: string; request_hash: string }>(sql.findByKey, [user, key]);
    if (older?.request_hash === hash) return { id: older.id, isNew: false };
    throw new AanaError('IdempotencyKeyReused', 'conflict', `the idempotency key ${JSON.stringify(key)} was used for another request`, { data: { task_id: older?.id ?? null } });
  }

  /** Takes the tasks that are next, see {@link nextTasks}. */
  async claim({ leaseMs, starts = false, ...options }: ClaimOptions): Promise<ClaimedTask[]> {
    const ids = await nextTasks(this.#connection, options);
    const leaseExpiresAt = this.#connection.now() + leaseMs;
    const claimed = await Promise.all(ids.map((id) => this.#assign(id, options.owner, leaseExpiresAt, starts)));
    return claimed.filter((task) => task !== undefined);
  }

  /** Tasks that `owner` has and does not know of, because the answer to {@link claim} was lost; `known` are those that it knows. Keeps their leases. */
  async adopt(owner: string, known: readonly string[], leaseMs: number): Promise<ClaimedTask[]> {
    const now = this.#connection.now();
    return (await this.#connection.query<ClaimedRow>(sql.adopt, [owner, now + leaseMs, now, JSON.stringify(known)])).map(fromClaimedRow);
  }

  async #assign(id: string, owner: string, leaseExpiresAt: number, starts: boolean): Promise<ClaimedTask | undefined> {
    const now = this.#connection.now();
    const values = [id, owner, leaseExpiresAt, now, JSON.stringify(statusesBefore('assign')), starts ? 'running' : 'assigned'];
    const [row] = await this.#connection.query<ClaimedRow>(sql.assign, values);
    if (!row) return undefined; // somebody was faster
    await Promise.all([
      this.#connection.query(sql.beginAttempt, [id, row.lease_token, owner, now]),
      this.#tell(id, 'assigned', { attempt: row.num_retries }),
      starts && this.#tellStarted(row, row),
    ]);
    return fromClaimedRow(row);
  }

  /** False when the task was lost: to another holder, or because it was cancelled. So it is with the next two. */
  async start(lease: Lease): Promise<boolean> {
    const [task] = await this.#connection.query<TaskOwner>(sql.start, [lease.id, lease.lease_token, this.#connection.now()]);
    if (!task) return false;
    await this.#tellStarted(lease, task);
    return true;
  }

  /** Keeps streamed values and progress as events. A batch that is stored already is not stored again. */
  async report({ id, lease_token: token }: Lease, { number, chunks, progress }: AttemptBatch): Promise<boolean> {
    if ((await this.#connection.query(sql.touch, [id, token, this.#connection.now(), progress ?? null, number])).length === 0) {
      return (await this.#connection.query(sql.hasReported, [id, token, number])).length > 0;
    }
    const events = chunks.map((chunk) => this.#addEvent(id, 'chunk', chunk));
    if (progress !== undefined) events.push(this.#addEvent(id, 'progress', JSON.stringify({ progress })));
    await Promise.all([...events, this.#connection.notify(id)]);
    return true;
  }

  /** Ends the attempt; true also when it has ended in this way already. */
  async finish(lease: Lease, outcome: Outcome): Promise<boolean> {
    const now = this.#connection.now();
    const { id, lease_token: token, num_retries: attempt } = lease;
    const status: TaskStatus = { complete: 'completed', fail: 'failed', release: 'not_finished' }[outcome.kind] as TaskStatus;
    const result = outcome.kind === 'complete' ? outcome.result : outcome.kind === 'fail' ? outcome.error : null;
    const availableAt = outcome.kind === 'release' ? now + Math.round(outcome.delayMs) : now;
    const values = [id, token, status, status === 'completed' ? 100 : 0, result, availableAt, outcome.kind === 'release' ? null : now, now, JSON.stringify(statusesBefore(outcome.kind)), outcome.kind === 'fail' ? errorName(outcome.error) : null];
    const [task] = await this.#connection.query<TaskOwner>(sql.finish, values);
    const attemptOutcome = outcome.kind === 'release' ? outcome.outcome : status;
    const error = outcome.kind === 'complete' ? null : outcome.error;
    if (!task) return (await this.#connection.query(sql.hasEnded, [id, token, attemptOutcome, error])).length > 0;
    const happening = { ...task, task_id: id, lease_token: token, status, num_retries: attempt, result: result ?? error };
    await Promise.all([
      this.#connection.query(sql.endAttempt, [id, token, now, attemptOutcome, error]),
      this.#tell(id, status, { attempt, ...(outcome.kind === 'release' && { retry_in_ms: Math.round(outcome.delayMs) }) }),
      outcome.kind === 'release' && this.#connection.notify(TASKS_WAITING),
      outcome.kind !== 'complete' && outcome.expired && this.#deliveries.add({ ...happening, event: 'task.expired' }),
      outcome.kind !== 'release' && this.#deliveries.add({ ...happening, event: outcome.kind === 'complete' ? 'task.completed' : 'task.failed' }),
    ]);
    return true;
  }

  /** Keeps the leases of tasks; gives those that `owner` still has, by id with their token. */
  async heartbeat(owner: string, ids: readonly string[], leaseMs: number): Promise<ReadonlyMap<string, number>> {
    const now = this.#connection.now();
    const rows = await this.#connection.query<{ id: string; lease_token: number }>(sql.heartbeat, [owner, JSON.stringify(ids), now + leaseMs, now]);
    return new Map(rows.map(({ id, lease_token: token }) => [id, token]));
  }

  /** Tasks whose holder has not been heard of for the length of its lease. */
  expired(limit: number): Promise<Lease[]> {
    return this.#connection.query<Lease>(sql.expired, [this.#connection.now(), limit]);
  }

  /** Whether it was there, of this user (of anybody: null), and not ended. */
  async cancel(id: string, userId: string | null): Promise<boolean> {
    const now = this.#connection.now();
    const [task] = await this.#connection.query<TaskOwner & Pick<TaskHappening, 'lease_token' | 'num_retries'>>(sql.cancel, [id, userId, now, JSON.stringify(statusesBefore('cancel'))]);
    if (!task) return false;
    await Promise.all([
      this.#connection.query(sql.endAttempt, [id, task.lease_token, now, 'cancelled', null]),
      this.#tell(id, 'cancelled', {}),
      this.#connection.notify(`${TASK_CANCELLED}${id}`),
      this.#deliveries.add({ ...task, event: 'task.cancelled', task_id: id, status: 'cancelled', result: null }),
    ]);
    return true;
  }

  /** Whether it was there and had failed. */
  async retry(id: string, userId: string | null): Promise<boolean> {
    if ((await this.#connection.query(sql.retry, [id, userId, this.#connection.now()])).length === 0) return false;
    await Promise.all([this.#tell(id, 'created', {}), this.#connection.notify(TASKS_WAITING)]);
    return true;
  }

  /** Gives failed tasks new attempts, those that failed first, `limit` at most; gives their ids. */
  async retryFailed(userId: string | null, { endpoint, endpoints, error }: TaskFilter, limit: number): Promise<string[]> {
    const rows = await this.#connection.query<{ id: string }>(sql.retryFailed, [userId, endpoint ?? null, error ?? null, this.#connection.now(), limit, endpoints ? JSON.stringify(endpoints) : null]);
    if (rows.length > 0) await Promise.all([...rows.map(({ id }) => this.#tell(id, 'created', {})), this.#connection.notify(TASKS_WAITING)]);
    return rows.map(({ id }) => id);
  }

  async read(id: string, userId: string | null): Promise<TaskRecord | undefined> {
    return (await this.#connection.query<TaskRecord>(sql.read, [id, userId]))[0];
  }

  /** Undefined when it is not there; costs the same however large the task is. */
  async status(id: string, userId: string | null): Promise<TaskStatus | undefined> {
    return (await this.#connection.query<{ status: TaskStatus }>(sql.status, [id, userId]))[0]?.status;
  }

  /** The newest first. */
  async list(userId: string | null, { status, endpoint, error, limit, offset }: TaskFilter & { readonly status?: TaskStatus | undefined; readonly limit: number; readonly offset: number }): Promise<ListedTask[]> {
    const values = [userId, status ?? null, endpoint ?? null, error ?? null, limit, offset, LISTED_BYTES];
    const rows = await this.#connection.query<Omit<ListedTask, 'omitted'> & { has_result: unknown }>(sql.list, values);
    return rows.map(({ has_result: hasResult, ...task }) => ({ ...task, omitted: [...(task.data === null ? ['data' as const] : []), ...(task.result === null && Boolean(hasResult) ? ['result' as const] : [])] }));
  }

  /** Returns how many tasks of a user wait for their first or next attempt; counts up to `most`. */
  waiting(userId: string, most: number): Promise<number> {
    return waitingOfUser(this.#connection, userId, most);
  }

  async count(userId: string | null): Promise<Partial<Record<TaskStatus, number>>> {
    const rows = await this.#connection.query<{ status: TaskStatus; count: number }>(sql.count, [userId]);
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  /** Whether it was there and no host had it. */
  async delete(id: string, userId: string | null): Promise<boolean> {
    const isGone = (await this.#connection.query(sql.remove, [id, userId])).length > 0;
    if (isGone) await this.#connection.notify(id);
    return isGone;
  }

  /** Removes ended tasks that are older than `before`; gives their ids. */
  async prune(before: number, limit: number): Promise<string[]> {
    return (await this.#connection.query<{ id: string }>(sql.prune, [before, limit])).map(({ id }) => id);
  }

  /** When the first waiting task is due; it may be in the past. */
  async nextDue(): Promise<number | undefined> {
    return (await this.#connection.query<{ at: number | null }>(sql.nextDue))[0]?.at ?? undefined;
  }

  /** In their order. */
  attempts(id: string): Promise<AttemptRecord[]> {
    return this.#connection.query<AttemptRecord>(sql.attempts, [id]);
  }

  /** Those after the event `after`, in order: `limit` at most, and no more once they have `bytes`. */
  events(id: string, after: number, limit: number, bytes = Number.MAX_SAFE_INTEGER): Promise<TaskEvent[]> {
    return this.#connection.query<TaskEvent>(sql.events satisfies Statement, [id, after, limit, bytes]);
  }

  async #tellStarted({ id, lease_token: token, num_retries: attempt }: Lease, owner: TaskOwner): Promise<void> {
    const happening: TaskHappening = { ...owner, event: 'task.started', task_id: id, lease_token: token, status: 'running', num_retries: attempt, result: null };
    await Promise.all([this.#tell(id, 'running', { attempt }), this.#deliveries.add(happening)]);
  }

  async #tell(id: string, event: string, data: object): Promise<void> {
    await Promise.all([this.#addEvent(id, event, JSON.stringify(data)), this.#connection.notify(id)]);
  }

  async #addEvent(id: string, event: string, data: string): Promise<void> {
    await this.#connection.query(sql.addEvent, [id, event, data, this.#connection.now()]);
  }
}

type ClaimedRow = Omit<ClaimedTask, 'files'> & { readonly files: string };

function fromClaimedRow(row: ClaimedRow): ClaimedTask {
  return { ...row, files: JSON.parse(row.files) as StoredFile[] };
}

/** The name in an error, as a text that every database can keep and look for. */
function errorName(json: string): string | null {
  const { error } = JSON.parse(json) as { readonly error?: unknown };
  return typeof error === 'string' ? error.replace(/[\0\p{Surrogate}]/gu, '\ufffd').slice(0, ERROR_NAME_LENGTH) : null;
}

/** Says that a user has so many tasks waiting that no more are taken. */
export function tooManyTasks(maxWaiting: number): AanaError {
  const message = `${maxWaiting} tasks of this user wait already, the most that may; try again when some have run, or cancel some`;
  return new AanaError('TooManyTasks', 'rate-limited', message, { data: { max_waiting: maxWaiting } });
}
