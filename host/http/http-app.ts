import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import { AanaError, toErrorRecord } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { type ServedEndpoint, type EndpointRegistry, invoke } from '../endpoints/index.ts';
import type { TaskQueue } from '../tasks/index.ts';
import { docsRoutes } from './docs-page.ts';
import { errorJson, HttpError } from './error-body.ts';
import { buildOpenApi, type OpenApiOptions } from './openapi.ts';
import { type BodyLimits, readBody } from './request-body.ts';
import { abortOnClose, takeRequestId } from './request-context.ts';
import { mountPath, type RouterSet, thrownStatus } from './routers.ts';
import { statusOf } from './status.ts';
import { JsonStream } from './stream.ts';
import { deferRequest, isDeferred, taskRoutes } from './task-routes.ts';

export interface AppStatus {
  readonly status: 'RUNNING' | 'DEPLOYING' | 'UNHEALTHY';
  readonly message: string;
  readonly deployments: Readonly<Record<string, { readonly status: string; readonly message: string }>>;
}

export interface HttpAppOptions {
  readonly title: string;
  readonly version: string;
  readonly registry: EndpointRegistry;
  readonly routers: RouterSet;
  /** Put over what the OpenAPI document says in general: `description`, `servers`, `tags` … */
  readonly openapi?: OpenApiOptions['params'];
  readonly status: () => AppStatus;
  /** What `/api/ready` answers. */
  readonly isReady: () => boolean;
  /** Whether the start is over; until then endpoints answer 503. */
  readonly isDeployed: () => boolean;
  readonly limits: BodyLimits & { readonly invocation_timeout_s: number };
  readonly includeStacktrace: boolean;
  /** Takes deferred requests; without it there are none. */
  readonly tasks?: TaskQueue | undefined;
  /** Where uploads go: a folder that exists, or a function that makes one. */
  readonly tempDir: string | (() => Promise<string>);
  readonly log: Logger;
}

/** The HTTP face of the application. It translates between HTTP and `invoke`, and decides nothing. */
export interface HttpFace {
  /** For a server of one's own: answers every request. */
  callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** For another Koa application: answers what there is below `prefix`, and leaves the rest to what comes next. */
  middleware(prefix?: string): AppMiddleware;
}

/** Koa middleware for whichever context the other application has, without the types of Koa. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AppMiddleware = (ctx: any, next: () => Promise<any>) => Promise<any>;

export function createHttpFace(options: HttpAppOptions): HttpFace {
  const system = systemRoutes(options);
  const answer = (ctx: Context): Promise<void> => funnel(ctx, () => dispatch(ctx, system, options), options);
  return {
    callback: () => {
      const app = new Koa();
      app.silent = true; // the funnel logs
      app.use(answer);
      return app.callback();
    },
    middleware: (prefix = '') => {
      if (prefix !== '' && !/^(\/[\w.~-]+)+$/.test(prefix)) throw new AanaError('RouterError', 'invalid-input', `${JSON.stringify(prefix)} is no prefix such as "/ai"`);
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
  return system.match(path, 'GET').path.length > 0 || routers.methodsAt(path).length > 0 || registry.find(path) !== undefined;
}

async function dispatch(ctx: Context, system: Router, options: HttpAppOptions): Promise<void> {
  const { registry, routers, isDeployed } = options;
  const endpoint = registry.find(ctx.path);
  if (endpoint && ctx.method === 'POST' && isDeployed()) return serveEndpoint(ctx, endpoint, options);
  if (system.match(ctx.path, ctx.method).route) return void (await system.routes()(ctx as never, async () => {}));
  const own = system.match(ctx.path, 'GET').path.flatMap((layer) => layer.methods);
  if (own.length > 0) throw methodNotAllowed(ctx, [...new Set(own)].sort());
  const route = routers.find(ctx.path, ctx.method);
  // Which paths there are is known when all plugins are loaded.
  if (!isDeployed() && (route || ctx.method === 'POST')) throw new AanaError('NotReady', 'unavailable', 'the application is starting: try again when /api/ready answers 200');
  if (route) return void (await route(ctx as never, async () => {}));
  const methods = [...(endpoint ? ['POST'] : []), ...routers.methodsAt(ctx.path)];
  if (methods.length > 0) throw methodNotAllowed(ctx, methods);
  throw nothingAt(ctx.path);
}

/** Where every error of a request ends: logged once, answered with its status and the four keys. */
async function funnel(ctx: Context, next: () => Promise<unknown>, options: HttpAppOptions): Promise<void> {
  const startedAt = performance.now();
  const requestId = takeRequestId(ctx);
  ctx.state['requestId'] = requestId;
  ctx.set('x-content-type-options', 'nosniff');
  try {
    await next();
  } catch (error) {
    answerError(ctx, error, options);
  } finally {
    const ms = Math.round(performance.now() - startedAt);
    options.log.info('request', { requestId, method: ctx.method, path: ctx.path, status: ctx.state['failedStatus'] ?? ctx.res.statusCode, ms });
  }
}

