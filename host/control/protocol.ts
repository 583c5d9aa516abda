import * as z from 'zod';
import { AlertsReport } from '../alerts/report.ts';
import { LOG_AREAS } from '../core/log/log-levels.ts';
import { HandleOptions } from '../deployments/handle/handle-options.ts';
import { AudioReference } from '../schemas/asr.ts';
import { anyObject } from '../schemas/bounds.ts';
import { EndpointReport } from './endpoint-report.ts';
import { workOperations } from './work-operations.ts';
import { MAX_PROFILE_S } from '../telemetry/profile/profiler.ts';
import { TraceReport, TraceSummary } from '../telemetry/traces/trace-report.ts';

/** Characters of a path or a URL. */
const MAX_PATH = 4096;

/** Rights of a plugin. In deployments and hosts, `*` stands for all. */
const PluginRights = z.object({
  capabilities: z.array(z.string()).readonly(),
  deployments: z.array(z.string()).readonly(),
  hosts: z.array(z.string()).readonly(),
});

/** One plugin of a running server. */
export const PluginStatus = z.object({
  name: z.string(),
  /** `failed`: no version of the plugin serves. */
  state: z.enum(['running', 'failed']),
  /** Reason for which the newest version does not serve. */
  error: z.nullable(z.string()),
  source: z.string(),
  version: z.nullable(z.string()),
  digest: z.nullable(z.string()),
  endpoints: z.array(z.string()),
  limits: z.nullable(z.record(z.string(), z.number())),
  counters: z.object({
    running: z.int(),
    queued: z.int(),
    done: z.int(),
    failed: z.record(z.string(), z.int()),
    cpu_ms: z.int(),
  }),
  /** Number of older versions that still finish their requests. */
  draining: z.int(),
  /** Memory of the instances of the serving version; null if no version serves. */
  memory_bytes: z.nullable(z.int()),
  /** What the serving version asks for, and what the operator grants; null if no version serves. */
  rights: z.nullable(z.object({ asks: PluginRights, gets: PluginRights })),
});
export type PluginStatus = z.infer<typeof PluginStatus>;

/** What a replica has of a device. */
const DeviceShare = z.object({
  /** Name of a device of the application. */
  device: z.string(),
  /** Share of a GPU, from 0 to 1; 0 of the processors. */
  share: z.number(),
  /** Reserved processors; 0 of a GPU. */
  cpus: z.number(),
  /** Bytes reserved for it or used by it. */
  memory_bytes: z.number(),
});

/** A device of the machine: a GPU, or the processors with the main memory. */
const DeviceReport = z.object({
  /** `CPU`, or the GPU with the machine's number: `GPU 0`. */
  name: z.string(),
  /** Name of the product; empty for the processors. */
  model: z.string(),
  cpus: z.nullable(z.number()),
  /** Null when it is unknown. */
  memory_bytes: z.nullable(z.number()),
  /** Memory that other programs use. */
  other_bytes: z.number(),
});

/** One replica of a deployment in `aana-host status --json`. */
export const ReplicaReport = z.object({
  name: z.string(),
  state: z.string(),
  pid: z.nullable(z.int()),
  /** `CPU`, or its GPUs with the machine's numbers: `GPU 0`. */
  device: z.string(),
  /** What it has of each of its devices. */
  shares: z.array(DeviceShare).readonly(),
  /** Number of calls on it. */
  ongoing: z.int(),
  restarts: z.int(),
  /** Main memory of its process in bytes; null where the system does not report it. */
  memory_bytes: z.nullable(z.int()),
  /** Reason for which it was given up, or load progress. */
  message: z.string(),
});
export type ReplicaReport = z.infer<typeof ReplicaReport>;

export const DeploymentReport = z.object({
  name: z.string(),
  status: z.string(),
  message: z.string(),
  /** Number of waiting calls. */
  queued: z.int(),
  /** Step of the update in progress, such as `starting`; null without one. */
  updating: z.nullable(z.string()),
  replicas: z.array(ReplicaReport),
});
export type DeploymentReport = z.infer<typeof DeploymentReport>;

/** A running application. */
export const ApplicationReport = z.object({
  name: z.string(),
  version: z.string(),
  url: z.string(),
  pid: z.int(),
  /** Status of the application and all deployments together. */
  status: z.enum(['RUNNING', 'DEPLOYING', 'UNHEALTHY']),
  /** Phase of the application: `NOT_STARTED`, `DEPLOYING`, `RUNNING`, `DEPLOY_FAILED` or `DELETING`. */
  phase: z.string(),
  message: z.string(),
  deployments: z.array(DeploymentReport),
  /** Empty before the first deployment starts. */
  devices: z.array(DeviceReport),
});
export type ApplicationReport = z.infer<typeof ApplicationReport>;

