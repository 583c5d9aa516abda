import * as z from 'zod';
import { adminRoutes } from './admin/admin-routes.ts';
import { apiKeyRoutes } from './admin/api-key-routes.ts';
import { CHANGE_ROUTES } from './admin/change-definitions.ts';
import { changeRoutes } from './admin/change-routes.ts';
import { chatPageRoutes } from '../pages/chat-page.ts';
import { docsRoutes } from '../pages/docs-page.ts';
import { hasCheckedHost } from '../guards/host-guard.ts';
import { type AnswerOf, answers, buildOpenApi, type RouteDefinition } from '../../openapi/index.ts';
import { withGuards } from '../../openapi/security.ts';
import { isOpenPath } from '../guards/open-paths.ts';
import { healthRoutes } from './health-routes.ts';
import { mcpRoute } from './mcp/mcp-route.ts';
import type { McpService } from './mcp/mcp-service.ts';
import { metricsRoute } from './metrics-route.ts';
import { OpenApiText } from '../../openapi/document-text.ts';
import { MODEL_ROUTES } from './admin/model-definitions.ts';
import { modelRoutes } from './admin/model-routes.ts';
import type { HttpAppOptions } from '../options.ts';
import type { Operations } from './admin/operated-application.ts';
import { OPERATION_ROUTES } from './admin/operation-definitions.ts';
import { operationRoutes } from './admin/operation-routes.ts';
import { profileRoutes } from './admin/profile-routes.ts';
import { redocRoutes } from '../pages/redoc-page.ts';
import { mountPath } from './routers.ts';
import { forwardRoute, HostRouter, serveRoute } from './serve-route.ts';
import { serveUnchanged } from '../pages/static-page.ts';
import { socketRoutes } from './socket-routes.ts';
import type { Sockets } from '../sockets/sockets.ts';
import { taskRoutes } from './tasks/task-routes.ts';
import { TRACE_ROUTES } from './admin/trace-definitions.ts';
import { traceRoutes } from './admin/trace-routes.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';

const AppStatus = z.object({
  status: z.enum(['RUNNING', 'DEPLOYING', 'UNHEALTHY']),
  message: z.string(),
  deployments: z.record(
    z.string(),
    z.object({
      status: z.enum(['NOT_STARTED', 'DEPLOYING', 'DEPLOY_FAILED', 'RUNNING', 'UNHEALTHY', 'DELETING', 'UNLOADED']),
      message: z.string(),
    }),
  ),
});
/** The state of an application and its deployments. */
export type AppStatus = AnswerOf<typeof AppStatus>;

