import { deferred } from '../core/deferred.ts';
import type { Repositories } from './repositories/index.ts';
import type { Storage } from './storage.ts';

/** What one read of stored values gives. */
export interface StoredPage<Value> {
  readonly values: readonly Value[];
  /** Whether another read at once may give more. */
  readonly hasMore: boolean;
  /** Whether no values come after those that are stored. */
  readonly hasEnded: boolean;
}

export interface WatchStoredOptions<Value> {
  /** Reads the values that follow those of the page before. */
  readonly read: (repositories: Repositories) => Promise<StoredPage<Value>>;
  /** Returns whether a notification tells of further values. */
  readonly isAbout: (message: string) => boolean;
  readonly signal: AbortSignal;
}

/**
 * How often values are read without a notification, because processes that share a SQLite file cannot notify each
 * other.
 */
const POLL_MS = 1000;

/** Yields stored values and those that are stored later, until they have ended or `signal` aborts. */
export async function* watchStored<Value>(
  storage: Pick<Storage, 'listen' | 'read'>,
  { read, isAbout, signal }: WatchStoredOptions<Value>,
): AsyncGenerator<Value, void> {
  let wake = deferred();
  const unlisten = await storage.listen((message) => {
    if (message === '' || isAbout(message)) wake.resolve();
  });
  const onAbort = (): void => wake.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      wake = deferred(); // before the read, so that a notification meanwhile is not missed
      const { values, hasMore, hasEnded } = await storage.read(read);
      yield* values;
      if (hasMore) continue;
      if (hasEnded) return;
      const timer = setTimeout(wake.resolve, POLL_MS);
      await wake.promise;
      clearTimeout(timer);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    unlisten();
  }
}
