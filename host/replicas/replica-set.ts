import { delay } from '../core/abort.ts';
import { deferred } from '../core/deferred.ts';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { restartDelayMs } from './backoff.ts';
import { Replica, type ReplicaOptions, type StartOutcome } from './replica.ts';
import type { ReplicaCallOptions } from './replica-connection.ts';
import { ReplicaPool } from './replica-pool.ts';
import type { ReplicaState } from './replica-state.ts';

export interface ReplicaSetOptions extends Omit<ReplicaOptions, 'name' | 'onState' | 'onProgress'> {
  /** Replicas to keep running. */
  readonly count: number;
  readonly maxOngoing: number;
  readonly maxQueued: number;
  readonly onProgress?: ((fraction: number | undefined, text: string) => void) | undefined;
  /** Milliseconds before the restart after `failures` ends in a row. */
  readonly restartDelay?: ((failures: number) => number) | undefined;
}

export interface ReplicaStatus {
  readonly name: string;
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  /** Calls it works on. */
  readonly ongoing: number;
  /** Steps of its engine as of the last health check. */
  readonly steps: number;
  readonly restarts: number;
}

export interface ReplicaSetStatus {
  readonly status: 'DEPLOYING' | 'RUNNING' | 'UNHEALTHY' | 'DEPLOY_FAILED' | 'STOPPED';
  /** Why, when it is not running. */
  readonly message: string;
  readonly replicas: readonly ReplicaStatus[];
  /** Calls that wait for a replica. */
  readonly queued: number;
}

export type SetCallOptions = Pick<ReplicaCallOptions, 'signal' | 'requestId'>;

/** Ends before ready, in a row, after which a replica is given up. */
const MAX_START_FAILURES = 3;
/** A replica that was up this long does not count as failing again and again. */
const STABLE_MS = 10_000;

interface Slot {
  readonly name: string;
  replica: Replica | undefined;
  restarts: number;
  /** Why it was given up. */
  failure: string | undefined;
}

