import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseProcessorList } from './processor-list.ts';
import { groupsOf, readText } from './system-files.ts';

/** A processor as Linux counts them: a core, or one of the hardware threads of a core. */
export interface Processor {
  readonly id: number;
  /** The least number of the processors of the same core. */
  readonly core: number;
  /** The NUMA node, whose memory is the nearest. */
  readonly node: number;
  /** Whether its core is one of the slower ones of a machine with two kinds of cores. */
  readonly isSlow: boolean;
}

/**
 * Returns the processors that this process may use (`taskset`, `cpuset`), sorted by number. Undefined on other systems
 * than Linux.
 */
export function allowedProcessors(root = '/'): Processor[] | undefined {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readText(join(root, 'proc/self/status')) ?? '')?.[1];
  const folder = join(root, 'sys/devices/system/cpu');
  const listed = parseProcessorList(list ?? '');
  if (!listed) return undefined;
  const online = new Set(listIn(join(folder, 'online')) ?? []); // others may be added to the machine later
  const present = listed.filter((id) => online.has(id));
  const allowed = present.length > 0 ? present : listed; // a container may show other numbers than it is allowed
  const nodes = nodesOf(root);
  const slow = slowProcessors(root, allowed);
  return allowed.map((id) => ({
    id,
    core: listIn(join(folder, `cpu${id}/topology/thread_siblings_list`))?.[0] ?? id,
    node: nodes.get(id) ?? 0,
    isSlow: slow.has(id),
  }));
}

/**
 * Returns the number of processors that this process may use: those that it is allowed, or the control group's quota if
 * that is less. At least 1.
 */
export function usableCpus(root = '/', allowed = allowedProcessors(root)): number {
  return Math.max(1, Math.floor(Math.min(allowed?.length ?? availableParallelism(), ...quotasOf(root))));
}

/**
 * Returns the number of cores that this process may use, within the control group's quota. Hardware threads of one core
 * count once, and slow cores beside fast ones do not count. At least 1.
 */
export function usableCores(root = '/', allowed = allowedProcessors(root)): number {
  const cpus = usableCpus(root, allowed);
  return allowed ? Math.min(cpus, coresOf(allowed)) : cpus;
}

/** Returns the number of fast cores among the processors, or of slow cores if they have no fast one. */
export function coresOf(processors: readonly Processor[]): number {
  const fast = processors.filter(({ isSlow }) => !isSlow);
  return new Set((fast.length > 0 ? fast : processors).map(({ core }) => core)).size;
}

/** Returns the limits of processor time of the control groups of this process, in processors. */
function quotasOf(root: string): number[] {
  const of2 = groupsOf(root).map((folder) => readText(join(folder, 'cpu.max'))?.split(' ') ?? []);
  const of1 = groupsOf(root, 'cpu').map((folder) =>
    ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => readText(join(folder, name))),
  );
  return [...of2, ...of1].flatMap(([quota, period]) => {
    const cpus = Number(quota) / Number(period); // NaN of `max`, negative of -1
    return cpus > 0 ? [cpus] : [];
  });
}

function nodesOf(root: string): Map<number, number> {
  const folder = join(root, 'sys/devices/system/node');
  const nodes = listIn(join(folder, 'online')) ?? [];
  return new Map(
    nodes.flatMap((node) => (listIn(join(folder, `node${node}/cpulist`)) ?? []).map((id) => [id, node] as const)),
  );
}

/** Returns the processors of Intel's efficient cores, and on ARM those with less than half of the largest capacity. */
function slowProcessors(root: string, allowed: readonly number[]): Set<number> {
  const folder = join(root, 'sys/devices');
  const capacities = new Map(
    allowed.map((id) => [id, Number(readText(join(folder, `system/cpu/cpu${id}/cpu_capacity`)) ?? Number.NaN)]),
  );
  const most = Math.max(0, ...[...capacities.values()].filter((capacity) => !Number.isNaN(capacity)));
  return new Set([
    ...(listIn(join(folder, 'cpu_atom/cpus')) ?? []),
    ...allowed.filter((id) => (capacities.get(id) ?? most) < most / 2),
  ]);
}

function listIn(path: string): number[] | undefined {
  return parseProcessorList(readText(path) ?? '');
}
