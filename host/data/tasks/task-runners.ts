import type { ServedEndpoint } from '../../endpoints/registry/index.ts';
import { type EndpointSource, TaskRunner, type TaskRunnerOptions } from './task-runner.ts';

/** Work that only tasks run. It has workers of its own, so that tasks of endpoints do not wait for it. */
export interface HostWork {
  /** Its path belongs to the host, so that no other endpoint has it. */
  readonly endpoint: ServedEndpoint;
  /** Most such tasks that run at once. */
  readonly workers: number;
  /** Whether another attempt continues where the one before it ended, so that a stop need not wait for it. */
  readonly continues: boolean;
}

export interface TaskRunnersOptions extends Omit<TaskRunnerOptions, 'activeOfUserHere'> {
  readonly hostWork: readonly HostWork[];
  /** Workers of each kind that a single user cannot occupy. Each user can always use at least one. */
  readonly reservedWorkers: number;
}

/** The runners of a host: one for the tasks of endpoints, and one for each kind of work of the host. */
export class TaskRunners {
  readonly #endpoints: TaskRunner;
  readonly #hostWork: readonly { readonly runner: TaskRunner; readonly continues: boolean }[];

  constructor({ hostWork, reservedWorkers, ...options }: TaskRunnersOptions) {
    const runner = (endpoints: EndpointSource, workers: number): TaskRunner =>
      new TaskRunner({ ...options, endpoints, workers, activeOfUserHere: Math.max(1, workers - reservedWorkers) });
    this.#endpoints = runner(options.endpoints, options.workers);
    this.#hostWork = hostWork.map(({ endpoint, workers, continues }) => ({
      runner: runner(only(endpoint), workers),
      continues,
    }));
  }

  /** See {@link TaskRunner.start}. */
  async start(): Promise<void> {
    await Promise.all([this.#endpoints.start(), ...this.#hostWork.map(({ runner }) => runner.start())]);
  }

  /** See {@link TaskRunner.stop}. Work that continues goes back to the queue at once. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([
      this.#endpoints.stop(graceMs),
      ...this.#hostWork.map(({ runner, continues }) => runner.stop(continues ? 0 : graceMs)),
    ]);
  }

  /** Called when there may be a new task. */
  look(): void {
    this.#endpoints.look();
    for (const { runner } of this.#hostWork) runner.look();
  }

  /** See {@link TaskRunner.runs}. */
  runs(id: string): boolean {
    return this.#endpoints.runs(id) || this.#hostWork.some(({ runner }) => runner.runs(id));
  }
}

/** Returns a source that has one endpoint. */
function only(endpoint: ServedEndpoint): EndpointSource {
  return { list: () => [endpoint], find: (path) => (path === endpoint.path ? endpoint : undefined) };
}
