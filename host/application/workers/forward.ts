import { type IncomingMessage, request } from 'node:http';
import type { Context } from 'koa';
import { callerOf, FORWARDED } from '../../apis/http/index.ts';
import { fail } from '../../base/core/errors.ts';

/** Headers that belong to one connection. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection', 'te', 'trailer'];
/** Headers of requests that are not passed on: who the caller is, and what this process does with the answer. */
const OF_WORKER = ['authorization', 'x-api-key', 'cookie', 'host', 'expect', 'accept-encoding', 'content-length'];
/** A body of other methods is not passed on, because Node would send it without a frame, as if it were a request. */
const WITH_BODY = ['POST', 'PUT'];

/** Returns what lets the controller at this control socket answer a request, with its own status and headers. */
export function forwardTo(socketPath: string): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const answer = await answerOf(socketPath, ctx);
    ctx.status = answer.statusCode ?? 502;
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined && !OF_CONNECTION.includes(name)) ctx.set(name, value);
    ctx.body = answer;
  };
}

function answerOf(socketPath: string, ctx: Context): Promise<IncomingMessage> {
  const isPassedOn = ([name]: readonly [string, unknown]): boolean =>
    !OF_CONNECTION.includes(name) && !OF_WORKER.includes(name);
  const headers = Object.fromEntries(Object.entries(ctx.req.headers).filter(isPassedOn));
  const hasBody = WITH_BODY.includes(ctx.method);
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ socketPath, agent: false, method: ctx.method, path: ctx.path + ctx.search },
      headers: {
        ...headers,
        ...(hasBody && { 'transfer-encoding': 'chunked' }),
        ...{ host: 'aana-host', [FORWARDED]: callerOf(ctx).keyId ?? '' },
        'x-request-id': ctx.response.get('x-request-id'), // the answer has the id that is in the log of this process
      },
    });
    sent.once('response', resolve);
    sent.once('error', (cause) =>
      reject(fail('NotReady', 'the process that keeps the replicas running does not answer', { cause })),
    );
    ctx.res.once('close', () => sent.destroy()); // the client has left, or has the whole answer
    if (hasBody) ctx.req.pipe(sent);
    else sent.end();
  });
}
