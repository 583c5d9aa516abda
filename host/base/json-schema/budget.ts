/**
 * Steps of one check, which take about an eighth of a second. A value of 4 MiB needs most of them if the schema checks
 * each of its numbers.
 */
export const CHECK_STEPS = 2_500_000;
/** Most nested schemas while a value is checked. More would overflow the stack. */
const MOST_LEVELS = 1_000;

/** Thrown when a check exceeds its budget, because of an exponential schema, or a large value with a large schema. */
export class TooComplex extends Error {
  override readonly name = 'TooComplex';
}

/** The remaining steps of one check. */
export class Budget {
  #steps: number;
  #levels = 0;

  constructor(steps: number = CHECK_STEPS) {
    this.#steps = steps;
  }

  /** Throws `TooComplex` when less than `steps` are left. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TooComplex('the value takes too much work to check');
  }

  /** Enters a nested schema. {@link leave} leaves it. */
  enter(): void {
    if (++this.#levels > MOST_LEVELS) throw new TooComplex('the value is nested too deep to check');
  }

  leave(): void {
    this.#levels--;
  }
}
