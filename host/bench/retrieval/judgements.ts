/** Returns 1 if one of the first `places` of a ranking is relevant, else 0. */
export function hitAt(ranking: readonly string[], relevant: readonly string[], places: number): number {
  return ranking.slice(0, places).some((one) => relevant.includes(one)) ? 1 : 0;
}

/**
 * Returns the normalized discounted cumulative gain of the first `places` of a ranking, from 0 to 1: a relevant member
 * counts less the later it comes, and 1 is the best order of the relevant ones.
 */
export function ndcgAt(ranking: readonly string[], relevant: readonly string[], places: number): number {
  const gain = (place: number): number => 1 / Math.log2(place + 2);
  const found = ranking.slice(0, places).reduce((sum, one, n) => sum + (relevant.includes(one) ? gain(n) : 0), 0);
  return found / relevant.slice(0, places).reduce((sum, _, n) => sum + gain(n), 0);
}
