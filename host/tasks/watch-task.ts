import { deferred } from '../core/deferred.ts';
import { hasEnded, type Storage, type TaskEvent } from '../storage/index.ts';

export interface WatchOptions {
  readonly id: string;
  /** Id of the last event that the caller has seen; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Most events that are read at a time. A slow reader keeps so many in memory. */
const BATCH = 500;
/** Most bytes of events that are read at a time, without the last event. */
const BATCH_BYTES = 1_048_576;
/** The most bytes in UTF-8 of one unit of a JavaScript string. */
const MOST_BYTES_OF_CHARACTER = 3;
/**
 * How often events are read without a notification, because processes that share a SQLite file cannot notify each
 * other.
 */
const POLL_MS = 1000;

/** Yields the stored and the coming events of a task, until it has ended or is removed. */
export async function* watchTask(
  storage: Storage,
  { id, after, signal }: WatchOptions,
): AsyncGenerator<TaskEvent, void> {
  let wake = deferred();
  const unlisten = await storage.listen((message) => {
    if (message === id || message === '') wake.resolve();
  });
  const onAbort = (): void => wake.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let last = after; !signal.aborted;) {
      wake = deferred(); // before the read, so that a notification meanwhile is not missed
      // The status is read first, so that all events of a task with an ended status are read.
      const { status, events } = await storage.read(async ({ tasks }) => ({
        status: await tasks.status(id, null),
        events: await tasks.events(id, last, BATCH, BATCH_BYTES),
      }));
      for (const event of events) {
        yield event;
        last = event.id;
      }
      const bytes = events.reduce((sum, { data }) => sum + data.length, 0);
      if (events.length === BATCH || bytes >= BATCH_BYTES / MOST_BYTES_OF_CHARACTER) continue; // there may be more
      if (status === undefined || hasEnded(status)) return;
      const timer = setTimeout(wake.resolve, POLL_MS);
      await wake.promise;
      clearTimeout(timer);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    unlisten();
  }
}
