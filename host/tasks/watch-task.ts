import { deferred } from '../core/deferred.ts';
import { hasEnded, type Storage, type TaskEvent } from '../storage/index.ts';

export interface WatchOptions {
  readonly id: string;
  /** Id of the last event that the caller has seen; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Events read at a time, and bytes of them, but for the last one: who reads slowly holds so much. */
const BATCH = 500;
const BATCH_BYTES = 1_048_576;
/** In UTF-8, for each unit of a string. */
const MOST_BYTES_OF_CHARACTER = 3;
/** How often is looked without being told: another process that shares SQLite's file tells nobody. */
const POLL_MS = 1000;

/** The events of a task, from the stored ones on to those that come, until it has ended or is gone. */
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
      wake = deferred(); // before the look, so that what comes meanwhile is not missed
      // The state first: an event of an ended task is there before its end is seen.
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
