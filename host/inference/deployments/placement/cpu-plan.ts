import { availableParallelism } from 'node:os';
import type { Machine } from '../../devices/index.ts';
import type { DeploymentDefinition } from '../class/deployment-definition.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';

/** The parts of a deployment that decide about processors. */
export interface CpuUser {
  readonly definition: Pick<DeploymentDefinition, 'threads'>;
  readonly options: DeploymentOptions;
}

/** More threads do not make the language models of this package faster on the machines that it was measured on. */
const MAX_DEFAULT_CPUS = 8;

/** Returns half of the processors, 8 at most, so that the rest of the machine stays responsive; at least 1. */
export function defaultCpus(cpus: number): number {
  return Math.min(MAX_DEFAULT_CPUS, Math.max(1, Math.floor(cpus / 2)));
}

/**
 * Returns the processors that each replica of a deployment should keep busy, so that the replicas of all deployments
 * together fit the machine. That is the number of threads that the configuration names, or `num_cpus` of the options
 * when that is more; 1 beside a GPU; else an equal part of what the others leave, at most {@link defaultCpus}. When the
 * deployments name more threads than there are processors, each gets its proportional part. At least 1, so that more
 * replicas than processors share these.
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
  return Math.max(1, Math.min(defaultCpus(cpus), Math.floor((cpus - named) / sharers)));
}

/**
 * Returns a sentence for the log when a replica runs fewer threads than its configuration names; undefined when it runs
 * all of them.
 */
export function fewerThreads(next: CpuUser, others: Iterable<CpuUser>, machine: Machine): string | undefined {
  const named = namedThreads(next, machine) ?? 1;
  const given = cpusOfReplica(next, others, machine);
  if (given >= named) return undefined;
  return (
    `the configuration asks for ${named} threads for each replica, but a replica runs ${given}, because this ` +
    `machine has ${cpusOf(machine)} processors for all deployments. Set devices.cpus if it has more`
  );
}

/** Returns the set number of processors of a replica, or undefined when it gets a part of the remaining processors. */
function fixedCpus(user: CpuUser, machine: Machine): number | undefined {
  const { num_cpus: cpus, num_gpus: gpus = 0 } = user.options.ray_actor_options;
  const threads = namedThreads(user, machine);
  if (threads !== undefined) return Math.max(threads, cpus ?? 0);
  return cpus ?? (machine.gpus.length > 0 && gpus > 0 ? 1 : undefined);
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
