import * as z from 'zod';
import { whole } from '../../../../base/core/fields.ts';
import { AlertReport, AlertsReport } from '../../../../base/alerts/index.ts';
import { LoadSample, MAX_PROFILE_S } from '../../../../base/telemetry/index.ts';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { LogArea, LogLevel, LogLevelChange, LogLevels, LogRecord } from './values/log-values.ts';
import {
  ApplicationReport,
  DeploymentHistory,
  DeploymentMethods,
  Draining,
  EndpointReport,
  PluginStatus,
} from './values/reports.ts';

const Revisions = z
  .object({
    tasks: z.int(),
    webhooks: z.int().describe('Webhooks and their deliveries.'),
    keys: z.int(),
    models: z.int().describe('Pulls and removals of models, and what the configuration uses.'),
    requests: z.int().describe('Failed and slow requests that are kept.'),
    logs: z.int().describe('Lines of the log, and its levels.'),
    endpoints: z.int().describe('Endpoints that are served, and their requests.'),
    configuration: z.int(),
  })
  .describe('Numbers that differ from those before when something has changed. Ask again for what you show.');

const ApplicationState = z
  .object({
    application: ApplicationReport,
    plugins: z.array(PluginStatus),
    alerts: z.array(AlertReport).describe('The alerts that fire, the newest first.'),
    parts: z
      .object({ tasks: z.boolean(), webhooks: z.boolean(), keys: z.boolean(), traces: z.boolean() })
      .describe('What the host has.'),
    changes: Revisions,
    load: LoadSample.nullable().describe('The newest sample. Null without metrics (`telemetry.metrics`).'),
  })
  .describe('What the application does now.');
export type ApplicationState = z.output<typeof ApplicationState>;

const Deployment = z.object({ deployment: z.string(), replicas: z.int() });
const Named = z.object({ deployment: z.string() });

const aProfile = (description: string) =>
  ({
    200: { description, schema: z.string().meta({ format: 'binary' }), type: 'application/octet-stream' },
  }) as const;

const LOG_FILTER = {
  deployment: z.string().max(200).optional().describe('Only lines of this deployment.'),
  replica: z.string().max(200).optional().describe('Only lines of this replica, such as `asr_deployment#1`.'),
  level: LogLevel.optional().describe('Only lines of this level or above.'),
  area: LogArea.optional().describe('Only lines of this area of the host.'),
  worker: z.int().min(0).max(1000).optional().describe('Only lines of and about this worker; 0 is the controller.'),
};

