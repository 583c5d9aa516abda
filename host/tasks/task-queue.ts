import { AanaError, fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/log/logger.ts';
import { validTraceparent } from '../core/request-context.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry.ts';
import { checkInput, type ServedEndpoint, type EndpointRegistry, type UploadedFile } from '../endpoints/index.ts';
import {
  type AttemptRecord, type EnqueueLimits, type ListedTask, mayBeCommitted, type NewTask, type Repositories, type Storage, StoredWatchers, type TaskEvent, type TaskFilter, type TaskRecord, taskStorageFull, type TaskStatus, tooManyTasks, UnknownOutcomeError, whileUnavailable,
} from '../storage/index.ts'; // prettier-ignore
import type { Usage } from '../usage/index.ts';
import { type Ceilings, ceilingsOf, type UserCeilingsConfig } from './ceilings.ts';
import { RETRYABLE_EXCEPTIONS } from './retry-policy.ts';
import { Sweeper } from './sweeper.ts';
import { hashRequest, TaskFiles } from './task-files.ts';
import type { TaskRunnerOptions } from './task-runner.ts';
import { type HostWork, TaskRunners } from './task-runners.ts';
import { TaskTelemetry } from './task-telemetry.ts';
import { watchTask } from './watch-task.ts';
import { Watchers } from './watchers.ts';
import { WriteTogether } from './write-together.ts';

/** How long the queue searches for a task whose commit is unknown. */
const LOOK_MS = 30_000;

/** Named like the settings `TASK_QUEUE__…`; times in seconds. */
export interface TaskQueueConfig extends UserCeilingsConfig {
  readonly num_workers: number;
  readonly execution_timeout: number;
  readonly heartbeat_timeout: number;
  readonly max_retries: number;
  readonly maximum_active_tasks_per_user: number;
  readonly reserved_workers: number;
  readonly retention: number;
  readonly unserved_timeout: number;
}

export interface TaskQueueOptions {
  readonly storage: Storage;
  readonly endpoints: EndpointRegistry;
  /** The folder of the uploaded files of tasks. Hosts that share a database share it. */
  readonly dir: string;
  readonly config: TaskQueueConfig;
  /** Long work of the host itself, which no route runs. Default: none. */
  readonly hostWork?: readonly HostWork[] | undefined;
  /** Whether tasks of users without an active subscription wait. Default: false. */
  readonly subscribersOnly?: boolean | undefined;
  /** Names of errors after which a task has another attempt. Default: {@link RETRYABLE_EXCEPTIONS}. */
  readonly retryable?: readonly string[] | undefined;
  readonly log: Logger;
  /** Default: tasks are not reported. */
  readonly telemetry?: Telemetry | undefined;
  /** Measures attempts. Default: usage is not recorded. */
  readonly usage?: Pick<Usage, 'begin'> | undefined;
  readonly allowanceOf?: TaskRunnerOptions['allowanceOf'];
  /** Aborts when the application shuts down. It ends all watchers of tasks. */
  readonly signal: AbortSignal;
}

export interface DeferredRequest {
  readonly input: unknown;
  readonly files: ReadonlyMap<string, UploadedFile>;
  readonly userId: string | null;
  /** A task with a higher priority runs first. Default: 0. */
  readonly priority?: number | undefined;
  /** Seconds for one attempt. Default: the setting of the endpoint, else of the configuration. */
  readonly executionTimeoutS?: number | undefined;
  /** Most attempts. Default: the setting. */
  readonly maxAttempts?: number | undefined;
  /** Writes in the transaction that stores the task. It may run again after an unknown commit. */
  readonly alongside?: ((repositories: Repositories, taskId: string) => Promise<void>) | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The place of the request in a distributed trace. An invalid one is ignored. */
  readonly traceparent?: string | undefined;
}

export interface WatchOptions {
  /** The last event that the reader has; 0 for none. */
  readonly after: number;
  readonly signal: AbortSignal;
  readonly traceparent?: string | undefined;
}

/** The durable queue of deferred requests. An accepted request is not lost when this process ends. */
export class TaskQueue {
  readonly #options: TaskQueueOptions;
  #ceilings: UserCeilingsConfig;
  readonly #files: TaskFiles;
  readonly #runners: TaskRunners;
  readonly #sweeper: Sweeper;
  readonly #telemetry: TaskTelemetry;
  readonly #accepting: WriteTogether;
  readonly #watchers = new Watchers();
  readonly #events: StoredWatchers;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
    this.#ceilings = options.config;
    const {
      storage,
      endpoints,
      config,
      log,
      telemetry = noTelemetry,
      retryable = RETRYABLE_EXCEPTIONS,
      subscribersOnly = false,
      hostWork = [],
    } = options;
    const files = new TaskFiles(options.dir);
    this.#files = files;
    this.#telemetry = new TaskTelemetry(telemetry);
    const leaseMs = config.heartbeat_timeout * 1000;
    this.#runners = new TaskRunners({
      storage,
      endpoints,
      hostWork,
      files,
      log,
      leaseMs,
      workers: config.num_workers,
      reservedWorkers: config.reserved_workers,
      activeOfUser: config.maximum_active_tasks_per_user,
      subscribersOnly,
      retryable,
      unservedMs: config.unserved_timeout * 1000,
      telemetry: this.#telemetry,
      usage: options.usage,
      allowanceOf: options.allowanceOf,
      maxBytesOf: (userId) => this.ceilings(userId, false).maxBytes,
    });
    this.#accepting = new WriteTogether(storage);
    this.#events = new StoredWatchers({
      storage,
      readPositions: ({ tasks }, ids) => tasks.positions(ids),
      messageOf: (id) => id,
    });
    this.#sweeper = new Sweeper({
      ...{ storage, files, log, leaseMs, retentionMs: config.retention * 1000 },
      runs: (id) => this.#runners.runs(id),
    });
  }

  /** Begins to run tasks, also tasks that an ended host left. */
  async start(): Promise<void> {
    await this.#runners.start();
    if (!this.#options.signal.aborted) this.#sweeper.start();
  }

  /** Claims no more tasks. Running tasks have `graceMs` to end; the rest goes back to the queue. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([this.#runners.stop(graceMs), this.#sweeper.stop()]);
  }

  /**
   * Checks and stores a request. Returns the id of its task, which is stored when this resolves. The same idempotency
   * key with the same request returns the same task. Throws the errors of {@link checkInput}, `IdempotencyKeyReused`,
   * `TooManyTasks` when the user has no room for another waiting task, and `TaskStorageFull` when the tasks of the user
   * would keep too many bytes.
   */
  async enqueue(endpoint: ServedEndpoint, request: DeferredRequest): Promise<string> {
    const { input, files, userId, priority = 0, executionTimeoutS, maxAttempts, idempotencyKey, traceparent } = request;
    checkInput(endpoint, input, files);
    const { config } = this.#options;
    const { maxWaiting, maxBytes } = this.ceilings(userId, false);
    const data = JSON.stringify(input);
    const requestHash = await hashRequest(endpoint.path, data, files);
    const id = newId();
    const timeoutS = executionTimeoutS ?? endpoint.executionTimeoutS ?? config.execution_timeout;
    try {
      const kept = await this.#files.keep(id, files);
      const task = {
        id,
        endpoint: endpoint.path,
        data,
        files: kept,
        priority,
        user_id: userId,
        timeout_ms: Math.ceil(timeoutS * 1000),
        max_attempts: maxAttempts ?? config.max_retries,
        idempotency_key: idempotencyKey ?? null,
        request_hash: requestHash,
        traceparent: validTraceparent(traceparent) ?? null,
      };
      const accepted = await this.#accept(task, { maxWaiting, maxBytes }, request.alongside);
      if (accepted.isNew) {
        this.#telemetry.accepted(endpoint.path);
        this.#runners.look();
      } else if (kept.length > 0) await this.#files.remove(id);
      return accepted.id;
    } catch (error) {
      // After an unknown commit, the sweeper removes the files if the task does not exist.
      if (!mayBeCommitted(error)) await this.#files.remove(id);
      throw error;
    }
  }

  /**
   * Stores a task. When the commit is unknown, repeats the write until its outcome is known, for at most half a minute.
   */
  async #accept(
    task: NewTask,
    limits: EnqueueLimits,
    alongside: DeferredRequest['alongside'],
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const enqueue = (): Promise<{ readonly id: string; readonly isNew: boolean }> =>
      this.#accepting.write(async (repositories) => {
        const accepted = await repositories.tasks.enqueue(task, limits);
        if (accepted.isNew) await alongside?.(repositories, accepted.id);
        return accepted;
      }, task.traceparent ?? undefined);
    try {
      return await enqueue();
    } catch (error) {
      if (!mayBeCommitted(error)) throw error;
      return whileUnavailable(enqueue, AbortSignal.timeout(LOOK_MS)).catch((later: unknown) => {
        // The task was not stored, because another task has its key or there is no room.
        if (later instanceof AanaError && (later.kind === 'conflict' || later.kind === 'rate-limited')) throw later;
        throw new UnknownOutcomeError(
          'the connection to the database was lost while the task was stored, so it is unknown whether the task exists; send the request again with the same Idempotency-Key',
          later,
        );
      });
    }
  }

  /** Returns the limits of a caller. */
  ceilings(userId: string | null, isAdmin: boolean): Ceilings {
    return ceilingsOf(this.#ceilings, userId, isAdmin);
  }

  /** Replaces the limits of users. */
  configure(ceilings: UserCeilingsConfig): void {
    this.#ceilings = ceilings;
  }

  /**
   * Returns how many more tasks of a user may wait, at most `wanted`. Throws `TooManyTasks` when none may, and
   * `TaskStorageFull` when the tasks of the user with `bytes` more would keep too many bytes.
   */
  async requireRoom(
    userId: string | null,
    {
      wanted = 1,
      bytes = 1,
      traceparent,
    }: {
      readonly wanted?: number;
      readonly bytes?: number;
      readonly traceparent?: string | undefined;
    } = {},
  ): Promise<number> {
    const { maxWaiting, maxBytes } = this.ceilings(userId, false);
    if (userId === null) return wanted;
    const [waiting, kept] = await this.#options.storage
      .inTrace(traceparent)
      .read(({ tasks }) =>
        Promise.all([
          maxWaiting === undefined ? 0 : tasks.waiting(userId, maxWaiting),
          maxBytes === undefined ? 0 : tasks.keptBytes(userId),
        ]),
      );
    if (maxWaiting !== undefined && waiting >= maxWaiting) throw tooManyTasks(maxWaiting);
    if (maxBytes !== undefined && kept + bytes > maxBytes) throw taskStorageFull(kept + bytes, maxBytes);
    return Math.min((maxWaiting ?? Infinity) - waiting, wanted);
  }

  /** Throws `NotFoundException`, also for a task of another user. */
  async get(id: string, userId: string | null, traceparent?: string): Promise<TaskRecord> {
    const task = await this.#options.storage.inTrace(traceparent).read(({ tasks }) => tasks.read(id, userId));
    if (!task) throw notFound(id);
    return task;
  }

  /** Returns the status only, because other columns may be large. Throws like {@link get}. */
  async #statusOf(id: string, userId: string | null, traceparent: string | undefined): Promise<TaskStatus> {
    const status = await this.#options.storage.inTrace(traceparent).read(({ tasks }) => tasks.status(id, userId));
    if (status === undefined) throw notFound(id);
    return status;
  }

  /** Returns a page of tasks, the newest first. Pages count from 1. */
  list(
    userId: string | null,
    {
      page,
      perPage,
      ...filter
    }: TaskFilter & { readonly status?: TaskStatus | undefined; readonly page: number; readonly perPage: number },
    traceparent?: string,
  ): Promise<ListedTask[]> {
    return this.#options.storage
      .inTrace(traceparent)
      .read(({ tasks }) => tasks.list(userId, { ...filter, limit: perPage, offset: (page - 1) * perPage }));
  }

  /** Returns the attempts so far with their outcomes. Throws `NotFoundException`. */
  async attempts(id: string, userId: string | null, traceparent?: string): Promise<AttemptRecord[]> {
    await this.#statusOf(id, userId, traceparent);
    return this.#options.storage.inTrace(traceparent).read(({ tasks }) => tasks.attempts(id));
  }

  /** Returns the number of tasks by status, without statuses that no task has. */
  count(userId: string | null, traceparent?: string): Promise<Partial<Record<TaskStatus, number>>> {
    return this.#options.storage.inTrace(traceparent).read(({ tasks }) => tasks.count(userId));
  }

  /** Ends a task that waits or runs. A running engine stops, too. Throws `TaskEnded` for a task that has ended. */
  async cancel(id: string, userId: string | null, traceparent?: string): Promise<TaskRecord> {
    const status = await this.#statusOf(id, userId, traceparent);
    const isCancelled = await this.#options.storage.inTrace(traceparent).write(({ tasks }) => tasks.cancel(id, userId));
    if (!isCancelled && status !== 'cancelled')
      throw fail('TaskEnded', 'Only tasks that have not ended can be cancelled.', {
        data: { id },
      });
    await this.#files.remove(id);
    return this.get(id, userId, traceparent);
  }

  /**
   * Gives a failed task new attempts. Throws `TaskNotFailed` for other tasks, and the errors of {@link requireRoom}.
   */
  async retry(id: string, userId: string | null, traceparent?: string): Promise<TaskRecord> {
    await this.#statusOf(id, userId, traceparent);
    await this.requireRoom(userId, { traceparent });
    if (!(await this.#options.storage.inTrace(traceparent).write(({ tasks }) => tasks.retry(id, userId))))
      throw fail('TaskNotFailed', 'Only failed tasks can be retried', { data: { id } });
    return this.get(id, userId, traceparent);
  }

  /**
   * Gives failed tasks new attempts, starting with the task that failed first: at most `limit` tasks, and at most as
   * many as may wait. Returns their ids. Throws the errors of {@link requireRoom}.
   */
  async retryFailed(userId: string | null, filter: TaskFilter, limit: number, traceparent?: string): Promise<string[]> {
    const room = await this.requireRoom(userId, { wanted: limit, traceparent });
    return this.#options.storage.inTrace(traceparent).write(({ tasks }) => tasks.retryFailed(userId, filter, room));
  }

  /** Removes a task and returns it. Throws `TaskIsActive` for a task that a host runs. */
  async delete(id: string, userId: string | null, traceparent?: string): Promise<TaskRecord> {
    const task = await this.get(id, userId, traceparent);
    const isGone = await this.#options.storage.inTrace(traceparent).write(({ tasks }) => tasks.delete(id, userId));
    if (!isGone) throw fail('TaskIsActive', 'Cannot delete a running or assigned task.', { data: { id } });
    await this.#files.remove(id);
    return task;
  }

  /**
   * Counts a stream that a user reads until the returned function is called. Throws `TooManyWatchers` when the user
   * reads as many as allowed.
   */
  countWatcher(userId: string | null): () => void {
    return this.#watchers.add(userId, this.ceilings(userId, false).maxWatchers);
  }

  /**
   * Yields the events of a task after the event `after`, until the task has ended. Throws `NotFoundException` or
   * `TooManyWatchers` before the first event.
   */
  async watch(
    id: string,
    userId: string | null,
    { after, signal, traceparent }: WatchOptions,
  ): Promise<AsyncGenerator<TaskEvent, void>> {
    await this.#statusOf(id, userId, traceparent);
    const release = this.countWatcher(userId);
    return releasing(
      watchTask(this.#events, { id, after, signal: AbortSignal.any([signal, this.#options.signal]) }),
      release,
    );
  }
}

/** Yields `values` and calls `release` at the end, also when the reader leaves earlier. */
async function* releasing<T>(values: AsyncGenerator<T, void>, release: () => void): AsyncGenerator<T, void> {
  try {
    yield* values;
  } finally {
    release();
  }
}

function notFound(id: string): AanaError {
  return fail('NotFoundException', `there is no task ${JSON.stringify(id)}`, {
    data: { table: 'tasks', id },
  });
}
