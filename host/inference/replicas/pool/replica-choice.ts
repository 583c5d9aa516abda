import { preferred } from './affinity.ts';
import type { HeldModels } from './held-models.ts';

export interface Choosable {
  readonly name: string;
  /** Calls that the replica has not let go of, of all hosts together. */
  readonly ongoing: number;
  /** Those of other hosts. Default: none. */
  readonly others?: number | undefined;
  /** Its models, if it has many. */
  readonly models?: Pick<HeldModels, 'has' | 'size'> | undefined;
}

/** What decides which replica a call prefers. */
export interface Preference {
  /** Calls with the same text prefer the same replica. */
  readonly affinity?: string | undefined;
  /** The model that the call is for, of replicas with many. */
  readonly multiplexedModelId?: string | undefined;
}

/**
 * Returns a replica with room: one that has the model of the call, or else has the fewest models; the one that calls
 * with this affinity prefer; or else the less busy of two random ones. Undefined when none has room.
 * @param maxOngoing calls that one replica takes at the same time
 */
export function chooseReplica<Member extends Choosable>(
  members: readonly Member[],
  { affinity, multiplexedModelId }: Preference,
  maxOngoing: number,
  random: () => number,
): Member | undefined {
  const free = members.filter((member) => member.ongoing < maxOngoing);
  if (multiplexedModelId !== undefined) return lessBusy(withModel(multiplexedModelId, free), random);
  const liked = affinity === undefined || members.length < 2 ? undefined : preferred(affinity, members, maxOngoing);
  return liked ?? lessBusy(free, random);
}

/** Returns the members that have the model, or else those with the fewest models. */
function withModel<Member extends Choosable>(id: string, members: readonly Member[]): readonly Member[] {
  const having = members.filter(({ models }) => models?.has(id));
  if (having.length > 0) return having;
  const fewest = Math.min(...members.map(({ models }) => models?.size ?? 0));
  return members.filter(({ models }) => (models?.size ?? 0) === fewest);
}

/** Compares two different members, so that of two replicas the less busy one is always chosen. */
function lessBusy<Member extends Choosable>(members: readonly Member[], random: () => number): Member | undefined {
  const at = Math.floor(random() * members.length);
  const step = 1 + Math.floor(random() * (members.length - 1));
  const [one, other] = [members[at], members[(at + step) % members.length]];
  return one && other && other.ongoing < one.ongoing ? other : one;
}
