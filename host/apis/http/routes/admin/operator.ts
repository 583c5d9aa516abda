import type { Context } from 'koa';
import type { LogFields } from '../../../../base/core/log/logger.ts';
import type { Caller } from '../../../../base/core/request-context.ts';
import { callerOf } from '../../guards/caller.ts';

/** Who works with what all users have. */
export interface Operator extends Pick<Caller, 'traceparent'> {
  /** For the log. */
  readonly by: LogFields;
}

/** Returns who sent the request of an operator, for people: a user with the key, `dashboard` or `command`. */
export function changedBy(ctx: Context): string {
  const { userId, keyId } = callerOf(ctx);
  return userId === null ? String(keyId) : `${userId} (key ${keyId})`;
}
