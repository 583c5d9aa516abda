import type { Context } from 'koa';
import { cancelledError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { validTraceparent } from '../core/request-context.ts';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The client's `x-request-id` when it is harmless in logs and headers, else a new one; the answer carries it. */
export function takeRequestId(ctx: Context): string {
  const given = ctx.get('x-request-id');
  const id = REQUEST_ID.test(given) ? given : newId();
  ctx.set('x-request-id', id);
  return id;
}

/** Returns the request's place in a distributed trace, when its header is a valid one. */
export function traceparentOf(ctx: Context): string | undefined {
  return validTraceparent(ctx.get('traceparent'));
}

/** Aborts with a `CancelledError` when the connection closes before the answer is complete. */
export function abortOnClose(ctx: Context): AbortSignal {
  const controller = new AbortController();
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) controller.abort(cancelledError('the client closed the connection'));
  });
  return controller.signal;
}
