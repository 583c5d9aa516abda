import type { Context } from 'koa';
import { type Attributes, type Gauge, noTelemetry, type Telemetry } from '../../core/telemetry.ts';

/** Telemetry of one request. */
export interface RequestRecord {
  /** The place of the request's work in the trace. */
  readonly traceparent: string | undefined;
  /**
   * Reports the end. `status` is the status of the answer, `ms` its duration in milliseconds, `error` the error of a
   * failed request.
   */
  end(answer: { readonly status: number; readonly ms: number; readonly error?: unknown }): void;
}

/** Begins the report of a request. `parent` is the `traceparent` of the request. */
export type BeginRequest = (ctx: Context, parent: string | undefined) => RequestRecord;

/** Methods that have a label of their own, as OpenTelemetry's conventions list them. Others are `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'],
]);

/** Attributes of every request. */
const ALWAYS = ['http.request.method', 'url.scheme'];

/** Upper bounds in seconds, as OpenTelemetry's conventions state them. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Returns the function that reports requests, with the names of OpenTelemetry's conventions for HTTP servers. `routeOf`
 * returns the route of a path: the path of an endpoint, or a template such as `/tasks/:task_id`. Paths without a route
 * have no attribute, because clients can invent any number of them.
 */
export function requestRecorder(telemetry: Telemetry, routeOf: (path: string) => string | undefined): BeginRequest {
  if (telemetry === noTelemetry) return (_, parent) => ({ traceparent: parent, end: () => {} });
  const durations = telemetry.histogram('http.server.request.duration', {
    unit: 's',
    description: 'Time from the head of a request to the end of its answer.',
    attributes: [...ALWAYS, 'http.route', 'http.response.status_code', 'error.type'],
    boundaries: BOUNDARIES,
  });
  const active = new ActiveRequests(
    telemetry.gauge('http.server.active_requests', {
      unit: '{request}',
      description: 'Requests that have no complete answer yet.',
      attributes: ALWAYS,
    }),
  );
  return (ctx, parent) => {
    const { method, path } = ctx;
    const route = routeOf(path);
    const always = { 'http.request.method': METHODS.has(method) ? method : '_OTHER', 'url.scheme': ctx.protocol };
    const attributes = { ...always, ...(route !== undefined && { 'http.route': route }) };
    const span = telemetry.span(route === undefined ? method : `${method} ${route}`, { parent, attributes });
    active.change(always, 1);
    return {
      traceparent: span.traceparent,
      end: ({ status, ms, error }) => {
        active.change(always, -1);
        const answered = {
          'http.response.status_code': status,
          ...(status >= 500 && { 'error.type': String(status) }),
        };
        durations.record(ms / 1000, { ...attributes, ...answered });
        span.end({ ...(status >= 500 && { error }), attributes: answered });
      },
    };
  };
}

/** Counts the requests of each method and scheme that are being answered. */
class ActiveRequests {
  readonly #gauge: Gauge;
  readonly #counts = new Map<string, number>();

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  change(attributes: Attributes, by: 1 | -1): void {
    const key = Object.values(attributes).join(' ');
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#counts.set(key, count);
    this.#gauge.set(count, attributes);
  }
}
