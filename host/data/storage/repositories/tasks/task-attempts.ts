import type { Connection } from '../../database.ts';
import { loadStatements } from '../../statements.ts';
import { statusesBefore, type TaskStatus } from '../../task-state.ts';
import { nextTasks, type NextTasksOptions } from './task-claims.ts';
import { TaskLists } from './task-lists.ts';
import { TaskLog } from './task-log.ts';
import type { StoredFile } from './task-records.ts';
import { keptBytesOf, limitKeptBytes } from './task-usage.ts';
import type { TaskHappening } from '../webhook-deliveries.ts';

const sql = loadStatements('task-attempts', [
  'claim',
  'touch',
  'hasReported',
  'finish',
  'hasEnded',
  'adopt',
  'heartbeat',
  'held',
  'lockLease',
  'probe',
  'hasten',
  'beginAttempt',
  'endAttempt',
]);

/** The length of the longest text that a filter accepts. */
const ERROR_NAME_LENGTH = 255;

/** One attempt at a task. Its holder needs the token for each write. */
export interface Lease {
  readonly id: string;
  readonly lease_token: number;
  readonly num_retries: number;
  readonly max_attempts: number;
}

/** A lease as another host sees it. */
export interface HeldLease extends Lease {
  /** The time without a renewal after which its host has lost the task. */
  readonly lease_ms: number;
  readonly lease_renewals: number;
}

export interface ClaimedTask extends Lease {
  readonly endpoint: string;
  readonly data: string;
  readonly files: readonly StoredFile[];
  readonly timeout_ms: number;
  /** A task with a higher priority is claimed first. */
  readonly priority: number;
  readonly user_id: string | null;
  /** The place of the request of the task in a distributed trace. */
  readonly traceparent: string | null;
  /** Milliseconds for which the task was put off, since something last worked on it, because nothing could. */
  readonly unserved_ms: number;
  /** Milliseconds from the due time of the task until its claim. */
  readonly waited_ms: number;
}

export interface ClaimOptions extends NextTasksOptions {
  /** See {@link HeldLease.lease_ms}. */
  readonly leaseMs: number;
}

/**
 * The end of an attempt. `release`: another attempt may follow after `delayMs`. `expired`: the time of the attempt was
 * up, or its host renewed no lease. `unservedMs`: nothing could work on the attempt, so it does not count; the new
 * {@link ClaimedTask.unserved_ms}.
 */
export type Outcome =
  | { readonly kind: 'complete'; readonly result: string }
  | { readonly kind: 'fail'; readonly error: string; readonly expired?: boolean }
  | {
      readonly kind: 'release';
      readonly error: string | null;
      readonly delayMs: number;
      readonly outcome: 'not_finished' | 'lost';
      readonly expired?: boolean;
      readonly unservedMs?: number;
    };

/** The facts about a task that messages to webhooks need besides the lease. */
export type TaskOwner = Pick<TaskHappening, 'endpoint' | 'user_id' | 'traceparent'>;

/** Streamed values and the progress of an attempt. */
export interface AttemptBatch {
  /** The number of the batch, counted from 1. A batch that is written twice is stored once. */
  readonly number: number;
  /** Streamed values, as JSON. */
  readonly chunks: readonly string[];
  /** Percent. */
  readonly progress: number | undefined;
}

/**
 * Attempts at tasks: hosts claim tasks, report progress and outcomes, and lose the tasks whose leases they do not
 * renew.
 */
export class TaskAttempts extends TaskLists {
  protected readonly log: TaskLog;

  constructor(connection: Connection) {
    super(connection);
    this.log = new TaskLog(connection);
  }

