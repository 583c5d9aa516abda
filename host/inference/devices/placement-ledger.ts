import { chooseProcessors } from './choose-processors.ts';
import type { Machine } from './machine.ts';

/** Devices and memory that one replica asks for. */
export interface Demand {
  readonly deployment: string;
  /** Whole GPUs, or a share of one GPU below 1; 0 is the CPU. */
  readonly gpus: number;
  /** Reserved processors. Default: 0. */
  readonly cpus?: number | undefined;
  /** Bytes reserved on its devices. No other replica gets them. */
  readonly reservedBytes: number;
  /** Numbers of the processors to which the configuration binds it. Default: none. */
  readonly processors?: readonly number[] | undefined;
}

/** The devices of one replica. */
export interface Placement {
  readonly deployment: string;
  /** Indices into the machine's GPUs; empty is the CPU. */
  readonly gpus: readonly number[];
}

/** Memory of a replica on each of its devices, in their order: one number for each GPU, or one for the main memory. */
export interface DeviceUse {
  readonly bytes: readonly number[];
  /** Part of `bytes` that a device reports as used, if it is less. Pages of mapped files are reported as free. */
  readonly visibleBytes?: readonly number[] | undefined;
}

interface Entry {
  /** Share of each of its GPUs, in units of 1 / {@link GPU_UNITS}. */
  readonly units: number;
  readonly cpus: number;
  readonly reservedBytes: number;
  /** The processors to which the replica is bound; empty: to none. */
  processors: readonly number[];
  use: DeviceUse;
  /** Whether the replica has loaded. Before that it uses only a part of `use`. */
  isLoaded: boolean;
  /** Whether the place stays with its deployment after its release. */
  isHeld: boolean;
  /** Whether it was released while held. Only its own deployment has room there. */
  isVacant: boolean;
}

/** A GPU's index, or the main memory. */
type Device = number | 'main';

/** Units of a whole GPU. Shares are counted in integers, so that ten tenths add up to one. */
const GPU_UNITS = 10_000;

export interface GpuLoad {
  readonly share: number;
  /** Bytes reserved for replicas or used by them. */
  readonly memoryBytes: number;
  /** Bytes used by other programs, as of the last update. */
  readonly foreignBytes: number;
}

/** What one replica has of a device. */
export interface DevicePart {
  /** A GPU's index, or the processors with the main memory. */
  readonly device: number | 'main';
  /** Share of a GPU; 0 of the processors. */
  readonly share: number;
  /** Reserved processors; 0 of a GPU. */
  readonly cpus: number;
  /** Bytes reserved for it or used by it. */
  readonly memoryBytes: number;
}

/**
 * Records which replica has which share of which device. It is pure data: it starts no processes and makes no queries.
 * Shares never exceed a GPU, and reserved processors never exceed the machine. Reserved memory, counted memory and
 * memory of other programs reduce the free memory. On a machine without a GPU all replicas run on the CPU.
 */
export class PlacementLedger {
  readonly machine: Machine;
  readonly #entries = new Map<Placement, Entry>();
  /** Bytes that other programs use on each device, as of the last update. */
  readonly #foreign = new Map<Device, number>();

  constructor(machine: Machine) {
    this.machine = machine;
  }

