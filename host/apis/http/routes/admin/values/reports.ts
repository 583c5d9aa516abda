import * as z from 'zod';
import { DeviceReport } from '../../../../../inference/deployments/index.ts';
import { RouteWork } from '../../../../../base/telemetry/index.ts';

/** The endpoints of an application, and the other routes that had requests. */
export const EndpointReport = z.object({
  endpoints: z.array(
    z.object({
      name: z.string(),
      path: z.string(),
      summary: z.string(),
      plugin: z.string().nullable().describe('Name of the plugin that it comes from; null if the program has it.'),
      streaming: z.boolean(),
      deployments: z.array(z.string()).describe('Deployments that each run calls, if it declares them.'),
      work: RouteWork.nullable().describe('Null without metrics (`telemetry.metrics`).'),
    }),
  ),
  routes: z
    .array(z.object({ route: z.string(), work: RouteWork }))
    .describe('Routes of the host and of routers of the program that had requests.'),
});
export type EndpointReport = z.infer<typeof EndpointReport>;

/** Rights of a plugin. In deployments and hosts, `*` stands for all. */
const PluginRights = z.object({
  capabilities: z.array(z.string()).readonly(),
  deployments: z.array(z.string()).readonly(),
  hosts: z.array(z.string()).readonly(),
});

/** A setting of a plugin, without its value. */
const PluginSetting = z.object({
  name: z.string(),
  type: z
    .nullable(z.enum(['string', 'number', 'integer', 'boolean']))
    .describe('Null if the plugin does not declare it.'),
  description: z.string(),
  secret: z.boolean(),
  required: z.boolean(),
  state: z
    .enum(['set', 'default', 'missing', 'invalid', 'undeclared'])
    .describe('`invalid`: the given value cannot be used. `undeclared`: given, but the plugin does not declare it.'),
  origin: z.nullable(z.string()).describe('Where it is given, such as `environment variable NEWS_KEY`.'),
  problem: z.nullable(z.string()).describe('Why the value cannot be used.'),
});

/** One plugin of a running server. */
export const PluginStatus = z.object({
  name: z.string(),
  state: z
    .enum(['running', 'idle', 'building', 'not_granted', 'failed'])
    .describe(
      '`idle`: a version serves, and the next request starts its process. `building`: a first version is built and ' +
        'loaded while the host serves. `not_granted`: no version serves, because `plugin_grants` lacks a capability. ' +
        '`failed`: no version serves for another reason.',
    ),
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
    /** Calls of the host that were denied, such as requests to hosts that are not granted. */
    denied: z.int(),
    cpu_ms: z.int(),
  }),
  /** Number of older versions that still finish their requests. */
  draining: z.int(),
  /** Private memory of the process of the serving version; null if it does not run, or the system does not say. */
  memory_bytes: z.nullable(z.int()),
  /** What the kernel does not enforce for that process, in words; null if it does not run. */
  missing_confinement: z.nullable(z.array(z.string())),
  /** How often that process has ended unexpectedly; null if no version serves. */
  restarts: z.nullable(z.int()),
  /** What the serving version asks for, and what the operator grants; null if no version serves. */
  rights: z.nullable(z.object({ asks: PluginRights, gets: PluginRights })),
  /** The settings of the serving version, and those that are given to it; null if no version serves. */
  settings: z.nullable(z.array(PluginSetting)),
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

/** One replica of a deployment in `aana-host status --json`. */
export const ReplicaReport = z.object({
  name: z.string(),
  state: z.string(),
  pid: z.nullable(z.int()),
  /**
   * `CPU`, or its GPUs with the machine's numbers: `GPU 0`; with the processors to which it is bound: `CPU 0-3`,
   * `GPU 0, CPU 0-3`.
   */
  device: z.string(),
  /** What it has of each of its devices. */
  shares: z.array(DeviceShare).readonly(),
  /** Number of calls on it. */
  ongoing: z.int(),
  restarts: z.int(),
  /** Ids of the models that it has or loads, of a class with many; otherwise empty. */
  models: z.array(z.string()).readonly(),
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

export const Draining = z
  .object({
    requests: z.int().describe('Requests and WebSockets that may compute or store something.'),
    tasks: z.int(),
    calls: z.int().describe('Calls of deployments, also those of other processes, that run or wait.'),
  })
  .nullable()
  .describe('What still runs while the application takes no new requests and tasks; null if it takes them.');

/** A running application. */
export const ApplicationReport = z.object({
  name: z.string(),
  version: z.string(),
  url: z.string(),
  pid: z.int(),
  workers: z
    .array(z.object({ worker: z.int().describe('From 1.'), pid: z.int() }))
    .describe('The further processes that serve.'),
  /** Status of the application and all deployments together. */
  status: z.enum(['RUNNING', 'DEPLOYING', 'UNHEALTHY']),
  /** Phase of the application: `NOT_STARTED`, `DEPLOYING`, `RUNNING`, `DEPLOY_FAILED` or `DELETING`. */
  phase: z.string(),
  message: z.string(),
  deployments: z.array(DeploymentReport),
  /** Empty before the first deployment starts. */
  devices: z.array(DeviceReport),
  controller: z.object({
    epoch: z.int().nullable().describe('The number of this start. Null if changes of deployments are not kept.'),
    superseded: z.string().nullable().describe('Why this host changes and starts no replicas; null if it does.'),
  }),
  draining: Draining,
});
export type ApplicationReport = z.infer<typeof ApplicationReport>;

/** Changes of deployments that operators made. */
export const DeploymentHistory = z.object({
  epoch: z.int().nullable().describe('The number of this start. Null if no changes are kept.'),
  changes: z.array(
    z.object({
      number: z.int(),
      epoch: z.int().describe('The number of the start in which the change was made.'),
      deployment: z.string(),
      kind: z
        .enum(['scale', 'load', 'unload', 'add', 'change', 'remove'])
        .describe('`add`, `change` and `remove` are of an applied configuration.'),
      detail: z.string().describe('For people, such as the keys that have changed.'),
      changed_by: z.string(),
      changed_at: z.int().describe('Milliseconds since 1970.'),
    }),
  ),
});

export type DeploymentHistory = z.infer<typeof DeploymentHistory>;

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
