import { deferred } from '../core/deferred.ts';
import type { Member, ReplicaSet } from '../replicas/index.ts';
import { placementOf } from './deployment-places.ts';
import { type Candidate, chooseVictims } from './eviction.ts';
import type { ManagedDeployment } from './managed-deployment.ts';

interface Victim extends Candidate {
  readonly replicas: ReplicaSet;
  readonly member: Member;
  /** It goes already, perhaps with calls on it. */
  readonly isEnding: boolean;
}

const MAX_ATTEMPTS = 3;

/** Frees places for deployments that wake: by waiting for replicas that are ending, then by ending replicas that nobody uses. */
export class RoomMaker {
  readonly #deployments: () => Iterable<ManagedDeployment>;
  /** Replicas that somebody makes room with, until the place is taken: nobody else counts on them. */
  readonly #claimed = new Map<Member, Promise<void>>();

  constructor(deployments: () => Iterable<ManagedDeployment>) {
    this.#deployments = deployments;
  }

  /**
   * Frees a place for one more replica, and has it taken; false where there is no room to make. It waits only for replicas whose places it needs.
   * Somebody who does not ask may be quicker, as one that grows is; then it is tried again.
   */
  async makeRoom(deployment: ManagedDeployment, take: () => boolean): Promise<boolean> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      let chosen = this.#choose(deployment);
      while (!chosen && this.#claimed.size > 0) {
        await Promise.race(this.#claimed.values()); // it may leave room for both
        chosen = this.#choose(deployment);
      }
      if (!chosen) return false;
      if (await this.#free(chosen, take)) return true;
    }
    return false;
  }

  /**
   * The replicas that have to go: those that are ending and have nothing left to do, then those that nobody uses, then those that are ending and finish
   * their last calls. Undefined where all of them are not enough.
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
      await Promise.all(chosen.map(({ replicas, member, isEnding }) => (isEnding ? replicas.hurry(member) : replicas.evict(member))));
      return take();
    } finally {
      for (const { member } of chosen) this.#claimed.delete(member);
      taken.resolve();
    }
  }
}

/** A replica with its place; nothing when it has none any more. */
function victim(replicas: ReplicaSet, member: Member): Victim[] {
  const place = replicas.placeOf(member);
  const placement = place && placementOf(place);
  if (!placement) return [];
  const isEnding = member.slot.state === 'retiring';
  const isBusy = (member.slot.replica?.ongoing ?? 0) > 0;
  const lastUsedAt = !isEnding ? replicas.lastUsedAt : isBusy ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return [{ placement, replicas, member, isEnding, lastUsedAt }];
}
