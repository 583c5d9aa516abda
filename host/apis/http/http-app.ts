import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import { fail } from '../../base/core/errors.ts';
import { withoutNews } from '../../base/core/log/logger.ts';
import { noTelemetry } from '../../base/core/telemetry.ts';
import { isOwnPath, methodOf } from '../../endpoints/registry/index.ts';
import { type DashboardOptions, dashboardOf } from './dashboard/dashboard.ts';
import { isAuthenticated } from './guards/api-key-guard.ts';
import { isPreflight } from './guards/cors.ts';
import { HttpError, nothingAt } from './response/error-body.ts';
import { funnel } from './funnel.ts';
import { type Guard, guardsOf, passGuards } from './guards/guards.ts';
import type { HttpAppOptions } from './options.ts';
import { noteEndpoint, runs } from './request/reading.ts';
import { requestRecorder } from './request/request-telemetry.ts';
import { McpService } from './routes/mcp/mcp-service.ts';
import { serveEndpoint } from './routes/serve-endpoint.ts';
import { enter, serveRouter } from './routes/application-router.ts';
import { FORWARDED, forwardedGuard, forwardedRouter, ownerGuard, ownerRouter } from './routes/owner/owner-routes.ts';
import type { HostRouter } from './routes/serve-route.ts';
import { systemRoutes } from './routes/system-routes.ts';
import type { UpgradeListener } from './server/upgrades.ts';
import { socketsOf } from './sockets/sockets-of.ts';

/** The HTTP side of the application. It translates between HTTP and `invoke`, and decides nothing. */
export interface HttpFace {
  /**
   * Returns a handler for a server of its own, which answers every request. `listensAt` is the address of this server.
   * With it, requests for names that are not names of the server are refused. Without it, and in another application,
   * they are refused only if `allowedHosts` is set.
   */
  callback(options?: { readonly listensAt?: string }): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Returns a handler for the requests for WebSockets of a server of its own. They pass the same guards. */
  upgrade(options: { readonly listensAt: string }): UpgradeListener;
  /**
   * Returns a handler for the server of the dashboard at the address `listensAt`: its page, and the routes for admins.
   * They need the token or the API key of an admin.
   */
  dashboard(options: DashboardOptions): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Returns a handler for the control socket, which only the user of the process can open: the routes for admins. */
  owner(): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /**
   * Lets the WebSockets finish for up to `graceMs`, and closes them. Requests for new ones are refused. Ends the
   * streams on which clients wait for changes of the tools.
   */
  closeSockets(graceMs: number): Promise<void>;
  /** Ends the streams on which clients wait for changes of the tools. */
  endSubscriptions(): void;
  /**
   * Returns middleware for another Koa application. It answers existing paths below `prefix`, and passes other requests
   * on.
   */
  middleware(prefix?: string): AppMiddleware;
}

