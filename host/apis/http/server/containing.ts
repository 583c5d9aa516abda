import { type Contained, contained } from '../../../base/core/net/contained.ts';
import { errorLogFields, loggedStack } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';

/** Returns a listener that logs an error of `listener`, and ends the connection that `connectionOf` returns. */
export type Contain = <Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
  connectionOf: (...args: Args) => { destroy(): unknown } | undefined,
) => Contained<Args>;

export function containing(log: Logger): Contain {
  return (listener, connectionOf) =>
    contained(listener, (error, ...args) => {
      connectionOf(...args)?.destroy();
      log.error('a connection was ended because its listener failed', {
        ...errorLogFields(error),
        stack: loggedStack(error),
      });
    });
}
