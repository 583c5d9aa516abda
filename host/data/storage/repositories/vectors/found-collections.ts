import type { CollectionRow } from './vector-repository.ts';

/** Most collections that a process remembers. The ones that were found first are forgotten. */
const MOST = 1000;

/**
 * The collections that searches of this process have found, so that the next search need not wait for their ids. An
 * entry may be wrong, because any host may have removed or replaced the collection since.
 */
export class FoundCollections {
  readonly #rows = new Map<string, CollectionRow>();

  find(owner: string, name: string): CollectionRow | undefined {
    return this.#rows.get(keyOf(owner, name));
  }

  /** Remembers what a name stands for: a collection, or none. */
  keep(owner: string, name: string, row: CollectionRow | undefined): void {
    const key = keyOf(owner, name);
    this.#rows.delete(key);
    if (row) this.#rows.set(key, row);
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > MOST && oldest !== undefined) this.#rows.delete(oldest);
  }
}

/** Neither part has the character U+0000. */
const keyOf = (owner: string, name: string): string => `${owner}\0${name}`;