/** The methods of a deployment. */
export const DeploymentMethods = z.object({
  name: z.string(),
  /** Name of the deployment's class. */
  type: z.string(),
  methods: z.record(
    z.string(),
    z.object({
      description: z.string(),
      streaming: z.boolean(),
      inputSchema: z.record(z.string(), z.unknown()),
      outputSchema: z.record(z.string(), z.unknown()),
      feed: z.object({ name: z.string(), valueSchema: z.record(z.string(), z.unknown()) }).optional(),
    }),
  ),
});
export type DeploymentMethods = z.infer<typeof DeploymentMethods>;

export const LogLevel = z.enum(['debug', 'info', 'warn', 'error']);
export const LogArea = z.enum(LOG_AREAS);

/** The lowest levels of lines that are written: the common one, and those of areas that have their own. */
export const LogLevels = z.object({ level: LogLevel, levels: z.partialRecord(LogArea, LogLevel) });

const levelChange = LogLevel.nullable().exactOptional();
/** Not a record, because a record checks each unknown area of a caller. */
const levelChanges = Object.fromEntries(LOG_AREAS.map((area) => [area, levelChange])) as Record<
  z.output<typeof LogArea>,
  typeof levelChange
>;

/** New levels. Absent ones stay, and null lets an area follow the common level. */
export const LogLevelChange = z.strictObject({
  level: LogLevel.optional(),
  levels: z.strictObject(levelChanges).optional(),
});

/** One line of the log. */
export const LogRecord = z.object({
  time: z.string(),
  level: LogLevel,
  message: z.string(),
  fields: z.record(z.string(), z.unknown()),
});

/** What applying a configuration would do. */
export const ChangePlan = z.object({
  id: z.string().describe('Changes with the plan. A plan that was shown is applied only while it is the same.'),
  changes: z.array(
    z.object({
      kind: z.enum(['add', 'change', 'remove']),
      deployment: z.string(),
      how: z
        .enum(['start', 'in-place', 'rolling', 'stop'])
        .describe('`rolling`: new replicas replace the old ones, which finish their calls first.'),
      keys: z.array(z.string()).describe('The options that change, such as `user_config.model_id`.'),
    }),
  ),
  settings: z.array(z.string()).describe('The settings that change at once, such as `user_limits.max_requests`.'),
  refused: z
    .array(z.object({ key: z.string(), reason: z.string() }))
    .describe('Differences that a running application cannot apply. With one of them, nothing is applied.'),
  unchanged: z.int().describe('Number of deployments that stay as they are.'),
});
export type ChangePlan = z.infer<typeof ChangePlan>;

/** One event while a configuration is applied. */
export const ApplyEvent = z.object({
  deployment: z.string().nullable().describe('Null in the last event.'),
  state: z
    .enum(['begins', 'progress', 'done', 'failed', 'undone', 'applied', 'rolled-back'])
    .describe('`undone`: a change before the failed one was taken back. The last event is `applied` or `rolled-back`.'),
  text: z.string().describe('What is done now, or the reason of a failure.'),
});
export type ApplyEvent = z.infer<typeof ApplyEvent>;

const configuration = {
  given: z.union([
    z.strictObject({ file: z.string().max(MAX_PATH).optional(), content: z.string().max(4_000_000) }),
    z.strictObject({ previous: z.literal(true) }),
  ]),
};
const name = z.string().min(1).max(200);
const call = z.strictObject({
  deployment: name,
  method: name,
  args: anyObject,
  retry: HandleOptions.prefault({}),
});
const audioSource = z
  .strictObject({ path: z.string().min(1).max(MAX_PATH).optional(), url: z.string().min(1).max(MAX_PATH).optional() })
  .refine(
    ({ path, url }) => (path === undefined) !== (url === undefined),
    "Exactly one of 'path' and 'url' must be provided.",
  );

/**
 * Operations of a running application by name, with the schema of the arguments and of the answer, or of each value of
 * a stream.
 */
