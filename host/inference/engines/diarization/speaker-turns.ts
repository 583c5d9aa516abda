/** A time in which one speaker speaks. */
export interface Turn {
  readonly start: number;
  readonly end: number;
  readonly speaker: number;
}

export interface TurnLimits {
  /** Pauses of one speaker up to this length are closed, in seconds. */
  readonly minDurationOff: number;
  /** Shorter turns are left out, in seconds. */
  readonly minDurationOn: number;
}

const byStart = (a: Turn, b: Turn): number => a.start - b.start || a.end - b.end || a.speaker - b.speaker;

/** Returns the turns of each speaker without short pauses and without short turns, by their start. */
export function joinTurns(turns: readonly Turn[], { minDurationOff, minDurationOn }: TurnLimits): Turn[] {
  const lastOf = new Map<number, Turn>();
  const joined: Turn[] = [];
  for (const turn of turns.toSorted(byStart)) {
    const last = lastOf.get(turn.speaker);
    if (last && turn.start - last.end <= minDurationOff)
      lastOf.set(turn.speaker, { ...last, end: Math.max(last.end, turn.end) });
    else {
      if (last) joined.push(last);
      lastOf.set(turn.speaker, turn);
    }
  }
  return [...joined, ...lastOf.values()].filter(({ start, end }) => end - start >= minDurationOn).sort(byStart);
}

/**
 * Returns turns of which no two are at the same time: neighbours of one speaker are joined, and a turn that begins
 * before the one before it ends begins at its end. A turn inside of another one is left out.
 */
export function exclusiveTurns(turns: readonly Turn[]): Turn[] {
  const exclusive: Turn[] = [];
  for (const turn of turns.toSorted(byStart)) {
    const last = exclusive.at(-1);
    if (last?.speaker === turn.speaker)
      exclusive[exclusive.length - 1] = { ...last, end: Math.max(last.end, turn.end) };
    else if (!last || turn.end > last.end) exclusive.push({ ...turn, start: Math.max(turn.start, last?.end ?? 0) });
  }
  return exclusive;
}

/**
 * Returns the names of speakers. The first ones have the known names; the others are numbered in the order of their
 * first turns.
 */
export function speakerNames(turns: readonly Turn[], known: readonly string[] = []): ReadonlyMap<number, string> {
  const names = new Map<number, string>(known.entries());
  let next = 0;
  const unusedNumber = (): string => {
    const name = `SPEAKER_${String(next).padStart(2, '0')}`;
    next += 1;
    return known.includes(name) ? unusedNumber() : name;
  };
  for (const { speaker } of turns) if (!names.has(speaker)) names.set(speaker, unusedNumber());
  return names;
}
