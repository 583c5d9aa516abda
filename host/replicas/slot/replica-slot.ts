import type { Clock } from '../../core/clock.ts';
import { deferred } from '../../core/deferred.ts';
import type { Logger } from '../../core/log/logger.ts';
import type { RestartDelay } from './backoff.ts';
import type { StartOutcome } from '../process/replica.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { nextSlotState, type SlotEvent, type SlotState } from './slot-state.ts';

export interface ReplicaSlotOptions {
  /** Name of its replicas for logs and errors, such as `asr_deployment#1`. */
  readonly name: string;
  readonly log: Logger;
  readonly clock: Clock;
  spawn(): RunningReplica;
  readonly restartDelay: RestartDelay;
  /**
   * Whether another replica of the same version was ready before: then this one is not given up when it does not start.
   */
  isProven(): boolean;
  /** Tells why a process was lost that another one will follow. */
  onLost(loss: SlotFailure): void;
  onFailed(failure: SlotFailure): void;
}

export interface SlotFailure {
  readonly reason: string;
  /** The last lines that its process wrote, oldest first. */
  readonly lastLines: readonly string[];
}

/** Why a replica does not come back, for now. */
export interface SlotTrouble extends SlotFailure {
  /** When the next process starts, or started, in milliseconds of the clock. */
  readonly retryAt: number;
}

interface Run {
  readonly outcome: StartOutcome;
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly readyMs: number;
}

/**
 * Ends before ready, in a row, after which a slot whose version never was ready is given up, and any other is in
 * trouble.
 */
const MAX_START_FAILURES = 3;
/** A replica that was up this long does not count as failing again and again. */
const STABLE_MS = 10_000;

/**
 * Keeps one replica running, from process to process, until it is given up or retired. It is given up only when nothing
 * shows that its version could start at all: what has served before does not start now for a reason that may pass, such
 * as a GPU without memory or a disk that is away.
 */
export class ReplicaSlot {
  readonly name: string;
  /**
   * Resolves when its first replica is ready, or will not be, or did not start at the first try although others of its
   * version did.
   */
  readonly settled: Promise<void>;
  /** Resolves when it has no process and will have none, unless it failed. */
  readonly gone: Promise<void>;
  readonly #options: ReplicaSlotOptions;
  readonly #settled = deferred();
  readonly #gone = deferred();
  readonly #retired = new AbortController();
  #state: SlotState = 'starting';
  #replica: RunningReplica | undefined;
  #restarts = 0;
  #failure: SlotFailure | undefined;
  #wasReady = false;
  #trouble: SlotTrouble | undefined;
  #lastLoss: SlotFailure | undefined;

  constructor(options: ReplicaSlotOptions) {
    this.#options = options;
    this.name = options.name;
    this.settled = this.#settled.promise;
    this.gone = this.#gone.promise;
  }

  /** Starts its first process. */
  begin(): void {
    void this.#keep();
  }

  get state(): SlotState {
    return this.#state;
  }

  get replica(): RunningReplica | undefined {
    return this.#replica;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Why it was given up. */
  get failure(): SlotFailure | undefined {
    return this.#failure;
  }

  /** Set from the third start in a row that failed until one does not. */
  get trouble(): SlotTrouble | undefined {
    return this.#trouble;
  }

  /** Why its last process was lost. */
  get lastLoss(): SlotFailure | undefined {
    return this.#lastLoss;
  }

  /** Whether a replica of it was ready once. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /**
   * Ends its replica, which may finish its calls for `graceMs`, and starts no other. Resolves when it is gone. May be
   * called again with less grace.
   */
  async retire(graceMs: number): Promise<void> {
    const hadEnded = this.#state === 'failed';
    if (this.#enter('retire')) this.#retired.abort();
    if (hadEnded) this.#end();
    else if (this.#replica && this.#replica.state !== 'exited') await this.#replica.stop(graceMs);
    await this.#gone.promise;
  }

  get #isProven(): boolean {
    return this.#wasReady || this.#options.isProven();
  }

  /** Starts processes one after the other. */
  async #keep(): Promise<void> {
    let startFailures = 0;
    let endsInARow = 0;
    while (this.#state === 'starting') {
      const run = await this.#runOnce();
      startFailures = run.outcome.ok ? 0 : startFailures + 1;
      endsInARow = run.readyMs > STABLE_MS ? 1 : endsInARow + 1;
      const isRefused = !run.outcome.ok && run.outcome.final;
      const isHopeless = isRefused || startFailures >= MAX_START_FAILURES;
      if (isHopeless && !this.#isProven && this.#enter('give-up')) {
        this.#giveUp({
          ...run,
          reason: isRefused
            ? run.reason
            : `it ended ${startFailures} times before it was ready; the last time ${run.reason}`,
        });
        return;
      }
      if (!this.#enter('lost')) break;
      const delayMs = isHopeless
        ? this.#options.restartDelay(startFailures, true)
        : this.#options.restartDelay(endsInARow, false);
      if (startFailures >= MAX_START_FAILURES)
        this.#trouble = { reason: run.reason, lastLines: run.lastLines, retryAt: this.#options.clock.now() + delayMs };
      if (startFailures > 0 && this.#isProven) this.#settled.resolve();
      await this.#rest(run, delayMs);
    }
    this.#end();
  }

  /** One process, from its start to its end. */
  async #runOnce(): Promise<Run> {
    let replica: RunningReplica;
    try {
      replica = this.#options.spawn();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { outcome: { ok: false, final: false, reason }, reason, lastLines: [], readyMs: 0 };
    }
    this.#replica = replica;
    const outcome = await replica.started;
    const readyAt = this.#options.clock.now();
    if (outcome.ok && this.#enter('ready')) {
      this.#wasReady = true;
      this.#trouble = undefined;
      this.#settled.resolve();
    }
    const { reason, lastLines } = await replica.exited;
    return outcome.ok
      ? { outcome, reason, lastLines, readyMs: this.#options.clock.now() - readyAt }
      : { outcome, reason: outcome.reason, lastLines, readyMs: 0 };
  }

  async #rest({ reason, lastLines }: SlotFailure, delayMs: number): Promise<void> {
    const { clock, log, onLost } = this.#options;
    this.#lastLoss = { reason, lastLines };
    onLost(this.#lastLoss);
    log.warn('replica lost, restarting', { replica: this.name, reason, delay_ms: Math.round(delayMs) });
    await clock.delay(delayMs, this.#retired.signal).catch(() => {});
    if (this.#enter('retry')) this.#restarts += 1;
  }

  #giveUp({ reason, lastLines }: SlotFailure): void {
    this.#failure = { reason, lastLines };
    this.#options.log.error('replica given up', { replica: this.name, reason, last_lines: lastLines });
    this.#options.onFailed(this.#failure);
    this.#settled.resolve();
  }

  #end(): void {
    this.#enter('ended');
    this.#settled.resolve();
    this.#gone.resolve();
  }

  /** Applies the transition table; false when the event means nothing now. */
  #enter(event: SlotEvent): boolean {
    const next = nextSlotState(this.#state, event);
    if (!next) return false;
    this.#state = next;
    return true;
  }
}
