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
      const isRoom = this.#usedMemory(undefined) + reservedBytes <= this.machine.memoryBytes;
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
    const entry = this.#entries.get(placement);
    if (!entry) throw new Error('this placement was released');
    if (placement.unbound) return true;
    const before = entry.countedBytes;
    entry.countedBytes = bytes;
    const devices: readonly (number | undefined)[] = placement.gpus.length === 0 ? [undefined] : placement.gpus;
    const fits = devices.every((gpu) => this.#usedMemory(gpu) <= this.#memoryOf(gpu));
    if (!fits) entry.countedBytes = before;
    return fits;
  }

  /** The table as it would be with these places given back. It is a table of its own: nothing that is done to it changes this one. */
  without(placements: Iterable<Placement>): PlacementLedger {
    const gone = new Set(placements);
    const copy = new PlacementLedger(this.machine);
    for (const [placement, entry] of this.#entries) if (!gone.has(placement)) copy.#entries.set(placement, { ...entry });
    return copy;
  }

  /** Gives a place back. May be called twice. */
  release(placement: Placement): void {
    this.#entries.delete(placement);
  }

  /** What is taken of each GPU, in the machine's order. */
  loads(): GpuLoad[] {
    return this.machine.gpus.map((_, gpu) => ({ share: this.#usedUnits(gpu) / GPU_UNITS, memoryBytes: this.#usedMemory(gpu) }));
  }

  /** Main memory that is taken by replicas on the CPU. */
  get cpuMemoryBytes(): number {
    return this.#usedMemory(undefined);
  }

  #enter(placement: Placement, units: number, reservedBytes: number): Placement {
    this.#entries.set(placement, { units, reservedBytes, countedBytes: 0 });
    return placement;
  }

  /** GPUs with room, best first. */
  #candidates(deployment: string, units: number, bytes: number): number[] {
    const rank = (gpu: number): readonly [number, number, number] => [this.#replicasOf(deployment, gpu), this.#usedUnits(gpu), this.#usedMemory(gpu)];
    return [...this.machine.gpus.keys()]
      .filter((gpu) => this.#usedUnits(gpu) + units <= GPU_UNITS && this.#usedMemory(gpu) + bytes <= this.#memoryOf(gpu))
      .map((gpu) => ({ gpu, rank: rank(gpu) }))
      .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2] || a.gpu - b.gpu)
      .map(({ gpu }) => gpu);
  }

  #on(gpu: number): [Placement, Entry][] {
    return [...this.#entries].filter(([{ gpus }]) => gpus.includes(gpu));
  }

  #replicasOf(deployment: string, gpu: number): number {
    return this.#on(gpu).filter(([placement]) => placement.deployment === deployment).length;
  }

  #usedUnits(gpu: number): number {
    return this.#on(gpu).reduce((sum, [, { units }]) => sum + units, 0);
  }

  /** Of a GPU, or of the main memory. What is spread over several GPUs counts with an equal part on each. */
  #usedMemory(gpu: number | undefined): number {
    const here = gpu === undefined ? [...this.#entries].filter(([{ gpus, unbound }]) => gpus.length === 0 && !unbound) : this.#on(gpu);
    return here.reduce((sum, [{ gpus }, entry]) => sum + Math.ceil(Math.max(entry.reservedBytes, entry.countedBytes) / Math.max(1, gpus.length)), 0);
  }

  #memoryOf(gpu: number | undefined): number {
    const bytes = gpu === undefined ? this.machine.memoryBytes : this.machine.gpus[gpu]?.memoryBytes;
    return bytes || Number.POSITIVE_INFINITY; // 0 is unknown
  }
}

/** A share in whole parts; at least one. */
function toUnits(share: number): number {
  return Math.max(1, Math.round(share * GPU_UNITS));
}
