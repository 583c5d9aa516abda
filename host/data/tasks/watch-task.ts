import { hasEnded, type StoredWatchers, type TaskEvent } from '../storage/index.ts';

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

/** Yields the stored and the coming events of a task, until it has ended or is removed. */
export function watchTask(
  watchers: StoredWatchers,
  { id, after, signal }: WatchOptions,
): AsyncGenerator<TaskEvent, void> {
  let last = after;
  return watchers.watch({
    id,
    signal,
    read: async ({ tasks }) => {
      // The status is read first, so that all events of a task with an ended status are read.
      const status = await tasks.status(id, null);
      const values = await tasks.events(id, last, BATCH, BATCH_BYTES);
      last = values.at(-1)?.id ?? last;
      const bytes = values.reduce((sum, { data }) => sum + data.length, 0);
      return {
        values,
        hasMore: values.length === BATCH || bytes >= BATCH_BYTES / MOST_BYTES_OF_CHARACTER,
        hasEnded: status === undefined || hasEnded(status),
        position: last,
      };
    },
  });
}
