import { TRACE_ROUTES } from './trace-definitions.ts';
import { type KeptTraces, traceReport, traceSummary } from '../../../../base/telemetry/index.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

/** Adds the routes with which admins read the last failed and slow requests. The guard refuses other callers. */
export function traceRoutes(router: HostRouter, kept: Pick<KeptTraces, 'list' | 'find'>): void {
  serveRoute(router, TRACE_ROUTES.list, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return { traces: kept.list().map(traceSummary) };
  });
  serveRoute(router, TRACE_ROUTES.get, ({ ctx, params }) => {
    ctx.set('cache-control', 'no-store');
    return { traces: kept.find(params.trace_id).map(traceReport) };
  });
}
