import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import { noTelemetry, type Telemetry } from '../../../base/core/telemetry.ts';
import { Availability } from './availability.ts';
import { CallRouter } from '../calls/call-router.ts';
import { FailingReplicas } from './failing-replicas.ts';
import { Fleet, type FleetOptions, type LoadProgress, type Member } from './fleet.ts';
import type { SetCallOptions } from '../calls/replica-calls.ts';
import { type MakeRoom, ReplicaKeeper } from './replica-keeper.ts';
import type { CallBounds } from '../pool/replica-pool.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import { firstCount, type DevicePlace, type ReplicaVersion } from './replica-version.ts';
import { ReplicaMetrics } from './replica-metrics.ts';
import { type ReplicaSetStatus, replicaStatus } from './replica-status.ts';
import type { UpdateResult } from '../update/rolling-update.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { allReady, SetChanges, type SetUpdateOptions } from './set-changes.ts';
import { noRoom } from './set-errors.ts';
import { type RefusedCalls, sharedSet, type SharedSet } from './shared-set.ts';
import { useOf } from './use-of.ts';
import type { Reservation } from '../pool/workload.ts';

export interface ReplicaSetOptions extends Pick<
  FleetOptions,
  'deployment' | 'log' | 'env' | 'nice' | 'restartDelay' | 'spawn' | 'socketsDir' | 'fence' | 'artifacts' | 'remote'
> {
  readonly version: ReplicaVersion;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Makes room for a replica that must run, or for the first replica of a deployment that wakes. */
  readonly makeRoom?: MakeRoom | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** Records calls. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Returns the weight of a user among those who wait. Default: 1 for everyone. */
  readonly weightOf?: ((userId: string) => number | undefined) | undefined;
  /** Called when other hosts would see something else of the deployment. */
  readonly onChange?: (() => void) | undefined;
}

/** Keeps the wanted number of replicas of one deployment running, and gives calls to them. */
export class ReplicaSet {
  readonly #options: ReplicaSetOptions;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #router: CallRouter<RunningReplica>;
  readonly #fleet: Fleet;
  readonly #keeper: ReplicaKeeper;
  readonly #stopping = new AbortController();
  readonly #availability: Availability;
  readonly #failing: FailingReplicas;
  readonly #changes: SetChanges;
  #isStarted = false;
  #bounds: CallBounds;
  /** Calls that wait in other hosts. */
  #waitingElsewhere = 0;
  #usedElsewhereAt = -Infinity;
  /** How often all waiting calls were refused, and the last error. */
  #refused: RefusedCalls = { count: 0, error: undefined };

