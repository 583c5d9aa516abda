import { delay } from '../../base/core/abort.ts';
import { toErrorRecord } from '../../base/core/errors.ts';

const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 2000;

/**
 * Repeats a write while the database is away. A write whose commit is unknown is repeated, too, so it must find its own
 * earlier effect. Rejects with any other failure, and with the last failure after `signal` has aborted.
 */
export async function whileUnavailable<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(MOST_WAIT_MS, waitMs * 2)) {
    try {
      return await write();
    } catch (error) {
      if (signal.aborted || toErrorRecord(error).kind !== 'unavailable') throw error;
      // A random wait, so that not all writers return at once.
      await delay(waitMs / 2 + (Math.random() * waitMs) / 2, signal).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
