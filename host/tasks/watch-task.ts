import { deferred } from '../core/deferred.ts';
import { hasEnded, type Storage, type TaskEvent } from '../storage/index.ts';

export interface WatchOptions {
  readonly id: string;
  /** Id of the last event that the caller has seen; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Events read at a time. */
const BATCH = 500;
/** How often is looked without being told: another process that shares SQLite's file tells nobody. */
const POLL_MS = 1000;

/** The events of a task, from the stored ones on to those that come, until it has ended or is gone. */
export async function* watchTask(storage: Storage, { id, after, signal }: WatchOptions): AsyncGenerator<TaskEvent, void> {
  let wake = deferred();
  const unlisten = await storage.listen((message) => {
    if (message === id || message === '') wake.resolve();
  });
  const onAbort = (): void => wake.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let last = after; !signal.aborted; ) {
      wake = deferred(); // before the look, so that what comes meanwhile is not missed
      // The state first: an event of an ended task is there before its end is seen.
      const { status, events } = await storage.read(async ({ tasks }) => ({ status: await tasks.status(id, null), events: await tasks.events(id, last, BATCH) }));
      for (const event of events) {
        yield event;
        last = event.id;
      }
      if (events.length === BATCH) continue;
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
