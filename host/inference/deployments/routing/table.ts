// What a controller, the process that keeps the replicas running, and other hosts tell each other: JSON.
import * as z from 'zod';
import type { ReplicaSetStatus } from '../../replicas/index.ts';
import { type ErrorKind, type Fault, KINDS } from '../../../base/core/error-table.ts';
import { anyObject } from '../../../base/schemas/bounds.ts';

const name = z.string().min(1).max(200);
const count = z.int().min(0);

const REPLICA_SET_STATES = [
  'DEPLOYING',
  'RUNNING',
  'UNHEALTHY',
  'DEPLOY_FAILED',
  'STOPPED',
  'UNLOADED',
] as const satisfies ReplicaSetStatus['status'][];

const FAULTS = [
  'caller',
  'deployment',
  'replica-lost',
  'dependency',
  'overload',
  'cancelled',
] as const satisfies Fault[];

/** An error as processes send it; see `ErrorRecord`. */
const SentError = z.object({
  name: z.string().max(200),
  kind: z.enum(Object.keys(KINDS) as ErrorKind[]),
  fault: z.enum(FAULTS).optional(),
  message: z.string(),
  data: z.unknown(),
  unexpected: z.boolean().optional(),
});
export type SentError = z.infer<typeof SentError>;

const Method = z.object({
  description: z.string(),
  streaming: z.boolean(),
  inputSchema: anyObject,
  outputSchema: anyObject,
  feed: z.object({ name: z.string(), valueSchema: anyObject }).optional(),
});

/** What changes only with the class and the options of a deployment. */
export const DeploymentFacts = z.object({
  /** Another number for each class and each options that a deployment gets. Processes of older versions lack it. */
  version: count.default(0),
  /** Name of its class. */
  type: z.string(),
  /** Methods with their JSON Schemas, for hosts that do not have the class. */
  methods: z.record(z.string(), Method),
  /** Whether it has many models, of which a call names one. */
  isMultiplexed: z.boolean(),
  /** The deployment that reads images for it. */
  imageReader: name.optional(),
  /** Names of the deployments that its replicas call. */
  callees: z.array(name),
});
export type DeploymentFacts = z.infer<typeof DeploymentFacts>;

/** What a host needs at each time to call a deployment, and to tell its users how it is. */
export const DeploymentRoutes = z.object({
  state: z.object({
    status: z.enum(REPLICA_SET_STATES),
    message: z.string(),
    /** Whether it serves calls. Absent when it is not expected to: before its start has ended, and while it ends. */
    serves: z.boolean().optional(),
    /** Whether its model hears the audio of dialogs. */
    hears: z.boolean(),
  }),
  bounds: z.object({
    /** Calls that one replica takes at the same time, of all hosts together. */
    maxOngoing: z.int().min(1),
    /** Calls that may wait in each host. */
    maxQueued: count,
    /** Whether a replica pauses calls of one user for those of another one. */
    pausesForOthers: z.boolean(),
  }),
  /** The error with which all new calls are refused: the deployment is not started, unloaded, failed, or ends. */
  refusal: SentError.optional(),
  /** The error of calls that find no replica, because none can start at the moment. */
  unavailable: SentError.optional(),
  /** How often the waiting calls of all hosts were refused, and the last error. */
  refused: z.object({ count, error: SentError.optional() }),
  /** The replicas that take calls. */
  replicas: z.array(
    z.object({
      name,
      address: z.object({
        socket: z.string(),
        /** For hosts of other machines. */
        tcp: z.object({ host: z.string(), port: z.int() }).optional(),
        token: z.string(),
      }),
      /** Ids of the models that it has, of a deployment with many. */
      models: z.array(z.string()),
    }),
  ),
});
export type DeploymentRoutes = z.infer<typeof DeploymentRoutes>;

/** A change of the table of deployments. The first one has all deployments. */
export const TableChange = z.object({
  /** Grows with each change of the controller. */
  revision: count,
  /** Names of deployments that are no longer there. */
  removed: z.array(name),
  /** Deployments that are new or have changed. Facts are there if they are new or have changed. */
  changed: z.array(z.object({ name, facts: DeploymentFacts.optional(), routes: DeploymentRoutes })),
  /** Whether attached processes begin no calls, because the controller will stop. Present if it has changed. */
  draining: z.boolean().optional(),
});
export type TableChange = z.infer<typeof TableChange>;

const MAX_REPORTED = 100_000;

/** What a host reports since its report before. */
export const HostReport = z.strictObject({
  /** Deployments whose number of waiting calls has changed, with the number. */
  waiting: z.array(z.strictObject({ deployment: name, count: count.max(10_000_000) })),
  /** Outcomes of calls that have ended, by replica. */
  outcomes: z.array(
    z.strictObject({
      deployment: name,
      /** Token of the replica. */
      replica: z.string().max(200),
      succeeded: count.max(MAX_REPORTED),
      /** Errors of those that failed by the fault of the deployment. */
      errors: z.array(SentError).max(MAX_REPORTED),
    }),
  ),
});
export type HostReport = z.infer<typeof HostReport>;
