/** How long calls of a method take, in milliseconds. */
export interface ServiceTime {
  readonly mean: number;
  /** Standard deviation; 0 when every call takes the same time. */
  readonly deviation: number;
}

interface Moments {
  count: number;
  mean: number;
  variance: number;
}

/** The weight of the newest call after many calls: about the last twenty calls count. */
const WEIGHT = 0.1;

/**
 * Learns how long calls take, separately for each method, because counting tokens and answering a dialog differ by a
 * factor of a thousand. Means and variances are exponentially weighted. Source: Finch, "Incremental calculation of
 * weighted mean and variance" (2009), section 9.
 */
export class ServiceTimes {
  readonly #methods = new Map<string, Moments>();
  readonly #all: Moments = { count: 0, mean: 0, variance: 0 };

  /** Records a call of `method` that ended after `ms`. */
  observe(method: string, ms: number): void {
    let moments = this.#methods.get(method);
    if (!moments) this.#methods.set(method, (moments = { count: 0, mean: 0, variance: 0 }));
    add(moments, ms);
    add(this.#all, ms);
  }

  /**
   * Records a call of `method` that was cancelled after `ms`. It would have taken longer, so it counts only when it has
   * taken longer than expected.
   */
  observeAtLeast(method: string, ms: number): void {
    if (ms > (this.expect(method)?.mean ?? 0)) this.observe(method, ms);
  }

  /**
   * Returns the time of calls of `method`, or of all calls when there was none of this method or when `method` is
   * undefined. Undefined before the first call.
   */
  expect(method?: string): ServiceTime | undefined {
    const { count, mean, variance } = (method === undefined ? undefined : this.#methods.get(method)) ?? this.#all;
    return count === 0 ? undefined : { mean, deviation: Math.sqrt(variance) };
  }
}

function add(moments: Moments, value: number): void {
  moments.count += 1;
  const weight = Math.max(WEIGHT, 1 / moments.count);
  const difference = value - moments.mean;
  const increment = weight * difference;
  moments.mean += increment;
  moments.variance = (1 - weight) * (moments.variance + difference * increment);
}
