import type { Machine } from './machine.ts';

/** What one replica asks for. */
export interface Demand {
  readonly deployment: string;
  /** Below 1 a share of one GPU, else whole GPUs; 0 is the CPU; undefined takes what there is and is not counted. */
  readonly gpus: number | undefined;
  /** Memory set aside for it on its devices; nobody else gets it. */
  readonly reservedBytes: number;
}

/** Where one replica runs. */
export interface Placement {
  readonly deployment: string;
  /** Indices into the machine's GPUs; empty is the CPU. */
  readonly gpus: readonly number[];
  /** Asked for no number of GPUs: it sees all that there are. */
  readonly unbound: boolean;
}

interface Entry {
  /** Of each of its GPUs, in parts of {@link GPU_UNITS}. */
  readonly units: number;
  readonly reservedBytes: number;
  countedBytes: number;
  /** It stays its deployment's when it is released. */
  isHeld: boolean;
  /** Released while it is held: only its own deployment has room there. */
  isVacant: boolean;
}

/** Shares are counted in whole parts, so that ten tenths are one. */
const GPU_UNITS = 10_000;

export interface GpuLoad {
  readonly share: number;
  readonly memoryBytes: number;
}

/**
 * Who has which share of which device. A pure table: it starts nothing and asks nobody. Shares of a GPU never add up to more than the
 * GPU, memory that is set aside or counted never to more than the device has. On a machine without any GPU all run on the CPU.
 */
export class PlacementLedger {
  readonly machine: Machine;
  readonly #entries = new Map<Placement, Entry>();

  constructor(machine: Machine) {
    this.machine = machine;
  }

  /** Places that are taken. */
  get size(): number {
    return this.#entries.size;
  }

  /** Takes a place: the least loaded GPU, one without a replica of the same deployment first. Undefined when there is no room now. */
  place({ deployment, gpus, reservedBytes }: Demand): Placement | undefined {
    if (gpus === undefined && this.machine.gpus.length > 0) return this.#enter({ deployment, gpus: [], unbound: true }, 0, 0);
    if (!gpus || this.machine.gpus.length === 0) {
      const isRoom = this.#usedMemory(undefined, deployment) + reservedBytes <= this.machine.memoryBytes;
      return isRoom ? this.#enter({ deployment, gpus: [], unbound: false }, 0, reservedBytes) : undefined;
    }
    const count = Math.max(1, Math.floor(gpus));
    const units = gpus < 1 ? toUnits(gpus) : GPU_UNITS;
    const bytesEach = Math.ceil(reservedBytes / count);
    const chosen = this.#candidates(deployment, units, bytesEach).slice(0, count);
    return chosen.length === count ? this.#enter({ deployment, gpus: chosen, unbound: false }, units, reservedBytes) : undefined;
  }

  /**
   * Counts the memory that a replica will use, as estimated from its model, in place of what it had set aside where that is less.
   * False, and nothing changed, when a device of the placement has not as much left.
   */
  count(placement: Placement, bytes: number): boolean {
    const entry = this.#require(placement);
    if (placement.unbound) return true;
    const before = entry.countedBytes;
    entry.countedBytes = bytes;
    const fits = this.#fits(placement);
    if (!fits) entry.countedBytes = before;
    return fits;
  }

  /** Until {@link letGo} it stays its deployment's when it is released: others get nothing of it, its own deployment may have other places within it. */
  hold(placement: Placement): void {
    this.#require(placement).isHeld = true;
  }

  /** Takes a place again that was released while it was held. False, and nothing changed, when others of its deployment are in the way. */
  retake(placement: Placement): boolean {
    const entry = this.#require(placement);
    entry.isVacant = false;
    entry.isVacant = !this.#fits(placement);
    return !entry.isVacant;
  }

  /** Ends {@link hold}: what was released meanwhile is free now. */
  letGo(placement: Placement): void {
    const entry = this.#entries.get(placement);
    if (!entry) return;
    entry.isHeld = false;
    if (entry.isVacant) this.#entries.delete(placement);
  }

