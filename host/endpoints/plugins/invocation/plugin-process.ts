import type { Logger } from '../../../base/core/log/logger.ts';
import type { Confinement, SandboxInvocation, SandboxProcess, SandboxRun } from '../sandbox/index.ts';

export interface PluginProcessOptions {
  /** Starts the process. Rejects when it cannot run the plugin. */
  start(signal: AbortSignal): Promise<SandboxProcess>;
  /** Milliseconds without a run after which the process ends. 0: it never does. */
  readonly idleMs: number;
  readonly log: Logger;
}

/** Milliseconds before a restart: none after the first loss, then growing ones. */
const waits = [0, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] as const;
/** A process that has lived for longer begins with the first wait again. */
const soundMs = 30_000;

/**
 * The process of a plugin. It is started again, after growing waits, when it has ended unexpectedly, and by {@link
 * wake} when it has ended because nothing ran.
 */
export class PluginProcess {
  readonly #options: PluginProcessOptions;
  readonly #listeners: ((refusal: string | undefined) => void)[] = [];
  readonly #closing = new AbortController();
  #process: SandboxProcess | undefined;
  #starting: Promise<void> | undefined;
  #failures = 0;
  #restart: NodeJS.Timeout | undefined;
  /** Ends the process when nothing has run for `idleMs`. */
  #idle: NodeJS.Timeout | undefined;
  #isIdle = false;
  /** The end of a process in which nothing ran. */
  #ending: Promise<void> | undefined;
  #refusal: string | undefined;
  #startedAt = 0;
  #restarts = 0;

  private constructor(options: PluginProcessOptions) {
    this.#options = options;
  }

  /** Rejects when the process cannot run the plugin. */
  static async start(options: PluginProcessOptions): Promise<PluginProcess> {
    const started = new PluginProcess(options);
    await (started.#starting = started.#start());
    return started;
  }

  /** Calls `listener` when runs can begin again, and, with the reason, when a restart has failed. */
  onChange(listener: (refusal: string | undefined) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether a run can begin now. */
  get isReady(): boolean {
    return this.#process !== undefined && !this.#process.hasEnded;
  }

  /** Whether the process has ended because nothing ran. */
  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Starts the process if {@link isIdle}. */
  wake(): void {
    if (!this.#isIdle || this.#closing.signal.aborted) return;
    this.#isIdle = false;
    this.#startAgain();
  }

  /** Why no run can begin for a while. Undefined while the process runs or is being started again. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Undefined while there is no process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** What the kernel enforces for the process. Undefined while there is none. */
  get confinement(): Confinement | undefined {
    return this.#process?.facts.confinement;
  }

  /** How often the process has ended unexpectedly. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Begins a run. Call it while {@link isReady}. */
  run(run: SandboxRun): SandboxInvocation {
    if (!this.#process) throw new Error('the process of the plugin does not run');
    const begun = this.#process.run(run);
    if (this.#options.idleMs > 0) void begun.outcome.then(() => this.#idle?.refresh());
    return begun;
  }

  /** Ends the process. Runs in it are lost. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the plugin is being closed'));
    clearTimeout(this.#restart);
    clearTimeout(this.#idle);
    await this.#starting?.catch(() => {}); // whoever waits for the start knows
    await Promise.all([this.#process?.close(), this.#ending]);
  }

  async #start(): Promise<void> {
    const process = await this.#options.start(this.#closing.signal);
    if (this.#closing.signal.aborted) return process.close();
    this.#process = process;
    this.#startedAt = performance.now();
    void process.ended.then((reason) => this.#process === process && this.#onEnded(reason));
    const { idleMs } = this.#options;
    if (idleMs > 0) this.#idle = setTimeout(() => this.#rest(process), idleMs).unref();
    this.#tell(undefined);
  }

  /** Ends a process in which nothing runs. Runs that come now wait for the next one. */
  #rest(process: SandboxProcess): void {
    if (process.running > 0) {
      this.#idle?.refresh();
      return;
    }
    this.#process = undefined;
    this.#isIdle = true;
    this.#failures = 0;
    this.#ending = process.close();
    this.#options.log.debug('plugin process ended, because nothing ran');
  }

  #onEnded(reason: string): void {
    this.#process = undefined;
    clearTimeout(this.#idle);
    if (this.#closing.signal.aborted) return;
    if (performance.now() - this.#startedAt > soundMs) this.#failures = 0;
    this.#restarts++;
    this.#options.log.warn('plugin process ended', { reason });
    this.#startLater();
  }

  #startLater(): void {
    const waitMs = waits[Math.min(this.#failures++, waits.length - 1)]!;
    this.#restart = setTimeout(() => this.#startAgain(), waitMs);
  }

  #startAgain(): void {
    this.#starting = this.#start();
    this.#starting.catch((error: unknown) => {
      if (this.#closing.signal.aborted) return;
      this.#options.log.error('plugin process did not start', { error });
      this.#tell('cannot start');
      this.#startLater();
    });
  }

  #tell(refusal: string | undefined): void {
    this.#refusal = refusal;
    for (const listener of this.#listeners) listener(refusal);
  }
}
