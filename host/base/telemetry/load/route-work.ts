import type { Metrics } from '../metrics.ts';
import { quantile } from './quantile.ts';
import { addEach, REQUESTS, requestsOf, totalOf } from './work-totals.ts';

/** The requests of one route since the start. */
export interface RouteWork {
  /** The path of an endpoint, or a template such as `/tasks/:task_id`. */
  readonly route: string;
  readonly requests: number;
  /**
   * Of these, requests that were answered with a status of 400 to 498, and of 500 or above. A client that left (499) is
   * neither refused nor failed.
   */
  readonly refused: number;
  readonly failed: number;
  /** Durations in seconds; null without requests. */
  readonly latency_p50_s: number | null;
  readonly latency_p95_s: number | null;
}

/** Returns the work of every route that had a request. */
export function routeWork(metrics: Pick<Metrics, 'read'>): RouteWork[] {
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
