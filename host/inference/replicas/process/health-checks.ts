export interface HealthChecksOptions {
  readonly periodMs: number;
  /**
   * Milliseconds without an answer, or without progress of an engine that has work, after which a replica is unhealthy.
   */
  readonly timeoutMs: number;
  /** Asks the replica for an answer. */
  ping(): void;
  /** Called with the reason in one sentence. */
  onUnhealthy(reason: string): void;
}

/** Asks a replica regularly whether its event loop answers and its engine makes progress. */
export class HealthChecks {
  readonly #options: HealthChecksOptions;
  #timer: NodeJS.Timeout | undefined;
  #pingedAt: number | undefined;
  /** Beats of the engine at the last health check, if it was busy. */
  #beats: number | undefined;
  /** Health checks in a row without progress of a busy engine. */
  #stalledChecks = 0;

  constructor(options: HealthChecksOptions) {
    this.#options = options;
  }

  /** Begins the checks. They do not keep this process running. */
  start(): void {
    this.#timer = setInterval(() => this.#check(), this.#options.periodMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Called with each answer. Finds an engine that hangs although the event loop answers. Counts checks instead of time,
   * because this process may have been held up.
   */
  onAnswer({ busy, beats }: { readonly busy: boolean; readonly beats: number }): void {
    this.#pingedAt = undefined;
    const stalled = busy && beats === this.#beats;
    this.#beats = busy ? beats : undefined;
    this.#stalledChecks = stalled ? this.#stalledChecks + 1 : 0;
    const { periodMs, timeoutMs, onUnhealthy } = this.#options;
    if (this.#stalledChecks * periodMs < timeoutMs) return;
    if (this.#stalledChecks > 0) onUnhealthy(`its engine has work but made no progress for ${timeoutMs / 1000} s`);
  }

  #check(): void {
    const { timeoutMs, ping, onUnhealthy } = this.#options;
    const pingedAt = this.#pingedAt;
    if (pingedAt === undefined) {
      this.#pingedAt = performance.now();
      ping();
      return;
    }
    if (performance.now() - pingedAt < timeoutMs) return;
    // If this process was held up, the answer may be waiting in the socket.
    setImmediate(() => {
      if (this.#pingedAt === pingedAt) onUnhealthy(`it did not answer health checks for ${timeoutMs / 1000} s`);
    });
  }
}
