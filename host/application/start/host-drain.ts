import type { Logger } from '../../base/core/log/logger.ts';
import type { TaskQueue } from '../../data/tasks/index.ts';

/** Work of a process that runs now. */
export interface RunningWork {
  /** Requests and WebSockets that may compute or store something. */
  readonly requests: number;
  readonly tasks: number;
}

export interface HostDrainOptions {
  readonly tasks: () => Pick<TaskQueue, 'drain' | 'running'> | undefined;
  /** Ends the streams that would wait for ever. */
  readonly endSubscriptions: () => void;
  readonly log: Logger;
}

/** The drain of one process of an application: it takes no new requests and tasks, and what runs ends. */
export class HostDrain {
  readonly #options: HostDrainOptions;
  #isDraining = false;
  #requests = 0;

  constructor(options: HostDrainOptions) {
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Begins the drain, or takes it back. */
  set(isDraining: boolean): void {
    if (isDraining === this.#isDraining) return;
    this.#isDraining = isDraining;
    const { tasks, endSubscriptions, log } = this.#options;
    tasks()?.drain(isDraining);
    if (isDraining) endSubscriptions();
    log.info(isDraining ? 'draining: no new requests and tasks are taken' : 'new requests and tasks are taken again');
  }

  /** Called when a request begins that may compute or store something. Returns what is called at its end. */
  begin(): () => void {
    this.#requests += 1;
    return () => void (this.#requests -= 1);
  }

  running(): RunningWork {
    return { requests: this.#requests, tasks: this.#options.tasks()?.running ?? 0 };
  }
}
