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
    await Promise.all(this.#all().map((runner) => runner.start()));
  }

  /** See {@link TaskRunner.stop}. Work that continues goes back to the queue at once. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([
      this.#endpoints.stop(graceMs),
      ...this.#hostWork.map(({ runner, continues }) => runner.stop(continues ? 0 : graceMs)),
    ]);
  }

  /** Claims no more tasks until {@link resume}. Work that continues goes back to the queue at once. */
  pause(): void {
    this.#endpoints.pause({ endsRunning: false });
    for (const { runner, continues } of this.#hostWork) runner.pause({ endsRunning: continues });
  }

  resume(): void {
    for (const runner of this.#all()) runner.resume();
  }

  /** The number of attempts that run here. */
  get running(): number {
    return this.#all().reduce((sum, { running }) => sum + running, 0);
  }

  /** Called when there may be a new task. */
  look(): void {
    for (const runner of this.#all()) runner.look();
  }

  /** See {@link TaskRunner.runs}. */
  runs(id: string): boolean {
    return this.#all().some((runner) => runner.runs(id));
  }

  #all(): TaskRunner[] {
    return [this.#endpoints, ...this.#hostWork.map(({ runner }) => runner)];
  }
}

/** Returns a source that has one endpoint. */
function only(endpoint: ServedEndpoint): EndpointSource {
  return { list: () => [endpoint], find: (path) => (path === endpoint.path ? endpoint : undefined) };
}