/** Returns the router with the host's own routes. */
export function systemRoutes(
  options: HttpAppOptions,
  mcp: McpService | undefined,
  sockets: Sockets | undefined,
): HostRouter {
  const { registry, status, title, tasks, webhooks, includeStacktrace, apiKeys, rateLimits, redocBundle } = options;
  const router = new HostRouter();
  const links = {
    docs: '/docs',
    ...(redocBundle && { redoc: '/redoc' }),
    openapi: '/openapi.json',
    ...(options.hasChatPage && { chat: '/chat' }),
    health: '/health',
  };
  serveRoute(
    router,
    {
      id: 'get_links',
      at: 'get /',
      summary: 'What is served here, and where its documentation is',
      tag: 'system',
      answers: answers(
        'The name of the application, the version of the server, and paths.',
        z.object({ name: z.string(), version: z.string(), links: z.record(z.string(), z.string()) }),
      ),
      fails: [],
    },
    ({ ctx }) => ({
      name: title,
      version: options.version,
      links: Object.fromEntries(Object.entries(links).map(([name, path]) => [name, mountPath(ctx) + path])),
    }),
  );
  versionRoute(router, options.version);
  healthRoutes(router, options);
  serveRoute(
    router,
    {
      id: 'get_status',
      at: 'get /api/status',
      summary: 'The state of the application and its deployments',
      tag: 'system',
      answers: answers('The state.', AppStatus),
      fails: [500],
    },
    ({ ctx }) => {
      ctx.set('cache-control', 'no-store');
      return status();
    },
  );
  const hasRateLimits = (): boolean => rateLimits?.isAny ?? false; // they may change while the host runs
  const openapi = (checksHost: boolean): OpenApiText =>
    new OpenApiText({
      version: () => `${registry.version} ${hasRateLimits()}`,
      build: (baseUrl, mountedAt) => {
        const { version, openapi: params } = options;
        const document = buildOpenApi(registry.list(), {
          ...{ title, version, params, baseUrl },
          mountPath: mountedAt,
          routes: router.definitions,
          hasKeys: apiKeys !== undefined,
        });
        return withGuards(document, {
          isOpen: isOpenPath,
          checksHost,
          hasApiKeys: apiKeys !== undefined,
          hasRateLimits: hasRateLimits(),
        });
      },
    });
  // An application can have servers of both kinds.
  const [checkingHost, takingEveryHost] = [openapi(true), openapi(false)];
  router.get('/openapi.json', async (ctx) => {
    const { body, etag } = (hasCheckedHost(ctx) ? checkingHost : takingEveryHost).at(
      `${ctx.protocol}://${ctx.host}`,
      mountPath(ctx),
    );
    ctx.type = 'application/json';
    ctx.set('cache-control', 'no-cache'); // browsers ask each time, and get it only if it has changed
    await serveUnchanged(ctx, etag, body);
  });
  docsRoutes(router, title, apiKeys !== undefined);
  if (options.hasChatPage) chatPageRoutes(router, title);
  if (apiKeys) routesForAdmins(router, options);
  if (options.metrics) {
    if (options.controller) router.get('/metrics', options.controller);
    else metricsRoute(router, options.metrics);
  }
  if (options.traces) {
    if (options.controller) forwardRoutes(router, TRACE_ROUTES, options.controller);
    else traceRoutes(router, options.traces);
  }
  if (redocBundle) redocRoutes(router, title, redocBundle);
  if (tasks) taskRoutes(router, { tasks, registry, includeStacktrace });
  for (const addRoutes of options.routes ?? []) addRoutes(router, options);
  mcpRoute(router, mcp);
  if (sockets) socketRoutes(router, sockets.definitions);
  if (webhooks) webhookRoutes(router, { ...options, webhooks });
  return router;
}

const VERSION_ROUTE = {
  id: 'get_version',
  at: 'get /version',
  summary: 'The version of the server',
  tag: 'system',
  answers: answers('The version.', z.object({ version: z.string() })),
  fails: [],
} as const satisfies RouteDefinition;
export type VERSION_ROUTE = typeof VERSION_ROUTE;

export function versionRoute(router: HostRouter, version: string): void {
  serveRoute(router, VERSION_ROUTE, () => ({ version }));
}

/** Adds the routes that only the controller of an application can answer. */
export function applicationRoutes(router: HostRouter, operations: Operations, options: HttpAppOptions): void {
  operationRoutes(router, operations, options);
  changeRoutes(router, operations, options);
  modelRoutes(router, operations.models, options);
}

function forwardRoutes(
  router: HostRouter,
  routes: Readonly<Record<string, RouteDefinition>>,
  controller: NonNullable<HttpAppOptions['controller']>,
): void {
  for (const route of Object.values(routes)) forwardRoute(router, route, controller);
}

/**
 * Adds the routes with which admins see and change the application, its keys, and the work of all users. A guard must
 * refuse other callers. The owner of the process (`isOwner`) may also read its memory.
 */
export function routesForAdmins(router: HostRouter, options: HttpAppOptions, { isOwner = false } = {}): void {
  const { apiKeys, operations, controller } = options;
  if (operations) {
    profileRoutes(router, operations, { ...options, isOwner });
    if (controller)
      for (const routes of [OPERATION_ROUTES, CHANGE_ROUTES, MODEL_ROUTES]) forwardRoutes(router, routes, controller);
    else applicationRoutes(router, operations, options);
  }
  if (apiKeys) apiKeyRoutes(router, apiKeys, options);
  adminRoutes(router, { ...options, showsContents: options.adminsSeeContents ?? false });
}
