import { scopeOfPath } from '../../../data/access/index.ts';
import { isReading } from '../request/reading.ts';
import { asksForSocket } from '../request/socket-request.ts';
import { HttpError } from '../response/error-body.ts';
import type { Guard } from './guards.ts';
import { isOpenPath } from './open-paths.ts';

/** What the requests of a host need to know of its drain. */
export interface Drain {
  /** Whether the host takes no new requests. */
  readonly isDraining: boolean;
  /** Called when a request begins that may compute or store something. Returns what is called at its end. */
  begin(): () => void;
}

/**
 * Refuses new requests while the host drains, and ends their connections, so that clients come back to another host.
 * Operators are still answered, and so are those who ask how the host is.
 */
export function drainGuard(drain: Drain): Guard {
  return (ctx, next) => {
    if (isForOperators(ctx.path) || ctx.method === 'OPTIONS') return next();
    if (drain.isDraining)
      throw new HttpError('HostDraining', 'this host takes no new requests, because it will stop: try another one', {
        headers: { connection: 'close' },
      });
    if (!isReading(ctx) && !asksForSocket(ctx)) ctx.res.once('close', drain.begin());
    return next();
  };
}

/** The root may belong to a router of the application. */
function isForOperators(path: string): boolean {
  return (isOpenPath(path) && path !== '/') || scopeOfPath(path) === 'admin';
}
