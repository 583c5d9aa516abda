import { delay } from '../abort.ts';

export interface RepeatedWorkOptions {
  /** Time from the end of one run to the start of the next one, in milliseconds. */
  readonly everyMs: number;
  /** Ends early when the signal aborts. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Called with the failure of a run, unless the application shuts down. The next run follows anyway. */
  readonly onError: (error: unknown) => void;
}

/** Work that is repeated until it is stopped, such as the removal of old rows. */
export class RepeatedWork {
  readonly #options: RepeatedWorkOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: RepeatedWorkOptions) {
    this.#options = options;
  }

  /** Begins with the first run. May be called twice. */
  start(): void {
    this.#loop ??= this.#repeat();
  }

  /** Waits for the run that is under way. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    const { everyMs, work, onError } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await work(signal).catch((error: unknown) => {
        if (!(error instanceof Error && error.name === 'ShuttingDown')) onError(error);
      });
      await delay(everyMs, signal).catch(() => {});
    }
  }
}
