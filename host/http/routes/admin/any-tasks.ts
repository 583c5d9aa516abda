import type { LogFields, Logger } from '../../../core/log/logger.ts';
import type { AnyAttempt, AnyTask } from './admin-definitions.ts';
import type { Task } from '../../../openapi/index.ts';
import type { TaskCounts } from '../tasks/task-definitions.ts';
import type {
  AttemptRecord,
  ListedTask,
  TaskEvent,
  TaskQueue,
  TaskRecord,
  WatchOptions,
} from '../../../tasks/index.ts';
import { attemptInfo, taskCounts, taskInfo } from '../tasks/task-answers.ts';

export interface AnyTasksOptions {
  readonly tasks: TaskQueue;
  /** Whether the contents of tasks of other users are shown. */
  readonly showsContents: boolean;
  readonly includeStacktrace: boolean;
  readonly log: Logger;
}

/** Chooses tasks of all users. Pages count from 1. */
export interface AnyTaskFilter {
  readonly user_id?: string | undefined;
  readonly status?: AnyTask['status'] | undefined;
  readonly endpoint?: string | undefined;
  readonly error?: string | undefined;
  readonly page: number;
  readonly per_page: number;
}

/**
 * The tasks of all users, as admins and commands see and end them. The log says who ended something (`by`), because it
 * was not its user. Each method with an id throws `NotFoundException`, and the errors of {@link TaskQueue}.
 */
export class AnyTasks {
  readonly #options: AnyTasksOptions;

  constructor(options: AnyTasksOptions) {
    this.#options = options;
  }

  async list(
    { user_id: user, page, per_page: perPage, ...filter }: AnyTaskFilter,
    traceparent?: string,
  ): Promise<AnyTask[]> {
    const found = await this.#options.tasks.list(user ?? null, { ...filter, page, perPage }, traceparent);
    return found.map((task) => this.#show(task));
  }

  async count(userId: string | undefined, traceparent?: string): Promise<TaskCounts> {
    return taskCounts(await this.#options.tasks.count(userId ?? null, traceparent));
  }

  async get(id: string, traceparent?: string): Promise<AnyTask> {
    return this.#show(await this.#options.tasks.get(id, null, traceparent));
  }

  async attempts(id: string, traceparent?: string): Promise<AnyAttempt[]> {
    return (await this.#options.tasks.attempts(id, null, traceparent)).map((attempt) => this.#showAttempt(attempt));
  }

  async cancel(id: string, by: LogFields, traceparent?: string): Promise<AnyTask> {
    return this.#changed(await this.#options.tasks.cancel(id, null, traceparent), 'task cancelled by an admin', by);
  }

  async retry(id: string, by: LogFields, traceparent?: string): Promise<AnyTask> {
    return this.#changed(await this.#options.tasks.retry(id, null, traceparent), 'task retried by an admin', by);
  }

  async delete(id: string, by: LogFields, traceparent?: string): Promise<AnyTask> {
    return this.#changed(await this.#options.tasks.delete(id, null, traceparent), 'task removed by an admin', by);
  }

  /** Returns the events of a task after the event `after`, until it has ended. */
  async watch(id: string, wanted: WatchOptions): Promise<AsyncGenerator<TaskEvent, void>> {
    const events = await this.#options.tasks.watch(id, null, wanted);
    return this.#options.showsContents ? events : withoutChunks(events);
  }

  #changed(task: TaskRecord, message: string, by: LogFields): AnyTask {
    this.#options.log.info(message, { task: task.id, user: task.user_id, ...by });
    return this.#show(task);
  }

  #show(task: TaskRecord | ListedTask): AnyTask {
    const { showsContents, includeStacktrace } = this.#options;
    return {
      user_id: task.user_id,
      ...(showsContents ? taskInfo(task, includeStacktrace) : withoutContents(task)),
      error: task.error,
    };
  }

  #showAttempt(record: AttemptRecord): AnyAttempt {
    const { showsContents, includeStacktrace } = this.#options;
    const attempt = attemptInfo(record, { showsHost: true, includeStacktrace });
    return showsContents || attempt.error === null
      ? attempt
      : { ...attempt, error: { error: attempt.error['error'] ?? null } };
  }
}

/** Returns a task without its input and its result. */
function withoutContents(task: TaskRecord | ListedTask): Omit<Task, 'data' | 'result' | 'omitted'> {
  const {
    data: _data,
    result: _result,
    omitted: _omitted,
    ...rest
  } = taskInfo({ ...task, data: 'null', result: null }, false);
  return rest;
}

/** Yields events without the values that a task streams. */
async function* withoutChunks(events: AsyncGenerator<TaskEvent, void>): AsyncGenerator<TaskEvent, void> {
  for await (const event of events) yield event.event === 'chunk' ? { ...event, data: 'null' } : event;
}