/** The routes with which admins see and change the running application. */
export const OPERATION_ROUTES = {
  state: {
    id: 'get_application_state',
    at: 'get /api/application',
    summary: 'Deployments, replicas, plugins and load of the application',
    answers: answers('The state.', ApplicationState),
    fails: [500],
  },
  load: {
    id: 'get_load',
    at: 'get /api/application/load',
    summary: 'The load of the last minutes',
    answers: answers('The samples, the oldest first.', z.object({ samples: z.array(LoadSample) })),
    fails: [500],
  },
  watch: {
    id: 'watch_application',
    at: 'get /api/application/events',
    summary: 'The state of the application, again every two seconds, as server-sent events named `state`',
    answers: {
      200: { description: 'The states.', schema: ApplicationState, type: 'text/event-stream' },
    },
    fails: [500],
  },
  drain: {
    id: 'drain_application',
    at: 'put /api/drain',
    summary:
      'Take no new requests, tasks and calls in all processes of the application, while what runs ends; or take them ' +
      'again',
    body: z.strictObject({ draining: z.boolean() }),
    answers: answers('It is so from now on.', z.object({ draining: Draining })),
    fails: [500],
  },
  alerts: {
    id: 'list_alerts',
    at: 'get /api/alerts',
    summary: 'The alerts of this host, and its rules',
    answers: answers('The alerts and the rules.', AlertsReport),
    fails: [500],
  },
  logs: {
    id: 'get_logs',
    at: 'get /api/logs',
    summary: 'The latest log lines, the oldest first',
    query: z.object({
      lines: z.int().min(1).max(2000).default(200),
      ...LOG_FILTER,
    }),
    answers: answers('The lines.', z.object({ records: z.array(LogRecord) })),
    fails: [404, 422, 500],
  },
  watchLogs: {
    id: 'watch_logs',
    at: 'get /api/logs/events',
    summary: 'The latest log lines, and new ones until the host ends, as server-sent events named `line`',
    query: z.object({
      lines: whole({ min: 0, max: 2000, default: 0 }, 'Lines from before.'),
      ...LOG_FILTER,
    }),
    answers: { 200: { description: 'The lines.', schema: LogRecord, type: 'text/event-stream' } },
    fails: [404, 422, 500],
  },
  logLevels: {
    id: 'get_log_levels',
    at: 'get /api/logs/levels',
    summary: 'The lowest levels of log lines that are written',
    answers: answers('The levels.', LogLevels),
    fails: [500],
  },
  setLogLevels: {
    id: 'set_log_levels',
    at: 'put /api/logs/levels',
    summary: 'Change levels of the log until the next start',
    body: LogLevelChange,
    answers: answers('The levels from now on.', LogLevels),
    fails: [500],
  },
  configuration: {
    id: 'get_configuration',
    at: 'get /api/configuration',
    summary: 'The configuration, and where each value comes from',
    answers: answers(
      'All keys. Secrets are left out.',
      z.object({
        values: z.array(
          z.object({
            key: z.string().describe('Path in the file, with dots.'),
            value: z.unknown(),
            origin: z.string().describe('A file, `environment variable …`, a flag, `the program`, or `default`.'),
          }),
        ),
      }),
    ),
    fails: [500],
  },
  deployments: {
    id: 'list_deployments',
    at: 'get /api/deployments',
    summary: 'The deployments with their methods',
    query: z.object({ deployment: z.string().max(200).optional().describe('Only this one.') }),
    answers: answers('The deployments.', z.object({ deployments: z.array(DeploymentMethods) })),
    fails: [404, 422, 500],
  },
  deploymentHistory: {
    id: 'list_deployment_changes',
    at: 'get /api/deployments/changes',
    summary: 'The changes of deployments that operators made, also before this start',
    query: z.object({
      limit: whole({ min: 1, max: 1000, default: 100 }, 'Most changes.'),
      deployment: z.string().max(200).optional().describe('Only changes of this one.'),
    }),
    answers: answers('The changes, the newest first.', DeploymentHistory),
    fails: [422, 500, 503],
  },
  scale: {
    id: 'scale_deployment',
    at: 'put /api/deployments/{deployment}/replicas',
    summary: 'Set the number of replicas of a deployment',
    body: z.object({ replicas: z.int().min(0).max(1000) }),
    answers: answers('The deployment has this number of replicas now.', Deployment),
    fails: [400, 404, 409, 500, 503],
  },
  loadDeployment: {
    id: 'load_deployment',
    at: 'post /api/deployments/{deployment}/load',
    summary: 'Start a deployment that was unloaded or has failed',
    answers: answers('Its replicas are ready.', Named),
    fails: [404, 409, 500, 503],
  },
  unloadDeployment: {
    id: 'unload_deployment',
    at: 'post /api/deployments/{deployment}/unload',
    summary:
      'End the replicas of a deployment when their calls have finished; later calls are refused until it is loaded',
    query: z.object({
      grace_s: z
        .number()
        .min(0)
        .max(86_400)
        .optional()
        .describe('Seconds in which calls may finish. Default and maximum: `graceful_shutdown_timeout_s`.'),
    }),
    answers: answers('Its replicas have ended.', Named),
    fails: [404, 409, 422, 500, 503],
  },
  endpoints: {
    id: 'list_endpoints',
    at: 'get /api/endpoints',
    summary: 'Endpoints of the program and of plugins, with their requests since the start',
    answers: answers('The endpoints, and other routes that had requests.', EndpointReport),
    fails: [500],
  },
  reloadPlugins: {
    id: 'reload_plugins',
    at: 'post /api/plugins/reload',
    summary: 'Load the newest version of one plugin, or of all',
    query: z.object({ name: z.string().max(200).optional().describe('Default: all plugins.') }),
    answers: answers(
      'What was done with each plugin.',
      z.object({
        plugins: z.array(
          z.object({
            name: z.string(),
            outcome: z
              .enum(['reloaded', 'skipped', 'failed', 'removed'])
              .describe('`skipped`: with all plugins, one that never served, because it lacks a grant.'),
            detail: z.string(),
          }),
        ),
      }),
    ),
    fails: [404, 422, 500, 503],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;

/** The routes of the profiles of one process. */
export const PROFILE_ROUTES = {
  profileCpu: {
    id: 'profile_cpu',
    at: 'post /api/profiles/cpu',
    summary: 'A profile of the main thread of this host',
    query: z.object({ seconds: z.coerce.number().positive().max(MAX_PROFILE_S).default(5) }),
    answers: aProfile('A `.cpuprofile` for Chrome’s DevTools, when the time is over.'),
    fails: [409, 422, 500],
  },
  profileHeap: {
    id: 'profile_heap',
    at: 'post /api/profiles/heap',
    summary: 'What is in the memory of this host, if `api_service.admins_see_contents` is set',
    answers: aProfile('A `.heapsnapshot` for Chrome’s DevTools. It has requests and secrets.'),
    fails: [403, 409, 500, 503],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
