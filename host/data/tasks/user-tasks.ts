import { AanaError, fail } from '../../base/core/errors.ts';
import { newId } from '../../base/core/ids.ts';
import { type Caller, validTraceparent } from '../../base/core/request-context.ts';
import { checkInput, type ServedEndpoint, type UploadedFile } from '../../endpoints/registry/index.ts';
import {
  type AttemptRecord,
  type EnqueueLimits,
  type ListedTask,
  mayBeCommitted,
  type NewTask,
  type Repositories,
  type Storage,
  type StoredWatchers,
  type TaskEvent,
  type TaskFilter,
  type TaskRecord,
  taskStorageFull,
  type TaskStatus,
  tooManyTasks,
  type TracedStorage,
  UnknownOutcomeError,
  whileUnavailable,
} from '../storage/index.ts';
import type { Ceilings } from './ceilings.ts';
import { hashRequest, type TaskFiles } from './task-files.ts';
import type { TaskTelemetry } from './task-telemetry.ts';
import { watchTask } from './watch-task.ts';
import type { Watchers } from './watchers.ts';
import type { WriteTogether } from './write-together.ts';

/** How long the queue searches for a task whose commit is unknown. */
const LOOK_MS = 30_000;

/** What the tasks of all users share. */
export interface SharedTasks {
  readonly storage: Storage;
  readonly config: { readonly execution_timeout: number; readonly max_retries: number };
  readonly files: TaskFiles;
  readonly accepting: WriteTogether;
  readonly watchers: Watchers;
  readonly events: StoredWatchers;
  readonly telemetry: TaskTelemetry;
  readonly ceilingsOf: (userId: string | null, isAdmin: boolean) => Ceilings;
  /** Called when a task was accepted. */
  readonly onAccepted: () => void;
  /** Ends all watchers. */
  readonly signal: AbortSignal;
}

