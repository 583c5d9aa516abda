import { Router } from '@koa/router';
import { apiKeyRoutes } from './api-key-routes.ts';
import { docsRoutes } from './docs-page.ts';
import { buildOpenApi } from './openapi.ts';
import { withGuards } from './openapi-security.ts';
import type { HttpAppOptions } from './options.ts';
import { mountPath } from './routers.ts';
import { taskRoutes } from './task-routes.ts';

/** The host's own routes. */
export function systemRoutes({ registry, status, isReady, title, version, openapi, tasks, includeStacktrace, apiKeys, rateLimits, ...limits }: HttpAppOptions): Router {
  const router = new Router();
  router.get(['/api/ready', '/readyz'], (ctx) => {
    const ready = isReady();
    ctx.status = ready ? 200 : 503;
    ctx.set('cache-control', 'no-store');
    ctx.body = { ready };
  });
  router.get('/livez', (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.body = { alive: true };
  });
  router.get('/api/status', (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.body = status();
  });
  router.get('/openapi.json', (ctx) => {
    ctx.body = withGuards(buildOpenApi(registry.list(), { title, version, baseUrl: `${ctx.protocol}://${ctx.host}`, mountPath: mountPath(ctx), params: openapi, hasTasks: tasks !== undefined }), { hasApiKeys: apiKeys !== undefined, hasRateLimits: rateLimits?.isAny ?? false });
  });
  docsRoutes(router, title);
  if (apiKeys) apiKeyRoutes(router, apiKeys, limits);
  if (tasks) taskRoutes(router, { tasks, includeStacktrace });
  return router;
}
