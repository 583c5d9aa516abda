import { toErrorRecord } from '../../../base/core/errors.ts';

/**
 * The usual wait of clients. Most unavailable things, such as a full queue or a replica or plugin that restarts, are
 * back soon.
 */
const RETRY_AFTER_S = 1;
const MAX_RETRY_AFTER_S = 86_400;

/** Returns the `Retry-After` of a 503: the wait of the error, or the usual one, in whole seconds. */
export function retryAfterS(error: unknown): number {
  const { retry_after_s: wait } = (toErrorRecord(error).data ?? {}) as { readonly retry_after_s?: unknown };
  return typeof wait === 'number' && wait >= 1 && wait <= MAX_RETRY_AFTER_S ? Math.ceil(wait) : RETRY_AFTER_S;
}
