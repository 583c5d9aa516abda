import { type Deferred, deferred } from '../deferred.ts';

/**
 * Tells a reader what has changed. A value is made only when the reader waits for one, at the end of the turn of the
 * event loop in which something changed. It has all changes since the value before, so a slow reader costs no memory.
 */
export class Coalesced<T> implements AsyncIterableIterator<T, undefined> {
  readonly #collect: () => T | undefined;
  #isTouched = false;
  #isEnded = false;
  #waiting: Deferred<void> | undefined;

  /** `collect` returns the next value; undefined if nothing has changed after all. */
  constructor(collect: () => T | undefined) {
    this.#collect = collect;
  }

  /** Called when something has changed. */
  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    setImmediate(() => this.#waiting?.resolve());
  }

  /** Ends the values. */
  end(): void {
    this.#isEnded = true;
    this.#waiting?.resolve();
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    while (!this.#isEnded) {
      if (this.#isTouched) {
        this.#isTouched = false;
        const value = this.#collect();
        if (value !== undefined) return { value, done: false };
      }
      this.#waiting = deferred();
      await this.#waiting.promise;
      this.#waiting = undefined;
    }
    return { value: undefined, done: true };
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.end();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
