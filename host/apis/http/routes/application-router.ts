import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { RequestScope } from '../../../base/core/async/request-scope.ts';
import type { HttpAppOptions } from '../options.ts';
import { abortOnClose } from '../request/request-context.ts';
import { workContextOf } from '../request/work-context.ts';
import { letBodyCome } from '../server/continue.ts';

type Route = (ctx: never, next: () => Promise<void>) => unknown;

/** Runs a route, which reads the body itself. */
export async function enter(route: Route, ctx: Context): Promise<void> {
  letBodyCome(ctx);
  await route(ctx as never, async () => {});
}

/**
 * Runs a router of the application. The calls that it makes are calls of the request until the answer has been sent.
 */
export async function serveRouter(ctx: Context, route: Route, { limits }: HttpAppOptions): Promise<void> {
  const scope = new RequestScope({
    ...workContextOf(ctx),
    deadlineAt: performance.now() + limits.invocation_timeout_s * 1000,
    signal: abortOnClose(ctx),
  });
  ctx.res.once('close', () => scope[Symbol.dispose]());
  await scope.run(() => enter(route, ctx));
  const { body } = ctx;
  if (!(body instanceof Readable)) return;
  const read = body._read; // called after the route has returned
  body._read = (size) => scope.run(() => read.call(body, size));
}