export const operations = {
  'application.status': { args: z.strictObject({}), value: ApplicationReport, streams: false },
  'alerts.list': { args: z.strictObject({}), value: AlertsReport, streams: false },
  /** The address that opens the dashboard. It has the token, so it is for this user only. */
  'application.dashboard': {
    args: z.strictObject({}),
    value: z.object({ url: z.nullable(z.string()) }),
    streams: false,
  },
  'application.logs': {
    args: z.strictObject({
      lines: z.int().min(0).default(100),
      follow: z.boolean().default(false),
      deployment: name.optional(),
      replica: name.optional(),
      level: LogLevel.optional(),
      area: LogArea.optional(),
    }),
    value: LogRecord,
    streams: true,
  },
  /** Changes levels of the log, and answers with those from now on. */
  'application.log-levels': { args: LogLevelChange, value: LogLevels, streams: false },
  /** Answers when the shutdown has begun. The connection ends when the application has ended. */
  'application.stop': {
    args: z.strictObject({ grace_s: z.number().min(0).max(86_400).optional() }),
    value: z.null(),
    streams: false,
  },
  'traces.list': { args: z.strictObject({}), value: z.array(TraceSummary), streams: false },
  'traces.get': {
    args: z.strictObject({ trace_id: z.string().max(100) }),
    value: z.array(TraceReport),
    streams: false,
  },
  /** The names of the deployments that load each of these files. */
  'models.users': {
    args: z.strictObject({ files: z.array(z.string().max(MAX_PATH)).max(10_000) }),
    value: z.array(z.array(z.string())),
    streams: false,
  },
  /** What the application knows about itself, without secrets and without contents of requests. */
  'application.diagnosis': {
    args: z.strictObject({}),
    value: z.object({
      configuration: z.array(z.object({ key: z.string(), value: z.unknown(), origin: z.string() })),
      logs: z.array(LogRecord),
      /** The metrics for Prometheus. Null without metrics. */
      metrics: z.nullable(z.string()),
      /** The last failed and slow requests with their spans. */
      traces: z.array(TraceReport),
    }),
    streams: false,
  },
  /** The parts of a CPU profile of the main thread. */
  'profile.cpu': {
    args: z.strictObject({ seconds: z.number().positive().max(MAX_PROFILE_S).default(5) }),
    value: z.string(),
    streams: true,
  },
  /** The parts of a heap snapshot. It has all texts in memory, so it is for this user only. */
  'profile.heap': { args: z.strictObject({}), value: z.string(), streams: true },
  'endpoints.list': { args: z.strictObject({}), value: EndpointReport, streams: false },
  'plugins.list': { args: z.strictObject({}), value: z.array(PluginStatus), streams: false },
  'plugins.reload': {
    args: z.strictObject({ name: name.optional() }),
    value: z.array(
      z.object({ name: z.string(), outcome: z.enum(['reloaded', 'failed', 'removed']), detail: z.string() }),
    ),
    streams: false,
  },
  'deployments.describe': {
    args: z.strictObject({ deployment: name.optional() }),
    value: z.array(DeploymentMethods),
    streams: false,
  },
  'deployments.scale': {
    args: z.strictObject({ deployment: name, replicas: z.int().min(0).max(1000) }),
    value: z.null(),
    streams: false,
  },
  /** Answers when the replicas are ready. */
  'deployments.load': { args: z.strictObject({ deployment: name }), value: z.null(), streams: false },
  /** Answers when the replicas have ended. */
  'deployments.unload': {
    args: z.strictObject({ deployment: name, grace_s: z.number().min(0).max(86_400).optional() }),
    value: z.null(),
    streams: false,
  },
  ...workOperations,
  'configuration.plan': { args: z.strictObject(configuration), value: ChangePlan, streams: false },
  'configuration.apply': {
    args: z.strictObject({ ...configuration, plan_id: z.string().max(100).optional() }),
    value: ApplyEvent,
    streams: true,
  },
  'deployments.call': { args: call, value: z.unknown(), streams: false },
  'deployments.stream': { args: call, value: z.unknown(), streams: true },
  /**
   * Decodes the audio of a file of this user or of a URL. The audio is kept until `audio.close` or the end of the
   * connection.
   */
  'audio.open': {
    args: z.strictObject({ source: audioSource, channels: z.enum(['mix', 'separate']).default('mix') }),
    value: z.object({ id: z.string(), duration: z.number(), reference: AudioReference }),
    streams: false,
  },
  'audio.close': { args: z.strictObject({ id: z.string().max(200) }), value: z.null(), streams: false },
} as const;

type Operations = typeof operations;
export type StreamOperation = {
  [O in keyof Operations]: Operations[O]['streams'] extends true ? O : never;
}[keyof Operations];
export type CallOperation = Exclude<keyof Operations, StreamOperation>;
export type ControlOperation = keyof Operations;
/** Arguments as a caller passes them. */
export type ControlArgs<O extends ControlOperation> = z.input<Operations[O]['args']>;
export type ControlValue<O extends ControlOperation> = z.infer<Operations[O]['value']>;

/** The first frame of a server. */
export const Greeting = z.object({ version: z.string(), url: z.string() });
export type Greeting = z.infer<typeof Greeting>;

/** Contents of a server's address file. */
export const Address = z.object({ pid: z.int(), url: z.string(), host: z.string(), port: z.int(), socket: z.string() });
export type Address = z.infer<typeof Address>;
