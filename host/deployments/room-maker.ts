import type { Member, ReplicaSet } from '../replicas/index.ts';
import { placementOf } from './deployment-places.ts';
import { type Candidate, chooseVictims } from './eviction.ts';
import type { ManagedDeployment } from './managed-deployment.ts';

interface Victim extends Candidate {
  readonly replicas: ReplicaSet;
  readonly member: Member;
}

const MAX_ATTEMPTS = 3;

/** Frees places for deployments that wake: by waiting for replicas that are ending, then by ending replicas that nobody uses. */
export class RoomMaker {
  readonly #deployments: () => Iterable<ManagedDeployment>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deployments: () => Iterable<ManagedDeployment>) {
    this.#deployments = deployments;
  }

  /**
   * Frees a place for one more replica, and has it taken; false where there is no room to make. One after the other, until the place is
   * taken, so that two do not count on the same one. Somebody who does not ask may be quicker, as one that grows is; then it is tried again.
   */
  makeRoom(deployment: ManagedDeployment, take: () => boolean): Promise<boolean> {
    const made = this.#last.then(async () => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS && (await this.#makeRoom(deployment)); attempt += 1) if (take()) return true;
      return false;
    });
    this.#last = made.catch(() => {});
    return made;
  }

  async #makeRoom(deployment: ManagedDeployment): Promise<boolean> {
    const { places } = deployment;
    if (!places) return false;
    const others = [...this.#deployments()].filter((other) => other !== deployment);
    const ending = others.flatMap(({ replicas }) => (replicas ? replicas.ending.flatMap((member) => victim(replicas, member)) : []));
    const free = ending.map(({ placement }) => placement);
    const candidates = others.flatMap(({ bound, replicas }) => (replicas && (!bound.options.pinned || replicas.hasFailed) ? replicas.dispensable.flatMap((member) => victim(replicas, member)) : []));
    const victims = chooseVictims(candidates, (given) => places.wouldFit([...free, ...given]));
    if (!victims) return false;
    const going = victims.map(({ replicas, member }) => replicas.evict(member));
    await Promise.all([...going, ...ending.map(({ replicas, member }) => replicas.hurry(member))]);
    return true;
  }
}

/** A replica with its place; nothing when it has none any more. */
function victim(replicas: ReplicaSet, member: Member): Victim[] {
  const place = replicas.placeOf(member);
  const placement = place && placementOf(place);
  return placement ? [{ placement, replicas, member, lastUsedAt: replicas.lastUsedAt }] : [];
}