  /** The table as it would be with these places given back. It is a table of its own: nothing that is done to it changes this one. */
  without(placements: Iterable<Placement>): PlacementLedger {
    const copy = new PlacementLedger(this.machine);
    for (const [placement, entry] of this.#entries) copy.#entries.set(placement, { ...entry });
    for (const placement of placements) copy.release(placement);
    return copy;
  }

  /** Gives a place back. May be called twice. */
  release(placement: Placement): void {
    const entry = this.#entries.get(placement);
    if (entry?.isHeld) entry.isVacant = true;
    else this.#entries.delete(placement);
  }

  /** What is taken of each GPU, in the machine's order. */
  loads(): GpuLoad[] {
    return this.machine.gpus.map((_, gpu) => ({ share: this.#usedUnits(gpu) / GPU_UNITS, memoryBytes: this.#usedMemory(gpu) }));
  }

  /** Main memory that is taken by replicas on the CPU. */
  get cpuMemoryBytes(): number {
    return this.#usedMemory(undefined);
  }

  #require(placement: Placement): Entry {
    const entry = this.#entries.get(placement);
    if (entry) return entry;
    throw new Error('this placement was released');
  }

  /** Whether no device of it has more than it can have, what is held for its own deployment not counted. */
  #fits({ deployment, gpus, unbound }: Placement): boolean {
    if (unbound) return true;
    const devices: readonly (number | undefined)[] = gpus.length === 0 ? [undefined] : gpus;
    return devices.every((gpu) => this.#usedMemory(gpu, deployment) <= this.#memoryOf(gpu) && (gpu === undefined || this.#usedUnits(gpu, deployment) <= GPU_UNITS));
  }

  #enter(placement: Placement, units: number, reservedBytes: number): Placement {
    this.#entries.set(placement, { units, reservedBytes, countedBytes: 0, isHeld: false, isVacant: false });
    return placement;
  }

  /** GPUs with room, best first. */
  #candidates(deployment: string, units: number, bytes: number): number[] {
    const rank = (gpu: number): readonly [number, number, number] => [this.#replicasOf(deployment, gpu), this.#usedUnits(gpu, deployment), this.#usedMemory(gpu, deployment)];
    return [...this.machine.gpus.keys()]
      .filter((gpu) => this.#usedUnits(gpu, deployment) + units <= GPU_UNITS && this.#usedMemory(gpu, deployment) + bytes <= this.#memoryOf(gpu))
      .map((gpu) => ({ gpu, rank: rank(gpu) }))
      .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2] || a.gpu - b.gpu)
      .map(({ gpu }) => gpu);
  }

  #on(gpu: number): [Placement, Entry][] {
    return [...this.#entries].filter(([{ gpus }]) => gpus.includes(gpu));
  }

  #replicasOf(deployment: string, gpu: number): number {
    return this.#on(gpu).filter(([placement, { isVacant }]) => placement.deployment === deployment && !isVacant).length;
  }

  #usedUnits(gpu: number, asker?: string): number {
    return used(this.#on(gpu), ([, { units }]) => units, asker);
  }

  /** Of a GPU, or of the main memory. What is spread over several GPUs counts with an equal part on each. */
  #usedMemory(gpu: number | undefined, asker?: string): number {
    const here = gpu === undefined ? [...this.#entries].filter(([{ gpus, unbound }]) => gpus.length === 0 && !unbound) : this.#on(gpu);
    return used(here, ([{ gpus }, entry]) => Math.ceil(Math.max(entry.reservedBytes, entry.countedBytes) / Math.max(1, gpus.length)), asker);
  }

  #memoryOf(gpu: number | undefined): number {
    const bytes = gpu === undefined ? this.machine.memoryBytes : this.machine.gpus[gpu]?.memoryBytes;
    return bytes || Number.POSITIVE_INFINITY; // 0 is unknown
  }
}

/**
 * What is taken, as `asker` sees it. Of other deployments what they hold counts, or what their replicas have where that is more: a new replica may be
 * where an old one was that comes back when the new one goes.
 */
function used(entries: readonly [Placement, Entry][], amountOf: (entry: [Placement, Entry]) => number, asker: string | undefined): number {
  const deployments = new Map<string, { taken: number; held: number }>();
  for (const item of entries) {
    const [{ deployment }, { isHeld, isVacant }] = item;
    const sums = deployments.get(deployment) ?? { taken: 0, held: 0 };
    const amount = amountOf(item);
    if (!isVacant) sums.taken += amount;
    if (isHeld) sums.held += amount;
    deployments.set(deployment, sums);
  }
  return [...deployments].reduce((sum, [deployment, { taken, held }]) => sum + (deployment === asker ? taken : Math.max(taken, held)), 0);
}

/** A share in whole parts; at least one. */
function toUnits(share: number): number {
  return Math.max(1, Math.round(share * GPU_UNITS));
}
