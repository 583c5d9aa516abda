import type { Placement } from '../../devices/index.ts';

/** A replica that could go. */
export interface Candidate {
  readonly placement: Placement;
  /** When its deployment was last used, in milliseconds of one clock for all. */
  readonly lastUsedAt: number;
}

/**
 * Which of `candidates` go so that `fits`: those of the least recently used deployments, and none of them in vain.
 * Undefined when it would not fit without all of them either.
 */
export function chooseVictims<Each extends Candidate>(
  candidates: readonly Each[],
  fits: (given: readonly Placement[]) => boolean,
): Each[] | undefined {
  const placements = (of: readonly Each[]): Placement[] => of.map(({ placement }) => placement);
  const oldestFirst = [...candidates].sort((a, b) => a.lastUsedAt - b.lastUsedAt);
  let needed = 0;
  while (!fits(placements(oldestFirst.slice(0, needed)))) {
    if (needed === oldestFirst.length) return undefined;
    needed += 1;
  }
  let victims = oldestFirst.slice(0, needed);
  // What lies on another device does not help; the most recently used stays if it can.
  for (const victim of victims.toReversed()) {
    const others = victims.filter((other) => other !== victim);
    if (fits(placements(others))) victims = others;
  }
  return victims;
}
