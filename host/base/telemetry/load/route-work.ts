import * as z from 'zod';
import type { Metrics } from '../metrics.ts';
import { quantile } from './quantile.ts';
import { addEach, REQUESTS, requestsOf, totalOf } from './work-totals.ts';

/** The requests of one route since the start of the host. */
export const RouteWork = z.object({
  requests: z.int(),
  refused: z
    .int()
    .describe('Requests that were answered with a status of 400 to 498. A client that left (499) is not counted.'),
  failed: z.int().describe('Requests that were answered with a status of 500 or above.'),
  latency_p50_s: z.number().nullable().describe('Null without requests.'),
  latency_p95_s: z.number().nullable(),
});

/** Returns the work of every route that had a request. */
export function routeWork(metrics: Pick<Metrics, 'read'>): (z.output<typeof RouteWork> & { readonly route: string })[] {
  const points = requestsOf(metrics.read(new Set([REQUESTS])));
  const routes = new Set(points.flatMap(({ attributes }) => attributes['http.route'] ?? []));
  return [...routes].map((route) => {
    const mine = points.filter(({ attributes }) => attributes['http.route'] === route);
    const countOf = (least: number, most: number): number =>
      mine
        .filter(({ attributes }) => {
          const status = Number(attributes['http.response.status_code']);
          return status >= least && status <= most;
        })
        .reduce((sum, { counts }) => sum + totalOf(counts), 0);
    const boundaries = mine[0]?.boundaries ?? [];
    const counts = mine.map((one) => one.counts).reduce<readonly number[]>(addEach, []);
    return {
      route: String(route),
      requests: totalOf(counts),
      refused: countOf(400, 498),
      failed: countOf(500, 599),
      latency_p50_s: quantile(0.5, boundaries, counts),
      latency_p95_s: quantile(0.95, boundaries, counts),
    };
  });
}
