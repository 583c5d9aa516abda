import * as z from 'zod';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { TraceReport } from '../../../../base/telemetry/index.ts';
import { LogRecord } from '../admin/values/log-values.ts';

/** The routes that only the control socket has, for the user of the process. */
export const OWNER_ROUTES = {
  dashboard: {
    id: 'get_dashboard',
    at: 'get /api/dashboard',
    summary: 'The address that opens the dashboard. It has the token',
    answers: answers('The address; null without a dashboard.', z.object({ url: z.string().nullable() })),
    fails: [],
  },
  stop: {
    id: 'stop_application',
    at: 'post /api/stop',
    summary: 'Shut the application down',
    query: z.object({
      grace_s: z.number().min(0).max(86_400).optional().describe('Seconds in which requests may finish.'),
    }),
    answers: answers('The shutdown has begun.', z.object({ pid: z.int() })),
    fails: [422],
  },
  diagnosis: {
    id: 'get_diagnosis',
    at: 'get /api/diagnosis',
    summary: 'What the application knows about itself, without secrets and without contents of requests',
    answers: answers(
      'The diagnosis.',
      z.object({
        configuration: z.array(z.object({ key: z.string(), value: z.unknown(), origin: z.string() })),
        logs: z.array(LogRecord),
        metrics: z.string().nullable().describe('The metrics for Prometheus. Null without metrics.'),
        traces: z.array(TraceReport).describe('The last failed and slow requests with their spans.'),
      }),
    ),
    fails: [500],
  },
  usersOfFiles: {
    id: 'list_users_of_files',
    at: 'post /api/models/users',
    summary: 'The names of the deployments that load each of these files',
    body: z.strictObject({ files: z.array(z.string().max(4096)).max(10_000) }),
    answers: answers('The names, in the order of the files.', z.object({ users: z.array(z.array(z.string())) })),
    fails: [500],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
