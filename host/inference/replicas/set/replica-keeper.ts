import type { Clock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { Autoscaler, type AutoscalerOptions } from './autoscaler.ts';
import type { Fleet } from './fleet.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import { firstCount, type ReplicaVersion } from './replica-version.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { useOf } from './use-of.ts';

/**
 * Frees a place for one more replica and calls `take` before another deployment can take the place. `take` returns true
 * when it has taken the place or no longer needs it; after false, `MakeRoom` tries again.
 */
export type MakeRoom = (take: () => boolean) => Promise<boolean>;

export interface ReplicaKeeperOptions {
  readonly fleet: Fleet;
  readonly pool: ReplicaPool<RunningReplica>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes room for a replica that must run, or for the first replica of a deployment that wakes. */
  readonly makeRoom: MakeRoom | undefined;
  /** Returns the number of calls that wait for a replica, of all hosts. */
  waiting(): number;
  /** Returns whether the number of replicas must not change now. */
  isHeld(): boolean;
  /** Returns the error that there is no room for one replica. */
  noRoom(): AanaError;
}

const MAX_PERIOD_MS = 1000;
const MIN_PERIOD_MS = 250;
/**
 * Time after which a deployment with replicas but without room queries the devices again. A query may start a process.
 */
const LOOK_AGAIN_MS = 5000;

/** Keeps the number of replicas that the load needs, or a fixed number. Replicas are missing while there is no room. */
export class ReplicaKeeper {
  readonly #options: ReplicaKeeperOptions;
  #version: ReplicaVersion;
  #scaler: Autoscaler | undefined;
  #isMakingRoom = false;
  #hadRoom = true;
  #isLooking = false;
  #nextLookAt = 0;

  constructor(version: ReplicaVersion, options: ReplicaKeeperOptions) {
    this.#options = options;
    this.#version = version;
    this.#scaler = version.autoscaling && new Autoscaler(version.autoscaling);
  }

  /** Sets the version of new replicas. */
  adopt(version: ReplicaVersion): void {
    if (version.autoscaling !== this.#version.autoscaling)
      this.#scaler = version.autoscaling && new Autoscaler(version.autoscaling);
    this.#version = version;
  }

  /**
   * Milliseconds between two calls of {@link check}: short enough for the autoscaler's delays, long enough to be cheap.
   */
  get periodMs(): number {
    const scaling: AutoscalerOptions | undefined = this.#version.autoscaling;
    return scaling
      ? Math.max(MIN_PERIOD_MS, Math.min(MAX_PERIOD_MS, scaling.upscaleDelayMs / 4, scaling.downscaleDelayMs / 4))
      : MAX_PERIOD_MS;
  }

  check(): void {
    const { fleet, clock, log, isHeld, waiting } = this.#options;
    if (isHeld()) return;
    const { kept } = fleet;
    const load = waiting() + kept.reduce((sum, { slot }) => sum + (slot.replica?.ongoing ?? 0), 0);
    const wanted = this.#scaler ? this.#scaler.decide(clock.now(), load, kept.length) : this.#version.count;
    if (wanted > kept.length) this.#growAfterLook(wanted);
    if (wanted >= kept.length) return;
    log.info('scaling down', { from: kept.length, to: wanted });
    void this.retireSurplus(wanted);
  }

  /**
   * Ends the replicas over `count`, the least used first. Resolves when they are gone, or when only long calls are
   * left.
   */
  async retireSurplus(count: number): Promise<void> {
    const kept = this.#options.fleet.kept.sort((a, b) => useOf(a) - useOf(b));
    const surplus = kept.slice(0, Math.max(0, kept.length - count));
    await Promise.all(surplus.map((member) => this.#options.fleet.dismiss(member)));
  }

  /**
   * Queries the devices before it adds replicas, because other programs may have taken or freed memory since the last
   * query.
   */
  #growAfterLook(wanted: number): void {
    const { fleet, clock, isHeld } = this.#options;
    const version = this.#version;
    const from = fleet.kept.length;
    if (this.#isLooking || (from > 0 && clock.now() < this.#nextLookAt)) return;
    const looked = version.places?.look?.();
    if (!looked) {
      this.#grow(from, wanted);
      return;
    }
    this.#isLooking = true;
    void looked.then(() => {
      this.#isLooking = false;
      const now = fleet.kept.length;
      if (isHeld() || version !== this.#version || now >= wanted) return; // the next check decides
      this.#grow(now, wanted);
      if (!this.#hadRoom) this.#nextLookAt = clock.now() + LOOK_AGAIN_MS;
    });
  }

  #grow(from: number, to: number): void {
    const { fleet, log } = this.#options;
    let count = from;
    while (count < to && fleet.add(this.#version)) count += 1;
    const hasRoom = count === to;
    if (!hasRoom && this.#hadRoom) log.warn('no room for more replicas', { replicas: count, wanted: to });
    this.#hadRoom = hasRoom;
    if (count > from) log.info('scaling up', { from, to: count });
    if (count < firstCount(this.#version) || count === 0) void this.#makeRoom();
  }

  /**
   * Makes room at the cost of other deployments. When that fails and there is no replica, refuses the waiting calls.
   */
  async #makeRoom(): Promise<void> {
    const { fleet, pool, makeRoom, isHeld, noRoom } = this.#options;
    const before = fleet.members.length;
    if (this.#isMakingRoom) return;
    if (before > 0 && fleet.kept.length === 0) {
      for (const member of fleet.ending) void fleet.hurry(member); // its own replicas make room soon
      return;
    }
    this.#isMakingRoom = true;
    /** Returns whether no place is needed any more, because the number of replicas has changed or must not change. */
    const isSettled = (): boolean => isHeld() || fleet.members.length !== before;
    const take = (): boolean => isSettled() || fleet.add(this.#version) !== undefined;
    const isMade = await Promise.resolve(makeRoom?.(take)).catch(() => false);
    this.#isMakingRoom = false;
    if (!isMade && !isHeld() && fleet.members.length === 0) pool.refuseWaiting(noRoom);
  }
}
