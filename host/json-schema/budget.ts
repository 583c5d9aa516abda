/**
 * Work that one check may take: an eighth of a second. A value of 4 MiB takes most of it where the schema looks at each
 * of its numbers.
 */
export const CHECK_STEPS = 2_500_000;
/** Schemas inside each other while a value is checked. More would overflow the stack. */
const MOST_LEVELS = 1_000;

/** Thrown when a check takes more work than it may: an exponential schema, or a large value under a large one. */
export class TooComplex extends Error {
  override readonly name = 'TooComplex';
}

/** The work that is left for one check. */
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

  /** Goes one level down; {@link leave} comes back. */
  enter(): void {
    if (++this.#levels > MOST_LEVELS) throw new TooComplex('the value is nested too deep to check');
  }

  leave(): void {
    this.#levels--;
  }
}
