import { hostPromise, waitFor } from '../guest/event-loop.ts';

/** Returns the promise of the next entries that a call of the host gives. Undefined at the end. */
type Next<T> = () => Promise<readonly T[]> | undefined;

/**
 * Something long that the host has, which is fetched in batches: with `for await`, or with `for`, during which the run
 * waits.
 */
export class Batches<T> implements AsyncIterable<T>, Iterable<T> {
  readonly #begin: () => Next<T>;

  /** @param begin is called for each iteration. */
  constructor(begin: () => Next<T>) {
    this.#begin = begin;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const next = this.#begin();
    for (let batch = next(); batch; batch = next()) for (const entry of await batch) yield entry;
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    const next = this.#begin();
    for (let batch = next(); batch; batch = next()) yield* waitFor(batch);
  }

  /** Resolves with all entries. */
  async all(): Promise<T[]> {
    const entries: T[] = [];
    for await (const entry of this) entries.push(entry);
    return entries;
  }
}

/**
 * Returns a list of the host that is fetched page by page.
 *
 * @param size a page with fewer entries is the last.
 * @param fetch returns the page after an entry.
 */
export function pages<H, T = H>(
  size: number,
  fetch: (last: H | undefined) => readonly H[],
  each: (entry: H) => T,
): Batches<T> {
  return new Batches(() => {
    let last: H | undefined;
    let isLast = false;
    return () => {
      if (isLast) return undefined;
      return hostPromise(
        () => fetch(last),
        (page) => {
          last = page.at(-1);
          isLast = page.length < size;
          return page.map(each);
        },
      );
    };
  });
}
