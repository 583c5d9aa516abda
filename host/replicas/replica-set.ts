import { type Clock, systemClock } from '../core/clock.ts';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { RequestContext } from '../core/request-context.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry.ts';
import { CallTelemetry } from './call-telemetry.ts';
import { Fleet, type FleetOptions, type LoadProgress, type Member } from './fleet.ts';
import { ReplicaCalls, type SetCallOptions } from './replica-calls.ts';
import { type MakeRoom, ReplicaKeeper } from './replica-keeper.ts';
import { ReplicaPool } from './replica-pool.ts';
import type { SlotFailure } from './replica-slot.ts';
import { firstCount, type Place, type ReplicaVersion } from './replica-version.ts';
import { type ReplicaSetStatus, replicaStatus } from './replica-status.ts';
import { reconfigureAll } from './reconfigure.ts';
import { RollingUpdate, type UpdateResult } from './rolling-update.ts';
import type { RunningReplica } from './running-replica.ts';
import type { UpdateState } from './update-state.ts';
import { SuspectCalls } from './suspect-calls.ts';
import { useOf } from './use-of.ts';
import type { Reservation } from './workload.ts';

export interface ReplicaSetOptions extends Pick<FleetOptions, 'deployment' | 'log' | 'env' | 'nice' | 'restartDelay' | 'spawn'> {
  readonly version: ReplicaVersion;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** For a replica that must run, or the first of a deployment that wakes. */
  readonly makeRoom?: MakeRoom | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** Where calls are reported. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
}

export interface SetUpdateOptions {
  /** Taken back when it aborts; then the update rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly onState?: ((state: UpdateState) => void) | undefined;
  /** Milliseconds that a new replica must serve before the next old one goes. */
  readonly watchMs: number;
}

/** Longest wait between two replicas that are replaced because their calls fail. */
const MAX_REPLACEMENT_MS = 600_000;

/** Keeps the replicas of one deployment running, as many as are wanted, and gives calls to them. */
export class ReplicaSet {
  readonly #options: ReplicaSetOptions;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #pool: ReplicaPool<RunningReplica>;
  readonly #fleet: Fleet;
  readonly #keeper: ReplicaKeeper;
  readonly #stopping = new AbortController();
  readonly #calls: ReplicaCalls;
  readonly #suspects: SuspectCalls;
  #version: ReplicaVersion;
  #update: RollingUpdate | undefined;
  /** A change is made to it as a whole; the scaler leaves it alone meanwhile. */
  #isChanging = false;
  #isStarted = false;
  #failure: SlotFailure | undefined;
  #lastLoss = '';
  /** Replicas in a row that were replaced because their calls failed. */
  #replacements = 0;
  #nextReplacementAt = 0;

