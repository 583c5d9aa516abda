import type { Context } from 'koa';
import { noTelemetry } from '../../core/telemetry.ts';
import { OPENAI_ROUTES } from '../../openapi/index.ts';
import type { HttpAppOptions } from '../options.ts';

/** Paths of OpenAI's API that have no parameters. */
const OPENAI_PATHS: ReadonlyMap<string, string> = new Map(Object.values(OPENAI_ROUTES).map(({ path }) => [path, path]));

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

/**
 * Returns the function that reports requests, with the names of OpenTelemetry's conventions for HTTP servers. A route
 * is the path of an endpoint, or of a route of OpenAI's API. Other paths are not reported, because clients can invent
 * any number of them.
 */
export function requestRecorder({
  telemetry = noTelemetry,
  registry,
}: Pick<HttpAppOptions, 'telemetry' | 'registry'>): BeginRequest {
  const durations = telemetry.histogram('http.server.request.duration', {
    unit: 's',
    description: 'Time from the head of a request to the end of its answer.',
  });
  return ({ method, path }, parent) => {
    const route = registry.find(path)?.path ?? OPENAI_PATHS.get(path);
    const attributes = { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) };
    const span = telemetry.span(route === undefined ? method : `${method} ${route}`, { parent, attributes });
    return {
      traceparent: span.traceparent,
      end: ({ status, ms, error }) => {
        durations.record(ms / 1000, { ...attributes, 'http.response.status_code': status });
        span.end({ ...(status >= 500 && { error }), attributes: { 'http.response.status_code': status } });
      },
    };
  };
}