/** Keeps the replicas of one deployment running and gives calls to them. */
export class ReplicaSet {
  readonly #options: ReplicaSetOptions;
  readonly #log: Logger;
  readonly #pool: ReplicaPool<Replica>;
  readonly #slots: Slot[] = [];
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #wasReady = false;
  #lastLoss = '';

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.#log = options.log.child({ deployment: options.deployment });
    this.#pool = new ReplicaPool(options);
  }

  /** Resolves when all replicas are ready. Rejects `FailedDeployment` when one is given up, or with the signal's reason; then everything is stopped. */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const onAbort = (): void => void this.stop(0);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const firsts = Array.from({ length: this.#options.count }, (_, index) => this.#startSlot(index));
      await Promise.all(firsts);
      this.#wasReady = true;
    } catch (error) {
      await this.stop(0);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
  }

  async call(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): Promise<unknown> {
    const { value } = await this.#pool.dispatch((replica) => replica.call(method, args, this.#withRelease(options)), options.signal);
    return value;
  }

  async *stream(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): AsyncGenerator<unknown[], void, undefined> {
    const { value } = await this.#pool.dispatch((replica) => replica.stream(method, args, this.#withRelease(options)), options.signal);
    yield* value;
  }

  status(): ReplicaSetStatus {
    const replicas = this.#slots.map(({ name, replica, restarts }) => ({
      name,
      state: replica?.state ?? ('exited' as const),
      pid: replica?.pid,
      ongoing: replica?.ongoing ?? 0,
      steps: replica?.steps ?? 0,
      restarts,
    }));
    return { ...this.#health(), replicas, queued: this.#pool.queued };
  }

  /** Takes no more calls, lets those it has finish for `graceMs`, and ends every process. May be called twice. */
  async stop(graceMs: number): Promise<void> {
    const gone = (): AanaError => new AanaError('DeploymentStopped', 'unavailable', `deployment ${this.#options.deployment} is shutting down`);
    this.#pool.close(gone, { waiting: graceMs <= 0 });
    const deadline = performance.now() + graceMs;
    while (this.#pool.queued > 0 && this.#pool.size > 0 && performance.now() < deadline) await delay(20);
    this.#stopping.abort();
    this.#pool.close(gone, { waiting: true });
    const left = Math.max(0, deadline - performance.now());
    await Promise.all(this.#slots.map(({ replica }) => (replica && replica.state !== 'exited' ? replica.stop(left) : undefined)));
    await Promise.all(this.#loops);
  }

  /** Resolves when the first replica of a new slot is ready, rejects when the slot is given up. */
  #startSlot(index: number): Promise<void> {
    const slot: Slot = { name: `${this.#options.deployment}#${index + 1}`, replica: undefined, restarts: 0, failure: undefined };
    this.#slots.push(slot);
    const ready = deferred();
    const loop = async (): Promise<void> => {
      await this.#keep(slot, ready.resolve);
      ready.reject(failedDeployment(this.#options.deployment, slot.failure ?? 'it was stopped before it was ready')); // without effect on one that was ready
    };
    this.#loops.push(loop());
    return ready.promise;
  }

  /** Starts replicas one after the other until told to stop, or one is given up. */
  async #keep(slot: Slot, onReady: () => void): Promise<void> {
    let startFailures = 0;
    let endsInARow = 0;
    while (!this.#stopping.signal.aborted) {
      const { outcome, reason, readyMs } = await this.#runOnce(slot, onReady);
      if (this.#stopping.signal.aborted) return;
      startFailures = outcome.ok ? 0 : startFailures + 1;
      endsInARow = readyMs > STABLE_MS ? 1 : endsInARow + 1;
      if (!outcome.ok && (outcome.final || startFailures >= MAX_START_FAILURES)) {
        this.#giveUp(slot, outcome.final ? reason : `it ended ${startFailures} times before it was ready; the last time ${reason}`);
        return;
      }
      const delayMs = (this.#options.restartDelay ?? restartDelayMs)(endsInARow);
      this.#lastLoss = reason;
      this.#log.warn('replica lost, restarting', { replica: slot.name, reason, delay_ms: Math.round(delayMs) });
      await delay(delayMs, this.#stopping.signal).catch(() => {});
      slot.restarts += 1;
    }
  }

  /** One process, from its start to its end. */
  async #runOnce(slot: Slot, onReady: () => void): Promise<{ outcome: StartOutcome; reason: string; readyMs: number }> {
    let replica: Replica;
    try {
      replica = this.#spawn(slot);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { outcome: { ok: false, final: false, reason }, reason, readyMs: 0 };
    }
    slot.replica = replica;
    const outcome = await replica.started;
    const readyAt = performance.now();
    if (outcome.ok) onReady();
    const exit = await replica.exited;
    return { outcome, reason: outcome.ok ? exit.reason : outcome.reason, readyMs: outcome.ok ? performance.now() - readyAt : 0 };
  }

  #spawn(slot: Slot): Replica {
    const replica: Replica = new Replica({
      ...this.#options,
      name: slot.name,
      onState: (state) => {
        if (state === 'ready') this.#pool.add(replica);
        else this.#pool.remove(replica);
      },
    });
    return replica;
  }

  #giveUp(slot: Slot, reason: string): void {
    slot.failure = reason;
    this.#log.error('replica given up', { replica: slot.name, reason });
    if (this.#slots.some(({ failure }) => failure === undefined)) return;
    this.#pool.close(() => failedDeployment(this.#options.deployment, reason), { waiting: true });
  }

  #withRelease(options: SetCallOptions): ReplicaCallOptions {
    return { ...options, onSettled: () => this.#pool.release() };
  }

  #health(): Pick<ReplicaSetStatus, 'status' | 'message'> {
    const failures = this.#slots.flatMap(({ failure }) => failure ?? []);
    const message = failures[0] ?? '';
    if (this.#slots.length > 0 && failures.length === this.#slots.length) return { status: 'DEPLOY_FAILED', message };
    if (this.#stopping.signal.aborted) return { status: 'STOPPED', message: '' };
    if (this.#slots.length > 0 && this.#slots.every(({ replica }) => replica?.state === 'ready')) return { status: 'RUNNING', message: '' };
    return this.#wasReady ? { status: 'UNHEALTHY', message: message || this.#lastLoss } : { status: 'DEPLOYING', message: '' };
  }
}

/** A deployment that does not run and will not come back by itself. */
export function failedDeployment(deployment: string, reason: string): AanaError {
  return new AanaError('FailedDeployment', 'unavailable', `deployment ${deployment} failed: ${reason}`, { data: { deployment } });
}
