import { availableParallelism } from 'node:os';
import { coresOf } from '../../../base/core/machine/processors.ts';
import type { Machine } from '../../devices/index.ts';
import type { DeploymentDefinition } from '../class/deployment-definition.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';
import { listedProcessors } from './affinity.ts';

/** The parts of a deployment that decide about processors. */
export interface CpuUser {
  readonly definition: Pick<DeploymentDefinition, 'threads'>;
  readonly options: DeploymentOptions;
}

/** More threads do not make the language models of this package faster on the machines that it was measured on. */
const MAX_DEFAULT_CPUS = 8;

/**
 * Returns the threads of a replica that has these cores for itself: one for each core, 8 at most. A second hardware
 * thread of a core adds little to computing with matrices.
 */
export function defaultCpus(cores: number): number {
  return Math.min(MAX_DEFAULT_CPUS, Math.max(1, Math.floor(cores)));
}

/**
 * Returns the processors that each replica of a deployment should keep busy, so that the replicas of all deployments
 * together fit the machine. That is the number of threads that the configuration names, or `num_cpus` of the options
 * when that is more; 1 beside a GPU; else an equal part of the cores that the others leave, at most
 * {@link defaultCpus}. When the deployments name more threads than there are processors, each gets its proportional
 * part. A deployment that is bound to a list of processors has at most as many. At least 1, so that more replicas than
 * processors share these.
 */
export function cpusOfReplica(next: CpuUser, others: Iterable<CpuUser>, machine: Machine): number {
  const cpus = cpusOf(machine);
  const all = [next, ...others];
  const named = all.reduce((sum, each) => sum + (fixedCpus(each, machine) ?? 0) * mostReplicas(each.options), 0);
  const fixed = fixedCpus(next, machine);
  if (fixed !== undefined)
    return Math.max(
      1,
      Math.floor(namedThreads(next, machine) === undefined ? fixed : fixed * Math.min(1, cpus / named)),
    );
  const sharers = all.reduce(
    (sum, each) => sum + (fixedCpus(each, machine) === undefined ? mostReplicas(each.options) : 0),
    0,
  );
  return defaultCpus(((machine.cores ?? cpus) - named) / sharers);
}

/**
 * Returns a sentence for the log when a replica runs fewer threads than its configuration names; undefined when it runs
 * all of them.
 */
export function fewerThreads(next: CpuUser, others: Iterable<CpuUser>, machine: Machine): string | undefined {
  const named = namedThreads(next, machine) ?? 1;
  const given = cpusOfReplica(next, others, machine);
  if (given >= named) return undefined;
  const listed = listedProcessors(next.options, machine)?.length ?? Number.POSITIVE_INFINITY;
  const why =
    listed <= given
      ? `cpu_affinity has ${listed} processors`
      : `this machine has ${cpusOf(machine)} processors for all deployments. Set devices.cpus if it has more`;
  return `the configuration asks for ${named} threads for each replica, but a replica runs ${given}, because ${why}`;
}

/** Returns the set number of processors of a replica, or undefined when it gets a part of the remaining processors. */
function fixedCpus(user: CpuUser, machine: Machine): number | undefined {
  const { num_cpus: cpus, num_gpus: gpus = 0 } = user.options.ray_actor_options;
  const threads = namedThreads(user, machine);
  const listed = listedProcessors(user.options, machine);
  const named = threads === undefined ? cpus : Math.max(threads, cpus ?? 0);
  if (named !== undefined) return Math.min(named, listed?.length ?? Number.POSITIVE_INFINITY);
  if (machine.gpus.length > 0 && gpus > 0) return 1;
  const cores = Math.min(listed ? coresOf(listed) : 0, machine.cores ?? cpusOf(machine)); // a quota may be less
  return listed && defaultCpus(cores / mostReplicas(user.options));
}

function namedThreads({ definition, options }: CpuUser, machine: Machine): number | undefined {
  return definition.threads?.(options.user_config, {
    cpus: cpusOf(machine),
    numGpus: options.ray_actor_options.num_gpus ?? 0,
  });
}

function cpusOf({ cpus = availableParallelism() }: Machine): number {
  return cpus;
}

function mostReplicas({ num_replicas: count = 1, autoscaling_config: scaling }: DeploymentOptions): number {
  return scaling?.max_replicas ?? count;
}
