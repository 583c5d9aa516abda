import { type Clock, systemClock } from '../core/clock.ts';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { Autoscaler, type AutoscalerOptions } from './autoscaler.ts';
import { restartDelayMs } from './backoff.ts';
import { InferenceErrors } from './inference-errors.ts';
import { Replica, type ReplicaOptions } from './replica.ts';
import { type DispatchOptions, ReplicaPool } from './replica-pool.ts';
import { ReplicaSlot, type SlotFailure } from './replica-slot.ts';
import type { ReplicaCallOptions } from './replica-connection.ts';
import type { ReplicaState } from './replica-state.ts';
import type { RunningReplica, SpawnReplica } from './running-replica.ts';

/** A place that one slot holds on the machine's devices, over all restarts of its process. */
export interface Place {
  /** What the environment of its process says besides the deployment's. */
  readonly env: Readonly<Record<string, string>>;
  release(): void;
}

export interface ReplicaSetOptions extends Omit<ReplicaOptions, 'name' | 'onState' | 'onProgress'> {
  /** Replicas to keep running; with `autoscaling` its minimum is started. */
  readonly count: number;
  readonly autoscaling?: AutoscalerOptions | undefined;
  readonly maxOngoing: number;
  readonly maxQueued: number;
  /** Milliseconds that the calls of a replica which is replaced or not wanted any more may take. Default 20 s. */
  readonly graceMs?: number | undefined;
  /** Takes a place for one more replica; undefined when there is no room. Default: all run in the given environment. */
  readonly takePlace?: (() => Place | undefined) | undefined;
  readonly onProgress?: ((fraction: number | undefined, text: string) => void) | undefined;
  /** Milliseconds before the restart after `failures` ends in a row. */
  readonly restartDelay?: ((failures: number) => number) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  readonly spawn?: SpawnReplica | undefined;
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
  /** Why it was given up; empty while it is kept running. */
  readonly failure: string;
}

export interface ReplicaSetStatus {
  readonly status: 'DEPLOYING' | 'RUNNING' | 'UNHEALTHY' | 'DEPLOY_FAILED' | 'STOPPED';
  /** Why, when it is not running. */
  readonly message: string;
  readonly replicas: readonly ReplicaStatus[];
  /** Calls that wait for a replica. */
  readonly queued: number;
  /** What the process wrote last of a replica that was given up, oldest line first. */
  readonly lastLines: readonly string[];
}

export type SetCallOptions = Pick<ReplicaCallOptions, 'signal' | 'requestId'> & Omit<DispatchOptions, 'signal'>;

const DEFAULT_GRACE_MS = 20_000;
const MAX_SCALE_PERIOD_MS = 1000;
const MIN_SCALE_PERIOD_MS = 250;

