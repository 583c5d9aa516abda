import type { Clock } from '../../../base/core/clock.ts';
import type { Availability } from './availability.ts';
import type { Fleet, Member } from './fleet.ts';
import { reconfigureAll } from '../update/reconfigure.ts';
import type { ReplicaKeeper } from './replica-keeper.ts';
import type { CallBounds } from '../pool/replica-pool.ts';
import type { ReplicaVersion } from './replica-version.ts';
import { RollingUpdate, type UpdateResult } from '../update/rolling-update.ts';
import { failedDeployment, noRoom } from './set-errors.ts';
import type { SuspectCalls } from '../calls/suspect-calls.ts';
import type { UpdateState } from '../update/update-state.ts';

export interface SetChangesOptions {
  readonly deployment: string;
  readonly fleet: Fleet;
  readonly keeper: ReplicaKeeper;
  readonly availability: Availability;
  readonly suspects: SuspectCalls;
  readonly clock: Clock;
  /** Sets how many calls replicas and queue take from now on. */
  setBounds(bounds: CallBounds): void;
}

export interface SetUpdateOptions {
  /** Rolls the update back when aborted. The update then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly onState?: ((state: UpdateState) => void) | undefined;
  /** Milliseconds that a new replica must serve before the next old replica is stopped. */
  readonly watchMs: number;
}

/**
 * Changes a replica set as a whole: the number of replicas, their configuration, or their version. Makes one change at
 * a time.
 */
export class SetChanges {
  readonly #options: SetChangesOptions;
  #version: ReplicaVersion;
  #update: RollingUpdate | undefined;
  #isOn = false;

  constructor(version: ReplicaVersion, options: SetChangesOptions) {
    this.#version = version;
    this.#options = options;
  }

  /** The version of new replicas; during an update still the old version. */
  get version(): ReplicaVersion {
    return this.#version;
  }

  /** Whether a change is in progress. The keeper does not change the number of replicas during it. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** The update in progress. */
  get update(): RollingUpdate | undefined {
    return this.#update;
  }

  /** See `ReplicaSet.scale`. */
  scale(version: ReplicaVersion): Promise<void> {
    const { deployment, fleet, keeper } = this.#options;
    return this.#change(async () => {
      const [before, kept] = [this.#version, fleet.kept];
      const wanted = clampTo(version, kept.length);
      fleet.inherit(before, version);
      const added = fleet.addAll(version, Math.max(0, wanted - kept.length));
      if (!added) throw noRoom(deployment, before, wanted);
      try {
        await allReady(deployment, added);
      } catch (error) {
        fleet.inherit(version, before); // the first ready replica may be a new one
        await Promise.all(added.map(({ slot }) => slot.retire(before.graceMs)));
        throw error;
      }
      fleet.adopt(before, version);
      this.#adopt(version);
      await keeper.retireSurplus(wanted);
    });
  }

  /** See `ReplicaSet.reconfigure`. */
  reconfigure(version: ReplicaVersion): Promise<void> {
    const { fleet } = this.#options;
    return this.#change(async () => {
      await reconfigureAll(fleet, version, this.#version.graceMs);
      fleet.adopt(this.#version, version);
      this.#adopt(version);
    });
  }

  /** See `ReplicaSet.update`. */
  async roll(version: ReplicaVersion, { signal, onState, watchMs }: SetUpdateOptions): Promise<UpdateResult> {
    signal?.throwIfAborted();
    const { fleet, keeper, suspects, availability, clock, setBounds } = this.#options;
    const from = this.#version;
    const { length } = fleet.kept;
    const update = new RollingUpdate({
      fleet,
      clock,
      from,
      to: version,
      target: Math.max(1, clampTo(version, length)),
      isTrial: length === 0,
      watchMs,
      onState,
    });
    const onAbort = (): void => update.cancel('it was cancelled');
    signal?.addEventListener('abort', onAbort, { once: true });
    const result = await this.#change(async () => {
      this.#update = update;
      // Replicas of both versions get calls: no more than either takes.
      setBounds({
        maxOngoing: Math.min(from.maxOngoing, version.maxOngoing),
        maxQueued: Math.max(from.maxQueued, version.maxQueued),
        pausesForOthers: from.pausesForOthers === true && version.pausesForOthers === true,
      });
      const done = await update.run();
      this.#adopt(done.outcome === 'updated' ? version : from);
      if (done.outcome === 'updated') suspects.clear();
      return done;
    }).finally(() => {
      this.#update = undefined;
      signal?.removeEventListener('abort', onAbort);
    });
    // The old version may start again although it had failed before, because it may have served during the update.
    if (availability.failure) availability.recover();
    availability.failIfAllFailed();
    if (result.outcome !== 'updated') signal?.throwIfAborted();
    keeper.check(); // calls that arrived during the update may need more replicas
    return result;
  }

  async #change<T>(change: () => Promise<T>): Promise<T> {
    if (this.#isOn) throw new Error('a change is already in progress'); // the caller prevents this
    this.#isOn = true;
    try {
      return await change();
    } finally {
      this.#isOn = false;
      this.#options.availability.failIfAllFailed(); // the change may have ended all replicas but those given up
    }
  }

  /** Sets the version of new replicas. */
  #adopt(version: ReplicaVersion): void {
    this.#options.keeper.adopt(version);
    this.#version = version;
    this.#options.setBounds(version);
  }
}

/** Resolves when all of these replicas are ready. Rejects with `FailedDeployment` when one was given up or stopped. */
export async function allReady(deployment: string, members: readonly Member[]): Promise<void> {
  const ready = members.map(async ({ slot }) => {
    await slot.settled;
    const { wasReady, failure = slot.lastLoss } = slot;
    if (!wasReady)
      throw failedDeployment(deployment, failure?.reason ?? 'it was stopped before it was ready', failure?.lastLines);
  });
  await Promise.all(ready);
}

/** Returns the number of replicas that a version wants when there are `now`. */
function clampTo({ count, autoscaling }: ReplicaVersion, now: number): number {
  return autoscaling ? Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, now)) : count;
}
