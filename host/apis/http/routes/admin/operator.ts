import type { LogFields } from '../../../../base/core/log/logger.ts';
import type { Caller } from '../../../../base/core/request-context.ts';

/** Who works with what all users have. */
export interface Operator extends Pick<Caller, 'traceparent'> {
  /** For the log. */
  readonly by: LogFields;
}
