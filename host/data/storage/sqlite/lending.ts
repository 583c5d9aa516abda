import { databaseError } from '../errors.ts';

/**
 * Lends things to one borrower at a time and creates them when they are first needed. Borrowers wait in their order,
 * except for urgent ones.
 */
export class Lending<T> {
  readonly #make: () => Promise<T>;
  readonly #most: number;
  readonly #timeoutMs: number;
  readonly #free: T[] = [];
  readonly #waiting: (() => void)[] = [];
  #lent = 0;
  #closed = false;

  /** @param timeoutMs how long a borrower waits before it is refused */
  constructor(make: () => Promise<T>, most: number, timeoutMs: number) {
    this.#make = make;
    this.#most = most;
    this.#timeoutMs = timeoutMs;
  }

  /** @param isUrgent whether the borrower goes before all waiting ones */
  async with<R>(work: (thing: T) => Promise<R>, isUrgent = false): Promise<R> {
    if (this.#closed) throw databaseError('DatabaseException', 'the database is closed');
    if (this.#lent >= this.#most) await this.#turn(isUrgent);
    else this.#lent += 1;
    let thing: T | undefined;
    try {
      thing = this.#free.pop() ?? (await this.#make());
      return await work(thing);
    } finally {
      if (thing !== undefined) this.#free.push(thing);
      const next = this.#waiting.shift();
      if (next) next();
      else this.#lent -= 1;
    }
  }

  /** Refuses new borrowers, waits for the others, and calls `end` for each thing. */
  async close(end: (thing: T) => Promise<void>): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#lent > 0) await this.#lastBack();
    for (const thing of this.#free.splice(0)) await end(thing);
  }

  #turn(isUrgent: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(databaseError('DatabaseException', `no connection was free for ${this.#timeoutMs / 1000} seconds`));
      }, this.#timeoutMs);
      if (isUrgent) this.#waiting.unshift(go);
      else this.#waiting.push(go);
    });
  }

  /** Waits at the end of the queue, so that all earlier borrowers have had their turn. */
  async #lastBack(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const next = this.#waiting.shift();
    if (next) next();
    else this.#lent -= 1;
  }
}
