import type { Guard } from '../../guards/guards.ts';
import { setCaller } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { inputReader } from '../../request/input-reader.ts';
import { traceRoutes } from '../admin/trace-routes.ts';
import { metricsRoute } from '../metrics-route.ts';
import { HostRouter, serveRoute } from '../serve-route.ts';
import { applicationRoutes, routesForAdmins, versionRoute } from '../system-routes.ts';
import { OWNER_ROUTES } from './owner-definitions.ts';

/** Without kept requests, the list of them is empty. */
const NO_TRACES = { list: () => [], find: () => [] };

/**
 * Admits everybody: the mode of the socket lets only the user of the process connect. In the log, the requests have the
 * name `command` in place of the name of a key.
 */
export const ownerGuard: Guard = (ctx, next) => {
  setCaller(ctx, { userId: null, isAdmin: true, keyId: 'command', scopes: null, hasSubscription: true });
  return next();
};

/** The header in which a worker names the API key of the admin whose request it passes on. */
export const FORWARDED = 'x-aana-forwarded';

/** Admits the requests of workers, whose guards have admitted their callers. */
export const forwardedGuard: Guard = (ctx, next) => {
  setCaller(ctx, { userId: null, isAdmin: true, keyId: ctx.get(FORWARDED), scopes: null, hasSubscription: true });
  return next();
};

/** Returns the routes that workers pass on to the controller. */
export function forwardedRouter(options: HttpAppOptions): HostRouter {
  const { operations, traces = NO_TRACES, metrics } = options;
  const router = new HostRouter();
  traceRoutes(router, traces);
  if (metrics) metricsRoute(router, metrics);
  if (operations) applicationRoutes(router, operations, options);
  return router;
}

/** Returns the routes of the control socket: those for admins, and those for the user of the process. */
export function ownerRouter(options: HttpAppOptions): HostRouter {
  const { operations, traces = NO_TRACES, version } = options;
  const router = new HostRouter();
  versionRoute(router, version);
  traceRoutes(router, traces);
  if (operations) {
    const { application } = operations;
    const inputOf = inputReader(options);
    serveRoute(router, OWNER_ROUTES.dashboard, () => ({ url: application.dashboardUrl() ?? null }));
    serveRoute(router, OWNER_ROUTES.stop, ({ query: { grace_s: graceS } }) => {
      const ending = application.shutdown(graceS === undefined ? {} : { graceMs: graceS * 1000 });
      ending.catch(() => {}); // reported by `app.stopped`
      return { pid: process.pid };
    });
    serveRoute(router, OWNER_ROUTES.diagnosis, () => application.diagnosis());
    serveRoute(router, OWNER_ROUTES.usersOfFiles, async ({ ctx }) => {
      const { files } = await inputOf(ctx, OWNER_ROUTES.usersOfFiles.body);
      return { users: files.map((file) => application.usersOfFile(file)) };
    });
  }
  routesForAdmins(router, options, { isOwner: true });
  return router;
}
