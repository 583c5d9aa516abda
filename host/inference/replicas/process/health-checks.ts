export interface HealthChecksOptions {
  readonly periodMs: number;
  /**
   * Milliseconds without an answer, or of the processor without progress of an engine that has work, after which a
   * replica is unhealthy.
   */
  readonly timeoutMs: number;
  /** Asks the replica for an answer. */
  ping(): void;
  /** Called with the reason in one sentence. */
  onUnhealthy(reason: string): void;
}

/** What a replica answers to a health check. */
export interface HealthAnswer {
  readonly busy: boolean;
  readonly beats: number;
  /** Milliseconds of the processor that its process has had. */
  readonly cpuMs: number;
}

/** The share of a processor below which a busy engine waits for something that does not come. */
const IDLE_SHARE = 0.05;

/** Asks a replica regularly whether its event loop answers and its engine makes progress. */
export class HealthChecks {
  readonly #options: HealthChecksOptions;
  #timer: NodeJS.Timeout | undefined;
  #pingedAt: number | undefined;
  /** Beats of the engine at the last health check, if it was busy. */
  #beats: number | undefined;
  #cpuMs = 0;
  /** Milliseconds since the last progress of a busy engine. */
  #stalledMs = 0;

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
   * because this process may have been held up, and of each only what the engine had of a processor, because others
   * may need it. One that hardly uses any, such as one in a deadlock, has all of it.
   */
  onAnswer({ busy, beats, cpuMs }: HealthAnswer): void {
    this.#pingedAt = undefined;
    const stalled = busy && beats === this.#beats;
    const usedMs = cpuMs - this.#cpuMs;
    this.#beats = busy ? beats : undefined;
    this.#cpuMs = cpuMs;
    const { periodMs, timeoutMs, onUnhealthy } = this.#options;
    const hadMs = usedMs < IDLE_SHARE * periodMs ? periodMs : Math.min(usedMs, periodMs);
    this.#stalledMs = stalled ? this.#stalledMs + hadMs : 0;
    if (stalled && this.#stalledMs >= timeoutMs)
      onUnhealthy(`its engine has work but made no progress for ${timeoutMs / 1000} s`);
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
