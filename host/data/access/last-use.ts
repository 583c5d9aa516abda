import type { Logger } from '../../base/core/log/logger.ts';
import type { ApiKeyRecord, TracedStorage } from '../storage/index.ts';

/** The time of the last use is stored at most once in this period. */
const USED_EVERY_MS = 5 * 60_000;

/** Stores that a key was used at `now`, in the background. A failure is only logged. */
export function noteLastUse(
  { key_id: key, last_used_at: lastUsedAt }: ApiKeyRecord,
  now: number,
  storage: TracedStorage,
  log: Logger,
): void {
  if (lastUsedAt !== null && lastUsedAt >= now - USED_EVERY_MS) return;
  storage
    .write(({ apiKeys }) => apiKeys.touch(key))
    .catch((error: unknown) => log.debug('the last use of an API key was not stored', { key, error }));
}
