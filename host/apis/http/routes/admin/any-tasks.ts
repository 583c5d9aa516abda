import type { Logger } from '../../../../base/core/log/logger.ts';
import type { AnyAttempt, AnyTask } from './admin-definitions.ts';
import type { Task } from '../../../openapi/index.ts';
import type { TaskCounts } from '../tasks/task-definitions.ts';
import type {
  AttemptRecord,
  ListedTask,
  TaskEvent,
  TaskQueue,
  TaskRecord,
  UserTasks,
  WatchOptions,
} from '../../../../data/tasks/index.ts';
import { attemptInfo, taskCounts, taskInfo } from '../tasks/task-answers.ts';
import type { Operator } from './operator.ts';

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
 * The tasks of all users, as admins and commands see and end them. The log says who ended something, because it was not
 * its user. Each method with an id throws `NotFoundException`, and the errors of {@link UserTasks}.
 */
export class AnyTasks {
  readonly #options: AnyTasksOptions;
  readonly #operator: Operator;
  readonly #all: UserTasks;

  constructor(options: AnyTasksOptions, operator: Operator) {
    this.#options = options;
    this.#operator = operator;
    this.#all = this.#of(null);
  }

  async list({ user_id: user, page, per_page: perPage, ...filter }: AnyTaskFilter): Promise<AnyTask[]> {
    const found = await this.#of(user ?? null).list({ ...filter, page, perPage });
    return found.map((task) => this.#show(task));
  }

  async count(userId: string | undefined): Promise<TaskCounts> {
    return taskCounts(await this.#of(userId ?? null).count());
  }

  async get(id: string): Promise<AnyTask> {
    return this.#show(await this.#all.get(id));
  }

  async attempts(id: string): Promise<AnyAttempt[]> {
    return (await this.#all.attempts(id)).map((attempt) => this.#showAttempt(attempt));
  }

  async cancel(id: string): Promise<AnyTask> {
    return this.#changed(await this.#all.cancel(id), 'task cancelled by an admin');
  }

  async retry(id: string): Promise<AnyTask> {
    return this.#changed(await this.#all.retry(id), 'task retried by an admin');
  }

  async delete(id: string): Promise<AnyTask> {
    return this.#changed(await this.#all.delete(id), 'task removed by an admin');
  }

  /** Returns the events of a task after the event `after`, until it has ended. */
  async watch(id: string, wanted: WatchOptions): Promise<AsyncGenerator<TaskEvent, void>> {
    const events = await this.#all.watch(id, wanted);
    return this.#options.showsContents ? events : withoutChunks(events);
  }

  /** Returns the tasks of a user, or of all users (null). */
  #of(userId: string | null): UserTasks {
    return this.#options.tasks.as({ userId, traceparent: this.#operator.traceparent });
  }

  #changed(task: TaskRecord, message: string): AnyTask {
    this.#options.log.info(message, { task: task.id, user: task.user_id, ...this.#operator.by });
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
