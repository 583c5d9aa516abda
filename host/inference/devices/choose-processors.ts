import type { Processor } from '../../base/core/machine/processors.ts';

interface Core {
  readonly processors: readonly Processor[];
  readonly node: number;
  readonly isSlow: boolean;
  /** Replicas that have a processor of it. */
  readonly uses: number;
}

/** The processors of each other replica. */
export interface TakenProcessors {
  readonly staying: readonly (readonly number[])[];
  /** Those of replicas that soon end. They decide only between cores that as many others have. */
  readonly leaving?: readonly (readonly number[])[] | undefined;
}

/** One replica that stays counts more than those that leave, on all cores together. */
const STAYING = 2 ** 24;

/**
 * Returns the processors of `count` cores, sorted: cores that the fewest replicas have, fast ones before slow ones, of
 * one NUMA node if it has as many that are as free. All cores when `count` is more.
 */
export function chooseProcessors(processors: readonly Processor[], count: number, taken: TakenProcessors): number[] {
  const cores = grouped(processors, ({ core }) => core).map((ofCore) => toCore(ofCore, taken));
  const nodes = grouped(cores, ({ node }) => node).filter((ofNode) => ofNode.length >= count);
  // A node with few uses leaves the replicas of other nodes their share of the memory's bandwidth.
  const byUses = nodes.toSorted((a, b) => usesOf(a) - usesOf(b));
  const [best = []] = [...byUses, cores]
    .map((candidates) => candidates.toSorted(bestFirst).slice(0, Math.max(1, count)))
    .toSorted((a, b) => usesOf(a) - usesOf(b) || slowOf(a) - slowOf(b));
  return best.flatMap((core) => core.processors.map(({ id }) => id)).toSorted((a, b) => a - b);
}

function grouped<T>(things: readonly T[], key: (thing: T) => number): T[][] {
  const groups = new Map<number, T[]>();
  for (const thing of things) {
    const group = groups.get(key(thing)) ?? [];
    group.push(thing);
    groups.set(key(thing), group);
  }
  return [...groups.values()];
}

function toCore(processors: readonly Processor[], { staying, leaving = [] }: TakenProcessors): Core {
  const [{ node = 0, isSlow = false } = {}] = processors;
  const usesBy = (replicas: readonly (readonly number[])[]): number =>
    replicas.filter((ids) => processors.some(({ id }) => ids.includes(id))).length;
  return { processors, node, isSlow, uses: STAYING * usesBy(staying) + usesBy(leaving) };
}

const bestFirst = (a: Core, b: Core): number => a.uses - b.uses || Number(a.isSlow) - Number(b.isSlow);
const usesOf = (cores: readonly Core[]): number => cores.reduce((sum, { uses }) => sum + uses, 0);
const slowOf = (cores: readonly Core[]): number => cores.filter(({ isSlow }) => isSlow).length;
