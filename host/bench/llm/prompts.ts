const WORDS = (
  'the a small old red house stands near lake where my friend reads long letters about travel and music while ' +
  'rain falls on ' +
  'green fields every morning people bring bread milk fruit to market they talk laugh count coins then walk home ' +
  'before night'
).split(' ');

/** A generator of whole numbers that repeats itself for the same seed (Numerical Recipes' constants). */
export class Numbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number of at least `from` and below `to`. */
  between(from: number, to: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return from + Math.floor((this.#state / 2 ** 32) * (to - from));
  }
}

/** Returns a text of so many words. Texts of other seeds differ from the first word on. */
export function textOf(words: number, seed: number): string {
  const numbers = new Numbers(seed);
  return `${seed}: ${Array.from({ length: words }, () => WORDS[numbers.between(0, WORDS.length)]).join(' ')}`;
}
