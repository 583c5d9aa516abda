import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { delay } from '../core/abort.ts';
import { type Deferred, deferred } from '../core/deferred.ts';
import { AanaError, cancelledError, errorLogFields, publicMessage, toErrorRecord } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry.ts';
import { type EndpointRegistry, invoke } from '../endpoints/index.ts';
import {
  type ClaimedTask,
  mayBeCommitted,
  type Outcome,
  type Storage,
  TASK_CANCELLED,
  TASKS_WAITING,
  whileUnavailable,
} from '../storage/index.ts';
import { AttemptReport } from './attempt-report.ts';
import { isRetryable, retryDelayMs } from './retry-policy.ts';
import type { TaskFiles } from './task-files.ts';
import { type AttemptRecord, TaskTelemetry } from './task-telemetry.ts';
import { WriteTogether } from './write-together.ts';

export interface TaskRunnerOptions {
  readonly storage: Storage;
  readonly endpoints: EndpointRegistry;
  readonly files: TaskFiles;
  readonly log: Logger;
  /** Tasks at the same time. */
  readonly workers: number;
  /** A host that is not heard of for so long has lost its tasks. */
  readonly leaseMs: number;
  readonly activeOfUser: number;
  /** Most tasks of one user that this host runs at a time. */
  readonly activeOfUserHere: number;
  /** Whether tasks of users without an active subscription wait. */
  readonly subscribersOnly: boolean;
  /** Names of errors after which there is another attempt. */
  readonly retryable: readonly string[];
  /** Bytes that tasks of a user may keep; undefined is as many as there is room for. */
  readonly maxBytesOf: (userId: string | null) => number | undefined;
  /** Default: nothing is reported. */
  readonly telemetry?: Telemetry | undefined;
}

interface Running {
  readonly task: ClaimedTask;
  readonly ending: AbortController;
  readonly done: Promise<void>;
}

/**
 * How often is looked for tasks that nobody told of: those of another process that shares the file, and those whose
 * time has come.
 */
const POLL_MS = 1000;
const AFTER_ERROR_MS = 1000;

/** The reason with which an attempt is ended that is nobody's fault: the task goes back to the queue. */
const SHUTDOWN = new AanaError('ShuttingDown', 'unavailable', 'the application is shutting down');
/** Why results are not tried to be stored any longer. */
const GIVEN_UP = new AanaError('ShuttingDown', 'unavailable', 'the application has shut down');
/** The reason with which an attempt is ended whose task is not this host's any more: nothing is to be said of it. */
const LOST = cancelledError('the task was cancelled, or another host has it');

