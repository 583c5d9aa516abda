import type { BoundDeployment } from '../class/bound-deployment.ts';
import { describeMethods } from '../class/describe.ts';
import { calleesOf } from '../manager/call-graph.ts';
import type { ManagedDeployment } from '../manager/managed-deployment.ts';
import type { TableEntry } from './published-table.ts';
import { sentError } from './sent-error.ts';
import type { DeploymentFacts, DeploymentRoutes } from './table.ts';

/** Returns what other hosts see of a deployment. */
export function tableEntry(deployment: ManagedDeployment): TableEntry {
  const { bound, imageReader } = deployment;
  const { name: type, methods, isMultiplexed = false } = bound.definition;
  return {
    facts: {
      version: versionOf(bound),
      type,
      methods: describeMethods(methods) as DeploymentFacts['methods'],
      isMultiplexed,
      ...(imageReader !== undefined && { imageReader }),
      callees: calleesOf(bound),
    },
    routes: routesOf(deployment),
  };
}

const versions = new WeakMap<BoundDeployment, number>();
let lastVersion = 0;

/** Returns a number that no other class with its options has. */
function versionOf(bound: BoundDeployment): number {
  const version = versions.get(bound) ?? (lastVersion += 1);
  versions.set(bound, version);
  return version;
}

function routesOf(deployment: ManagedDeployment): DeploymentRoutes {
  const shared = deployment.replicas?.shared;
  const state = stateOf(deployment);
  const refusal = refusalOf(deployment) ?? shared?.refusal;
  const sent = refusal !== undefined && { refusal: sentError(refusal) };
  if (!shared) return { state, bounds: NO_BOUNDS, ...sent, refused: { count: 0 }, replicas: [] };
  const { bounds, unavailable, refused, replicas } = shared;
  return {
    state,
    bounds,
    ...sent,
    ...(unavailable && { unavailable: sentError(unavailable) }),
    refused: { count: refused.count, ...(refused.error && { error: sentError(refused.error) }) },
    replicas: replicas.map(({ models, ...replica }) => ({ ...replica, models: [...models] })),
  };
}

function stateOf(deployment: ManagedDeployment): DeploymentRoutes['state'] {
  const { status, message } = deployment.status();
  const { canServe: serves, takesAudio: hears } = deployment;
  return { status, message, ...(serves !== undefined && { serves }), hears };
}

/** Returns the error with which all calls are refused in the state of the deployment. */
function refusalOf(deployment: ManagedDeployment): unknown {
  try {
    deployment.requireReplicas();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Of a deployment that takes no calls. */
const NO_BOUNDS: DeploymentRoutes['bounds'] = { maxOngoing: 1, maxQueued: 0, pausesForOthers: false };
