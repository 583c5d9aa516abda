import {
  AanaError,
  cancelledError,
  errorLogFields,
  fail,
  publicData,
  publicMessage,
  toErrorRecord,
} from '../../base/core/errors.ts';
import { newLeaseOwner } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { traceFields } from '../../base/core/request-context.ts';
import { type Pause, QueueConsumer, SHUTDOWN } from '../../base/core/queue-consumer.ts';
import { type EndpointRegistry, invoke } from '../../endpoints/registry/index.ts';
import {
  type ClaimedTask,
  mayBeCommitted,
  type Outcome,
  type Storage,
  TASK_CANCELLED,
  TASKS_WAITING,
  whileUnavailable,
} from '../storage/index.ts';
import type { TokenAllowance } from '../../base/core/usage/usage-meter.ts';
import type { RequestMeter, Usage } from '../usage/index.ts';
import { AttemptReport } from './attempt-report.ts';
import { EndpointPauses } from './endpoint-pauses.ts';
import { isPutOff, isRetryable, isUnserved, retryDelayMs, unservedDelayMs } from './retry-policy.ts';
import type { TaskFiles } from './task-files.ts';
import type { AttemptRecord, TaskTelemetry } from './task-telemetry.ts';
import { WriteTogether } from './write-together.ts';

/** The endpoints whose tasks a runner claims. */
export type EndpointSource = Pick<EndpointRegistry, 'list' | 'find'>;

export interface TaskRunnerOptions {
  readonly storage: Storage;
  readonly endpoints: EndpointSource;
  readonly files: TaskFiles;
  readonly log: Logger;
  /** Most tasks that run at once. */
  readonly workers: number;
  /** A host that renews no lease for so long loses its tasks. */
  readonly leaseMs: number;
  readonly activeOfUser: number;
  /** Most tasks of one user that this host runs at a time. */
  readonly activeOfUserHere: number;
  /** Whether tasks of users without an active subscription wait. */
  readonly subscribersOnly: boolean;
  /** Names of errors after which a task gets another attempt. */
  readonly retryable: readonly string[];
  /** A task that could not be served for so long fails. */
  readonly unservedMs: number;
  /** Returns the bytes that tasks of a user may keep; undefined is no limit. */
  readonly maxBytesOf: (userId: string | null) => number | undefined;
  readonly telemetry: TaskTelemetry;
  /** Measures attempts. Default: usage is not recorded. */
  readonly usage?: Pick<Usage, 'begin'> | undefined;
  /** Returns what the tasks of a user may use. Default: they have no limits. */
  readonly allowanceOf?: ((userId: string | null) => Promise<TokenAllowance>) | undefined;
}

/** The abort reason of an attempt that lost its task. Nothing is stored of such an attempt. */
const LOST = cancelledError('the task was cancelled, or another host has it');