function answerError(ctx: Context, error: unknown, options: HttpAppOptions): void {
  const record = toErrorRecord(error);
  const status = thrownStatus(error) ?? statusOf(record.kind);
  const fields = { requestId: ctx.state['requestId'], path: ctx.path, error: record.name, reason: record.message };
  if (status === 503) options.log.warn('request not taken', fields);
  else if (status >= 500) options.log.error('request failed', { ...fields, stack: record.stack });
  else options.log.debug('request refused', fields);
  ctx.state['failedStatus'] = status;
  if (ctx.headerSent || ctx.res.destroyed) return;
  const { headers } = error as { headers?: unknown }; // of HttpError, and of what `ctx.throw` throws
  if (typeof headers === 'object' && headers !== null) ctx.set(headers as Record<string, string>);
  if (status === 503) ctx.set('retry-after', String(RETRY_AFTER_S));
  if (!ctx.req.complete) dropRest(ctx);
  ctx.status = status;
  ctx.type = 'application/json';
  ctx.body = errorJson(error, options.includeStacktrace);
}

/** What a client is told to wait: most of what is unavailable (a full queue, a replica or plugin that starts again) is there soon. */
const RETRY_AFTER_S = 1;
const LINGER_MS = 2000;

/**
 * Lets a client that is still sending read the answer: what it sends is dropped for a while, then the connection ends. With
 * `connection: close` Node would end it at once, and the client would see a reset in place of the answer; so the answer goes out as
 * if the connection stayed, also to a client that asked for its end.
 */
function dropRest({ req, res }: Context): void {
  const ends = !res.shouldKeepAlive;
  res.shouldKeepAlive = true;
  req.on('error', () => {});
  res.once('finish', () => {
    const timer = setTimeout(() => req.destroy(), LINGER_MS);
    for (const event of ['end', 'close']) req.once(event, () => clearTimeout(timer));
    if (ends) req.once('end', () => req.socket.end());
    req.resume();
  });
}

function systemRoutes({ registry, status, isReady, title, version, openapi, tasks, includeStacktrace }: HttpAppOptions): Router {
  const router = new Router();
  router.get('/api/ready', (ctx) => {
    const ready = isReady();
    ctx.status = ready ? 200 : 503;
    ctx.set('cache-control', 'no-store');
    ctx.body = { ready };
  });
  router.get('/api/status', (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.body = status();
  });
  router.get('/openapi.json', (ctx) => {
    ctx.body = buildOpenApi(registry.list(), { title, version, baseUrl: `${ctx.protocol}://${ctx.host}`, mountPath: mountPath(ctx), params: openapi, hasTasks: tasks !== undefined });
  });
  docsRoutes(router, title);
  if (tasks) taskRoutes(router, { tasks, includeStacktrace });
  return router;
}

function nothingAt(path: string): HttpError {
  return new HttpError('NotFound', 404, `there is nothing at ${path}`);
}

function methodNotAllowed(ctx: Context, methods: readonly string[]): HttpError {
  const allow = methods.join(', ');
  return new HttpError('MethodNotAllowed', 405, `${ctx.path} does not take ${ctx.method}: it takes ${allow}`, { headers: { allow } });
}

async function serveEndpoint(ctx: Context, found: ServedEndpoint, options: HttpAppOptions): Promise<void> {
  const signal = abortOnClose(ctx);
  await found.admit?.({ defer: isDeferred(ctx, found) });
  await using body = await readBody(ctx, options.limits, options.tempDir);
  // While the body arrived, a newer version may have taken this one's place. From here to its start nothing comes in between.
  const endpoint = options.registry.find(found.path);
  if (!endpoint) throw nothingAt(found.path);
  if (isDeferred(ctx, endpoint)) {
    if (!options.tasks) throw new HttpError('RuntimeError', 400, 'Task queue is not enabled.');
    return await deferRequest(ctx, endpoint, options.tasks, body); // its files are moved away before they go
  }
  const stream = new JsonStream(ctx, signal);
  try {
    const output = await invoke(endpoint, body.input, {
      requestId: String(ctx.state['requestId']),
      timeoutMs: options.limits.invocation_timeout_s * 1000,
      signal,
      files: body.files,
      write: stream.write,
    });
    if (endpoint.streaming) return stream.end();
    ctx.type = 'application/json';
    ctx.body = output;
  } catch (error) {
    if (!stream.started) throw error;
    const { name, message } = toErrorRecord(error);
    ctx.state['failedStatus'] = signal.aborted ? 499 : 200;
    options.log.warn('stream failed', { requestId: ctx.state['requestId'], path: ctx.path, error: name, reason: message });
    stream.fail(error, options.includeStacktrace);
  }
}
