import type { Context } from 'koa';
import { type AanaError, cancelledError } from '../../../base/core/errors.ts';
import { newId } from '../../../base/core/ids.ts';
import { validTraceparent } from '../../../base/core/request-context.ts';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Returns the client's `x-request-id` if it is safe in logs and headers, else a new id. The answer has it too. */
export function takeRequestId(ctx: Context): string {
  const given = ctx.get('x-request-id');
  const id = REQUEST_ID.test(given) ? given : newId();
  ctx.res.setHeader('x-request-id', id);
  return id;
}

/** A key of `ctx.state` that no other application around this one uses. */
const PLACE: unique symbol = Symbol('place in the trace');

/** Sets the place of the request's work in a distributed trace. */
export function placeInTrace(ctx: Context, traceparent: string | undefined): void {
  stateOf(ctx)[PLACE] = traceparent;
}

/**
 * Returns the place of the request's work in a distributed trace: the one from {@link placeInTrace}, else the header if
 * it is valid.
 */
export function traceparentOf(ctx: Context): string | undefined {
  const state = stateOf(ctx);
  return PLACE in state ? state[PLACE] : validTraceparent(ctx.get('traceparent'));
}

/** As long as receivers must accept at least. Source: W3C Trace Context, section 3.3.1.5. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Returns the `tracestate` header. Undefined if it is not valid, or belongs to no valid `traceparent`. */
export function tracestateOf(ctx: Context): string | undefined {
  const given = ctx.get('tracestate');
  return TRACESTATE.test(given) && validTraceparent(ctx.get('traceparent')) !== undefined ? given : undefined;
}

/** The error that ended a stream after its status was sent. */
const STREAM_FAILURE: unique symbol = Symbol('failure of the stream');

/** Notes that a stream ended with an error. The client's leaving is no failure of the server. */
export function noteStreamFailure(ctx: Context, error: unknown, hasClientLeft: boolean): void {
  ctx.state['failedStatus'] = hasClientLeft ? 499 : 200;
  if (!hasClientLeft) stateOf(ctx)[STREAM_FAILURE] = error;
}

/** Returns the error of {@link noteStreamFailure}. */
export function streamFailureOf(ctx: Context): unknown {
  return stateOf(ctx)[STREAM_FAILURE];
}

/** The rate limit that refused the request. */
const RATE_LIMIT: unique symbol = Symbol('rate limit');

/** Notes the policy of the rate limit that refused the request. */
export function noteRateLimit(ctx: Context, policy: string): void {
  stateOf(ctx)[RATE_LIMIT] = policy;
}

/** Returns the policy of {@link noteRateLimit}. */
export function rateLimitOf(ctx: Context): string | undefined {
  return stateOf(ctx)[RATE_LIMIT];
}

/** The deployment that a name of the request was found to mean. */
const DEPLOYMENT: unique symbol = Symbol('deployment');

/** Notes the deployment that answers the request, where an alias chose it. */
export function noteDeployment(ctx: Context, name: string): void {
  stateOf(ctx)[DEPLOYMENT] = name;
}

/** Returns the deployment of {@link noteDeployment}. */
export function deploymentOf(ctx: Context): string | undefined {
  return stateOf(ctx)[DEPLOYMENT];
}

interface State {
  [PLACE]?: string | undefined;
  [STREAM_FAILURE]?: unknown;
  [RATE_LIMIT]?: string;
  [DEPLOYMENT]?: string;
}

function stateOf(ctx: Context): State {
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

/** Returns the error of a request whose client closes the connection before the end of the body. */
export function goneError(): AanaError {
  return cancelledError('the client closed the connection while it sent the request');
}