/** Claims tasks and runs them, a limited number at once. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  /** Writes of running tasks, which share transactions. */
  readonly #results: WriteTogether;
  readonly #owner = newLeaseOwner();
  readonly #consumer: QueueConsumer<ClaimedTask>;
  readonly #pauses = new EndpointPauses();
  /** The time until which this host may have tasks that it does not know of; see {@link TaskRunner.#adopt}. */
  #doubtsUntil = 0;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    const { storage, log } = options;
    this.#results = new WriteTogether(storage);
    this.#consumer = new QueueConsumer({
      concurrency: options.workers,
      claim: (room) => this.#claim(room),
      nextDueInMs: () => this.#nextDueInMs(),
      run: (task, signal) => this.#run(task, signal),
      listen: () => storage.listen((message) => this.#hear(message)),
      onClaimError: (error) => log.warn('tasks cannot be claimed', { error }),
      onRunError: (error, { id }) =>
        log.error('the outcome of a task could not be stored; the task runs again after its lease has expired', {
          task: id,
          error,
        }),
      leases: {
        everyMs: options.leaseMs / 4,
        renew: (tasks) => this.#renew(tasks),
        onError: (error) => log.warn('the leases of running tasks were not renewed', { error }),
      },
    });
  }

  /** Begins to claim tasks. */
  start(): Promise<void> {
    return this.#consumer.start();
  }

  /**
   * Claims no more tasks. Running tasks have `graceMs` to end; the rest goes back to the queue. May be called twice.
   */
  stop(graceMs: number): Promise<void> {
    return this.#consumer.stop(graceMs);
  }

  /** See {@link QueueConsumer.pause}. A task that is ended goes back to the queue. */
  pause(pause: Pause): void {
    this.#consumer.pause(pause);
  }

  resume(): void {
    this.#consumer.resume();
  }

  /** The number of attempts that run here. */
  get running(): number {
    return this.#consumer.running.length;
  }

  /** Called when there may be a new task. */
  look(): void {
    this.#consumer.wake();
  }

  /** Returns whether an attempt at the task runs here. */
  runs(id: string): boolean {
    return this.#consumer.running.some((task) => task.id === id);
  }

  #hear(message: string): void {
    if (message === '' || message === TASKS_WAITING) this.look();
    if (message === '') void this.#consumer.renew(); // a notification that a task was cancelled may have been missed
    if (!message.startsWith(TASK_CANCELLED)) return;
    for (const task of this.#consumer.running)
      if (task.id === message.slice(TASK_CANCELLED.length)) this.#consumer.abort(task, LOST);
  }

  async #claim(room: number): Promise<readonly ClaimedTask[]> {
    const { storage, endpoints, leaseMs, activeOfUser, activeOfUserHere, subscribersOnly } = this.#options;
    const adopted = this.#isInDoubt ? await this.#adopt() : [];
    if (adopted.length > 0) return adopted;
    const { open, probes } = this.#pauses.claimable(endpoints.list().map(({ path }) => path));
    const owner = this.#owner;
    const options = { owner, leaseMs, activeOfUser, activeOfUserHere, subscribersOnly };
    try {
      return await storage.write(async ({ tasks }) => {
        const claimed = await tasks.claim({ ...options, endpoints: open, limit: room });
        for (const path of probes) {
          if (claimed.length === room) break;
          const probe = await tasks.claim({ ...options, endpoints: [path], limit: 1 });
          if (probe.length > 0) this.#pauses.probed(path);
          claimed.push(...probe);
        }
        return claimed;
      });
    } catch (error) {
      if (mayBeCommitted(error)) this.#doubtsUntil = Infinity;
      throw error;
    }
  }

  get #isInDoubt(): boolean {
    return performance.now() < this.#doubtsUntil;
  }

  /**
   * Claims the tasks that this host has without knowing it, because the answer to a claim was lost. No claim runs at
   * the same time.
   */
  async #adopt(): Promise<ClaimedTask[]> {
    const { storage, leaseMs, log } = this.#options;
    const known = this.#consumer.running.map(({ id }) => id);
    const adopted = await storage.write(({ tasks }) => tasks.adopt(this.#owner, known));
    for (const { id } of adopted)
      log.info('a task was claimed although the answer to the claim was lost', { task: id });
    // A claim that is still being committed has its effect before the lease is over, or not at all.
    this.#doubtsUntil = Math.min(this.#doubtsUntil, performance.now() + leaseMs);
    return adopted;
  }

  async #nextDueInMs(): Promise<number> {
    if (this.#isInDoubt) return 0;
    return this.#options.storage.read(
      async ({ tasks, connection }) => ((await tasks.nextDue()) ?? Infinity) - connection.now(),
    );
  }

  async #run(task: ClaimedTask, signal: AbortSignal): Promise<void> {
    const { log, files } = this.#options;
    const startedAt = performance.now();
    const record = this.#options.telemetry.begin(task);
    const fields = {
      ...{ task: task.id, endpoint: task.endpoint, attempt: task.num_retries },
      ...traceFields(record.traceparent),
    };
    log.info('task started', fields);
    const meter = this.#options.usage
      ?.begin({ source: 'task', requestId: task.id, attempt: `task ${task.id} ${task.lease_token}` })
      .belongsTo(() => ({ userId: task.user_id }));
    let stored = false;
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#attempt(task, signal, record, meter);
      if (outcome === undefined)
        return log.info('task left', { ...fields, reason: 'the task was cancelled, or another host has it' });
      stored = await this.#finish(task, outcome, record.traceparent);
    } finally {
      record.end(stored ? outcome : undefined);
      const ended = outcome === undefined ? 'cancelled' : outcome.kind === 'complete' ? 'ok' : 'failed';
      meter?.finish({ userId: task.user_id, route: task.endpoint, outcome: ended });
    }
    if (stored && outcome.kind === 'complete') await files.remove(task.files);
    log.info('task ended', {
      ...fields,
      outcome: stored ? outcome.kind : 'lost',
      ms: Math.round(performance.now() - startedAt),
    });
  }

  /** Runs an attempt and returns its outcome; undefined when this host has lost the task. */
  async #attempt(
    task: ClaimedTask,
    signal: AbortSignal,
    record: AttemptRecord,
    meter: RequestMeter | undefined,
  ): Promise<Outcome | undefined> {
    const { endpoints, files } = this.#options;
    const ending = new AbortController();
    const isOver = AbortSignal.any([signal, ending.signal]);
    const report = new AttemptReport({
      write: async (batch) => {
        if (
          !(await whileUnavailable(
            () => this.#results.write(({ tasks }) => tasks.report(task, batch), record.traceparent),
            isOver,
          ))
        )
          ending.abort(LOST);
      },
      onFailure: (error) => ending.abort(error),
    });
    try {
      const allowance = await this.#options.allowanceOf?.(task.user_id);
      if (allowance) meter?.limit(allowance);
      const endpoint = endpoints.find(task.endpoint);
      if (!endpoint) throw fail('EndpointNotFoundException', `there is no endpoint at ${task.endpoint} at the moment`);
      await using opened = await files.open(task.files, isOver);
      const output = await invoke(endpoint, JSON.parse(task.data), {
        requestId: task.id,
        userId: task.user_id,
        priority: task.priority,
        traceparent: record.traceparent,
        meter,
        timeoutMs: task.timeout_ms,
        signal: isOver,
        files: opened.files,
        write: report.add,
        onProgress: report.progress,
      });
      await report.flush();
      record.ran();
      this.#noteServed(task);
      return { kind: 'complete', result: endpoint.streaming ? `[${report.values.join(',')}]` : output };
    } catch (error) {
      // Values before the failure are stored for watchers. A failure of this write adds nothing to the first one.
      await report.flush().catch(() => {});
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
        ...traceFields(record.traceparent),
        ...errorLogFields(reason),
      });
      if (reason === SHUTDOWN) return failure(task, reason, this.#options);
      const said = toErrorRecord(reason);
      if (isUnserved(said)) this.#noteUnserved(task, reason);
      else if (!isPutOff(said)) this.#noteServed(task);
      return failure(task, reason, this.#options);
    } finally {
      report.drop();
    }
  }

  #noteServed({ endpoint }: ClaimedTask): void {
    if (this.#pauses.served(endpoint)) this.#options.log.info('the tasks of an endpoint run again', { endpoint });
  }

  #noteUnserved({ endpoint }: ClaimedTask, error: unknown): void {
    if (this.#pauses.unserved(endpoint))
      this.#options.log.warn('the tasks of an endpoint wait, because this host cannot serve it now', {
        endpoint,
        ...errorLogFields(error),
      });
  }

  /**
   * Stores the outcome of an attempt, also after the database was away for a long time. No other host runs the task
   * before, unless this host has lost the task; then nothing is stored. If the database refuses a result for good, the
   * task fails with that error.
   */
  async #finish(task: ClaimedTask, outcome: Outcome, traceparent: string | undefined): Promise<boolean> {
    const write = (result: Outcome): Promise<boolean> =>
      whileUnavailable(
        () =>
          this.#results.write(
            ({ tasks }) => tasks.finish(task, result, { maxBytes: this.#options.maxBytesOf(task.user_id) }),
            traceparent,
          ),
        this.#consumer.graceOver,
      );
    try {
      return await write(outcome);
    } catch (error) {
      if (this.#consumer.graceOver.aborted || outcome.kind !== 'complete') throw error;
      if (error instanceof AanaError && error.name === 'TaskStorageFull')
        return write(failure(task, error, this.#options));
      this.#options.log.error('the result of a task cannot be stored', { task: task.id, error });
      return write(
        failure(
          task,
          fail(
            'ResultNotStored',
            'the task was done, but the database refused its result; the log of the server has the reason',
          ),
          this.#options,
        ),
      );
    }
  }

  /** Renews the leases of running tasks, and aborts the tasks that this host has lost. */
  async #renew(running: readonly ClaimedTask[]): Promise<void> {
    const ids = running.map(({ id }) => id);
    const kept = await this.#options.storage.write(({ tasks }) => tasks.heartbeat(this.#owner, ids), {
      isUrgent: true,
    });
    for (const task of running) if (kept.get(task.id) !== task.lease_token) this.#consumer.abort(task, LOST);
  }
}

function failure(
  task: ClaimedTask,
  error: unknown,
  { retryable, unservedMs: mostUnservedMs }: Pick<TaskRunnerOptions, 'retryable' | 'unservedMs'>,
): Outcome {
  const record = toErrorRecord(error);
  const text = JSON.stringify({
    error: record.name,
    message: publicMessage(record),
    data: publicData(record) ?? {},
    stacktrace: record.stack ?? null,
  });
  if (error === SHUTDOWN) return { kind: 'release', error: text, delayMs: 0, outcome: 'not_finished' };
  if (isPutOff(record) && task.unserved_ms < mostUnservedMs) {
    const delayMs = unservedDelayMs(task.unserved_ms, Math.random);
    return { kind: 'release', error: text, delayMs, outcome: 'not_finished', unservedMs: task.unserved_ms + delayMs };
  }
  const expired = record.name === 'TimeoutError';
  if (isPutOff(record) || !isRetryable(record, retryable) || task.num_retries >= task.max_attempts)
    return { kind: 'fail', error: text, expired };
  return {
    kind: 'release',
    error: text,
    delayMs: retryDelayMs(task.num_retries, Math.random),
    outcome: 'not_finished',
    expired,
  };
}
