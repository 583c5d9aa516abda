import { hostPromise, waitFor } from '../guest/event-loop.ts';

/** A long list of the host, which is fetched page by page: with `for await`, or with `for`, during which the run waits. */
export class Pages<H, T = H> implements AsyncIterable<T>, Iterable<T> {
  readonly #size: number;
  readonly #fetch: (last: H | undefined) => readonly H[];
  readonly #each: (entry: H) => T;

  /** @param fetch returns the page after an entry. One with fewer than `size` entries is the last. */
  constructor(size: number, fetch: (last: H | undefined) => readonly H[], each: (entry: H) => T) {
    this.#size = size;
    this.#fetch = fetch;
    this.#each = each;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page = await this.#page(undefined); ; page = await this.#page(page.at(-1))) {
      for (const entry of page) yield this.#each(entry);
      if (page.length < this.#size) return;
    }
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let page = waitFor(this.#page(undefined)); ; page = waitFor(this.#page(page.at(-1)))) {
      for (const entry of page) yield this.#each(entry);
      if (page.length < this.#size) return;
    }
  }

  /** Resolves with all entries. */
  async all(): Promise<T[]> {
    const entries: T[] = [];
    for await (const entry of this) entries.push(entry);
    return entries;
  }

  #page(last: H | undefined): Promise<readonly H[]> {
    return hostPromise(() => this.#fetch(last));
  }
}
