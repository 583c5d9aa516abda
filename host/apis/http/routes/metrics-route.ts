import type { Router } from '@koa/router';
import { type Format, FORMATS } from '../../../base/telemetry/index.ts';

/** Adds `GET /metrics`, in the format that the scraper prefers. A client that accepts neither gets the usual one. */
export function metricsRoute(router: Router, metrics: (format: Format) => Promise<string>): void {
  router.get('/metrics', async (ctx) => {
    const format = TYPES.get(String(ctx.accepts(...TYPES.keys()))) ?? 'prometheus';
    ctx.vary('accept');
    ctx.set('cache-control', 'no-store');
    ctx.type = FORMATS[format];
    ctx.body = await metrics(format);
  });
}

/** Media types as requests name them: without `charset`. The first one is the usual one. */
const TYPES: ReadonlyMap<string, Format> = new Map([
  ['text/plain;version=0.0.4', 'prometheus'],
  ['application/openmetrics-text;version=1.0.0', 'openmetrics'],
]);
