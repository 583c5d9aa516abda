import { type AanaError, fail } from '../../../base/core/errors.ts';
import {
  deviceName,
  type DeviceUse,
  type Placement,
  placementEnvironment,
  type PlacementLedger,
  placementText,
} from '../../devices/index.ts';
import type { DevicePlace } from '../../replicas/index.ts';
import type { ReplicaMemory } from '../../rpc/index.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';
import type { MemoryNeed } from '../builtin/memory-need.ts';
import { checkAffinity, listedProcessors } from './affinity.ts';

export interface PlannedDeployment {
  readonly name: string;
  readonly options: DeploymentOptions;
}

/** Updates the ledger with the memory that other programs leave free. */
export interface Looks {
  /** Updates the free main memory. Called before places are taken. */
  main(): void;
  /** Updates the free GPU memory. Returns undefined when the machine cannot be queried. */
  gpus(): Promise<void> | undefined;
  /** Called when a replica has got a place on a device. */
  placed?(device: string): void;
}

const GIB = 2 ** 30;

/** The places of one version of a deployment: reserved ones, and those of its replicas. */
export class DeploymentPlaces {
  readonly #ledger: PlacementLedger;
  readonly #planned: PlannedDeployment;
  readonly #looks: Looks;
  /** Reserved places that no replica has taken yet. */
  readonly #reserved: Placement[] = [];
  readonly #taken = new Set<Placement>();
  /** Places of the replicas that ran before an update. They are kept so that a rollback can restart these replicas. */
  readonly #held = new Set<Placement>();
  /** Processors that one replica keeps busy. */
  cpus = 1;
  /** Memory of one replica: estimated from the model's file, then measured when a replica has reported it. */
  #need: MemoryNeed | undefined;
  #isMeasured = false;
  /** Private memory that replicas on the CPU have reported. */
  readonly #ownBytes = new WeakMap<Placement, number>();
  /** On the CPU: the place for which the shared weights are counted. */
  #weightsAt: Placement | undefined;

  /** Without `looks` the ledger is used without updates. */
  constructor(
    ledger: PlacementLedger,
    planned: PlannedDeployment,
    looks: Looks = { main: () => {}, gpus: () => undefined },
  ) {
    this.#ledger = ledger;
    this.#planned = planned;
    this.#looks = looks;
  }

  /** Places that replicas have. */
  get taken(): ReadonlySet<Placement> {
    return this.#taken;
  }

  /** Whether the replicas run on a GPU. */
  get isOnGpu(): boolean {
    return this.#ledger.machine.gpus.length > 0 && this.#gpus > 0;
  }

  /**
   * Updates how much GPU memory other programs use. Returns undefined when the replicas run on the CPU, or when the
   * machine cannot be queried.
   */
  look(): Promise<void> | undefined {
    return this.isOnGpu ? this.#looks.gpus() : undefined;
  }

