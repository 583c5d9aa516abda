import type { Context } from 'koa';
import { noTelemetry } from '../core/telemetry.ts';
import type { HttpAppOptions } from './options.ts';

/** Reports one request; `status` is that of its answer, `ms` the time that it took. */
export type RecordRequest = (ctx: Context, status: number, ms: number) => void;

/**
 * Returns what reports requests, in the names of OpenTelemetry's conventions for HTTP servers. A route is the path of an endpoint: other paths
 * have no name, since anybody can make them up.
 */
export function requestRecorder({ telemetry = noTelemetry, registry }: Pick<HttpAppOptions, 'telemetry' | 'registry'>): RecordRequest {
  const durations = telemetry.histogram('http.server.request.duration', { unit: 's', description: 'Time from the head of a request to the end of its answer.' });
  return ({ method, path }, status, ms) => {
    const route = registry.find(path)?.path;
    durations.record(ms / 1000, { 'http.request.method': method, 'http.response.status_code': status, ...(route !== undefined && { 'http.route': route }) });
  };
}
