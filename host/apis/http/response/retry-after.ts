import { toErrorRecord } from '../../../base/core/errors.ts';

/**
 * The usual wait of clients. Most unavailable things, such as a full queue or a replica or plugin that restarts, are
 * back soon.
 */
const RETRY_AFTER_S = 1;
const MAX_RETRY_AFTER_S = 86_400;

/**
 * Returns the `Retry-After` of an answer, in whole seconds: the wait of the error, or of a 503 the usual one. Undefined
 * for another status than 429 and 503, and for a 429 without a wait.
 */
export function retryAfterS(status: number, error: unknown): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const { retry_after_s: wait } = (toErrorRecord(error).data ?? {}) as { readonly retry_after_s?: unknown };
  if (typeof wait === 'number' && wait >= 1 && wait <= MAX_RETRY_AFTER_S) return Math.ceil(wait);
  return status === 503 ? RETRY_AFTER_S : undefined;
}
