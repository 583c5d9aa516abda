import type { Clock } from '../../../base/core/clock.ts';
import { deferred } from '../../../base/core/deferred.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { RestartDelay } from './backoff.ts';
import type { StartOutcome } from '../process/running-replica.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { nextSlotState, type SlotEvent, type SlotState } from './slot-state.ts';

export interface ReplicaSlotOptions {
  /** Name of the replicas for logs and errors, such as `asr_deployment#1`. */
  readonly name: string;
  readonly log: Logger;
  readonly clock: Clock;
  spawn(): RunningReplica;
  readonly restartDelay: RestartDelay;
  /**
   * Returns whether a replica of the same version was ready before. A slot of such a version is not given up when it
   * does not start.
   */
  isProven(): boolean;
  /** Called when a process was lost and will be restarted. */
  onLost(loss: SlotFailure): void;
  onFailed(failure: SlotFailure): void;
}

export interface SlotFailure {
  readonly reason: string;
  /** Last lines of the process's output, oldest first. */
  readonly lastLines: readonly string[];
}

/** Reason why a replica currently does not restart. */
export interface SlotTrouble extends SlotFailure {
  /** Time of the next or latest start, in milliseconds of the clock. */
  readonly retryAt: number;
}

interface Run {
  readonly outcome: StartOutcome;
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly readyMs: number;
}

/**
 * Failed starts in a row after which a slot is given up if its version never was ready, and otherwise is in trouble.
 */
const MAX_START_FAILURES = 3;
/** Uptime after which an end no longer counts as one of several in a row. */
const STABLE_MS = 10_000;

/**
 * Keeps one replica running, from process to process, until it is given up or retired. It is given up only if no
 * replica of its version was ever ready. A version that has served before may fail to start for a temporary reason,
 * such as a GPU without free memory or a disk that is not mounted.
 */
export class ReplicaSlot {
  readonly name: string;
  /**
   * Resolves when the first replica is ready, was given up or retired, or failed its first start although its version
   * has been ready before.
   */
  readonly settled: Promise<void>;
  /** Resolves when the slot is `gone`. */
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

  /** Starts the first process. */
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

  /** Reason for which it was given up. */
  get failure(): SlotFailure | undefined {
    return this.#failure;
  }

  /** Set after the third failed start in a row, until a start succeeds. */
  get trouble(): SlotTrouble | undefined {
    return this.#trouble;
  }

  /** Reason of the latest loss of a process. */
  get lastLoss(): SlotFailure | undefined {
    return this.#lastLoss;
  }

  /** Whether a replica of this slot was ever ready. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /**
   * Ends the replica, which may finish its calls for `graceMs`, and starts no other. Resolves when the replica is gone.
   * May be called again with a shorter grace.
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

  /** Starts processes, one after the other, until the slot is given up or retired. */
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

  /** Runs one process from its start to its end. */
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

  /** Applies the event. Returns false when it is invalid in this state. */
  #enter(event: SlotEvent): boolean {
    const next = nextSlotState(this.#state, event);
    if (!next) return false;
    this.#state = next;
    return true;
  }
}
