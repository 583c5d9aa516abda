/** Random numbers that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to less than 1 (mulberry32). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** Returns a whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.int(0, values.length - 1)] ?? values[0];
  }

  /** Returns a random waiting time until an event that happens every `mean` on average. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }
}
