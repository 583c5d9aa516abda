import { preferred } from './affinity.ts';

export interface Choosable {
  readonly name: string;
  /** Calls that the replica has not let go of. */
  readonly ongoing: number;
}

/**
 * Returns the replica that calls with this affinity prefer, or else the less busy one of two random replicas with room.
 * Undefined when none has room.
 * @param maxOngoing calls that one replica takes at the same time
 */
export function chooseReplica<Member extends Choosable>(
  members: readonly Member[],
  affinity: string | undefined,
  maxOngoing: number,
  random: () => number,
): Member | undefined {
  const liked = affinity === undefined || members.length < 2 ? undefined : preferred(affinity, members, maxOngoing);
  if (liked) return liked;
  const free = members.filter((member) => member.ongoing < maxOngoing);
  const any = (): Member | undefined => free[Math.floor(random() * free.length)];
  const [one, other] = [any(), any()];
  return one && other && other.ongoing < one.ongoing ? other : one;
}