  /** Number of taken places. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Takes a place: on the least loaded GPU, preferably one without a replica of the same deployment, or with `pack` on
   * the fullest GPU that has room. Returns undefined when there is no room now.
   */
  place({ deployment, gpus, ...asked }: Demand): Placement | undefined {
    const { cpus = 0, reservedBytes } = asked;
    if (this.machine.cpus !== undefined && this.#usedCpus(deployment) + cpus > this.machine.cpus) return undefined;
    if (gpus === 0 || this.machine.gpus.length === 0) {
      const isRoom = this.#hasMemory('main', deployment, reservedBytes);
      return isRoom ? this.#enter({ deployment, gpus: [] }, 0, asked) : undefined;
    }
    const count = Math.max(1, Math.floor(gpus));
    const units = gpus < 1 ? toUnits(gpus) : GPU_UNITS;
    const bytesEach = Math.ceil(reservedBytes / count);
    const chosen = this.#candidates(deployment, units, bytesEach, count).slice(0, count);
    return chosen.length === count ? this.#enter({ deployment, gpus: chosen }, units, asked) : undefined;
  }

  /**
   * Counts the estimated memory of a replica if it is more than the reserved memory. Returns false and changes nothing
   * when a device of the placement has too little left.
   */
  count(placement: Placement, use: DeviceUse): boolean {
    const entry = this.#require(placement);
    const before = entry.use;
    entry.use = use;
    const fits = this.#fits(placement);
    if (!fits) entry.use = before;
    return fits;
  }

  /**
   * Records the measured memory of a replica, even if it exceeds the room. Does nothing when its place was released.
   */
  measure(placement: Placement, use: DeviceUse): void {
    const entry = this.#entries.get(placement);
    if (!entry) return;
    entry.use = use;
    entry.isLoaded = true;
  }

  /** Records whether the replica has loaded. Does nothing when its place was released. */
  noteLoaded(placement: Placement, isLoaded: boolean): void {
    const entry = this.#entries.get(placement);
    if (entry) entry.isLoaded = isLoaded;
  }

  /**
   * Records the free memory of a device. Used memory that does not belong to replicas belongs to other programs. A
   * loading replica uses between nothing and all of its counted memory, so the use of other programs is known only
   * within these bounds. It keeps its old value as far as the bounds allow.
   */
  noteFree(device: Device, freeBytes: number): void {
    const total = this.#memoryOf(device);
    if (!Number.isFinite(total)) return;
    let [loaded, loading] = [0, 0];
    for (const [placement, { use, isLoaded, isVacant }] of this.#on(device)) {
      const bytes = isVacant ? 0 : partOf(placement, device, use.visibleBytes ?? use.bytes);
      if (isLoaded) loaded += bytes;
      else loading += bytes;
    }
    const most = Math.max(0, total - freeBytes - loaded);
    const least = Math.max(0, most - loading);
    this.#foreign.set(device, Math.min(most, Math.max(least, this.#foreign.get(device) ?? least)));
  }

  /**
   * Keeps a place for its deployment until {@link letGo}, even after its release. Other deployments get nothing of it;
   * its own deployment may take other places within it.
   */
  hold(placement: Placement): void {
    this.#require(placement).isHeld = true;
  }

  /**
   * Takes a place again that was released while held. Returns false and changes nothing when other replicas of its
   * deployment occupy it.
   */
  retake(placement: Placement): boolean {
    const entry = this.#require(placement);
    entry.isVacant = false;
    entry.isVacant = !this.#fits(placement);
    return !entry.isVacant;
  }

  /** Ends {@link hold}. Places that were released in the meantime become free. */
  letGo(placement: Placement): void {
    const entry = this.#entries.get(placement);
    if (!entry) return;
    entry.isHeld = false;
    if (entry.isVacant) this.#entries.delete(placement);
  }

  /** Returns a copy of the ledger with these places given back. Changes of the copy do not affect this ledger. */
  without(placements: Iterable<Placement>): PlacementLedger {
    const copy = new PlacementLedger(this.machine);
    for (const [placement, entry] of this.#entries) copy.#entries.set(placement, { ...entry });
    for (const [device, bytes] of this.#foreign) copy.#foreign.set(device, bytes);
    for (const placement of placements) copy.release(placement);
    return copy;
  }

  /**
   * Returns the processors of `count` cores to which the replica of a place is to be bound: cores of its own, as far as
   * there are some. Undefined where nothing can bind processes.
   */
  bind(placement: Placement, count: number): readonly number[] | undefined {
    const { processors } = this.machine;
    if (!processors) return undefined;
    const entry = this.#require(placement);
    const others = [...this.#entries].filter(([other, { isVacant }]) => other !== placement && !isVacant);
    // The replicas that an update replaces have held places, and those that replace them do not.
    const isLeaving = ([other, { isHeld }]: [Placement, Entry]): boolean =>
      isHeld && !entry.isHeld && other.deployment === placement.deployment;
    const processorsOf = (entries: readonly [Placement, Entry][]) => entries.map(([, each]) => each.processors);
    return (entry.processors = chooseProcessors(processors, count, {
      staying: processorsOf(others.filter((other) => !isLeaving(other))),
      leaving: processorsOf(others.filter(isLeaving)),
    }));
  }

  /** Gives a place back. May be called twice. */
  release(placement: Placement): void {
    const entry = this.#entries.get(placement);
    if (entry?.isHeld) entry.isVacant = true;
    else this.#entries.delete(placement);
  }

  /** Returns what a replica has of each of its devices; nothing when its place was released. */
  partsOf(placement: Placement): DevicePart[] {
    const entry = this.#entries.get(placement);
    if (!entry || entry.isVacant) return [];
    const { units, cpus } = entry;
    const gpus = placement.gpus.map((device) => {
      return { device, share: units / GPU_UNITS, cpus: 0, memoryBytes: bytesOn(device, [placement, entry]) };
    });
    if (gpus.length > 0 && cpus === 0) return gpus;
    const memoryBytes = gpus.length > 0 ? 0 : bytesOn('main', [placement, entry]);
    return [...gpus, { device: 'main', share: 0, cpus, memoryBytes }];
  }

  /** Returns the load of each GPU, in the machine's order. */
  loads(): GpuLoad[] {
    return this.machine.gpus.map((_, gpu) => ({
      share: this.#usedUnits(gpu) / GPU_UNITS,
      memoryBytes: this.#usedMemory(gpu),
      foreignBytes: this.#foreign.get(gpu) ?? 0,
    }));
  }

  /** Main memory of replicas on the CPU, in bytes. */
  get cpuMemoryBytes(): number {
    return this.#usedMemory('main');
  }

  /** Main memory of other programs and of replicas on GPUs, in bytes, as of the last update. */
  get foreignMainBytes(): number {
    return this.#foreign.get('main') ?? 0;
  }

  /** Processors that are reserved for replicas. */
  get usedCpus(): number {
    return this.#usedCpus();
  }

  #require(placement: Placement): Entry {
    const entry = this.#entries.get(placement);
    if (entry) return entry;
    throw new Error('this placement was released');
  }

  /** Returns whether no device of the placement is overloaded, without counting places held for its own deployment. */
  #fits({ deployment, gpus }: Placement): boolean {
    if (this.machine.cpus !== undefined && this.#usedCpus(deployment) > this.machine.cpus) return false;
    if (gpus.length === 0) return this.#hasMemory('main', deployment);
    return gpus.every((gpu) => this.#hasMemory(gpu, deployment) && this.#usedUnits(gpu, deployment) <= GPU_UNITS);
  }

  #enter(
    placement: Placement,
    units: number,
    { cpus = 0, reservedBytes, processors = [] }: Omit<Demand, 'deployment' | 'gpus'>,
  ): Placement {
    this.#entries.set(placement, {
      units,
      cpus,
      reservedBytes,
      processors,
      use: { bytes: [] },
      isLoaded: false,
      isHeld: false,
      isVacant: false,
    });
    return placement;
  }

  /** Returns the GPUs with room, best first. */
  #candidates(deployment: string, units: number, bytes: number, count: number): number[] {
    const spread = (gpu: number): readonly number[] => [
      this.#replicasOf(deployment, gpu),
      this.#usedUnits(gpu, deployment),
      this.#usedMemory(gpu, deployment),
      gpu,
    ];
    const pack = (gpu: number): readonly number[] => [
      -this.#usedUnits(gpu, deployment),
      -this.#usedMemory(gpu, deployment),
      gpu,
    ];
    const rank = this.machine.placement === 'pack' ? pack : spread;
    return [...this.machine.gpus.keys()]
      .filter((gpu) => count === 1 || this.machine.gpus[gpu]?.isPart !== true)
      .filter((gpu) => this.#usedUnits(gpu, deployment) + units <= GPU_UNITS && this.#hasMemory(gpu, deployment, bytes))
      .map((gpu) => ({ gpu, rank: rank(gpu) }))
      .sort((a, b) => compare(a.rank, b.rank))
      .map(({ gpu }) => gpu);
  }

  /** Returns the entries that use the device. */
  #on(device: Device): [Placement, Entry][] {
    return [...this.#entries].filter(([{ gpus }]) => (device === 'main' ? gpus.length === 0 : gpus.includes(device)));
  }

  #replicasOf(deployment: string, gpu: number): number {
    return this.#on(gpu).filter(([placement, { isVacant }]) => placement.deployment === deployment && !isVacant).length;
  }