  constructor(options: ReplicaSetOptions) {
    const { deployment, log, version, clock = systemClock, random = Math.random, telemetry = noTelemetry } = options;
    this.#options = options;
    this.#log = log.child({ deployment });
    this.#clock = clock;
    this.#bounds = version;
    this.#router = new CallRouter<RunningReplica>({
      ...{ deployment, clock, random, telemetry, bounds: version, log: this.#log, weightOf: options.weightOf },
      unavailable: () => this.#availability.unavailable(),
      record: (replica, error) => this.#fleet.record(replica, error),
      loading: () => this.#fleet.kept.find((member) => member.loading)?.loading,
      onWaiting: () => {
        // The first call wakes a sleeping deployment.
        if (this.#isStarted && this.#fleet.kept.length === 0) this.#keeper.check();
      },
      onRefused: (error) => {
        this.#refused = { count: this.#refused.count + 1, error };
        this.#changed();
      },
    });
    this.#fleet = new Fleet({
      ...options,
      log: this.#log,
      clock,
      random,
      pool: this.#pool,
      maxOngoing: version.maxOngoing,
      metrics: new ReplicaMetrics(deployment, telemetry),
      onChange: () => this.#changed(),
      onLoad: () => {
        this.#usedElsewhereAt = this.#clock.now();
        this.#pool.release();
      },
      onProgress: (progress) => {
        options.onProgress?.(progress);
        this.#router.calls.onProgress(progress);
      },
      onLost: (member, loss) => this.#onLost(member, loss),
      onFailed: (member, failure) => this.#onFailed(member, failure),
      onGone: (member) => this.#onGone(member),
    });
    this.#availability = new Availability({
      ...{ deployment, clock, fleet: this.#fleet, pool: this.#pool, fence: options.fence },
    });
    this.#failing = new FailingReplicas(this.#fleet, clock, this.#log);
    this.#keeper = new ReplicaKeeper(version, {
      fleet: this.#fleet,
      pool: this.#pool,
      clock,
      log: this.#log,
      makeRoom: options.makeRoom,
      waiting: () => this.#pool.waitingForReplica + this.#waitingElsewhere,
      isHeld: () =>
        this.hasFailed || this.#changes.isOn || this.#stopping.signal.aborted || options.fence?.() !== undefined,
      noRoom: () => this.#noRoom(1),
    });
    this.#changes = new SetChanges(version, {
      deployment,
      fleet: this.#fleet,
      keeper: this.#keeper,
      availability: this.#availability,
      suspects: this.#router.suspects,
      clock,
      setBounds: (bounds) => {
        this.#bounds = bounds;
        this.#fleet.setBounds(bounds.maxOngoing); // first, so that no call comes too early
        this.#pool.setBounds(bounds);
        this.#changed();
      },
    });
  }

  get #pool(): CallRouter<RunningReplica>['pool'] {
    return this.#router.pool;
  }

  #changed(): void {
    this.#options.onChange?.();
  }

  /** The version of new replicas; during an update still the old version. */
  get version(): ReplicaVersion {
    return this.#changes.version;
  }

  /** Time at which a call last arrived or ended, in milliseconds of the clock. */
  get lastUsedAt(): number {
    return Math.max(this.#router.calls.lastUsedAt, this.#usedElsewhereAt);
  }

  /** Whether all replicas were given up, so that none starts by itself. */
  get hasFailed(): boolean {
    return this.#availability.failure !== undefined;
  }

  /** Whether a call is served soon: a replica is ready, or the deployment sleeps and the call wakes it. */
  get canServe(): boolean {
    if (!this.#isStarted || this.hasFailed || this.#stopping.signal.aborted) return false;
    const { kept } = this.#fleet;
    if (kept.some(({ slot }) => slot.replica?.state === 'ready')) return true;
    return firstCount(this.version) === 0 && kept.every(({ slot }) => slot.state === 'starting' && slot.restarts === 0);
  }

  /**
   * Replicas that may be ended for another deployment: those above the minimum while no call runs or waits, or all when
   * the deployment has failed.
   */
  get dispensable(): readonly Member[] {
    const kept = this.#fleet.kept.sort((a, b) => useOf(a) - useOf(b));
    const isInUse = this.#queued > 0 || kept.some(({ slot }) => (slot.replica?.ongoing ?? 0) > 0);
    if (isInUse || this.#changes.isOn || !this.#isStarted || this.#stopping.signal.aborted) return [];
    return this.hasFailed ? kept : kept.slice(0, Math.max(0, kept.length - firstCount(this.version)));
  }

  /** Replicas that are ending. Their places will be free soon. */
  get ending(): readonly Member[] {
    return this.#fleet.ending;
  }

  /** Returns the place of a replica that is not gone. */
  placeOf(member: Member): DevicePlace | undefined {
    return this.#fleet.placeOf(member);
  }

  /**
   * Starts the first replicas and resolves when all are ready. Rejects with `FailedDeployment` when one is given up, or
   * with the signal's reason; then everything is stopped.
   */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const onAbort = (): void => void this.stop(0);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const first = this.#fleet.addAll(this.version, firstCount(this.version));
      if (!first) throw this.#noRoom(firstCount(this.version));
      await allReady(this.#options.deployment, first);
    } catch (error) {
      await this.stop(0);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
    this.#isStarted = true;
    this.#changed();
    void this.#every(
      () => this.version.healthPeriodMs,
      () => void (this.#options.fence?.() ?? this.#failing.check()),
    );
    void this.#every(
      () => this.#keeper.periodMs,
      () => {
        this.#availability.check(); // a call that waits for a place when another host becomes the controller
        this.#keeper.check();
      },
    );
  }

  call(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): Promise<unknown> {
    return this.#router.calls.call(method, args, options);
  }

  stream(
    method: string,
    args: Record<string, unknown>,
    options: SetCallOptions = {},
  ): AsyncGenerator<unknown[], unknown, undefined> {
    return this.#router.calls.stream(method, args, options);
  }

  /**
   * Reserves a place for a call that follows other work of its request. Throws `DeploymentFull` or
   * `DeploymentOverloaded`.
   */
  reserve(context: RequestContext): Reservation {
    return this.#router.calls.reserve(context);
  }

  /**
   * Sets the number of replicas, or its bounds. `version` differs in nothing else from the current version. Resolves
   * when new replicas are ready and surplus ones are gone. Throws `InsufficientResources` when there is no room for all
   * of them, or `FailedDeployment` when one cannot start; then nothing has changed.
   */
  scale(version: ReplicaVersion): Promise<void> {
    return this.#changes.scale(version);
  }

  /**
   * Gives all replicas another spec without a restart. If one refuses it, none keeps it, and the promise rejects with
   * the reason.
   */
  reconfigure(version: ReplicaVersion): Promise<void> {
    return this.#changes.reconfigure(version);
  }

  /**
   * Replaces the replicas by replicas of another version, without losing a call. Rejects only with the signal's reason,
   * or when the set is stopped.
   */
  update(version: ReplicaVersion, options: SetUpdateOptions): Promise<UpdateResult> {
    return this.#changes.roll(version, options);
  }

  /** What other hosts see of the deployment. */
  get shared(): SharedSet {
    return sharedSet({
      ...{ deployment: this.#options.deployment, members: this.#fleet.members, bounds: this.#bounds },
      ...{ refusal: this.#pool.closedBy, refused: this.#refused },
      unavailable: () => this.#availability.unavailable(),
    });
  }

  /** Sets the number of calls that wait for a replica in other hosts. */
  setWaitingElsewhere(count: number): void {
    this.#waitingElsewhere = count;
    this.#usedElsewhereAt = this.#clock.now();
    if (count > 0 && this.#isStarted && this.#fleet.kept.length === 0) this.#keeper.check();
  }

  /** Records the outcomes of calls of other hosts on the replica with this token; `errors` are of those that failed. */
  recordElsewhere(token: string, succeeded: number, errors: readonly unknown[]): void {
    const replica = this.#fleet.members.find(({ slot }) => slot.replica?.address?.token === token)?.slot.replica;
    if (!replica) return; // it has ended
    for (let count = 0; count < succeeded; count += 1) this.#fleet.record(replica);
    for (const error of errors) this.#fleet.record(replica, error);
  }

  /** Gives one of {@link ending} the shorter grace, because its place is needed. Resolves when it is gone. */
  hurry(member: Member): Promise<void> {
    return this.#fleet.hurry(member);
  }

  /** Ends one of {@link dispensable}. Resolves when it is gone. */
  async evict({ slot }: Member): Promise<void> {
    this.#log.info('making room for another deployment', { replica: slot.name });
    const gone = slot.retire(this.version.graceMs);
    // Slots that were given up would prevent the deployment from waking again.
    const { kept } = this.#fleet;
    if (!this.hasFailed && kept.every((other) => other.slot.state === 'failed'))
      await Promise.all(kept.map((other) => other.slot.retire(0)));
    await gone;
  }

  status(): ReplicaSetStatus {
    const isStopped = this.#stopping.signal.aborted;
    const kept = isStopped ? this.#fleet.members : this.#fleet.kept;
    return replicaStatus({
      members: this.#fleet.members,
      placeOf: (member) => this.#fleet.placeOf(member),
      kept,
      phase: isStopped ? 'stopped' : this.#isStarted ? 'started' : 'starting',
      queued: this.#queued,
      updating: this.#changes.update?.state,
      failure: this.#availability.failure,
      lastLoss: this.#availability.lastLoss,
      missing: this.#changes.isOn ? 0 : Math.max(0, firstCount(this.version) - kept.length),
    });
  }

  /**
   * Refuses new calls, lets running and waiting calls finish for `graceMs`, and ends every process. May be called
   * twice.
   */
  async stop(graceMs: number): Promise<void> {
    const gone = (): AanaError => fail('DeploymentStopped', `deployment ${this.#options.deployment} is shutting down`);
    this.#changes.update?.stop();
    this.#pool.close(gone, { waiting: graceMs <= 0 });
    this.#changed();
    const deadline = this.#clock.now() + graceMs;
    while (this.#queued > 0 && this.#pool.size > 0 && this.#clock.now() < deadline) await this.#clock.delay(20);
    this.#stopping.abort();
    this.#pool.close(gone, { waiting: true });
    await this.#fleet.close(Math.max(0, deadline - this.#clock.now()));
  }

  /** Number of waiting calls, of all hosts. */
  get #queued(): number {
    return this.#pool.queued + this.#waitingElsewhere;
  }

  #onLost(member: Member, loss: SlotFailure): void {
    this.#changes.update?.onLost(member, loss);
    this.#availability.onLost(loss);
    this.#changed();
  }

  #onFailed(member: Member, failure: SlotFailure): void {
    this.#changes.update?.onFailed(member, failure);
    if (!this.#changes.isOn) this.#availability.failIfAllFailed();
  }

  #onGone(member: Member): void {
    this.#changes.update?.onGone(member);
    if (this.#stopping.signal.aborted) return;
    if (!this.#changes.isOn) this.#availability.failIfAllFailed();
    if (this.#isStarted && this.#fleet.kept.length === 0 && this.#queued > 0) this.#keeper.check();
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
    return noRoom(this.#options.deployment, this.version, count);
  }
}
