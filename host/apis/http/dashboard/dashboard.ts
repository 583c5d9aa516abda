import type { KeyLookUps } from '../../../data/access/index.ts';
import { CLOSED, cors } from '../guards/cors.ts';
import type { Guard } from '../guards/guards.ts';
import { hostGuard } from '../guards/host-guard.ts';
import { securityHeaders } from '../guards/security-headers.ts';
import type { HttpAppOptions } from '../options.ts';
import { HostRouter } from '../routes/serve-route.ts';
import { routesForAdmins } from '../routes/system-routes.ts';
import { traceRoutes } from '../routes/admin/trace-routes.ts';
import { dashboardFiles, isDashboardFile } from './dashboard-files.ts';
import { dashboardGuard } from './dashboard-guard.ts';

export interface DashboardOptions {
  /** Address of the dashboard's server. */
  readonly listensAt: string;
  readonly token: string;
  /** Limits the guesses of the token. */
  readonly guesses: KeyLookUps;
}

/** Keeps the pages and the answers of the dashboard out of caches. A file that may be kept says so itself. */
const notStored: Guard = (ctx, next) => {
  ctx.set('cache-control', 'no-store');
  return next();
};

/** Returns the guards and the routes of the dashboard's server. */
export function dashboardOf(
  options: HttpAppOptions,
  { listensAt, token, guesses }: DashboardOptions,
): { readonly guards: readonly Guard[]; readonly router: HostRouter } {
  const { allowedHosts = [], apiKeys, registry, routers, title, traces, log } = options;
  const router = new HostRouter();
  dashboardFiles(router, title);
  routesForAdmins(router, options);
  if (traces) traceRoutes(router, traces);
  return {
    guards: [
      securityHeaders(0),
      notStored,
      hostGuard({ allowedHosts, listensAt, hasApiKeys: false }),
      cors(CLOSED),
      dashboardGuard({ token, apiKeys, registry, routers, guesses, log, isOpen: isDashboardFile }),
    ],
    router,
  };
}