  /** Claims the tasks that are next, see {@link nextTasks}, and begins an attempt at each. */
  async claim({ leaseMs, ...options }: ClaimOptions): Promise<ClaimedTask[]> {
    const ids = await nextTasks(this.connection, options);
    const claimed = await Promise.all(ids.map((id) => this.#claimOne(id, options.owner, leaseMs)));
    return claimed.filter((task) => task !== undefined);
  }

  /**
   * Returns the tasks that `owner` has without knowing it, because the answer to {@link claim} was lost, and renews
   * their leases. `known` are the ids of the tasks that it knows.
   */
  async adopt(owner: string, known: readonly string[]): Promise<ClaimedTask[]> {
    const values = [owner, this.connection.now(), JSON.stringify(known)];
    return (await this.connection.query<ClaimedRow>(sql.adopt, values)).map(fromClaimedRow);
  }

  async #claimOne(id: string, owner: string, leaseMs: number): Promise<ClaimedTask | undefined> {
    const now = this.connection.now();
    const values = [id, owner, Math.round(leaseMs), now, JSON.stringify(statusesBefore('claim'))];
    const [row] = await this.connection.query<ClaimedRow>(sql.claim, values);
    if (!row) return undefined; // another host was faster
    const attempt = { attempt: row.num_retries };
    await Promise.all([
      this.connection.query(sql.beginAttempt, [id, row.lease_token, owner, now]),
      this.log.add(id, 'assigned', JSON.stringify(attempt)), // watchers are notified with the next event
      this.log.tell(id, 'running', attempt),
      this.log.tellWebhooks({
        endpoint: row.endpoint,
        user_id: row.user_id,
        traceparent: row.traceparent,
        event: 'task.started',
        task_id: id,
        lease_token: row.lease_token,
        status: 'running',
        num_retries: row.num_retries,
        result: null,
      }),
    ]);
    return fromClaimedRow(row);
  }

  /**
   * Stores streamed values and progress as events. A batch that is already stored is not stored again. Returns false
   * when the attempt has lost the task: another host has it, or it was cancelled.
   */
  async report({ id, lease_token: token }: Lease, { number, chunks, progress }: AttemptBatch): Promise<boolean> {
    if (
      (
        await this.connection.query(sql.touch, [
          id,
          token,
          this.connection.now(),
          progress ?? null,
          number,
          chunks.reduce((sum, chunk) => sum + Buffer.byteLength(chunk), 0),
        ])
      ).length === 0
    ) {
      return (await this.connection.query(sql.hasReported, [id, token, number])).length > 0;
    }
    const events = chunks.map((chunk) => this.log.add(id, 'chunk', chunk));
    if (progress !== undefined) events.push(this.log.add(id, 'progress', JSON.stringify({ progress })));
    // All hosts would wait for each other if values were announced to them: PostgreSQL commits notifications one by
    // one.
    await Promise.all([...events, this.connection.notifyHere(id)]);
    return true;
  }

  /**
   * Ends the attempt. Returns true also when it has already ended in this way, and false when the attempt has lost the
   * task. Throws `TaskStorageFull` when the result would make tasks of the user keep more than `maxBytes`. Copies of
   * results for webhooks have the same limit.
   */
  async finish(
    lease: Lease,
    outcome: Outcome,
    { maxBytes }: { readonly maxBytes?: number | undefined } = {},
  ): Promise<boolean> {
    const now = this.connection.now();
    const { id, lease_token: token, num_retries: attempt } = lease;
    const status: TaskStatus = { complete: 'completed', fail: 'failed', release: 'not_finished' }[
      outcome.kind
    ] as TaskStatus;
    const result = outcome.kind === 'complete' ? outcome.result : outcome.kind === 'fail' ? outcome.error : null;
    const unservedMs = outcome.kind === 'release' ? outcome.unservedMs : undefined;
    const availableAt = outcome.kind === 'release' ? now + Math.round(outcome.delayMs) : now;
    const values = [
      id,
      token,
      status,
      status === 'completed' ? 100 : 0,
      result,
      availableAt,
      outcome.kind === 'release' ? null : now,
      now,
      JSON.stringify(statusesBefore(outcome.kind)),
      outcome.kind === 'fail' ? errorName(outcome.error) : null,
      result === null ? 0 : Buffer.byteLength(result),
      unservedMs === undefined ? 0 : 1,
      Math.round(unservedMs ?? 0),
    ];
    const [task] = await this.connection.query<TaskOwner>(sql.finish, values);
    const attemptOutcome = outcome.kind === 'release' ? outcome.outcome : status;
    const error = outcome.kind === 'complete' ? null : outcome.error;
    if (!task) return (await this.connection.query(sql.hasEnded, [id, token, attemptOutcome, error])).length > 0;
    if (outcome.kind === 'complete' && task.user_id !== null && maxBytes !== undefined)
      await limitKeptBytes(this.connection, task.user_id, await keptBytesOf(this.connection, task.user_id), maxBytes);
    const happening = {
      ...task,
      task_id: id,
      lease_token: token,
      status,
      num_retries: attempt,
      result: result ?? error,
    };
    await Promise.all([
      this.endAttempt(id, token, { endedAt: now, outcome: attemptOutcome, error }),
      this.log.tell(id, status, {
        attempt,
        ...(outcome.kind === 'release' && { retry_in_ms: Math.round(outcome.delayMs) }),
      }),
      outcome.kind === 'release' && this.log.tellHosts(),
      outcome.kind !== 'complete' &&
        outcome.expired &&
        this.log.tellWebhooks({ ...happening, event: 'task.expired' }, { maxBytes }),
      outcome.kind !== 'release' &&
        this.log.tellWebhooks(
          { ...happening, event: outcome.kind === 'complete' ? 'task.completed' : 'task.failed' },
          { maxBytes },
        ),
    ]);
    return true;
  }

  /** Renews the leases of tasks. Returns the tokens of the tasks that `owner` still has, by id. */
  async heartbeat(owner: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const values = [owner, JSON.stringify(ids), this.connection.now()];
    const rows = await this.connection.query<{ id: string; lease_token: number }>(sql.heartbeat, values);
    return new Map(rows.map(({ id, lease_token: token }) => [id, token]));
  }

  /** Returns the leases of all hosts. */
  held(): Promise<HeldLease[]> {
    return this.connection.query<HeldLease>(sql.held);
  }

  /** Returns whether a lease is as it was seen. Until the end of the transaction its host cannot renew it. */
  async lockLease({ id, lease_token: token, lease_renewals: renewals }: HeldLease): Promise<boolean> {
    return (await this.connection.query(sql.lockLease, [id, token, renewals])).length > 0;
  }

  /** Changes a row. Rejects when the database takes no writes, such as on a full disk, where it can still be read. */
  async probe(): Promise<void> {
    await this.connection.query(sql.probe);
  }

  /** Makes tasks due now that would wait too long, because the clock was set back. No delay is above `mostDelayMs`. */
  async hasten(mostDelayMs: number): Promise<void> {
    const now = this.connection.now();
    const hastened = await this.connection.query(sql.hasten, [now, now + mostDelayMs]);
    if (hastened.length > 0) await this.log.tellHosts();
  }

  /** Stores the end of an attempt. Does nothing when it has already ended. */
  protected async endAttempt(
    id: string,
    leaseToken: number,
    { endedAt, outcome, error }: { readonly endedAt: number; readonly outcome: string; readonly error: string | null },
  ): Promise<void> {
    await this.connection.query(sql.endAttempt, [id, leaseToken, endedAt, outcome, error]);
  }
}

type ClaimedRow = Omit<ClaimedTask, 'files' | 'waited_ms'> & {
  readonly files: string;
  readonly available_at: number;
  readonly assigned_at: number;
};

function fromClaimedRow({
  files,
  available_at: availableAt,
  assigned_at: assignedAt,
  ...row
}: ClaimedRow): ClaimedTask {
  return { ...row, files: JSON.parse(files) as StoredFile[], waited_ms: assignedAt - availableAt };
}

/** Returns the name in an error as a text that every database can store and search. */
function errorName(json: string): string | null {
  const { error } = JSON.parse(json) as { readonly error?: unknown };
  return typeof error === 'string' ? error.replace(/[\0\p{Surrogate}]/gu, '\ufffd').slice(0, ERROR_NAME_LENGTH) : null;
}
