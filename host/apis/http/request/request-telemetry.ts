import type { Context } from 'koa';
import {
  type Attributes,
  type Gauge,
  type Histogram,
  noTelemetry,
  type Span,
  type Telemetry,
} from '../../../base/core/telemetry.ts';
import { deploymentOf, rateLimitOf, tracestateOf } from './request-context.ts';

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
  const active = telemetry.gauge('http.server.active_requests', {
    unit: '{request}',
    description: 'Requests that have no complete answer yet.',
    attributes: ALWAYS,
  });
  const kinds = new RequestKinds(active);
  return (ctx, parent) => {
    const { method, path } = ctx;
    const kind = kinds.of(method, ctx.protocol, routeOf(path));
    const span = telemetry.span(kind.spanName, {
      parent,
      tracestate: parent === undefined ? undefined : tracestateOf(ctx),
      kind: 'server',
      attributes: kind.attributes,
    });
    kind.active.change(1);
    return new OpenRequest(ctx, kind, span, durations);
  };
}

/** A request until its end. */
class OpenRequest implements RequestRecord {
  readonly traceparent: string | undefined;
  readonly #ctx: Context;
  readonly #kind: RequestKind;
  readonly #span: Span;
  readonly #durations: Histogram;

  constructor(ctx: Context, kind: RequestKind, span: Span, durations: Histogram) {
    this.traceparent = span.traceparent;
    this.#ctx = ctx;
    this.#kind = kind;
    this.#span = span;
    this.#durations = durations;
  }

  end({ status, ms, error }: Parameters<RequestRecord['end']>[0]): void {
    this.#kind.active.change(-1);
    this.#durations.record(ms / 1000, this.#kind.answered(status), this.traceparent);
    const isCallersFault = status >= 400 && status <= 499;
    const requestId = String(this.#ctx.state['requestId']);
    const attributes: Record<string, string | number> = {
      ...{ 'aana.request.id': requestId, 'http.response.status_code': status },
    };
    const policy = rateLimitOf(this.#ctx);
    if (policy !== undefined) attributes['aana.rate_limit.policy'] = policy;
    const deployment = deploymentOf(this.#ctx);
    if (deployment !== undefined) attributes['aana.deployment'] = deployment;
    this.#span.end({ error: isCallersFault ? undefined : error, attributes });
  }
}

/** Finds the kind of a request. The kinds are kept, because making attributes costs more than adding up values. */
class RequestKinds {
  readonly #gauge: Gauge;
  readonly #active: ActiveRequests[] = [];
  readonly #byRoute = new Map<string | undefined, RequestKind[]>();

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  /** `protocol` can be any text where another application trusts its proxy, so only the two schemes are labels. */
  of(method: string, protocol: string, route: string | undefined): RequestKind {
    const label = METHODS.has(method) ? method : '_OTHER';
    const scheme = protocol === 'https' ? 'https' : 'http';
    const kinds = this.#byRoute.get(route);
    const known = kinds && matching(kinds, label, scheme);
    return known ?? this.#add(label, scheme, route);
  }

  #add(method: string, scheme: string, route: string | undefined): RequestKind {
    let active = matching(this.#active, method, scheme);
    if (!active) this.#active.push((active = new ActiveRequests(method, scheme, this.#gauge)));
    const kind = new RequestKind(active, route);
    this.#byRoute.set(route, [...(this.#byRoute.get(route) ?? []), kind]);
    return kind;
  }
}

function matching<T extends { readonly method: string; readonly scheme: string }>(
  all: readonly T[],
  method: string,
  scheme: string,
): T | undefined {
  for (const one of all) if (one.method === method && one.scheme === scheme) return one;
  return undefined;
}

/** Requests of one method, scheme and route. */
class RequestKind {
  readonly method: string;
  readonly scheme: string;
  readonly active: ActiveRequests;
  readonly attributes: Attributes;
  readonly spanName: string;
  readonly #answered = new Map<number, Attributes>();

  constructor(active: ActiveRequests, route: string | undefined) {
    this.method = active.method;
    this.scheme = active.scheme;
    this.active = active;
    this.attributes = route === undefined ? active.attributes : { ...active.attributes, 'http.route': route };
    const verb = active.method === '_OTHER' ? 'HTTP' : active.method;
    this.spanName = route === undefined ? verb : `${verb} ${route}`;
  }

  /** Returns the attributes of the requests that were answered with a status. */
  answered(status: number): Attributes {
    let attributes = this.#answered.get(status);
    if (!attributes) {
      attributes = {
        ...this.attributes,
        'http.response.status_code': status,
        ...(status >= 500 && { 'error.type': String(status) }),
      };
      this.#answered.set(status, attributes);
    }
    return attributes;
  }
}

/** Counts the requests of one method and scheme that are being answered. */
class ActiveRequests {
  readonly method: string;
  readonly scheme: string;
  readonly attributes: Attributes;
  readonly #gauge: Gauge;
  #count = 0;

  constructor(method: string, scheme: string, gauge: Gauge) {
    this.method = method;
    this.scheme = scheme;
    this.attributes = { 'http.request.method': method, 'url.scheme': scheme };
    this.#gauge = gauge;
  }

  change(by: 1 | -1): void {
    this.#count += by;
    this.#gauge.set(this.#count, this.attributes);
  }
}