/** Koa middleware for any context of the other application, without the types of Koa. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AppMiddleware = (ctx: any, next: () => Promise<any>) => Promise<any>;

export function createHttpFace(options: HttpAppOptions): HttpFace {
  const mcp = options.mcp?.enabled ? new McpService({ ...options, mcp: options.mcp }) : undefined;
  const sockets = socketsOf(options);
  const system = systemRoutes(options, mcp, sockets);
  const routeOf = (path: string): string | undefined => (sockets?.has(path) ? path : templateOf(path, system, options));
  const begin = requestRecorder(options.telemetry ?? noTelemetry, routeOf);
  /** Requests of operators are no work of the application, so they are no news and no load. */
  const quietly = (router: HostRouter, guards: readonly Guard[], own: Partial<HttpAppOptions> = {}) => {
    const serve = async (ctx: Context): Promise<void> => {
      if (!router.match(ctx.path, ctx.method).route) throw absent(ctx.path, options);
      await enter(router.routes(), ctx);
    };
    const noRoute = (): undefined => undefined;
    const unrecorded = requestRecorder(noTelemetry, noRoute);
    const quiet = { ...options, ...own, log: withoutNews(options.log) };
    return koaCallback((ctx) =>
      funnel(ctx, () => passGuards(guards, ctx, () => serve(ctx)), quiet, unrecorded, noRoute),
    );
  };
  const answerWith =
    (guards: readonly Guard[], serve = (ctx: Context) => dispatch(ctx, system, options)) =>
    (ctx: Context): Promise<void> => {
      // Guards, limits and errors of another path are those of the route's own path.
      ctx.path = system.ownPath(ctx.path);
      noteEndpoint(ctx, options.registry.find(ctx.path));
      return funnel(ctx, () => passGuards(guards, ctx, () => serve(ctx)), options, begin, routeOf);
    };
  return {
    callback: ({ listensAt } = {}) => koaCallback(answerWith(guardsOf(options, listensAt))),
    upgrade: ({ listensAt }) => {
      const serve = async (ctx: Context): Promise<void> => {
        if (!sockets) throw nothingAt(ctx.path, options);
        await sockets.serve(ctx);
      };
      const handle = koaCallback(answerWith(guardsOf(options, listensAt), serve));
      return (req, res) => void handle(req, res);
    },
    closeSockets: async (graceMs) => {
      mcp?.close();
      await sockets?.close(graceMs);
    },
    endSubscriptions: () => mcp?.close(),
    dashboard: (at) => {
      const { guards, router } = dashboardOf(options, at);
      return quietly(router, guards);
    },
    owner: () => {
      const own = quietly(ownerRouter(options), [ownerGuard], { includeStacktrace: true });
      const forwarded = quietly(forwardedRouter(options), [forwardedGuard]);
      return (req, res) => (FORWARDED in req.headers ? forwarded : own)(req, res);
    },
    middleware: (prefix = '') => {
      const answer = answerWith(guardsOf(options));
      if (prefix !== '' && !/^(\/[\w.~-]+)+$/.test(prefix))
        throw fail('RouterError', `expected a path prefix such as "/ai", got ${JSON.stringify(prefix)}`);
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

/** Returns the error for a path that operators' servers do not have. */
function absent(path: string, options: HttpAppOptions): Error {
  if (options.tasks || !/^\/api\/(tasks|webhooks)(\/|$)/.test(path)) return nothingAt(path, options);
  return fail('NotFoundException', 'the application has no tasks and no webhooks, because task_queue.enabled is false');
}

/** Returns the path of the endpoint, or the template of the route, that a path belongs to. */
function templateOf(path: string, system: Router, { registry, routers }: HttpAppOptions): string | undefined {
  const endpoint = registry.find(path);
  if (endpoint) return endpoint.path;
  const own = system.match(path, 'GET').path.map((layer) => String(layer.path));
  return own.includes(path) ? path : (own[0] ?? routers.routeAt(path));
}

function koaCallback(middleware: (ctx: Context) => Promise<void>): ReturnType<Koa['callback']> {
  const app = new Koa();
  app.silent = true; // the funnel logs
  app.use(middleware);
  return app.callback();
}

/** Whether a path is ours where another application has the server. The root belongs to the other one. */
function hasPath(path: string, system: HostRouter, { registry, routers }: HttpAppOptions): boolean {
  return (
    (path !== '/' && system.match(system.ownPath(path), 'GET').path.length > 0) ||
    (!isOwnPath(path) && routers.methodsAt(path).length > 0) ||
    registry.find(path) !== undefined
  );
}

async function dispatch(ctx: Context, system: Router, options: HttpAppOptions): Promise<void> {
  const { registry, routers, isDeployed, isBuilding, apiKeys } = options;
  const endpoint = registry.find(ctx.path);
  if (endpoint && runs(ctx, endpoint) && isDeployed()) return serveEndpoint(ctx, endpoint, options);
  const isOurs = ctx.path !== '/' || !routers.hasRoot;
  if (isOurs && system.match(ctx.path, ctx.method).route) return enter(system.routes(), ctx);
  const layers = isOurs ? system.match(ctx.path, 'GET').path : [];
  const exact = layers.filter(({ path }) => path === ctx.path); // `/tasks/count` is not the path of a task
  const own = (exact.length > 0 ? exact : layers).flatMap((layer) => layer.methods);
  if (own.length > 0) return refuseMethod(ctx, [...new Set(own)].sort());
  // Routes of the application with parameters can match paths of the host.
  if (isOwnPath(ctx.path)) throw nothingAt(ctx.path, options);
  // Routes do not see preflights, because any page can cause them, nor OPTIONS of callers without a key.
  const route = isPreflight(ctx) || !isAuthenticated(ctx, apiKeys) ? undefined : routers.find(ctx.path, ctx.method);
  const mayBeEndpoint = ['GET', 'HEAD', 'POST'].includes(ctx.method);
  // The paths are known only after all plugins are loaded.
  if (!isDeployed() && (route || mayBeEndpoint))
    throw fail('NotReady', 'the application is starting: try again when /api/ready answers 200');
  if (route) return serveRouter(ctx, route, options);
  const methods = [...(endpoint ? ENDPOINT_METHODS[methodOf(endpoint)] : []), ...routers.methodsAt(ctx.path)];
  if (methods.length > 0) return refuseMethod(ctx, methods);
  if (mayBeEndpoint && isBuilding?.())
    throw fail('NotReady', `there is nothing at ${ctx.path} yet, but plugins are still being built: try again soon`);
  throw nothingAt(ctx.path, options);
}

const ENDPOINT_METHODS = { GET: ['GET', 'HEAD'], POST: ['POST'] } as const;

/** Reports the methods of a path: as the answer to OPTIONS, and as the error for any other method. */
function refuseMethod(ctx: Context, methods: readonly string[]): void {
  const allow = methods.join(', ');
  if (ctx.method !== 'OPTIONS')
    throw new HttpError('MethodNotAllowed', `${ctx.path} does not accept ${ctx.method}; it accepts ${allow}`, {
      headers: { allow },
    });
  ctx.set('allow', allow);
  ctx.status = 204;
}
