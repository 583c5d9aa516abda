import { deferred } from '../../base/core/deferred.ts';
import type { Repositories } from './repositories/index.ts';
import type { Storage } from './storage.ts';

/** What one read of stored values gives. */
export interface StoredPage<Value> {
  readonly values: readonly Value[];
  /** Whether another read at once may give more. */
  readonly hasMore: boolean;
  /** Whether no values come after those that are stored. */
  readonly hasEnded: boolean;
  /** The position of the last stored value, as {@link StoredWatchersOptions.readPositions} counts. */
  readonly position: number;
}

export interface StoredWatchersOptions {
  readonly storage: Pick<Storage, 'listen' | 'read'>;
  /** Returns the position of the last stored value by id. An id that has ended, or is gone, is left out. */
  readonly readPositions: (repositories: Repositories, ids: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  /** Returns the notification that an id has further values. */
  readonly messageOf: (id: string) => string;
}

export interface WatchOptions<Value> {
  readonly id: string;
  /** Reads the values that follow those of the page before. */
  readonly read: (repositories: Repositories) => Promise<StoredPage<Value>>;
  readonly signal: AbortSignal;
}

interface Watcher {
  readonly id: string;
  /** The position that the watcher has read; undefined while it reads. */
  position: number | undefined;
  /** Ends the wait for further values. */
  wake: () => void;
  /** Further values are likely until this time of `performance.now()`. */
  livelyUntil: number;
}

/**
 * How often positions are read without a notification: processes that share a SQLite file cannot notify each other, and
 * the values of a stream are announced only in the process that stores them.
 */
const POLL_MS = 1000;
/** The same after a change, because more may follow soon. */
const LIVELY_POLL_MS = 100;
const LIVELY_FOR_MS = 2000;

/**
 * Watches stored values of one kind. All watchers that wait share one read of positions, so an idle one costs nothing.
 */
export class StoredWatchers {
  readonly #options: StoredWatchersOptions;
  /** By notification. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  #listening: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  #polledAllAt = 0;

  constructor(options: StoredWatchersOptions) {
    this.#options = options;
  }

  /** Yields stored values and those that are stored later, until they have ended or `signal` aborts. */
  async *watch<Value>({ id, read, signal }: WatchOptions<Value>): AsyncGenerator<Value, void> {
    const { storage } = this.#options;
    await (this.#listening ??= storage.listen((message) => this.#hear(message)));
    const watcher: Watcher = { id, position: undefined, wake: () => {}, livelyUntil: 0 };
    const remove = this.#add(watcher);
    const onAbort = (): void => watcher.wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const changed = deferred(); // before the read, so that a notification meanwhile is not missed
        watcher.wake = changed.resolve;
        const { values, hasMore, hasEnded, position } = await storage.read(read);
        yield* values;
        if (hasMore) continue;
        if (hasEnded) return;
        watcher.position = position;
        if (!signal.aborted) await changed.promise;
        watcher.position = undefined;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      remove();
    }
  }

  #add(watcher: Watcher): () => void {
    const message = this.#options.messageOf(watcher.id);
    const watchers = this.#watchers.get(message) ?? new Set();
    this.#watchers.set(message, watchers.add(watcher));
    this.#timer ??= setInterval(() => void this.#poll(), LIVELY_POLL_MS).unref();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(message);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** An empty message says that notifications may have been missed. */
  #hear(message: string): void {
    for (const watchers of message === '' ? this.#watchers.values() : [this.#watchers.get(message) ?? []])
      for (const watcher of watchers) wake(watcher);
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    const now = performance.now();
    const isForAll = now - this.#polledAllAt >= POLL_MS;
    const waiting: Watcher[] = [];
    for (const watchers of this.#watchers.values())
      for (const watcher of watchers)
        if (watcher.position !== undefined && (isForAll || watcher.livelyUntil > now)) waiting.push(watcher);
    if (isForAll) this.#polledAllAt = now;
    if (waiting.length === 0) return;
    this.#isPolling = true;
    try {
      const ids = [...new Set(waiting.map(({ id }) => id))];
      const positions = await this.#options.storage.read((repositories) =>
        this.#options.readPositions(repositories, ids),
      );
      for (const watcher of waiting)
        if (watcher.position !== undefined && (positions.get(watcher.id) ?? Number.MAX_VALUE) > watcher.position)
          wake(watcher);
    } catch {
      // The next poll reads again, and the database has reported its failure.
    } finally {
      this.#isPolling = false;
    }
  }
}

function wake(watcher: Watcher): void {
  watcher.livelyUntil = performance.now() + LIVELY_FOR_MS;
  watcher.wake();
}
