import type { HistogramPoint, MetricData } from '../metric-data.ts';
import type { Metrics } from '../metrics.ts';

/** Name of the metric of requests. */
export const REQUESTS = 'http.server.request.duration';
const TOKENS = 'aana.engine.tokens.generated';
const NAMES: ReadonlySet<string> = new Set([REQUESTS, TOKENS]);

/** What a host has done since its start. */
export interface WorkTotals {
  /** Answered requests by their duration: upper bounds of the buckets in seconds, and the number in each bucket. */
  readonly boundaries: readonly number[];
  readonly durations: readonly number[];
  /** Requests that were answered with a status of 500 or above. */
  readonly failed: number;
  /** Tokens of answers of language models. */
  readonly tokens: number;
}

export function workTotals(metrics: Pick<Metrics, 'read'>): WorkTotals {
  const read = metrics.read(NAMES);
  const requests = requestsOf(read);
  const counted = read.find(({ name }) => name === TOKENS);
  return {
    boundaries: requests[0]?.boundaries ?? [],
    durations: requests.map(({ counts }) => counts).reduce<readonly number[]>(addEach, []),
    failed: requests
      .filter(({ attributes }) => Number(attributes['http.response.status_code']) >= 500)
      .reduce((sum, { counts }) => sum + totalOf(counts), 0),
    tokens: counted?.kind === 'counter' ? counted.points.reduce((sum, { value }) => sum + value, 0) : 0,
  };
}

/** Requests that a host has answered since its start. */
export type RequestTotals = { readonly total: number } & Pick<WorkTotals, 'failed'>;

export function requestTotals(metrics: Pick<Metrics, 'read'>): RequestTotals {
  const { durations, failed } = workTotals(metrics);
  return { total: totalOf(durations), failed };
}

/** Returns the series of the requests. */
export function requestsOf(read: readonly MetricData[]): readonly HistogramPoint[] {
  const found = read.find(({ name }) => name === REQUESTS);
  return found?.kind === 'histogram' ? found.points : [];
}

export const addEach = (some: readonly number[], more: readonly number[]): readonly number[] =>
  more.map((count, bucket) => count + (some[bucket] ?? 0));

export function totalOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