  #usedUnits(gpu: number, asker?: string): number {
    return used(this.#on(gpu), ([, { units }]) => units, asker);
  }

  #usedCpus(asker?: string): number {
    return used([...this.#entries], ([, { cpus }]) => cpus, asker);
  }

  /** Returns the used memory of a device. Reserved memory of a replica with several GPUs is divided equally. */
  #usedMemory(device: Device, asker?: string): number {
    return used(this.#on(device), (entry) => bytesOn(device, entry), asker);
  }

  #hasMemory(device: Device, asker: string, moreBytes = 0): boolean {
    return this.#usedMemory(device, asker) + moreBytes + (this.#foreign.get(device) ?? 0) <= this.#memoryOf(device);
  }

  #memoryOf(device: Device): number {
    const bytes = device === 'main' ? this.machine.memoryBytes : this.machine.gpus[device]?.memoryBytes;
    return bytes || Number.POSITIVE_INFINITY; // 0 means unknown
  }
}

function bytesOn(device: Device, [placement, { reservedBytes, use }]: [Placement, Entry]): number {
  const reserved = Math.ceil(reservedBytes / Math.max(1, placement.gpus.length));
  return Math.max(reserved, partOf(placement, device, use.bytes));
}

function partOf({ gpus }: Placement, device: Device, bytes: readonly number[]): number {
  return Math.ceil(bytes[device === 'main' ? 0 : gpus.indexOf(device)] ?? 0);
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/**
 * Returns the used amount from the view of deployment `asker`. For other deployments the larger of the held and the
 * taken amount counts, because a new replica may use the place of an old one that a rollback would restart.
 */
function used(
  entries: readonly [Placement, Entry][],
  amountOf: (entry: [Placement, Entry]) => number,
  asker: string | undefined,
): number {
  const deployments = new Map<string, { taken: number; held: number }>();
  for (const item of entries) {
    const [{ deployment }, { isHeld, isVacant }] = item;
    const sums = deployments.get(deployment) ?? { taken: 0, held: 0 };
    const amount = amountOf(item);
    if (!isVacant) sums.taken += amount;
    if (isHeld) sums.held += amount;
    deployments.set(deployment, sums);
  }
  return [...deployments].reduce(
    (sum, [deployment, { taken, held }]) => sum + (deployment === asker ? taken : Math.max(taken, held)),
    0,
  );
}

/** Returns a share in whole units, at least one. */
function toUnits(share: number): number {
  return Math.max(1, Math.round(share * GPU_UNITS));
}
