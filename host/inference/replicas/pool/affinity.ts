/** Load of a replica, relative to the average, above which calls that prefer it go to another replica. */
const LOAD_BOUND = 1.25;

interface Loaded {
  readonly name: string;
  readonly ongoing: number;
}

/**
 * Returns the first of `members`, in the order of preference for `key`, that has room and is not far busier than the
 * others. Undefined when all are full. The order is a rendezvous hash, so that a new or removed member does not affect
 * keys that prefer another one.
 */
export function preferred<Member extends Loaded>(
  key: string,
  members: readonly Member[],
  maxOngoing: number,
): Member | undefined {
  const ongoing = members.reduce((sum, member) => sum + member.ongoing, 0);
  const bound = Math.min(maxOngoing, Math.ceil((LOAD_BOUND * (ongoing + 1)) / members.length));
  let best: Member | undefined;
  let bestScore = -1;
  for (const member of members) {
    if (member.ongoing >= bound) continue;
    const score = hash(`${member.name}\0${key}`);
    if (score > bestScore) [best, bestScore] = [member, score];
  }
  return best;
}

/**
 * Returns FNV-1a with a final mix, 32 bits. Without the mix the low bits hardly differ between texts with the same end.
 */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