export interface DeferredRequest {
  readonly input: unknown;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** A task with a higher priority runs first. Default: 0. */
  readonly priority?: number | undefined;
  /** Seconds for one attempt. Default: the setting of the endpoint, else of the configuration. */
  readonly executionTimeoutS?: number | undefined;
  /** Most attempts. Default: the setting. */
  readonly maxAttempts?: number | undefined;
  /** Writes in the transaction that stores the task. It may run again after an unknown commit. */
  readonly alongside?: ((repositories: Repositories, taskId: string) => Promise<void>) | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface WatchOptions {
  /** The last event that the reader has; 0 for none. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** The tasks of a caller. Tasks of other users are not found. Tasks of all users are those of the user null. */
export class UserTasks {
  readonly #shared: SharedTasks;
  readonly #caller: Caller;
  readonly #storage: TracedStorage;

  constructor(shared: SharedTasks, caller: Caller) {
    this.#shared = shared;
    this.#caller = caller;
    this.#storage = shared.storage.inTrace(caller.traceparent);
  }

  /**
   * Checks and stores a request. Returns the id of its task, which is stored when this resolves. The same idempotency
   * key with the same request returns the same task. Throws the errors of {@link checkInput}, `IdempotencyKeyReused`,
   * `TooManyTasks` when the user has no room for another waiting task, and `TaskStorageFull` when the tasks of the user
   * would keep too many bytes.
   */
  async enqueue(endpoint: ServedEndpoint, request: DeferredRequest): Promise<string> {
    const { input, files, priority = 0, executionTimeoutS, maxAttempts, idempotencyKey } = request;
    checkInput(endpoint, input, files);
    const { userId, traceparent } = this.#caller;
    const { config, files: keeper, telemetry } = this.#shared;
    const { maxWaiting, maxBytes } = this.ceilings();
    const data = JSON.stringify(input);
    const requestHash = await hashRequest(endpoint.path, data, files);
    const id = newId();
    const timeoutS = executionTimeoutS ?? endpoint.executionTimeoutS ?? config.execution_timeout;
    const kept = await keeper.keep(id, files);
    try {
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
        telemetry.accepted(endpoint.path);
        this.#shared.onAccepted();
      } else await keeper.remove(kept);
      return accepted.id;
    } catch (error) {
      // After an unknown commit, the sweeper removes the files if the task does not exist.
      if (!mayBeCommitted(error)) await keeper.remove(kept);
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
      this.#shared.accepting.write(async (repositories) => {
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
          'the connection to the database was lost while the task was stored, so it is unknown whether the task ' +
            'exists; send the request again with the same Idempotency-Key',
          later,
        );
      });
    }
  }

  /** Returns the limits of the caller. An admin may request any priority and time. */
  ceilings(isAdmin = false): Ceilings {
    return this.#shared.ceilingsOf(this.#caller.userId, isAdmin);
  }

  /**
   * Returns how many more tasks of the user may wait, at most `wanted`. Throws `TooManyTasks` when none may, and
   * `TaskStorageFull` when the tasks of the user with `bytes` more would keep too many bytes.
   */
  async requireRoom({
    wanted = 1,
    bytes = 1,
  }: { readonly wanted?: number; readonly bytes?: number } = {}): Promise<number> {
    const { userId } = this.#caller;
    const { maxWaiting, maxBytes } = this.ceilings();
    if (userId === null) return wanted;
    const [waiting, kept] = await this.#storage.read(({ tasks }) =>
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
  async get(id: string): Promise<TaskRecord> {
    const task = await this.#storage.read(({ tasks }) => tasks.read(id, this.#caller.userId));
    if (!task) throw notFound(id);
    return task;
  }

  /** Returns the status only, because other columns may be large. Throws like {@link get}. */
  async #statusOf(id: string): Promise<TaskStatus> {
    const status = await this.#storage.read(({ tasks }) => tasks.status(id, this.#caller.userId));
    if (status === undefined) throw notFound(id);
    return status;
  }

  /** Returns a page of tasks, the newest first. Pages count from 1. */
  list({
    page,
    perPage,
    ...filter
  }: TaskFilter & {
    readonly status?: TaskStatus | undefined;
    readonly page: number;
    readonly perPage: number;
  }): Promise<ListedTask[]> {
    return this.#storage.read(({ tasks }) =>
      tasks.list(this.#caller.userId, { ...filter, limit: perPage, offset: (page - 1) * perPage }),
    );
  }

  /** Returns the attempts so far with their outcomes. Throws `NotFoundException`. */
  async attempts(id: string): Promise<AttemptRecord[]> {
    await this.#statusOf(id);
    return this.#storage.read(({ tasks }) => tasks.attempts(id));
  }

  /** Returns the number of tasks by status, without statuses that no task has. */
  count(): Promise<Partial<Record<TaskStatus, number>>> {
    return this.#storage.read(({ tasks }) => tasks.count(this.#caller.userId));
  }

  /** Ends a task that waits or runs. A running engine stops, too. Throws `TaskEnded` for a task that has ended. */
  async cancel(id: string): Promise<TaskRecord> {
    const status = await this.#statusOf(id);
    const files = await this.#storage.write(({ tasks }) => tasks.cancel(id, this.#caller.userId));
    if (!files && status !== 'cancelled')
      throw fail('TaskEnded', 'Only tasks that have not ended can be cancelled.', {
        data: { id },
      });
    if (files) await this.#shared.files.remove(files);
    return this.get(id);
  }

  /**
   * Gives a failed task new attempts. Throws `TaskNotFailed` for other tasks, and the errors of {@link requireRoom}.
   */
  async retry(id: string): Promise<TaskRecord> {
    await this.#statusOf(id);
    await this.requireRoom();
    if (!(await this.#storage.write(({ tasks }) => tasks.retry(id, this.#caller.userId))))
      throw fail('TaskNotFailed', 'Only failed tasks can be retried', { data: { id } });
    return this.get(id);
  }

  /**
   * Gives failed tasks new attempts, starting with the task that failed first: at most `limit` tasks, and at most as
   * many as may wait. Returns their ids. Throws the errors of {@link requireRoom}.
   */
  async retryFailed(filter: TaskFilter, limit: number): Promise<string[]> {
    const room = await this.requireRoom({ wanted: limit });
    return this.#storage.write(({ tasks }) => tasks.retryFailed(this.#caller.userId, filter, room));
  }

  /** Removes a task and returns it. Throws `TaskIsActive` for a task that a host runs. */
  async delete(id: string): Promise<TaskRecord> {
    const task = await this.get(id);
    const files = await this.#storage.write(({ tasks }) => tasks.delete(id, this.#caller.userId));
    if (!files) throw fail('TaskIsActive', 'Cannot delete a running or assigned task.', { data: { id } });
    await this.#shared.files.remove(files);
    return task;
  }

  /**
   * Counts a stream that the user reads until the returned function is called. Throws `TooManyWatchers` when the user
   * reads as many as allowed.
   */
  countWatcher(): () => void {
    return this.#shared.watchers.add(this.#caller.userId, this.ceilings().maxWatchers);
  }

  /**
   * Yields the events of a task after the event `after`, until the task has ended. Throws `NotFoundException` or
   * `TooManyWatchers` before the first event.
   */
  async watch(id: string, { after, signal }: WatchOptions): Promise<AsyncGenerator<TaskEvent, void>> {
    await this.#statusOf(id);
    const release = this.countWatcher();
    return releasing(
      watchTask(this.#shared.events, { id, after, signal: AbortSignal.any([signal, this.#shared.signal]) }),
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
