import { Router } from '@koa/router';
import { CLOSED, cors } from '../guards/cors.ts';
import type { Guard } from '../guards/guards.ts';
import { hostGuard } from '../guards/host-guard.ts';
import { securityHeaders } from '../guards/security-headers.ts';
import type { HttpAppOptions } from '../options.ts';
import { routesForAdmins } from '../routes/system-routes.ts';
import { traceRoutes } from '../routes/trace-routes.ts';
import { dashboardFiles, isDashboardFile } from './dashboard-files.ts';
import { dashboardGuard } from './dashboard-guard.ts';

export interface DashboardOptions {
  /** Address of the dashboard's server. */
  readonly listensAt: string;
  readonly token: string;
}

/** Returns the guards and the routes of the dashboard's server. */
export function dashboardOf(
  options: HttpAppOptions,
  { listensAt, token }: DashboardOptions,
): { readonly guards: readonly Guard[]; readonly router: Router } {
  const { allowedHosts = [], apiKeys, registry, title, traces } = options;
  const router = new Router({ sensitive: true });
  dashboardFiles(router, title);
  routesForAdmins(router, options);
  if (traces) traceRoutes(router, traces);
  return {
    guards: [
      securityHeaders(0),
      hostGuard({ allowedHosts, listensAt, hasApiKeys: false }),
      cors(CLOSED),
      dashboardGuard({ token, apiKeys, registry, isOpen: isDashboardFile }),
    ],
    router,
  };
}
