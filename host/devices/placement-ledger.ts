import type { Machine } from './machine.ts';

/** What one replica asks for. */
export interface Demand {
  readonly deployment: string;
  /** Below 1 a share of one GPU, else whole GPUs; 0 is the CPU. */
  readonly gpus: number;
  /** Processors that it keeps for itself. Default: 0. */
  readonly cpus?: number | undefined;
  /** Memory set aside for it on its devices; nobody else gets it. */
  readonly reservedBytes: number;
}

/** Where one replica runs. */
export interface Placement {
  readonly deployment: string;
  /** Indices into the machine's GPUs; empty is the CPU. */
  readonly gpus: readonly number[];
}

/** Memory of a replica on each of its devices, in their order: one figure for each GPU, or one for the main memory. */
export interface DeviceUse {
  readonly bytes: readonly number[];
  /** What of it shows as used when the device is asked, where that is less: pages of mapped files show as free. */
  readonly visibleBytes?: readonly number[] | undefined;
}

interface Entry {
  /** Of each of its GPUs, in parts of {@link GPU_UNITS}. */
  readonly units: number;
  readonly cpus: number;
  readonly reservedBytes: number;
  use: DeviceUse;
  /** Whether the replica there has loaded. Before that it uses a part of `use` only. */
  isLoaded: boolean;
  /** It stays its deployment's when it is released. */
  isHeld: boolean;
  /** Released while it is held: only its own deployment has room there. */
  isVacant: boolean;
}

/** A GPU's index, or the main memory. */
type Device = number | 'main';

/** Shares are counted in whole parts, so that ten tenths are one. */
const GPU_UNITS = 10_000;

export interface GpuLoad {
  readonly share: number;
  /** Set aside for replicas, or used by them. */
  readonly memoryBytes: number;
  /** Used by others, as far as anybody has looked. */
  readonly foreignBytes: number;
}

/**
 * Who has which share of which device. A pure table: it starts nothing and asks nobody. Shares of a GPU never add up to
 * more than the GPU, processors never to more than the machine has; memory that is set aside, counted or used by others
 * leaves the rest. On a machine without any GPU all run on the CPU.
 */
export class PlacementLedger {
  readonly machine: Machine;
  readonly #entries = new Map<Placement, Entry>();
  /** Bytes that others use of a device, as of the last look. */
  readonly #foreign = new Map<Device, number>();

  constructor(machine: Machine) {
    this.machine = machine;
  }

