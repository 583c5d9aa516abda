import { type AanaError, fail } from '../../../base/core/errors.ts';

/** Returns the error for more than `limit` bytes. `setting` has the limit, such as `limits.max_json_bytes`. */
export function tooLarge(what: string, limit: number, setting?: string): AanaError {
  const where = setting === undefined ? '' : ` (${setting})`;
  return fail('RequestTooLarge', `${what}: the limit is ${limit} bytes${where}`, {
    data: { limit },
  });
}
