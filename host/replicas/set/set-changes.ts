import type { Clock } from '../../core/clock.ts';
import type { Availability } from './availability.ts';
import type { Fleet, Member } from './fleet.ts';
import { reconfigureAll } from '../update/reconfigure.ts';
import type { ReplicaKeeper } from './replica-keeper.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import type { ReplicaVersion } from './replica-version.ts';
import { RollingUpdate, type UpdateResult } from '../update/rolling-update.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { failedDeployment, noRoom } from './set-errors.ts';
import type { SuspectCalls } from '../calls/suspect-calls.ts';
import type { UpdateState } from '../update/update-state.ts';

export interface SetChangesOptions {
  readonly deployment: string;
  readonly fleet: Fleet;
  readonly pool: ReplicaPool<RunningReplica>;
  readonly keeper: ReplicaKeeper;
  readonly availability: Availability;
  readonly suspects: SuspectCalls;
  readonly clock: Clock;
}

export interface SetUpdateOptions {
  /** The update is taken back when the signal aborts; then it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly onState?: ((state: UpdateState) => void) | undefined;
  /** Milliseconds that a new replica must serve before the next old one goes. */
  readonly watchMs: number;
}

/**
 * Changes a set of replicas as a whole: their number, what they are told while they run, or their version. Makes one
 * change at a time.
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

  /** What replicas are made from, except for those that an update is about to bring. */
  get version(): ReplicaVersion {
    return this.#version;
  }

  /** Whether a change is being made. The scaler leaves the set alone meanwhile. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** The update that runs. */
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
        fleet.inherit(version, before); // one of the new replicas may have been the first that was ready
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
      await reconfigureAll(fleet, version.spec, this.#version.graceMs);
      fleet.adopt(this.#version, version);
      this.#adopt(version);
    });
  }

  /** See `ReplicaSet.update`. */
  async roll(version: ReplicaVersion, { signal, onState, watchMs }: SetUpdateOptions): Promise<UpdateResult> {
    signal?.throwIfAborted();
    const { fleet, pool, keeper, suspects, availability, clock } = this.#options;
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
      pool.setBounds({
        maxOngoing: Math.min(from.maxOngoing, version.maxOngoing),
        maxQueued: Math.max(from.maxQueued, version.maxQueued),
      });
      const done = await update.run();
      this.#adopt(done.outcome === 'updated' ? version : from);
      if (done.outcome === 'updated') suspects.clear();
      return done;
    }).finally(() => {
      this.#update = undefined;
      signal?.removeEventListener('abort', onAbort);
    });
    // The old version may be tried again although it had failed before: it may have served during the update.
    if (availability.failure) availability.recover();
    availability.failIfAllFailed();
    if (result.outcome !== 'updated') signal?.throwIfAborted();
    keeper.check(); // calls that came meanwhile may want more replicas
    return result;
  }

  async #change<T>(change: () => Promise<T>): Promise<T> {
    if (this.#isOn) throw new Error('it is being changed already'); // the caller prevents this
    this.#isOn = true;
    try {
      return await change();
    } finally {
      this.#isOn = false;
      this.#options.availability.failIfAllFailed(); // a replica may have been given up while others were there that went with the change
    }
  }

  /** From now on replicas are made like this. */
  #adopt(version: ReplicaVersion): void {
    this.#options.keeper.adopt(version);
    this.#version = version;
    this.#options.pool.setBounds(version);
  }
}

/** Resolves when all of these replicas are ready. Throws `FailedDeployment` when one was given up or stopped before. */
export async function allReady(deployment: string, members: readonly Member[]): Promise<void> {
  const ready = members.map(async ({ slot }) => {
    await slot.settled;
    const { wasReady, failure = slot.lastLoss } = slot;
    if (!wasReady)
      throw failedDeployment(deployment, failure?.reason ?? 'it was stopped before it was ready', failure?.lastLines);
  });
  await Promise.all(ready);
}

/** The number of replicas that a version wants when there are `now`. */
function clampTo({ count, autoscaling }: ReplicaVersion, now: number): number {
  return autoscaling ? Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, now)) : count;
}
