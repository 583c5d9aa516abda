import { availableParallelism } from 'node:os';
import type { Machine } from '../devices/index.ts';
import type { DeploymentOptions } from './deployment-options.ts';

/** More threads do not make the language models of this package faster on the machines that it was measured on. */
const MAX_DEFAULT_CPUS = 8;

/** Returns half of the processors, 8 at most, so that the rest of the machine stays responsive; at least 1. */
export function defaultCpus(cpus: number): number {
  return Math.min(MAX_DEFAULT_CPUS, Math.max(1, Math.floor(cpus / 2)));
}

/**
 * Returns the processors that each replica of a deployment should keep busy, so that the replicas of all deployments together fit the machine: `num_cpus`
 * where the options say it; 1 beside a GPU; else an equal part of what the others leave, at most what {@link defaultCpus} gives. At least 1, so
 * that more replicas than processors share these.
 */
export function cpusOfReplica(options: DeploymentOptions, all: Iterable<DeploymentOptions>, { cpus = availableParallelism(), gpus }: Machine): number {
  const fixed = fixedCpus(options, gpus.length > 0);
  if (fixed !== undefined) return Math.max(1, Math.floor(fixed));
  let left = cpus;
  let sharers = 0;
  for (const other of all) {
    const each = fixedCpus(other, gpus.length > 0);
    if (each === undefined) sharers += mostReplicas(other);
    else left -= each * mostReplicas(other);
  }
  return Math.max(1, Math.min(defaultCpus(cpus), Math.floor(left / Math.max(1, sharers))));
}

/** Undefined where a replica takes a part of what is left. */
function fixedCpus({ ray_actor_options: { num_cpus: cpus, num_gpus: gpus = 0 } }: DeploymentOptions, hasGpus: boolean): number | undefined {
  return cpus ?? (hasGpus && gpus > 0 ? 1 : undefined);
}

function mostReplicas({ num_replicas: count = 1, autoscaling_config: scaling }: DeploymentOptions): number {
  return scaling?.max_replicas ?? count;
}
