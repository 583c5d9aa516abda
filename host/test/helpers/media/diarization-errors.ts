/** A time in which a speaker speaks, in seconds. */
export interface SpokenTurn {
  readonly start: number;
  readonly end: number;
  readonly speaker: string;
}

const STEPS_PER_SECOND = 100;

/**
 * Returns the diarization error rate: missed speech, false speech and confused speakers, divided by the speech of the
 * reference. Each speaker of the reference is compared with the one of the hypothesis that fits best, one to one. Times
 * within `collarS` of a boundary of the reference do not count. Overlapping speech counts for each speaker.
 */
export function diarizationErrorRate(
  reference: readonly SpokenTurn[],
  hypothesis: readonly SpokenTurn[],
  collarS = 0.25,
): number {
  const spoken = [...new Set(reference.map(({ speaker }) => speaker))];
  const heard = [...new Set(hypothesis.map(({ speaker }) => speaker))];
  const steps = Math.ceil(Math.max(0, ...[...reference, ...hypothesis].map(({ end }) => end)) * STEPS_PER_SECOND);
  const together = spoken.map(() => heard.map(() => 0));
  let total = 0;
  let most = 0;
  for (let step = 0; step < steps; step += 1) {
    const time = (step + 0.5) / STEPS_PER_SECOND;
    if (reference.some(({ start, end }) => Math.abs(time - start) < collarS || Math.abs(time - end) < collarS))
      continue;
    const inReference = activeAt(reference, time);
    const inHypothesis = activeAt(hypothesis, time);
    total += inReference.size;
    most += Math.max(inReference.size, inHypothesis.size);
    for (const [row, one] of spoken.entries())
      for (const [column, other] of heard.entries())
        if (inReference.has(one) && inHypothesis.has(other)) {
          const counts = together[row] ?? [];
          counts[column] = (counts[column] ?? 0) + 1;
        }
  }
  return total === 0 ? (most === 0 ? 0 : Infinity) : (most - bestPairs(together, heard.length)) / total;
}

function activeAt(turns: readonly SpokenTurn[], time: number): Set<string> {
  return new Set(turns.filter(({ start, end }) => start <= time && time < end).map(({ speaker }) => speaker));
}

/** Returns the highest sum of one count in each row, no two in one column. */
function bestPairs(counts: readonly (readonly number[])[], columns: number): number {
  let best = new Map<number, number>([[0, 0]]);
  for (const row of counts) {
    const next = new Map(best);
    for (const [used, sum] of best) {
      for (let column = 0; column < columns; column += 1) {
        if (used & (1 << column)) continue;
        const key = used | (1 << column);
        next.set(key, Math.max(next.get(key) ?? 0, sum + (row[column] ?? 0)));
      }
    }
    best = next;
  }
  return Math.max(...best.values());
}
