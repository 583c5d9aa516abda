import { type Deferred, deferred } from '../deferred.ts';

/**
 * A single-consumer queue between a producer of callbacks and an async iterator. It has no bound: the producer reads
 * `size` and slows down by itself. `onReturn` runs once if the consumer leaves before the end.
 */
export class AsyncQueue<T, Result = undefined> implements AsyncIterableIterator<T, Result | undefined> {
  readonly #items: T[] = [];
  readonly #onReturn: (() => void) | undefined;
  #waiting: Deferred<IteratorResult<T, Result | undefined>> | undefined;
  #ended = false;
  #result: Result | undefined;
  #error: { readonly reason: unknown } | undefined;

  constructor(onReturn?: () => void) {
    this.#onReturn = onReturn;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#ended) return;
    if (this.#waiting) this.#settle((waiting) => waiting.resolve({ value: item, done: false }));
    else this.#items.push(item);
  }

  /** Ends the queue after the items that it has. The iterator then returns `result`. */
  end(result?: Result): void {
    if (!this.#ended) this.#result = result;
    this.#ended = true;
    this.#settle((waiting) => waiting.resolve({ value: this.#result, done: true }));
  }

  /** Ends the queue after the items that it has, and then throws `reason` once. */
  fail(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = { reason };
    this.#settle((waiting) => {
      this.#error = undefined;
      waiting.reject(reason);
    });
  }

  async next(): Promise<IteratorResult<T, Result | undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) return { value: item, done: false };
    if (this.#error) {
      const { reason } = this.#error;
      this.#error = undefined;
      throw reason;
    }
    if (this.#ended) return { value: this.#result, done: true };
    this.#waiting = deferred();
    return this.#waiting.promise;
  }

  async return(): Promise<IteratorResult<T, Result | undefined>> {
    const early = !this.#ended;
    this.#items.length = 0;
    this.#error = undefined;
    this.end();
    if (early) this.#onReturn?.();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(how: (waiting: Deferred<IteratorResult<T, Result | undefined>>) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) how(waiting);
  }
}
