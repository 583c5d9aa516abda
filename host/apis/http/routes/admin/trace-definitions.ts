import * as z from 'zod';
import { TraceReport, TraceSummary } from '../../../../base/telemetry/index.ts';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';

/** The routes over the last failed and slow requests of this host. */
export const TRACE_ROUTES = {
  list: {
    id: 'list_traces',
    at: 'get /api/traces',
    summary: 'The last failed and slow requests of this host, the last one first',
    answers: answers('The requests.', z.object({ traces: z.array(TraceSummary) })),
    fails: [],
  },
  get: {
    id: 'get_trace',
    at: 'get /api/traces/{trace_id}',
    summary: 'The failed and slow requests of a trace, with their spans',
    answers: answers('The requests, the last one first.', z.object({ traces: z.array(TraceReport) })),
    fails: [404],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
