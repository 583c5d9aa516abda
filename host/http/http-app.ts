import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import { AanaError } from '../core/errors.ts';
import { isOwnPath } from '../endpoints/index.ts';
import { isAuthenticated } from './guards/api-key-guard.ts';
import { letBodyCome } from './server/continue.ts';
import { isPreflight } from './guards/cors.ts';
import { HttpError, nothingAt } from './response/error-body.ts';
import { funnel } from './funnel.ts';
import { type Guard, guardsOf, passGuards } from './guards/guards.ts';
import type { HttpAppOptions } from './options.ts';
import { requestRecorder } from './request/request-telemetry.ts';
import { serveEndpoint } from './routes/serve-endpoint.ts';
import { systemRoutes } from './routes/system-routes.ts';

/** The HTTP face of the application. It translates between HTTP and `invoke`, and decides nothing. */
export interface HttpFace {
  /**
   * For a server of one's own: answers every request. With `listensAt`, the address that this server listens on,
   * requests for names that are not the server's are refused; without it, and in another application, only where
   * `allowedHosts` says which names there are.
   */
  callback(options?: { readonly listensAt?: string }): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** For another Koa application: answers what there is below `prefix`, and leaves the rest to what comes next. */
  middleware(prefix?: string): AppMiddleware;
}

/** Koa middleware for whichever context the other application has, without the types of Koa. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AppMiddleware = (ctx: any, next: () => Promise<any>) => Promise<any>;

export function createHttpFace(options: HttpAppOptions): HttpFace {
  const system = systemRoutes(options);
  const begin = requestRecorder(options);
  const answerWith =
    (guards: readonly Guard[]) =>
    (ctx: Context): Promise<void> =>
      funnel(ctx, () => passGuards(guards, ctx, () => dispatch(ctx, system, options)), options, begin);
  return {
    callback: ({ listensAt } = {}) => {
      const app = new Koa();
      app.silent = true; // the funnel logs
      app.use(answerWith(guardsOf(options, listensAt)));
      return app.callback();
    },
    middleware: (prefix = '') => {
      const answer = answerWith(guardsOf(options));
      if (prefix !== '' && !/^(\/[\w.~-]+)+$/.test(prefix))
        throw new AanaError('RouterError', 'invalid-input', `${JSON.stringify(prefix)} is no prefix such as "/ai"`);
      return async (ctx: Context, next) => {
        const { path } = ctx;
        const inner = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
        if (inner === undefined || !hasPath(inner, system, options)) return next();
        ctx.path = inner;
        try {
          await answer(ctx);
        } finally {
          ctx.path = path;
        }
      };
    },
  };
}

function hasPath(path: string, system: Router, { registry, routers }: HttpAppOptions): boolean {
  return (
    system.match(path, 'GET').path.length > 0 ||
    (!isOwnPath(path) && routers.methodsAt(path).length > 0) ||
    registry.find(path) !== undefined
  );
}

async function dispatch(ctx: Context, system: Router, options: HttpAppOptions): Promise<void> {
  const { registry, routers, isDeployed, apiKeys } = options;
  const endpoint = registry.find(ctx.path);
  if (endpoint && ctx.method === 'POST' && isDeployed()) return serveEndpoint(ctx, endpoint, options);
  if (system.match(ctx.path, ctx.method).route) return enter(system.routes(), ctx);
  const layers = system.match(ctx.path, 'GET').path;
  const exact = layers.filter(({ path }) => path === ctx.path); // `/tasks/count` is no task
  const own = (exact.length > 0 ? exact : layers).flatMap((layer) => layer.methods);
  if (own.length > 0) return refuseMethod(ctx, [...new Set(own)].sort());
  if (isOwnPath(ctx.path)) throw nothingAt(ctx.path); // routes with parameters match below the host's own paths, too
  // Routes do not see preflights, which any page can cause, nor OPTIONS of callers without a key.
  const route = isPreflight(ctx) || !isAuthenticated(ctx, apiKeys) ? undefined : routers.find(ctx.path, ctx.method);
  // Which paths there are is known when all plugins are loaded.
  if (!isDeployed() && (route || ctx.method === 'POST'))
    throw new AanaError(
      'NotReady',
      'unavailable',
      'the application is starting: try again when /api/ready answers 200',
    );
  if (route) return enter(route, ctx);
  const methods = [...(endpoint ? ['POST'] : []), ...routers.methodsAt(ctx.path)];
  if (methods.length > 0) return refuseMethod(ctx, methods);
  throw nothingAt(ctx.path);
}

async function enter(route: (ctx: never, next: () => Promise<void>) => unknown, ctx: Context): Promise<void> {
  letBodyCome(ctx); // how routes read it is their own
  await route(ctx as never, async () => {});
}

/** Tells which methods a path takes: to OPTIONS as the answer, to any other one as the reason of its refusal. */
function refuseMethod(ctx: Context, methods: readonly string[]): void {
  const allow = methods.join(', ');
  if (ctx.method !== 'OPTIONS')
    throw new HttpError('MethodNotAllowed', 405, `${ctx.path} does not take ${ctx.method}: it takes ${allow}`, {
      headers: { allow },
    });
  ctx.set('allow', allow);
  ctx.status = 204;
}
