import type { Context } from 'koa';
import { errorLogFields } from '../../../base/core/errors.ts';
import { traceFields } from '../../../base/core/request-context.ts';
import {
  inputOfQuery,
  invoke,
  methodOf,
  type ServedEndpoint,
  withPathParameters,
} from '../../../endpoints/registry/index.ts';
import { showsInside } from '../guards/caller.ts';
import { HttpError, nothingAt } from '../response/error-body.ts';
import type { HttpAppOptions } from '../options.ts';
import { noRequestBody, readBody } from '../request/request-body.ts';
import { abortOnClose, noteStreamFailure, traceparentOf } from '../request/request-context.ts';
import { workContextOf } from '../request/work-context.ts';
import { BytesAnswer } from '../response/bytes-answer.ts';
import { JsonStream } from '../response/stream.ts';
import { sendOutput } from '../response/whole-answer.ts';
import { admitDeferred, deferRequest, isDeferred } from './tasks/deferral.ts';

/** Runs an endpoint for a request, or stores the request as a task. */
export async function serveEndpoint(ctx: Context, found: ServedEndpoint, options: HttpAppOptions): Promise<void> {
  const signal = abortOnClose(ctx);
  const isGet = methodOf(found) === 'GET';
  const isForLater = !isGet && isDeferred(ctx, found);
  // A cache does not know who asked. An answer that is bytes can say something else.
  if (isGet) ctx.set('cache-control', 'no-store');
  if (found.admit) await found.admit({ defer: isForLater });
  if (isForLater && options.tasks) await admitDeferred(ctx, options.tasks);
  await using body = isGet ? noRequestBody : await readBody(ctx, options.limits, options.tempDir, options.artifactsDir);
  // A newer version of the endpoint may have replaced this one while the body arrived. From here to the start of the
  // run, nothing else can replace it.
  const endpoint = options.registry.find(found.path);
  if (!endpoint || methodOf(endpoint) !== methodOf(found)) throw nothingAt(ctx.path);
  const input = isGet
    ? inputOfQuery(endpoint, ctx.path, new URLSearchParams(ctx.querystring))
    : withPathParameters(endpoint, ctx.path, body.input);
  if (!isGet && isDeferred(ctx, endpoint)) {
    if (!options.tasks) throw new HttpError('RuntimeError', 'Task queue is not enabled.');
    // It moves the files away before the body is disposed.
    return await deferRequest(ctx, endpoint, options.tasks, { input, files: body.files });
  }
  const stream = new JsonStream(ctx, { signal, keepAliveMs: options.limits.stream_keep_alive_s * 1000 });
  const bytes = new BytesAnswer(ctx, signal);
  try {
    const output = await invoke(endpoint, input, {
      timeoutMs: options.limits.invocation_timeout_s * 1000,
      signal,
      files: body.files,
      write: stream.write,
      answer: bytes,
      ...workContextOf(ctx),
    });
    if (endpoint.streaming) return stream.end();
    if (bytes.hasBegun) return bytes.end();
    sendOutput(ctx, endpoint, output);
  } catch (error) {
    if (!stream.started && !bytes.isSent) throw error;
    noteStreamFailure(ctx, error, signal.aborted);
    options.log.warn('stream failed', {
      requestId: ctx.state['requestId'],
      path: found.path,
      ...traceFields(traceparentOf(ctx)),
      ...errorLogFields(error),
    });
    if (bytes.isSent) bytes.cut();
    else stream.fail(error, showsInside(ctx, options.includeStacktrace));
  }
}
