import type { Context } from 'koa';
import { type Attributes, type Gauge, noTelemetry, type Telemetry, withAttribute } from '../../core/telemetry.ts';
import { tracestateOf } from './request-context.ts';

/** Telemetry of one request. */
export interface RequestRecord {
  /** The place of the request's work in the trace. */
  readonly traceparent: string | undefined;
  /**
   * Reports the end. `status` is the status of the answer, `ms` its duration in milliseconds, `error` the error that
   * ended a request or its stream.
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

/** Upper bounds in seconds: OpenTelemetry's, which end at 10 s, and further ones, because models take longer. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 25, 50, 100, 250];

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
    const isKnown = METHODS.has(method);
    const always = { 'http.request.method': isKnown ? method : '_OTHER', 'url.scheme': ctx.protocol };
    const attributes = route === undefined ? always : withAttribute(always, 'http.route', route);
    const verb = isKnown ? method : 'HTTP';
    const span = telemetry.span(route === undefined ? verb : `${verb} ${route}`, {
      parent,
      tracestate: parent === undefined ? undefined : tracestateOf(ctx),
      kind: 'server',
      attributes,
    });
    active.change(always, 1);
    return {
      traceparent: span.traceparent,
      end: ({ status, ms, error }) => {
        active.change(always, -1);
        const answered = withAttribute(attributes, 'http.response.status_code', status);
        durations.record(ms / 1000, status < 500 ? answered : withAttribute(answered, 'error.type', String(status)));
        const isCallersFault = status >= 400 && status <= 499;
        span.end({
          error: isCallersFault ? undefined : error,
          attributes: { 'aana.request.id': String(ctx.state['requestId']), 'http.response.status_code': status },
        });
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