  /** Places that are taken. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Takes a place: the least loaded GPU, one without a replica of the same deployment first; or the fullest. Undefined
   * when there is no room now.
   */
  place({ deployment, gpus, cpus = 0, reservedBytes }: Demand): Placement | undefined {
    if (this.machine.cpus !== undefined && this.#usedCpus(deployment) + cpus > this.machine.cpus) return undefined;
    if (gpus === 0 || this.machine.gpus.length === 0) {
      const isRoom = this.#hasMemory('main', deployment, reservedBytes);
      return isRoom ? this.#enter({ deployment, gpus: [] }, 0, cpus, reservedBytes) : undefined;
    }
    const count = Math.max(1, Math.floor(gpus));
    const units = gpus < 1 ? toUnits(gpus) : GPU_UNITS;
    const bytesEach = Math.ceil(reservedBytes / count);
    const chosen = this.#candidates(deployment, units, bytesEach, count).slice(0, count);
    return chosen.length === count ? this.#enter({ deployment, gpus: chosen }, units, cpus, reservedBytes) : undefined;
  }

  /**
   * Counts the memory that a replica will use, as estimated from its model, in place of what it had set aside where
   * that is less. False, and nothing changed, when a device of the placement has not as much left.
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
   * Corrects what a replica uses, as measured: it is so, also where that is more than there was room for. Nothing
   * happens when its place was released.
   */
  measure(placement: Placement, use: DeviceUse): void {
    const entry = this.#entries.get(placement);
    if (!entry) return;
    entry.use = use;
    entry.isLoaded = true;
  }

  /** Notes whether the replica has loaded. Nothing happens when its place was released. */
  noteLoaded(placement: Placement, isLoaded: boolean): void {
    const entry = this.#entries.get(placement);
    if (entry) entry.isLoaded = isLoaded;
  }

  /**
   * Notes how much of a device is free. What replicas do not account for is used by others. Replicas that load have
   * between nothing and all of what they are counted with, so the use by others is known within these bounds only: it
   * stays as it was as far as they allow.
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
   * Until {@link letGo} it stays its deployment's when it is released: others get nothing of it, its own deployment may
   * have other places within it.
   */
  hold(placement: Placement): void {
    this.#require(placement).isHeld = true;
  }

  /**
   * Takes a place again that was released while it was held. False, and nothing changed, when others of its deployment
   * are in the way.
   */
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

  /**
   * The table as it would be with these places given back. It is a table of its own: nothing that is done to it changes
   * this one.
   */
  without(placements: Iterable<Placement>): PlacementLedger {
    const copy = new PlacementLedger(this.machine);
    for (const [placement, entry] of this.#entries) copy.#entries.set(placement, { ...entry });
    for (const [device, bytes] of this.#foreign) copy.#foreign.set(device, bytes);
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
    return this.machine.gpus.map((_, gpu) => ({
      share: this.#usedUnits(gpu) / GPU_UNITS,
      memoryBytes: this.#usedMemory(gpu),
      foreignBytes: this.#foreign.get(gpu) ?? 0,
    }));
  }

  /** Main memory that is taken by replicas on the CPU. */
  get cpuMemoryBytes(): number {
    return this.#usedMemory('main');
  }

  /** Main memory that others use, replicas on GPUs among them, as of the last look. */
  get foreignMainBytes(): number {
    return this.#foreign.get('main') ?? 0;
  }

  /** Processors that replicas keep for themselves. */
  get usedCpus(): number {
    return this.#usedCpus();
  }

  #require(placement: Placement): Entry {
    const entry = this.#entries.get(placement);
    if (entry) return entry;
    throw new Error('this placement was released');
  }

  /** Whether no device of it has more than it can have, what is held for its own deployment not counted. */
  #fits({ deployment, gpus }: Placement): boolean {
    if (this.machine.cpus !== undefined && this.#usedCpus(deployment) > this.machine.cpus) return false;
    if (gpus.length === 0) return this.#hasMemory('main', deployment);
    return gpus.every((gpu) => this.#hasMemory(gpu, deployment) && this.#usedUnits(gpu, deployment) <= GPU_UNITS);
  }

  #enter(placement: Placement, units: number, cpus: number, reservedBytes: number): Placement {
    this.#entries.set(placement, {
      units,
      cpus,
      reservedBytes,
      use: { bytes: [] },
      isLoaded: false,
      isHeld: false,
      isVacant: false,
    });
    return placement;
  }

  /** GPUs with room, best first. */
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

  /** Entries with a part on the device. */
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

  /** Of what is set aside for a replica with several GPUs an equal part counts on each. */
  #usedMemory(device: Device, asker?: string): number {
    const bytesOf = ([placement, { reservedBytes, use }]: [Placement, Entry]): number =>
      Math.max(Math.ceil(reservedBytes / Math.max(1, placement.gpus.length)), partOf(placement, device, use.bytes));
    return used(this.#on(device), bytesOf, asker);
  }

  #hasMemory(device: Device, asker: string, moreBytes = 0): boolean {
    return this.#usedMemory(device, asker) + moreBytes + (this.#foreign.get(device) ?? 0) <= this.#memoryOf(device);
  }

  #memoryOf(device: Device): number {
    const bytes = device === 'main' ? this.machine.memoryBytes : this.machine.gpus[device]?.memoryBytes;
    return bytes || Number.POSITIVE_INFINITY; // 0 is unknown
  }
}

function partOf({ gpus }: Placement, device: Device, bytes: readonly number[]): number {
  return Math.ceil(bytes[device === 'main' ? 0 : gpus.indexOf(device)] ?? 0);
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/**
 * What is taken, as `asker` sees it. Of other deployments what they hold counts, or what their replicas have where that
 * is more: a new replica may be where an old one was that comes back when the new one goes.
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

/** A share in whole parts; at least one. */
function toUnits(share: number): number {
  return Math.max(1, Math.round(share * GPU_UNITS));
}
