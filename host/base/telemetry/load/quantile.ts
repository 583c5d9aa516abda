/**
 * Returns the value below which the part `q` (0 to 1) of the values of a histogram lies, or null without values. Within
 * a bucket, values are taken to be spread evenly, as Prometheus' `histogram_quantile` does. Above the last bound, the
 * last bound is returned.
 */
export function quantile(q: number, boundaries: readonly number[], counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = q * total;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count === 0 || below + count < rank) {
      below += count;
      continue;
    }
    const upper = boundaries[bucket];
    if (upper === undefined) break;
    const lower = boundaries[bucket - 1] ?? 0;
    return lower + ((upper - lower) * (rank - below)) / count;
  }
  return boundaries.at(-1) ?? null;
}
