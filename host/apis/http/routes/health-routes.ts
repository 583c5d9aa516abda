import * as z from 'zod';
import { answers, type RouteDefinition, whereOf } from '../../openapi/index.ts';
import { MAX_NAME } from '../../../base/schemas/index.ts';
import type { HttpAppOptions } from '../options.ts';
import { type HostRouter, serveRoute } from './serve-route.ts';

const AWAY = z
  .array(z.string())
  .optional()
  .describe('Started deployments that do not serve at the moment. Absent when all serve.');
const DRAINING = z.literal(true).optional().describe('Present while the host takes no new requests.');
const READINESS = {
  200: { description: 'Ready.', schema: z.object({ ready: z.boolean(), away: AWAY }) },
  503: {
    description: 'Starting, draining or stopping, or no deployment serves.',
    schema: z.object({ ready: z.boolean(), draining: DRAINING, away: AWAY }),
  },
} as const;
const READINESS_QUERY = z.object({
  deployment: z
    .string()
    .max(MAX_NAME)
    .optional()
    .describe('Only this deployment. Default: any deployment that serves is enough.'),
});

const READY = {
  tag: 'system',
  query: READINESS_QUERY,
  answers: READINESS,
  fails: [404],
} as const;

/** The routes for load balancers and supervisors, under the names that they have elsewhere. */
const READY_ROUTES = [
  { ...READY, id: 'is_ready', at: 'get /api/ready', summary: 'Whether requests can be served' },
  {
    ...READY,
    id: 'readyz',
    at: 'get /readyz',
    summary: 'The same as /api/ready, under the usual name of such a route',
  },
  {
    ...READY,
    id: 'health',
    at: 'get /health',
    summary: 'The same as /api/ready, under its name in vLLM, TGI and llama-server',
  },
  { ...READY, id: 'ping', at: 'get /ping', summary: 'The same as /api/ready, under its name in SageMaker' },
] as const satisfies readonly RouteDefinition[];

const ALIVE_ROUTE = {
  id: 'livez',
  at: 'get /livez',
  summary: 'Whether the process answers',
  tag: 'system',
  answers: answers('It answers.', z.object({ alive: z.literal(true) })),
  fails: [],
} as const satisfies RouteDefinition;

/** The paths of the routes that tell whether the host is up. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(
  [...READY_ROUTES, ALIVE_ROUTE].map((route) => whereOf(route).path),
);

/** Adds the routes that tell whether the host is up. */
export function healthRoutes(
  router: HostRouter,
  { readiness, drain }: Pick<HttpAppOptions, 'readiness' | 'drain'>,
): void {
  for (const route of READY_ROUTES)
    serveRoute(router, route, ({ ctx, query: { deployment } }) => {
      ctx.set('cache-control', 'no-store');
      const { ready: serves, away } = readiness(deployment);
      const draining = drain?.isDraining === true;
      const ready = serves && !draining;
      if (!ready) ctx.status = 503;
      return { ready, ...(draining && { draining }), ...(away.length > 0 && { away }) };
    });
  serveRoute(router, ALIVE_ROUTE, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return { alive: true } as const;
  });
}
