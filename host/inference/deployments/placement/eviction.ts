import type { Placement } from '../../devices/index.ts';

/** A replica that could be ended. */
export interface Candidate {
  readonly placement: Placement;
  /** Time of the deployment's last use, in milliseconds of the common clock. */
  readonly lastUsedAt: number;
}

/**
 * Returns the candidates to end until `fits` returns true: those of the least recently used deployments, and no more
 * than necessary. Undefined when ending all of them is not enough.
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
  // A victim on another device does not help. The most recently used one is spared first.
  for (const victim of victims.toReversed()) {
    const others = victims.filter((other) => other !== victim);
    if (fits(placements(others))) victims = others;
  }
  return victims;
}
