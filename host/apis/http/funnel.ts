import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { errorLogFields, loggedStack } from '../../base/core/errors.ts';
import { traceFields } from '../../base/core/request-context.ts';
import { ownerOf, showsInside } from './guards/caller.ts';
import { errorJson } from './response/error-body.ts';
import { apisOf, foreignErrorForm } from './response/foreign-api.ts';
import { logHider } from './request/logged-path.ts';
import type { HttpAppOptions } from './options.ts';
import { meterRequest, meterToEnd, usageOutcome } from './request/request-meter.ts';
import {
  noteStreamFailure,
  placeInTrace,
  streamFailureOf,
  takeRequestId,
  traceparentOf,
} from './request/request-context.ts';
import type { BeginRequest } from './request/request-telemetry.ts';
import { retryAfterS } from './response/retry-after.ts';
import { statusOfThrown } from './response/status.ts';

/**
 * Runs the work for a request. Every error ends here: it is logged once, and answered with its status and the four
 * keys.
 */
export async function funnel(
  ctx: Context,
  next: () => Promise<unknown>,
  options: HttpAppOptions,
  begin: BeginRequest,
  routeOf: (path: string) => string | undefined,
): Promise<void> {
  const startedAt = performance.now();
  const requestId = takeRequestId(ctx);
  for (const { requestIdHeader } of apisOf(ctx, options))
    if (requestIdHeader !== undefined) ctx.set(requestIdHeader, requestId);
  ctx.state['requestId'] = requestId;
  const record = begin(ctx, traceparentOf(ctx));
  placeInTrace(ctx, record.traceparent);
  if (options.usage) meterRequest(ctx, options.usage.begin({ source: 'request', requestId }));
  let failure: unknown;
  const end = (): void => {
    const { userId, keyId } = ownerOf(ctx);
    const ms = performance.now() - startedAt;
    const status = (ctx.state['failedStatus'] as number | undefined) ?? ctx.res.statusCode;
    meterToEnd(ctx)?.finish({
      userId,
      keyId,
      route: routeOf(ctx.path) ?? null,
      status,
      outcome: usageOutcome(status, streamFailureOf(ctx) !== undefined),
    });
    record.end({ status, ms, error: failure ?? streamFailureOf(ctx) });
    options.log.info('request', {
      requestId,
      method: ctx.method,
      path: logHider(ctx, status, options)(ctx.path),
      status,
      ms: Math.round(ms),
      ...traceFields(traceparentOf(ctx)),
      ...(userId !== null && { userId }),
      ...(keyId !== null && { keyId }),
    });
  };
  try {
    await next();
  } catch (error) {
    failure = error;
    answerError(ctx, error, options);
  } finally {
    const { body, res } = ctx;
    if (body instanceof Readable && !res.closed) {
      res.setMaxListeners(res.getMaxListeners() + LISTENERS_OF_PIPELINE);
      res.once('close', () => endOfStream(ctx, body, end));
    } else end();
  }
}

/** Koa sends a stream with `pipeline` of Node, which listens seven times to the end of the answer. */
const LISTENERS_OF_PIPELINE = 7;

/** Ends a request whose answer is a stream, which Koa reads after all middleware. */
function endOfStream(ctx: Context, { errored }: Readable, end: () => void): void {
  const hasFailed = errored !== null && (errored as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE';
  if (!ctx.res.writableFinished) noteStreamFailure(ctx, errored, !hasFailed);
  end();
}

function answerError(ctx: Context, error: unknown, options: HttpAppOptions): void {
  const status = statusOfThrown(error);
  const hide = logHider(ctx, status, options);
  const said = errorLogFields(error);
  const fields = {
    requestId: ctx.state['requestId'],
    path: hide(ctx.path),
    ...traceFields(traceparentOf(ctx)),
    ...said,
    ...(typeof said['reason'] === 'string' && { reason: hide(said['reason']) }),
  };
  if (status === 503) options.log.warn('request not taken', fields);
  else if (status >= 500) options.log.error('request failed', { ...fields, stack: loggedStack(error) });
  else options.log.debug('request refused', fields);
  const form = foreignErrorForm(ctx, options);
  const answered = form ? form.statusOf(error) : statusOfThrown(error, options.compatStatus);
  ctx.state['failedStatus'] = answered;
  if (ctx.headerSent || ctx.res.destroyed) return;
  const { headers } = error as { headers?: unknown }; // an HttpError and an error of `ctx.throw` have headers
  if (typeof headers === 'object' && headers !== null) ctx.set(headers as Record<string, string>);
  const waitS = retryAfterS(status, error);
  if (waitS !== undefined && !ctx.response.get('retry-after')) ctx.set('retry-after', String(waitS));
  if (!ctx.req.complete) dropRest(ctx);
  ctx.status = answered;
  ctx.type = 'application/json';
  ctx.body = form
    ? JSON.stringify(form.bodyOf(error, String(ctx.state['requestId'])))
    : errorJson(error, showsInside(ctx, options.includeStacktrace), options.compatStatus);
}

/** Time between two looks at a refused request, which ends when it sent nothing between them, and its longest time. */
const [IDLE_MS, LINGER_MS] = [2000, 30_000];

/**
 * Lets a client that is still sending read the answer. Many clients read nothing before they have sent everything, so
 * the rest of the request is read and dropped, for a bounded time. Then the connection ends. The answer says that the
 * connection stays open, even if the client asked for its end: with `connection: close` Node would end the connection
 * at once, and the client would see a reset instead of the answer.
 */
function dropRest({ req, res }: Context): void {
  const ends = !res.shouldKeepAlive;
  res.shouldKeepAlive = true;
  req.on('error', () => {});
  res.once('finish', () => {
    let isQuiet = false;
    // Two looks without data, because the first one after a pause of this process comes before what has arrived is
    // read.
    const look = (): void => {
      if (isQuiet) req.destroy();
      isQuiet = true;
    };
    const timers = [setInterval(look, IDLE_MS), setTimeout(() => req.destroy(), LINGER_MS)];
    req.on('data', () => (isQuiet = false));
    for (const event of ['end', 'close']) req.once(event, () => timers.forEach(clearTimeout));
    if (ends) req.once('end', () => req.socket.end());
    req.resume();
  });
}