  constructor(options: ReplicaSetOptions) {
    const { deployment, log, version, clock = systemClock, random = Math.random, telemetry = noTelemetry } = options;
    this.#options = options;
    this.#version = version;
    this.#log = log.child({ deployment });
    this.#clock = clock;
    this.#pool = new ReplicaPool({ deployment, maxOngoing: version.maxOngoing, maxQueued: version.maxQueued, random, clock, unavailable: () => this.#unavailable() });
    this.#fleet = new Fleet({
      ...options,
      log: this.#log,
      clock,
      random,
      pool: this.#pool,
      onProgress: (progress) => {
        options.onProgress?.(progress);
        this.#calls.onProgress(progress);
      },
      onLost: (member, loss) => this.#onLost(member, loss),
      onFailed: (member, failure) => this.#onFailed(member, failure),
      onGone: (member) => this.#onGone(member),
    });
    this.#suspects = new SuspectCalls(deployment, clock);
    this.#calls = new ReplicaCalls({
      pool: this.#pool,
      fleet: this.#fleet,
      clock,
      suspects: this.#suspects,
      log: this.#log,
      telemetry: new CallTelemetry(deployment, clock, telemetry),
      onWaiting: () => {
        if (this.#isStarted && this.#fleet.kept.length === 0) this.#keeper.check(); // the first call wakes a deployment that sleeps
      },
    });
    this.#keeper = new ReplicaKeeper(version, {
      fleet: this.#fleet,
      pool: this.#pool,
      clock,
      log: this.#log,
      makeRoom: options.makeRoom,
      isHeld: () => this.#failure !== undefined || this.#isChanging || this.#stopping.signal.aborted,
      noRoom: () => this.#noRoom(1),
    });
  }

  /** What its replicas are, apart from those that an update is about to replace. */
  get version(): ReplicaVersion {
    return this.#version;
  }

  /** When it last got or finished a call, in milliseconds of its clock. */
  get lastUsedAt(): number {
    return this.#calls.lastUsedAt;
  }

  /** Whether it came to the point where no replica starts by itself any more. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether a call is served soon: a replica is ready, or all of them sleep and the call wakes one. */
  get canServe(): boolean {
    if (!this.#isStarted || this.#failure || this.#stopping.signal.aborted) return false;
    const { kept } = this.#fleet;
    if (kept.some(({ slot }) => slot.replica?.state === 'ready')) return true;
    return firstCount(this.#version) === 0 && kept.every(({ slot }) => slot.state === 'starting' && slot.restarts === 0);
  }

  /** Replicas that could go without anybody noticing soon: those over the minimum when nothing runs or waits, all when none of them will serve again. */
  get dispensable(): readonly Member[] {
    const kept = this.#fleet.kept.sort((a, b) => useOf(a) - useOf(b));
    const isInUse = this.#pool.queued > 0 || kept.some(({ slot }) => (slot.replica?.ongoing ?? 0) > 0);
    if (isInUse || this.#isChanging || !this.#isStarted || this.#stopping.signal.aborted) return [];
    return this.#failure ? kept : kept.slice(0, Math.max(0, kept.length - firstCount(this.#version)));
  }

  /** Replicas that are ending; what they have is free soon. */
  get ending(): readonly Member[] {
    return this.#fleet.ending;
  }

  /** The place of a replica that is not gone. */
  placeOf(member: Member): Place | undefined {
    return this.#fleet.placeOf(member);
  }

  /** Resolves when all replicas are ready. Rejects `FailedDeployment` when one is given up, or with the signal's reason; then everything is stopped. */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const onAbort = (): void => void this.stop(0);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const first = this.#fleet.addAll(this.#version, firstCount(this.#version));
      if (!first) throw this.#noRoom(firstCount(this.#version));
      await this.#allReady(first);
    } catch (error) {
      await this.stop(0);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
    this.#isStarted = true;
    void this.#every(() => this.#version.healthPeriodMs, () => this.#replaceFailing());
    void this.#every(() => this.#keeper.periodMs, () => this.#keeper.check());
  }

  call(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): Promise<unknown> {
    return this.#calls.call(method, args, options);
  }

  stream(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): AsyncGenerator<unknown[], void, undefined> {
    return this.#calls.stream(method, args, options);
  }

  /** Keeps a place for a call that comes after other work of its request. Throws `DeploymentFull` or `DeploymentOverloaded`. */
  reserve(context: RequestContext): Reservation {
    return this.#calls.reserve(context);
  }

  /**
   * Another number of replicas, or other bounds for it; `version` differs from what there is in nothing else. Resolves when those that come are
   * ready and those that go are gone. Throws `InsufficientResources` when there is no room for all of them, `FailedDeployment` when one
   * cannot start; then nothing has changed.
   */
  scale(version: ReplicaVersion): Promise<void> {
    return this.#change(async () => {
      const [before, kept] = [this.#version, this.#fleet.kept];
      const wanted = clampTo(version, kept.length);
      this.#fleet.inherit(before, version);
      const added = this.#fleet.addAll(version, Math.max(0, wanted - kept.length));
      if (!added) throw this.#noRoom(wanted);
      try {
        await this.#allReady(added);
      } catch (error) {
        this.#fleet.inherit(version, before); // one of those that came may have been the first that was ready
        await Promise.all(added.map(({ slot }) => slot.retire(before.graceMs)));
        throw error;
      }
      this.#fleet.adopt(this.#version, version);
      this.#adopt(version);
      await this.#keeper.retireSurplus(wanted);
    });
  }

  /** Hands all replicas another spec without a restart. All take it, or none: rejects with the reason of the first that does not. */
  reconfigure(version: ReplicaVersion): Promise<void> {
    return this.#change(async () => {
      await reconfigureAll(this.#fleet, version.spec, this.#version.graceMs);
      this.#fleet.adopt(this.#version, version);
      this.#adopt(version);
    });
  }

  /** Replaces the replicas by those of another version, without losing a call. Rejects only with the signal's reason, or when the set is stopped. */
  async update(version: ReplicaVersion, { signal, onState, watchMs }: SetUpdateOptions): Promise<UpdateResult> {
    signal?.throwIfAborted();
    const from = this.#version;
    const { length } = this.#fleet.kept;
    const update = new RollingUpdate({ fleet: this.#fleet, clock: this.#clock, from, to: version, target: Math.max(1, clampTo(version, length)), isTrial: length === 0, watchMs, onState });
    const onAbort = (): void => update.cancel('it was cancelled');
    signal?.addEventListener('abort', onAbort, { once: true });
    const result = await this.#change(async () => {
      this.#update = update;
      // Replicas of both versions get calls: no more than either takes.
      this.#pool.setBounds({ maxOngoing: Math.min(from.maxOngoing, version.maxOngoing), maxQueued: Math.max(from.maxQueued, version.maxQueued) });
      const done = await update.run();
      this.#adopt(done.outcome === 'updated' ? version : from);
      if (done.outcome === 'updated') this.#suspects.clear();
      return done;
    }).finally(() => {
      this.#update = undefined;
      signal?.removeEventListener('abort', onAbort);
    });
    // The old version may have come back well although it had failed before.
    if (this.#failure && (result.outcome === 'updated' || this.#fleet.kept.some(({ slot }) => slot.state === 'serving'))) {
      this.#failure = undefined;
      this.#pool.open();
    }
    this.#failIfAllFailed();
    if (result.outcome !== 'updated') signal?.throwIfAborted();
    this.#keeper.check(); // calls that came meanwhile may want more
    return result;
  }

  /** The place of one of {@link ending} is needed: it gets the shorter grace from now on. Resolves when it is gone. */
  hurry(member: Member): Promise<void> {
    return this.#fleet.hurry(member);
  }

  /** Ends one of {@link dispensable}; resolves when it is gone. */
  async evict({ slot }: Member): Promise<void> {
    this.#log.info('making room for another deployment', { replica: slot.name });
    const gone = slot.retire(this.#version.graceMs);
    // Given up ones do not stand in the way of the next wake.
    const { kept } = this.#fleet;
    if (!this.#failure && kept.every((other) => other.slot.state === 'failed')) await Promise.all(kept.map((other) => other.slot.retire(0)));
    await gone;
  }

  status(): ReplicaSetStatus {
    const isStopped = this.#stopping.signal.aborted;
    const kept = isStopped ? this.#fleet.members : this.#fleet.kept;
    return replicaStatus({
      members: this.#fleet.members,
      deviceOf: (member) => this.#fleet.placeOf(member)?.device ?? '',
      kept,
      phase: isStopped ? 'stopped' : this.#isStarted ? 'started' : 'starting',
      queued: this.#pool.queued,
      updating: this.#update?.state,
      failure: this.#failure,
      lastLoss: this.#lastLoss,
      missing: this.#isChanging ? 0 : Math.max(0, firstCount(this.#version) - kept.length),
    });
  }

  /** Takes no more calls, lets those it has finish for `graceMs`, and ends every process. May be called twice. */
  async stop(graceMs: number): Promise<void> {
    const gone = (): AanaError => new AanaError('DeploymentStopped', 'unavailable', `deployment ${this.#options.deployment} is shutting down`);
    this.#update?.stop();
    this.#pool.close(gone, { waiting: graceMs <= 0 });
    const deadline = this.#clock.now() + graceMs;
    while (this.#pool.queued > 0 && this.#pool.size > 0 && this.#clock.now() < deadline) await this.#clock.delay(20);
    this.#stopping.abort();
    this.#pool.close(gone, { waiting: true });
    await this.#fleet.close(Math.max(0, deadline - this.#clock.now()));
  }

  async #change<T>(change: () => Promise<T>): Promise<T> {
    if (this.#isChanging) throw new Error('it is being changed already'); // who calls this sees to it
    this.#isChanging = true;
    try {
      return await change();
    } finally {
      this.#isChanging = false;
      this.#failIfAllFailed(); // one may have been given up while others were there that went with the change
    }
  }

  /** From now on replicas are made like this. */
  #adopt(version: ReplicaVersion): void {
    this.#keeper.adopt(version);
    this.#version = version;
    this.#pool.setBounds(version);
  }

  async #allReady(members: readonly Member[]): Promise<void> {
    const ready = members.map(async ({ slot }) => {
      await slot.settled;
      const { wasReady, failure = slot.lastLoss } = slot;
      if (!wasReady) throw failedDeployment(this.#options.deployment, failure?.reason ?? 'it was stopped before it was ready', failure?.lastLines);
    });
    await Promise.all(ready);
  }

  #onLost(member: Member, loss: SlotFailure): void {
    this.#lastLoss = loss.reason;
    this.#update?.onLost(member, loss);
    const unavailable = this.#unavailable();
    if (unavailable) this.#pool.refuseWaiting(() => unavailable);
  }

  #onFailed(member: Member, failure: SlotFailure): void {
    this.#update?.onFailed(member, failure);
    if (!this.#isChanging) this.#failIfAllFailed();
  }

  /** Why no replica will serve soon: none of them starts, and they have been tried often enough. */
  #unavailable(): AanaError | undefined {
    const { deployment } = this.#options;
    const troubles = this.#fleet.kept.map(({ slot }) => slot.trouble);
    const [first] = troubles;
    if (!first || this.#pool.size > 0 || troubles.includes(undefined)) return undefined;
    const waitMs = Math.min(...troubles.map((trouble) => (trouble ?? first).retryAt)) - this.#clock.now();
    const waitS = Math.max(1, Math.ceil(waitMs / 1000));
    return new AanaError('DeploymentUnavailable', 'unavailable', `deployment ${deployment} has no replica now, because they do not start: ${first.reason}; try again in ${waitS} s`, {
      data: { deployment, retry_after_s: waitS },
    });
  }

  /** It stays as it is, with its reason, until somebody deploys it anew. */
  #failIfAllFailed(): void {
    const kept = this.#fleet.kept;
    const failure = kept[0]?.slot.failure;
    if (!failure || kept.some(({ slot }) => slot.state !== 'failed')) return;
    this.#failure = failure;
    this.#pool.close(() => failedDeployment(this.#options.deployment, failure.reason), { waiting: true });
  }

  #onGone(member: Member): void {
    this.#update?.onGone(member);
    if (this.#stopping.signal.aborted) return;
    if (!this.#isChanging) this.#failIfAllFailed();
    if (this.#isStarted && this.#fleet.kept.length === 0 && this.#pool.queued > 0) this.#keeper.check();
  }

  /**
   * Replaces a replica most of whose calls fail by its own fault. One at a time: when all fail, the others may serve some calls meanwhile. When
   * the new one is no better, the next waits longer.
   */
  #replaceFailing(): void {
    const kept = this.#fleet.kept.filter(({ slot }) => slot.state !== 'failed');
    if (this.#clock.now() < this.#nextReplacementAt || kept.some(({ slot }) => slot.replica?.state !== 'ready')) return;
    for (const { slot, version } of kept) {
      const { name, replica } = slot;
      const health = replica && this.#fleet.checkHealth(replica);
      if (health?.isHealthy) this.#replacements = 0;
      if (!replica || !health || health.isHealthy) continue;
      this.#log.warn('replica replaced', { replica: name, reason: health.reason });
      this.#nextReplacementAt = this.#clock.now() + Math.min(MAX_REPLACEMENT_MS, version.healthPeriodMs * 2 ** this.#replacements);
      this.#replacements += 1;
      void replica.stop(version.graceMs, health.reason);
      return;
    }
  }

  async #every(periodMs: () => number, run: () => void): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.#clock.delay(periodMs(), signal).catch(() => {});
      if (signal.aborted) return;
      run();
    }
  }

  #noRoom(count: number): AanaError {
    const { deployment } = this.#options;
    return (
      this.#version.places?.noRoom(count) ??
      new AanaError('InsufficientResources', 'unavailable', `there is no room for a replica of deployment ${deployment} on the devices of this machine; try again later`, { data: { deployment } })
    );
  }
}

/** As many replicas as a version wants, when there are `now`. */
function clampTo({ count, autoscaling }: ReplicaVersion, now: number): number {
  return autoscaling ? Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, now)) : count;
}

/** A deployment that does not run and will not come back by itself. `lastLines`: what its process wrote last. */
export function failedDeployment(deployment: string, reason: string, lastLines: readonly string[] = []): AanaError {
  return new AanaError('FailedDeployment', 'unavailable', `deployment ${deployment} failed: ${reason}`, { data: { deployment, last_lines: lastLines } });
}
