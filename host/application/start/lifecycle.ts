import { deferred } from '../../base/core/deferred.ts';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { type ProgressStream, type ReportProgress, withProgress } from '../../setup/packages/index.ts';

/** Phase of an application's life. */
export type Phase = 'new' | 'deploying' | 'deployed' | 'failed' | 'stopping';

export interface LifecycleOptions {
  readonly log: Logger;
  readonly progress: ProgressStream;
  /** Called when the start failed, before anything is stopped. */
  readonly onFailure: (error: unknown) => void;
  /** Refuses new requests, and lets running ones finish for `graceMs`. */
  readonly closeServer: (graceMs: number) => Promise<void>;
  /** Ends everything that was started. Called when no start is in progress any more. */
  readonly close: (graceMs: number) => Promise<void>;
  /** Called last, after the last line of the log. */
  readonly end: () => Promise<void>;
}

/** The life of an application from new to stopped. It starts once and stops once. */
export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #stopping = new AbortController();
  readonly #stopped = deferred();
  #phase: Phase = 'new';
  #starting: Promise<void> = Promise.resolve();
  #shutdown: Promise<void> | undefined;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Aborts when the application begins to shut down. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Whether the start succeeded. */
  get hasStarted(): boolean {
    return this.#phase === 'deployed' || this.#phase === 'stopping';
  }

  /** Resolves when everything has ended. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Throws when `start` was called before, or everything was stopped. */
  requireNew(): void {
    if (this.#phase !== 'new')
      throw fail(
        'AlreadyDeployed',
        this.#phase === 'stopping' ? 'the application was shut down' : 'the application is already deployed',
      );
  }

  /** Runs the start and shows its progress. When it fails, everything is stopped and the error is thrown. */
  async start(work: (report: ReportProgress) => Promise<void>): Promise<void> {
    this.requireNew();
    const { onFailure, progress: stream } = this.#options;
    try {
      this.#phase = 'deploying';
      await withProgress('starting', undefined, (report) => (this.#starting = work(report)), { stream });
      this.#stopping.signal.throwIfAborted();
      this.#phase = 'deployed';
    } catch (error) {
      if (this.#phase === 'deploying') {
        this.#phase = 'failed';
        onFailure(error);
      }
      await this.stop(0);
      throw error;
    }
  }

  /** Stops the application. May be called twice; `graceMs` of the first call applies. */
  stop(graceMs: number): Promise<void> {
    this.#shutdown ??= this.#stop(graceMs);
    return this.#shutdown;
  }

  async #stop(graceMs: number): Promise<void> {
    const { log, closeServer, close, end } = this.#options;
    const until = performance.now() + graceMs;
    const say = this.#phase === 'new' ? () => {} : (message: string) => log.info(message);
    if (this.#phase !== 'failed') this.#phase = 'stopping';
    say('shutting down');
    this.#stopping.abort(fail('ShuttingDown', 'the application is shutting down'));
    await closeServer(graceMs);
    await this.#starting.catch(() => {}); // a plugin that is being loaded can be closed only afterwards
    await close(Math.max(0, until - performance.now()));
    say('shut down');
    await end();
    this.#stopped.resolve();
  }
}