/** Takes tasks from the queue and runs them, as many at a time as there are workers. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  /** What becomes of the tasks that it has. */
  readonly #results: WriteTogether;
  readonly #telemetry: TaskTelemetry;
  readonly #owner = `${hostname()}/${process.pid}/${newId()}`;
  readonly #running = new Set<Running>();
  readonly #stopping = new AbortController();
  /** Aborts when the time to shut down is over: what could not be stored by then is left to other hosts. */
  readonly #givingUp = new AbortController();
  /** Until when there may be tasks that it has and does not know of; see {@link TaskRunner.#adopt}. */
  #doubtsUntil = 0;
  #isBeating = false;
  #wake: Deferred<void> = deferred();
  #loop: Promise<void> = Promise.resolve();
  #beats: NodeJS.Timeout | undefined;
  #unlisten: (() => void) | undefined;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    setMaxListeners(0, this.#givingUp.signal); // every attempt may wait for the database at a time
    this.#results = new WriteTogether(options.storage);
    this.#telemetry = new TaskTelemetry(options.telemetry ?? noTelemetry);
  }

  /** Begins to take tasks. */
  async start(): Promise<void> {
    const { storage, leaseMs } = this.#options;
    const unlisten = await storage.listen((message) => this.#hear(message));
    if (this.#stopping.signal.aborted) return unlisten();
    this.#unlisten = unlisten;
    this.#beats = setInterval(() => void this.#beat(), leaseMs / 4);
    this.#loop = this.#takeTasks();
  }

  /** Takes no more; lets running ones finish for `graceMs`, then puts them back into the queue. May be called twice. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(SHUTDOWN);
    this.#wake.resolve();
    this.#unlisten?.();
    await this.#loop;
    const timer = setTimeout(() => {
      for (const { ending } of this.#running) ending.abort(SHUTDOWN);
      this.#givingUp.abort(GIVEN_UP);
    }, graceMs);
    await Promise.all([...this.#running].map(({ done }) => done));
    clearTimeout(timer);
    clearInterval(this.#beats);
  }

  /** Looks for tasks now: there is one more, as far as the caller knows. */
  look(): void {
    this.#wake.resolve();
  }

  #hear(message: string): void {
    if (message === '' || message === TASKS_WAITING) this.look();
    if (message === '') void this.#beat(); // one may have been cancelled meanwhile
    if (!message.startsWith(TASK_CANCELLED)) return;
    for (const { task, ending } of this.#running)
      if (task.id === message.slice(TASK_CANCELLED.length)) ending.abort(LOST);
  }

  async #takeTasks(): Promise<void> {
    const { signal } = this.#stopping;
    for (let isTold = true; !signal.aborted;) {
      this.#wake = deferred(); // before the look, so that what comes meanwhile is not missed
      try {
        const waitMs = await this.#take(isTold);
        isTold = waitMs === 0 || (await this.#idle(waitMs));
      } catch (error) {
        this.#options.log.warn('tasks cannot be taken', { error });
        await delay(AFTER_ERROR_MS, signal).catch(() => {});
      }
    }
  }

  /**
   * Gives how long there is nothing to take. When nobody has told of a task, it reads before it writes: writers wait
   * for each other.
   */
  async #take(isTold: boolean): Promise<number> {
    const { storage, endpoints, workers, leaseMs, activeOfUser, activeOfUserHere, subscribersOnly } = this.#options;
    const limit = workers - this.#running.size;
    if (limit <= 0) return POLL_MS;
    if (performance.now() < this.#doubtsUntil) await this.#adopt();
    const dueInMs = isTold ? 0 : await this.#dueInMs();
    if (dueInMs > 0) return Math.min(POLL_MS, dueInMs);
    const paths = endpoints.list().map(({ path }) => path);
    const claimed = await storage
      .write(({ tasks }) =>
        tasks.claim({
          owner: this.#owner,
          endpoints: paths,
          limit,
          leaseMs,
          activeOfUser,
          activeOfUserHere,
          subscribersOnly,
        }),
      )
      .catch((error: unknown) => {
        if (mayBeCommitted(error)) this.#doubtsUntil = Infinity;
        throw error;
      });
    for (const task of claimed) this.#begin(task);
    if (claimed.length > 0) return 0;
    const nextInMs = await this.#dueInMs();
    return nextInMs > 0 ? Math.min(POLL_MS, nextInMs) : POLL_MS; // what is due is not for this host, or not now
  }

  /**
   * Begins what it was given without hearing of it. Only the loop that claims tasks calls this, so nothing is on its
   * way meanwhile.
   */
  async #adopt(): Promise<void> {
    const { storage, leaseMs, log } = this.#options;
    const known = [...this.#running].map(({ task }) => task.id);
    for (const task of await storage.write(({ tasks }) => tasks.adopt(this.#owner, known, leaseMs))) {
      log.info('a task was taken although nobody could say so', { task: task.id });
      this.#begin(task);
    }
    this.#doubtsUntil = Math.min(this.#doubtsUntil, performance.now() + leaseMs); // a commit that is on its way comes before the lease is over, or not at all
  }

  async #dueInMs(): Promise<number> {
    return this.#options.storage.read(
      async ({ tasks, connection }) => ((await tasks.nextDue()) ?? Infinity) - connection.now(),
    );
  }

  /** Whether somebody told of a task. */
  async #idle(ms: number): Promise<boolean> {
    let isTold = true;
    const timer = setTimeout(() => {
      isTold = false;
      this.#wake.resolve();
    }, ms);
    await this.#wake.promise;
    clearTimeout(timer);
    return isTold;
  }

  #begin(task: ClaimedTask): void {
    const ending = new AbortController();
    const done = this.#run(task, ending.signal)
      .catch((error: unknown) =>
        this.#options.log.error('what became of a task could not be stored; it is run again when its lease is over', {
          task: task.id,
          error,
        }),
      )
      .finally(() => {
        this.#running.delete(running);
        this.#wake.resolve();
      });
    const running: Running = { task, ending, done };
    this.#running.add(running);
  }

  async #run(task: ClaimedTask, signal: AbortSignal): Promise<void> {
    const { log, files } = this.#options;
    const fields = { task: task.id, endpoint: task.endpoint, attempt: task.num_retries };
    log.info('task started', fields);
    const startedAt = performance.now();
    const record = this.#telemetry.begin(task);
    let stored = false;
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#attempt(task, signal, record);
      if (outcome === undefined)
        return log.info('task left', { ...fields, reason: 'it was cancelled, or another host has it' });
      stored = await this.#finish(task, outcome);
    } finally {
      record.end(stored ? outcome : undefined);
    }
    if (stored && outcome.kind === 'complete' && task.files.length > 0) await files.remove(task.id);
    log.info('task ended', {
      ...fields,
      outcome: stored ? outcome.kind : 'lost',
      ms: Math.round(performance.now() - startedAt),
    });
  }

  /** How the attempt ended; undefined when the task is not this host's any more. */
  async #attempt(task: ClaimedTask, signal: AbortSignal, record: AttemptRecord): Promise<Outcome | undefined> {
    const { endpoints, files } = this.#options;
    const ending = new AbortController();
    const isOver = AbortSignal.any([signal, ending.signal, this.#givingUp.signal]);
    const report = new AttemptReport({
      write: async (batch) => {
        if (!(await whileUnavailable(() => this.#results.write(({ tasks }) => tasks.report(task, batch)), isOver)))
          ending.abort(LOST);
      },
      onFailure: (error) => ending.abort(error),
    });
    try {
      const endpoint = endpoints.find(task.endpoint);
      if (!endpoint)
        throw new AanaError(
          'EndpointNotFoundException',
          'unavailable',
          `there is no endpoint at ${task.endpoint} just now`,
        );
      const output = await invoke(endpoint, JSON.parse(task.data), {
        requestId: task.id,
        userId: task.user_id,
        priority: task.priority,
        traceparent: record.traceparent,
        timeoutMs: task.timeout_ms,
        signal: AbortSignal.any([signal, ending.signal]),
        files: await files.open(task.files, AbortSignal.any([signal, ending.signal])),
        write: report.add,
        onProgress: report.progress,
      });
      await report.flush();
      record.ran();
      return { kind: 'complete', result: endpoint.streaming ? `[${report.values.join(',')}]` : output };
    } catch (error) {
      await report.flush().catch(() => {}); // what was streamed before the failure is seen; its own failure says nothing new
      const isLost = signal.reason === LOST || ending.signal.reason === LOST;
      const reason: unknown = isLost
        ? LOST
        : signal.aborted
          ? SHUTDOWN
          : ending.signal.aborted
            ? ending.signal.reason
            : error;
      record.ran(reason);
      if (isLost) return undefined;
      this.#options.log.warn('task attempt failed', {
        task: task.id,
        endpoint: task.endpoint,
        attempt: task.num_retries,
        ...errorLogFields(reason),
      });
      return failure(task, reason, this.#options.retryable);
    } finally {
      report.drop();
    }
  }

  /**
   * Stores how an attempt ended, however long the database is away: no other host runs the task before that, unless it
   * knows that this one was lost, and then nothing is stored. What the database refuses for good is stored as the
   * failure that it is.
   */
  async #finish(task: ClaimedTask, outcome: Outcome): Promise<boolean> {
    const write = (result: Outcome): Promise<boolean> =>
      whileUnavailable(
        () =>
          this.#results.write(({ tasks }) =>
            tasks.finish(task, result, { maxBytes: this.#options.maxBytesOf(task.user_id) }),
          ),
        this.#givingUp.signal,
      );
    try {
      return await write(outcome);
    } catch (error) {
      if (this.#givingUp.signal.aborted || outcome.kind !== 'complete') throw error;
      if (error instanceof AanaError && error.name === 'TaskStorageFull')
        return write(failure(task, error, this.#options.retryable));
      this.#options.log.error('a result cannot be stored', { task: task.id, error });
      return write(
        failure(
          task,
          new AanaError(
            'ResultNotStored',
            'internal',
            'the task was done, but the database did not take its result; the log of the server says why',
          ),
          this.#options.retryable,
        ),
      );
    }
  }

  /** Keeps the leases of what runs here, and ends what was lost. */
  async #beat(): Promise<void> {
    const { leaseMs, log, storage } = this.#options;
    const running = [...this.#running];
    if (running.length === 0 || this.#isBeating) return;
    this.#isBeating = true;
    try {
      const ids = running.map(({ task }) => task.id);
      const kept = await storage.write(({ tasks }) => tasks.heartbeat(this.#owner, ids, leaseMs), { isUrgent: true });
      for (const { task, ending } of running) if (kept.get(task.id) !== task.lease_token) ending.abort(LOST);
    } catch (error) {
      log.warn('the leases of tasks were not renewed', { error });
    } finally {
      this.#isBeating = false;
    }
  }
}

function failure(task: ClaimedTask, error: unknown, retryable: readonly string[]): Outcome {
  const record = toErrorRecord(error);
  const text = JSON.stringify({
    error: record.name,
    message: publicMessage(record),
    data: record.data ?? {},
    stacktrace: record.stack ?? null,
  });
  if (error === SHUTDOWN) return { kind: 'release', error: text, delayMs: 0, outcome: 'not_finished' };
  const expired = record.name === 'TimeoutError';
  if (!isRetryable(record, retryable) || task.num_retries >= task.max_attempts)
    return { kind: 'fail', error: text, expired };
  return {
    kind: 'release',
    error: text,
    delayMs: retryDelayMs(task.num_retries, Math.random),
    outcome: 'not_finished',
    expired,
  };
}
