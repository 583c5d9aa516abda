import type { Context } from 'koa';
import { cancelledError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { validTraceparent } from '../../core/request-context.ts';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The client's `x-request-id` when it is harmless in logs and headers, else a new one; the answer carries it. */
export function takeRequestId(ctx: Context): string {
  const given = ctx.get('x-request-id');
  const id = REQUEST_ID.test(given) ? given : newId();
  ctx.set('x-request-id', id);
  return id;
}

/** A key of `ctx.state` that another application around this one does not use. */
const PLACE: unique symbol = Symbol('place in the trace');

/** Says where in a distributed trace the work for this request is. */
export function placeInTrace(ctx: Context, traceparent: string | undefined): void {
  stateOf(ctx)[PLACE] = traceparent;
}

/**
 * Returns where in a distributed trace the work for this request is: as {@link placeInTrace} said, else the header
 * where that is valid.
 */
export function traceparentOf(ctx: Context): string | undefined {
  const state = stateOf(ctx);
  return PLACE in state ? state[PLACE] : validTraceparent(ctx.get('traceparent'));
}

function stateOf(ctx: Context): { [PLACE]?: string | undefined } {
  return ctx.state;
}

/** Aborts with a `CancelledError` when the connection closes before the answer is complete. */
export function abortOnClose(ctx: Context): AbortSignal {
  const controller = new AbortController();
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) controller.abort(cancelledError('the client closed the connection'));
  });
  return controller.signal;
}
