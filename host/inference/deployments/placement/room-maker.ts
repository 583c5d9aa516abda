import { deferred } from '../../../base/core/deferred.ts';
import type { Member, ReplicaSet } from '../../replicas/index.ts';
import { placementOf } from './deployment-places.ts';
import { type Candidate, chooseVictims } from './eviction.ts';
import type { ManagedDeployment } from '../manager/managed-deployment.ts';

interface Victim extends Candidate {
  readonly replicas: ReplicaSet;
  readonly member: Member;
  /** Whether the replica is already ending, perhaps with running calls. */
  readonly isEnding: boolean;
}

const MAX_TRIES = 3;

/**
 * Frees places for deployments that need a further replica. It waits for replicas that are ending, and ends idle
 * replicas.
 */
export class RoomMaker {
  readonly #deployments: () => Iterable<ManagedDeployment>;
  /**
   * Replicas that are making room for a deployment, with promises that resolve when it has taken the place. No other
   * deployment may choose them.
   */
  readonly #claimed = new Map<Member, Promise<void>>();

  constructor(deployments: () => Iterable<ManagedDeployment>) {
    this.#deployments = deployments;
  }

  /**
   * Frees a place for one more replica, and calls `take`. Returns false when no room can be made. Waits only for
   * replicas whose places it needs. Another deployment that grows may take the freed place before `take` does; then
   * this method tries again.
   */
  async makeRoom(deployment: ManagedDeployment, take: () => boolean): Promise<boolean> {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      let chosen = this.#choose(deployment);
      while (!chosen && this.#claimed.size > 0) {
        await Promise.race(this.#claimed.values()); // the freed places may have room for both
        chosen = this.#choose(deployment);
      }
      if (!chosen) return false;
      if (await this.#free(chosen, take)) return true;
    }
    return false;
  }

  /**
   * Returns the replicas to end: first ending replicas without calls, then idle replicas, then ending replicas with
   * calls. Undefined when all of them are not enough.
   */
  #choose(deployment: ManagedDeployment): readonly Victim[] | undefined {
    const { places } = deployment;
    if (!places) return undefined;
    const victims = [...this.#deployments()]
      .filter((other) => other !== deployment)
      .flatMap(({ bound, replicas }) => {
        if (!replicas) return [];
        const dispensable = bound.options.pinned && !replicas.hasFailed ? [] : replicas.dispensable;
        return [...replicas.ending, ...dispensable].flatMap((member) => victim(replicas, member));
      });
    return chooseVictims(
      victims.filter(({ member }) => !this.#claimed.has(member)),
      (given) => places.wouldFit(given),
    );
  }

  async #free(chosen: readonly Victim[], take: () => boolean): Promise<boolean> {
    const taken = deferred();
    for (const { member } of chosen) this.#claimed.set(member, taken.promise);
    try {
      await Promise.all(
        chosen.map(({ replicas, member, isEnding }) => (isEnding ? replicas.hurry(member) : replicas.evict(member))),
      );
      return take();
    } finally {
      for (const { member } of chosen) this.#claimed.delete(member);
      taken.resolve();
    }
  }
}

/** Returns the replica with its place, or nothing when it no longer has one. */
function victim(replicas: ReplicaSet, member: Member): Victim[] {
  const place = replicas.placeOf(member);
  const placement = place && placementOf(place);
  if (!placement) return [];
  const isEnding = member.slot.state === 'retiring';
  const isBusy = (member.slot.replica?.ongoing ?? 0) > 0;
  const lastUsedAt = !isEnding ? replicas.lastUsedAt : isBusy ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return [{ placement, replicas, member, isEnding, lastUsedAt }];
}
