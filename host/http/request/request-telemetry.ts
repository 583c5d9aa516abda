import type { Context } from 'koa';
import { noTelemetry } from '../../core/telemetry.ts';
import type { HttpAppOptions } from '../options.ts';

/** One request that is being answered. */
export interface RequestRecord {
  /** The place in the trace of what is done for the request. */
  readonly traceparent: string | undefined;
  /** `status` is that of the answer, `ms` the time that it took, `error` what the request failed with. */
  end(answer: { readonly status: number; readonly ms: number; readonly error?: unknown }): void;
}

/** Begins to report a request; `parent` is the `traceparent` that it came with. */
export type BeginRequest = (ctx: Context, parent: string | undefined) => RequestRecord;

/**
 * Returns what reports requests, in the names of OpenTelemetry's conventions for HTTP servers. A route is the path of
 * an endpoint: other paths have no name, since anybody can make them up.
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
    const route = registry.find(path)?.path;
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
