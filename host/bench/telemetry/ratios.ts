import { median, round } from '../report.ts';

/** What pairs of measurements say about a ratio. */
export interface Ratio {
  readonly median: number;
  /**
   * The median of all possible pairs is between these with a probability of at least 95 %. Null for less than 6 pairs.
   */
  readonly interval: readonly [low: number, high: number] | null;
  readonly pairs: number;
}

/** Probability that the interval misses the median. */
const MISS = 0.05;
const DIGITS = 4;

/** Returns the ratio of each value to the one at the same position of `base`, over all positions. */
export function ratioOf(values: readonly number[], base: readonly number[]): Ratio {
  const ratios = values.map((value, at) => value / (base[at] ?? Number.NaN)).sort((a, b) => a - b);
  const outside = ranksOutside(ratios.length);
  const [low, high] = [ratios[outside - 1], ratios[ratios.length - outside]];
  return {
    median: round(median(ratios), DIGITS),
    interval: low === undefined || high === undefined ? null : [round(low, DIGITS), round(high, DIGITS)],
    pairs: ratios.length,
  };
}

/**
 * Returns the rank of the lower end of the interval, from 1; 0 if there is none. The number of values below the median
 * has a binomial distribution, whatever the distribution of the values is.
 */
function ranksOutside(count: number): number {
  let rank = 0;
  let ways = 1; // to choose `rank` values of `count`
  let below = 2 ** -count;
  while (2 * below <= MISS) {
    rank += 1;
    ways *= (count - rank + 1) / rank;
    below += ways * 2 ** -count;
  }
  return rank;
}