  /**
   * Reserves places for `count` replicas. Throws `InsufficientResources`, which names demand and supply, and
   * `ValidationError` for processors that replicas cannot use; then no place is reserved.
   */
  reserve(count: number): void {
    checkAffinity(this.#planned.name, this.#planned.options, this.#ledger.machine);
    this.#looks.main();
    for (let index = 0; index < count; index += 1) {
      const placement = this.#place(this.#ledger);
      if (!placement) {
        this.releaseReserved();
        throw this.#tooFewDevices(count);
      }
      this.#reserved.push(placement);
    }
  }

  /** Gives back the reserved places that no replica took. */
  releaseReserved(): void {
    for (const placement of this.#reserved.splice(0)) this.#release(placement);
  }

  /**
   * Sets the memory of one replica, when its model file has been fetched, and counts it for the reserved places. Throws
   * `InsufficientResources` when a device has too little left.
   */
  countMemory(need: MemoryNeed): void {
    this.#looks.main();
    this.#need = need;
    for (const placement of this.#reserved)
      if (!this.#count(this.#ledger, placement)) throw this.#tooLittleMemory(need, placement);
  }

  /**
   * Throws `InsufficientResources` when `count` replicas would not fit if the `given` places and all places of this
   * deployment were free.
   */
  requireRoom(count: number, given: Iterable<Placement>): void {
    this.#looks.main();
    const ledger = this.#ledger.without([...given, ...this.#reserved, ...this.#taken]);
    const trial = new DeploymentPlaces(ledger, this.#planned);
    trial.reserve(count);
    if (this.#need) trial.countMemory(this.#need);
  }

  /** Returns whether one more replica would fit if these places were free. */
  wouldFit(given: Iterable<Placement>): boolean {
    this.#looks.main();
    const trial = new DeploymentPlaces(this.#ledger.without(given), this.#planned);
    trial.#need = this.#need;
    trial.#weightsAt = this.#weightsAt;
    return trial.#placeMore() !== undefined;
  }

  /** Takes a place for one more replica. Returns undefined when there is no room now. */
  take(): DevicePlace | undefined {
    this.#looks.main();
    const placement = this.#reserved.shift() ?? this.#takeBack() ?? this.#placeMore();
    if (!placement) return undefined;
    this.#taken.add(placement);
    const { machine } = this.#ledger;
    const processors = this.#bind(placement);
    const place: DevicePlace = {
      env: placementEnvironment(machine, placement),
      processors,
      device: placementText(placement, processors),
      shares: () =>
        this.#ledger.partsOf(placement).map(({ device, share, cpus, memoryBytes }) => {
          return { device: deviceName(device), share, cpus, memory_bytes: memoryBytes };
        }),
      onLoaded: (isLoaded) => this.#ledger.noteLoaded(placement, isLoaded),
      onMemory: (memory) => this.#onMemory(placement, memory),
      release: () => this.#release(placement),
    };
    placements.set(place, placement);
    this.#looks.placed?.(placementText(placement));
    return place;
  }

  /**
   * Keeps these places for a rollback, and for replicas of another version that fit into them. The returned function
   * ends this.
   */
  hold(places: Iterable<DevicePlace>): () => void {
    const held = [...places].flatMap((place) => placements.get(place) ?? []);
    for (const placement of held) {
      this.#held.add(placement);
      this.#ledger.hold(placement);
    }
    return () => {
      for (const placement of held) {
        this.#held.delete(placement);
        this.#ledger.letGo(placement);
        if (!this.#taken.has(placement)) this.#release(placement);
      }
    };
  }

  /** Returns the error that explains why there is no room for `count` replicas. */
  noRoom(count: number): AanaError {
    return this.#tooFewDevices(count);
  }

  /** Takes a held place that its replica has left. */
  #takeBack(): Placement | undefined {
    return [...this.#held].find((placement) => {
      if (this.#taken.has(placement) || !this.#ledger.retake(placement)) return false;
      if (this.#count(this.#ledger, placement)) return true;
      this.#ledger.release(placement);
      return false;
    });
  }

  /** Returns the processors to which the replica of a place is bound; undefined for all. */
  #bind(placement: Placement): readonly number[] | undefined {
    const { options } = this.#planned;
    return options.cpu_affinity === 'auto' ? this.#ledger.bind(placement, this.cpus) : this.#listed;
  }

  #placeMore(): Placement | undefined {
    const placement = this.#place(this.#ledger);
    if (!placement || this.#count(this.#ledger, placement)) return placement;
    this.#release(placement);
    return undefined;
  }

  #place(ledger: PlacementLedger): Placement | undefined {
    return ledger.place({
      deployment: this.#planned.name,
      gpus: this.#gpus,
      cpus: this.#cpus,
      reservedBytes: this.#reservedBytes,
      processors: this.#listed,
    });
  }

  /** Called when a replica reports its memory, which counts from now on for it and for later replicas. */
  #onMemory(placement: Placement, { privateBytes, fileBytes, gpus }: ReplicaMemory): void {
    if (!this.#taken.has(placement)) return;
    if (placement.gpus.length === 0) {
      const weightsBytes = this.#need?.weightsBytes ?? 0;
      // A mapped model is read gradually, so the size of its file counts. A model that is not mapped is part of the
      // private memory.
      const isMapped = fileBytes * 2 >= weightsBytes;
      this.#learn({
        weightsBytes: isMapped ? Math.max(fileBytes, weightsBytes) : fileBytes,
        contextBytes: privateBytes,
      });
      this.#ownBytes.set(placement, privateBytes);
      this.#weightsAt ??= placement;
      this.#ledger.measure(placement, this.#useOf(placement, this.#weightsAt === placement));
      return;
    }
    if (gpus.length !== placement.gpus.length) return; // the replica cannot report its GPU memory
    const bytes = gpus.map(({ usedBytes }) => usedBytes);
    const total = bytes.reduce((sum, each) => sum + each, 0);
    const weightsBytes = Math.min(total, this.#need?.weightsBytes ?? 0);
    this.#learn({ weightsBytes, contextBytes: total - weightsBytes, parts: bytes });
    this.#ledger.measure(placement, { bytes });
    if (!this.#ledger.machine.probe?.freeGpuBytes) return;
    placement.gpus.forEach((gpu, index) => this.#ledger.noteFree(gpu, gpus[index]?.freeBytes ?? 0));
  }

  /** Sets the need of later replicas to the largest measured so far. */
  #learn(measured: MemoryNeed): void {
    const before = this.#isMeasured ? this.#need : undefined;
    this.#isMeasured = true;
    this.#need = {
      ...measured,
      weightsBytes: Math.max(measured.weightsBytes, before?.weightsBytes ?? 0),
      contextBytes: Math.max(measured.contextBytes, before?.contextBytes ?? 0),
    };
  }

  /**
   * Returns the memory that a replica uses on each of its devices. On the CPU the weights are counted once, for one of
   * the replicas. They are mapped, so the system reports them as free memory.
   */
  #useOf(placement: Placement, hasWeights: boolean): DeviceUse {
    const { gpus } = placement;
    const contextBytes = this.#ownBytes.get(placement) ?? this.#need?.contextBytes ?? 0;
    const weightsBytes = this.#need?.weightsBytes ?? 0;
    if (gpus.length === 0)
      return { bytes: [(hasWeights ? weightsBytes : 0) + contextBytes], visibleBytes: [contextBytes] };
    const parts = gpus.map((_, index) => (this.#need?.parts ? (this.#need.parts[index] ?? 0) : 1));
    const sum = parts.reduce((total, part) => total + part, 0);
    return { bytes: parts.map((part) => (sum > 0 ? ((weightsBytes + contextBytes) * part) / sum : 0)) };
  }

  #count(ledger: PlacementLedger, placement: Placement): boolean {
    if (!this.#need) return true;
    const before = this.#weightsAt;
    const hasLeft = before !== undefined && this.#held.has(before) && !this.#taken.has(before);
    const hasWeights = placement.gpus.length > 0 || before === undefined || before === placement || hasLeft;
    const fits = ledger.count(placement, this.#useOf(placement, hasWeights));
    if (!fits || !hasWeights || placement.gpus.length > 0) return fits;
    if (hasLeft && before !== placement) ledger.count(before, this.#useOf(before, false));
    this.#weightsAt = placement;
    return true;
  }

  #release(placement: Placement): void {
    this.#taken.delete(placement);
    this.#ledger.release(placement);
    if (this.#weightsAt !== placement) return;
    // The other replicas still have the file mapped.
    if (!this.#held.has(placement)) this.#weightsAt = undefined;
    const [heir] = [...this.#taken, ...this.#reserved];
    if (heir) this.#count(this.#ledger, heir);
  }

  get #gpus(): number {
    return this.#planned.options.ray_actor_options.num_gpus ?? 0;
  }

  get #cpus(): number {
    return this.#planned.options.ray_actor_options.num_cpus ?? 0;
  }

  /** The processors that the configuration lists. */
  get #listed(): readonly number[] | undefined {
    return listedProcessors(this.#planned.options, this.#ledger.machine)?.map(({ id }) => id);
  }

  get #reservedBytes(): number {
    return this.#planned.options.ray_actor_options.memory_bytes ?? 0;
  }

  #tooFewDevices(count: number): AanaError {
    const { gpus, memoryBytes } = this.#ledger.machine;
    const [asked, reserved] = [this.#gpus, this.#reservedBytes];
    const isOnGpus = gpus.length > 0 && asked > 0;
    const bytes = Math.max(reserved, this.#need ? this.#need.weightsBytes + this.#need.contextBytes : 0);
    const processors = this.#cpus > 0 ? `${this.#cpus} processors` : undefined;
    const demand = [
      isOnGpus ? `${asked} GPU` : (processors ?? 'the CPU'),
      isOnGpus ? processors : undefined,
      bytes > 0 ? `${gib(bytes)} of memory` : undefined,
    ]
      .filter(Boolean)
      .join(' and ');
    const loads = this.#ledger.loads();
    const supply = isOnGpus
      ? `${gpus.length} GPU: ${gpus
          .map(({ name, memoryBytes: total }, gpu) => {
            const { share = 0, memoryBytes: taken = 0, foreignBytes = 0 } = loads[gpu] ?? {};
            return (
              `${name} with ${gib(total)}, ${Math.round(share * 100)} % and ${gib(taken)} ` +
              `taken${byOthers(foreignBytes)}`
            );
          })
          .join('; ')}`
      : `${gib(memoryBytes)} of memory, ${gib(this.#ledger.cpuMemoryBytes)} ` +
        `taken${byOthers(this.#ledger.foreignMainBytes)}`;
    const { cpus } = this.#ledger.machine;
    const processorsLeft =
      this.#cpus > 0 && cpus !== undefined ? `${cpus} processors, ${this.#ledger.usedCpus} of them taken, and ` : '';
    return this.#insufficient(
      `${count === 1 ? 'it asks' : `each of its ${count} replicas asks`} for ${demand}; this machine has ` +
        `${processorsLeft}${supply}`,
      {
        demand: { num_replicas: count, num_gpus: asked, num_cpus: this.#cpus, memory_bytes: bytes },
        supply: {
          num_gpus: gpus.length,
          num_cpus: cpus ?? null,
          memory_bytes: isOnGpus ? gpus.map((gpu) => gpu.memoryBytes) : memoryBytes,
        },
      },
    );
  }

  #tooLittleMemory(need: MemoryNeed, placement: Placement): AanaError {
    const { machine } = this.#ledger;
    const devices = placement.gpus.map((gpu) => machine.gpus[gpu]);
    const supply = devices.length > 0 ? devices.map((gpu) => gpu?.memoryBytes ?? 0) : [machine.memoryBytes];
    const where = devices.length > 0 ? devices.map((gpu) => gpu?.name).join(' and ') : 'this machine';
    const loads = this.#ledger.loads();
    const foreign =
      placement.gpus.length > 0
        ? placement.gpus.map((gpu) => loads[gpu]?.foreignBytes ?? 0).reduce((sum, bytes) => sum + bytes, 0)
        : this.#ledger.foreignMainBytes;
    const asked =
      `a replica needs at least ${gib(need.weightsBytes + need.contextBytes)} of memory ` +
      `(${gib(need.weightsBytes)} for its weights, ${gib(need.contextBytes)} for its context)`;
    return this.#insufficient(
      `${asked}; ${where} has ${supply.map(gib).join(' and ')}, less the memory of other ` +
        `replicas${foreign > 0 ? ` and the ${gib(foreign)} that other programs use` : ''}. A smaller model, a ` +
        `shorter context or fewer replicas would fit`,
      {
        demand: { weights_bytes: need.weightsBytes, context_bytes: need.contextBytes },
        supply: { memory_bytes: supply },
      },
    );
  }

  #insufficient(why: string, facts: { readonly demand: unknown; readonly supply: unknown }): AanaError {
    const { name } = this.#planned;
    return fail('InsufficientResources', `there is no room for deployment ${name}: ${why}`, {
      data: { deployment: name, ...facts },
    });
  }
}

const placements = new WeakMap<DevicePlace, Placement>();

/** Returns the placement of a place in the ledger. */
export function placementOf(place: DevicePlace): Placement | undefined {
  return placements.get(place);
}

function byOthers(bytes: number): string {
  return bytes > 0 ? `, ${gib(bytes)} used by other programs` : '';
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 0)} GiB`;
}