/** Keeps the replicas of one deployment running, as many as are wanted, and gives calls to them. */
export class ReplicaSet {
  readonly #options: ReplicaSetOptions;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #pool: ReplicaPool<RunningReplica>;
  readonly #errors = new WeakMap<RunningReplica, InferenceErrors>();
  readonly #places = new Map<ReplicaSlot, Place>();
  readonly #stopping = new AbortController();
  readonly #scaler: Autoscaler | undefined;
  /** Those that are kept running, given up ones among them, and those that are ending. */
  #slots: ReplicaSlot[] = [];
  #isStarted = false;
  #hasFailed = false;
  #hadRoom = true;
  #lastLoss = '';

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.#log = options.log.child({ deployment: options.deployment });
    this.#clock = options.clock ?? systemClock;
    this.#pool = new ReplicaPool({ ...options, random: options.random ?? Math.random });
    this.#scaler = options.autoscaling && new Autoscaler(options.autoscaling);
  }

  /** Resolves when all replicas are ready. Rejects `FailedDeployment` when one is given up, or with the signal's reason; then everything is stopped. */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const onAbort = (): void => void this.stop(0);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#startFirst(this.#options.autoscaling?.minReplicas ?? this.#options.count);
    } catch (error) {
      await this.stop(0);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
    this.#isStarted = true;
    void this.#every(this.#options.healthPeriodMs, () => this.#replaceFailing());
    const { autoscaling } = this.#options;
    if (autoscaling) void this.#every(scalePeriodMs(autoscaling), () => this.#scale());
  }

  async call(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): Promise<unknown> {
    const { value, errors } = await this.#dispatch((replica, callOptions) => replica.call(method, args, callOptions), options);
    try {
      const result = await value;
      errors.record();
      return result;
    } catch (error) {
      errors.record(error);
      throw error;
    }
  }

  async *stream(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): AsyncGenerator<unknown[], void, undefined> {
    const { value, errors } = await this.#dispatch((replica, callOptions) => replica.stream(method, args, callOptions), options);
    let failure: unknown;
    try {
      yield* value;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      errors.record(failure);
    }
  }

  status(): ReplicaSetStatus {
    const replicas = this.#slots.map(({ name, replica, restarts, failure }) => ({
      name,
      state: replica?.state ?? ('exited' as const),
      pid: replica?.pid,
      ongoing: replica?.ongoing ?? 0,
      steps: replica?.steps ?? 0,
      restarts,
      failure: failure?.reason ?? '',
    }));
    const lastLines = this.#slots.find(({ failure }) => failure)?.failure?.lastLines ?? [];
    return { ...this.#health(), replicas, queued: this.#pool.queued, lastLines };
  }

  /** Takes no more calls, lets those it has finish for `graceMs`, and ends every process. May be called twice. */
  async stop(graceMs: number): Promise<void> {
    const gone = (): AanaError => new AanaError('DeploymentStopped', 'unavailable', `deployment ${this.#options.deployment} is shutting down`);
    this.#pool.close(gone, { waiting: graceMs <= 0 });
    const deadline = this.#clock.now() + graceMs;
    while (this.#pool.queued > 0 && this.#pool.size > 0 && this.#clock.now() < deadline) await this.#clock.delay(20);
    this.#stopping.abort();
    this.#pool.close(gone, { waiting: true });
    await Promise.all(this.#slots.map((slot) => slot.retire(Math.max(0, deadline - this.#clock.now()))));
  }

  async #startFirst(count: number): Promise<void> {
    for (let started = 0; started < count; started += 1) {
      if (!this.#addSlot()) throw this.#noRoom();
    }
    await Promise.all(
      this.#slots.map(async (slot) => {
        await slot.settled;
        if (!slot.wasReady) throw failedDeployment(this.#options.deployment, slot.failure?.reason ?? 'it was stopped before it was ready', slot.failure?.lastLines);
      }),
    );
  }

  /** One more slot, under the first number that is free; false when there is no room for it. */
  #addSlot(): boolean {
    const place = this.#options.takePlace ? this.#options.takePlace() : EVERYWHERE;
    if (!place) return false;
    const names = new Set(this.#slots.map(({ name }) => name));
    let number = 1;
    while (names.has(`${this.#options.deployment}#${number}`)) number += 1;
    const name = `${this.#options.deployment}#${number}`;
    const slot = new ReplicaSlot({
      name,
      log: this.#log,
      clock: this.#clock,
      restartDelay: this.#options.restartDelay ?? ((failures) => restartDelayMs(failures, this.#options.random)),
      spawn: () => this.#spawn(name, place),
      onLost: (reason) => (this.#lastLoss = reason),
      onFailed: (failure) => this.#onFailed(failure),
    });
    this.#slots.push(slot);
    this.#places.set(slot, place);
    void slot.gone.then(() => this.#onGone(slot));
    return true;
  }

  #spawn(name: string, place: Place): RunningReplica {
    const spawn: SpawnReplica = this.#options.spawn ?? ((options) => new Replica(options));
    const replica: RunningReplica = spawn({
      ...this.#options,
      name,
      env: { ...this.#options.env, ...place.env },
      onState: (state) => {
        if (state === 'ready') this.#pool.add(replica);
        else this.#pool.remove(replica);
      },
    });
    this.#errors.set(replica, new InferenceErrors());
    return replica;
  }

  #dispatch<T>(use: (replica: RunningReplica, options: ReplicaCallOptions) => T, options: SetCallOptions): Promise<{ readonly value: T; readonly errors: InferenceErrors }> {
    const callOptions = { signal: options.signal, requestId: options.requestId, onSettled: () => this.#pool.release() };
    const used = this.#pool.dispatch((replica) => ({ value: use(replica, callOptions), errors: this.#errors.get(replica) ?? new InferenceErrors() }), options);
    if (this.#isStarted && this.#kept().length === 0) this.#scale(); // the first call wakes a deployment that sleeps
    return used.then(({ value }) => value);
  }

  /** Slots that are not on their way out. */
  #kept(): ReplicaSlot[] {
    return this.#slots.filter(({ state }) => state !== 'retiring' && state !== 'gone');
  }

  #scale(): void {
    if (!this.#scaler || this.#hasFailed || this.#stopping.signal.aborted) return;
    const kept = this.#kept();
    const load = this.#pool.queued + kept.reduce((sum, { replica }) => sum + (replica?.ongoing ?? 0), 0);
    const wanted = this.#scaler.decide(this.#clock.now(), load, kept.length);
    if (wanted > kept.length) this.#grow(kept.length, wanted);
    if (wanted < kept.length) this.#shrink(kept, wanted);
  }

  #grow(from: number, to: number): void {
    let count = from;
    while (count < to && this.#addSlot()) count += 1;
    const hasRoom = count === to;
    if (!hasRoom && this.#hadRoom) this.#log.warn('no room for more replicas', { replicas: count, wanted: to });
    this.#hadRoom = hasRoom;
    if (count > from) this.#log.info('scaling up', { from, to: count });
    // One that is ending makes room soon.
    if (this.#slots.length === 0) this.#pool.refuseWaiting(() => this.#noRoom());
  }

  #shrink(kept: readonly ReplicaSlot[], to: number): void {
    this.#log.info('scaling down', { from: kept.length, to });
    const dispensable = [...kept].sort((a, b) => useOf(a) - useOf(b)).slice(0, kept.length - to);
    for (const slot of dispensable) void slot.retire(this.#options.graceMs ?? DEFAULT_GRACE_MS);
  }

  #onGone(slot: ReplicaSlot): void {
    this.#places.get(slot)?.release();
    this.#places.delete(slot);
    if (this.#stopping.signal.aborted) return; // what it ended with stays visible
    this.#slots = this.#slots.filter((other) => other !== slot);
    if (this.#isStarted && this.#kept().length === 0 && this.#pool.queued > 0) this.#scale();
  }

  #replaceFailing(): void {
    for (const { name, replica } of this.#slots) {
      const reason = replica && this.#errors.get(replica)?.check();
      if (!replica || reason === undefined || replica.state !== 'ready') continue;
      this.#log.warn('replica replaced', { replica: name, reason });
      void replica.stop(this.#options.graceMs ?? DEFAULT_GRACE_MS, reason);
    }
  }

  #onFailed({ reason }: SlotFailure): void {
    if (this.#kept().some(({ state }) => state !== 'failed')) return;
    this.#hasFailed = true; // it stays as it is, with its reason, until somebody deploys it anew
    this.#pool.close(() => failedDeployment(this.#options.deployment, reason), { waiting: true });
  }

  async #every(periodMs: number, run: () => void): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.#clock.delay(periodMs, signal).catch(() => {});
      if (signal.aborted) return;
      run();
    }
  }

  #health(): Pick<ReplicaSetStatus, 'status' | 'message'> {
    const kept = this.#stopping.signal.aborted ? this.#slots : this.#kept();
    const failures = kept.flatMap(({ failure }) => failure?.reason ?? []);
    const message = failures[0] ?? '';
    if (kept.length > 0 && failures.length === kept.length) return { status: 'DEPLOY_FAILED', message };
    if (this.#stopping.signal.aborted) return { status: 'STOPPED', message: '' };
    if (!this.#isStarted) return { status: 'DEPLOYING', message: '' };
    // One that is starting for the first time is more than what there was, not less.
    const isWell = kept.every(({ replica, restarts, state }) => replica?.state === 'ready' || (state === 'starting' && restarts === 0));
    return isWell ? { status: 'RUNNING', message: '' } : { status: 'UNHEALTHY', message: message || this.#lastLoss };
  }

  #noRoom(): AanaError {
    const { deployment } = this.#options;
    return new AanaError('InsufficientResources', 'unavailable', `there is no room for a replica of deployment ${deployment} on the devices of this machine; try again later`, {
      data: { deployment },
    });
  }
}

const EVERYWHERE: Place = { env: {}, release: () => {} };

/** How little is lost when a slot goes: given up, then not serving, then the calls it works on. */
function useOf({ state, replica }: ReplicaSlot): number {
  if (state === 'failed') return -2;
  return state === 'serving' ? (replica?.ongoing ?? 0) : -1;
}

/** Often enough for the delays to be kept, seldom enough to cost nothing. */
function scalePeriodMs({ upscaleDelayMs, downscaleDelayMs }: AutoscalerOptions): number {
  return Math.max(MIN_SCALE_PERIOD_MS, Math.min(MAX_SCALE_PERIOD_MS, upscaleDelayMs / 4, downscaleDelayMs / 4));
}

/** A deployment that does not run and will not come back by itself. `lastLines`: what its process wrote last. */
export function failedDeployment(deployment: string, reason: string, lastLines: readonly string[] = []): AanaError {
  return new AanaError('FailedDeployment', 'unavailable', `deployment ${deployment} failed: ${reason}`, { data: { deployment, last_lines: lastLines } });
}
