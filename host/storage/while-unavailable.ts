import { delay } from '../core/abort.ts';
import { toErrorRecord } from '../core/errors.ts';

const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 2000;

/**
 * Runs a write again while the database is away. A write whose commit nobody knows of is run again, too, so it must
 * find what it has written before. Rejects with any other failure, and with the last one once `signal` has aborted.
 */
export async function whileUnavailable<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(MOST_WAIT_MS, waitMs * 2)) {
    try {
      return await write();
    } catch (error) {
      if (signal.aborted || toErrorRecord(error).kind !== 'unavailable') throw error;
      await delay(waitMs / 2 + (Math.random() * waitMs) / 2, signal).catch(() => {}); // by chance, so that not all come back at once
      if (signal.aborted) throw error;
    }
  }
}
