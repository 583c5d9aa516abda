import type { Logger } from '../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../base/core/request-context.ts';
import { noTelemetry, type Telemetry } from '../../base/core/telemetry.ts';
import type { EndpointRegistry } from '../../endpoints/registry/index.ts';
import { type Storage, StoredWatchers } from '../storage/index.ts';
import type { Usage } from '../usage/index.ts';
import { ceilingsOf, type UserCeilingsConfig } from './ceilings.ts';
import { RETRYABLE_EXCEPTIONS } from './retry-policy.ts';
import { Sweeper } from './sweeper.ts';
import type { ObjectStore } from '../objects/index.ts';
import { TaskFiles } from './task-files.ts';
import type { TaskRunnerOptions } from './task-runner.ts';
import { type HostWork, TaskRunners } from './task-runners.ts';
import { TaskTelemetry } from './task-telemetry.ts';
import { type SharedTasks, UserTasks } from './user-tasks.ts';
import { Watchers } from './watchers.ts';
import { WriteTogether } from './write-together.ts';

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
  /** Keeps the uploaded files of tasks. */
  readonly objects: ObjectStore;
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

/** The durable queue of deferred requests. An accepted request is not lost when this process ends. */
export class TaskQueue implements ForCallers<UserTasks> {
  readonly #options: TaskQueueOptions;
  #ceilings: UserCeilingsConfig;
  readonly #shared: SharedTasks;
  readonly #runners: TaskRunners;
  readonly #sweeper: Sweeper;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
    this.#ceilings = options.config;
    const {
      storage,
      endpoints,
      config,
      log,
      signal,
      retryable = RETRYABLE_EXCEPTIONS,
      subscribersOnly = false,
      hostWork = [],
    } = options;
    const files = new TaskFiles({ objects: options.objects, storage, log });
    const telemetry = new TaskTelemetry(options.telemetry ?? noTelemetry);
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
      telemetry,
      usage: options.usage,
      allowanceOf: options.allowanceOf,
      maxBytesOf: (userId) => this.as({ userId }).ceilings().maxBytes,
    });
    this.#shared = {
      ...{ storage, config, files, telemetry, signal },
      accepting: new WriteTogether(storage),
      watchers: new Watchers(),
      events: new StoredWatchers({
        storage,
        readPositions: ({ tasks }, ids) => tasks.positions(ids),
        messageOf: (id) => id,
      }),
      ceilingsOf: (userId, isAdmin) => ceilingsOf(this.#ceilings, userId, isAdmin),
      onAccepted: () => this.#runners.look(),
    };
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

  /** Claims no more tasks, which other hosts may run, or claims them again. Running tasks end by themselves. */
  drain(isDraining: boolean): void {
    if (isDraining) this.#runners.pause();
    else this.#runners.resume();
  }

  /** The number of tasks that run here. */
  get running(): number {
    return this.#runners.running;
  }

  as(caller: Caller): UserTasks {
    return new UserTasks(this.#shared, caller);
  }

  /** Replaces the limits of users. */
  configure(ceilings: UserCeilingsConfig): void {
    this.#ceilings = ceilings;
  }
}
