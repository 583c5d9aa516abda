import { AanaError } from '../../core/errors.ts';
import {
  type DeviceUse,
  type Placement,
  placementEnvironment,
  type PlacementLedger,
  placementText,
} from '../../devices/index.ts';
import type { Place } from '../../replicas/index.ts';
import type { ReplicaMemory } from '../../rpc/index.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';
import type { MemoryNeed } from '../builtin/memory-need.ts';

export interface PlannedDeployment {
  readonly name: string;
  readonly options: DeploymentOptions;
}

/** How the table of devices learns what other programs use. */
export interface Looks {
  /** Notes what is free of the main memory. Called before places are taken. */
  main(): void;
  /** Notes what is free of the GPUs. Returns undefined when nobody can be asked. */
  gpus(): Promise<void> | undefined;
}

const GIB = 2 ** 30;

/** The places of one version of a deployment: those that are set aside for it, and those that its replicas have. */
export class DeploymentPlaces {
  readonly #ledger: PlacementLedger;
  readonly #planned: PlannedDeployment;
  readonly #looks: Looks;
  /** Set aside, not handed out yet. */
  readonly #reserved: Placement[] = [];
  readonly #taken = new Set<Placement>();
  /** Of the replicas that an update found: whoever of them left may come back to it. */
  readonly #held = new Set<Placement>();
  /** As estimated from the model's file; as measured once a replica has told. */
  #need: MemoryNeed | undefined;
  #isMeasured = false;
  /** Of replicas on the CPU that have told: memory of their own. */
  readonly #ownBytes = new WeakMap<Placement, number>();
  /** On the CPU: the place that the weights, which all share, are counted with. */
  #weightsAt: Placement | undefined;

  /** Without `looks` the table counts as it is. */
  constructor(
    ledger: PlacementLedger,
    planned: PlannedDeployment,
    looks: Looks = { main: () => {}, gpus: () => undefined },
  ) {
    this.#ledger = ledger;
    this.#planned = planned;
    this.#looks = looks;
  }

  /** Those that replicas have. */
  get taken(): ReadonlySet<Placement> {
    return this.#taken;
  }

  /** Whether its replicas run on a GPU. */
  get isOnGpu(): boolean {
    return this.#ledger.machine.gpus.length > 0 && this.#gpus > 0;
  }

  /**
   * Asks how much of the GPUs other programs use now. Returns undefined when its replicas run on none, or when nobody
   * can be asked.
   */
  look(): Promise<void> | undefined {
    return this.isOnGpu ? this.#looks.gpus() : undefined;
  }

  /**
   * Sets places aside for `count` replicas. Throws `InsufficientResources`, naming what is asked for and what there is;
   * then none is.
   */
  reserve(count: number): void {
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

  /** Gives back what is set aside and was not taken. */
  releaseReserved(): void {
    for (const placement of this.#reserved.splice(0)) this.#release(placement);
  }

  /**
   * Counts the memory of a replica, once its model file is there; what is set aside is counted with it. Throws
   * `InsufficientResources` when a device has not as much left.
   */
  countMemory(need: MemoryNeed): void {
    this.#looks.main();
    this.#need = need;
    for (const placement of this.#reserved)
      if (!this.#count(this.#ledger, placement)) throw this.#tooLittleMemory(need, placement);
  }

  /**
   * Throws `InsufficientResources` when `count` replicas would not fit into a machine that is empty but for what others
   * keep.
   */
  requireRoom(count: number, given: Iterable<Placement>): void {
    this.#looks.main();
    const ledger = this.#ledger.without([...given, ...this.#reserved, ...this.#taken]);
    const trial = new DeploymentPlaces(ledger, this.#planned);
    trial.reserve(count);
    if (this.#need) trial.countMemory(this.#need);
  }

  /** Whether one more replica would fit if these places were given back. */
  wouldFit(given: Iterable<Placement>): boolean {
    this.#looks.main();
    const trial = new DeploymentPlaces(this.#ledger.without(given), this.#planned);
    trial.#need = this.#need;
    trial.#weightsAt = this.#weightsAt;
    return trial.#placeMore() !== undefined;
  }

  /** A place for one more replica; undefined when there is no room now. */
  take(): Place | undefined {
    this.#looks.main();
    const placement = this.#reserved.shift() ?? this.#takeBack() ?? this.#placeMore();
    if (!placement) return undefined;
    this.#taken.add(placement);
    const { machine } = this.#ledger;
    const place: Place = {
      env: placementEnvironment(machine, placement),
      device: placementText(placement),
      onLoaded: (isLoaded) => this.#ledger.noteLoaded(placement, isLoaded),
      onMemory: (memory) => this.#onMemory(placement, memory),
      release: () => this.#release(placement),
    };
    placements.set(place, placement);
    return place;
  }

  /**
   * Keeps these places for replicas that come back, and for those of another version that fit into them, until the
   * function that it gives is called.
   */
  hold(places: Iterable<Place>): () => void {
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

  /** Why there is no room for `count` replicas of it. */
  noRoom(count: number): AanaError {
    return this.#tooFewDevices(count);
  }

  /** A place that was left and is held. */
  #takeBack(): Placement | undefined {
    return [...this.#held].find((placement) => {
      if (this.#taken.has(placement) || !this.#ledger.retake(placement)) return false;
      if (this.#count(this.#ledger, placement)) return true;
      this.#ledger.release(placement);
      return false;
    });
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
    });
  }

  /** A replica told what it uses: that counts from now on, for it and for those that come. */
  #onMemory(placement: Placement, { privateBytes, fileBytes, gpus }: ReplicaMemory): void {
    if (!this.#taken.has(placement)) return;
    if (placement.gpus.length === 0) {
      const weightsBytes = this.#need?.weightsBytes ?? 0;
      // A model that is mapped is read bit by bit, so its file counts; one that is not mapped lies in the process's own
      // memory.
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
    if (gpus.length !== placement.gpus.length) return; // it cannot tell
    const bytes = gpus.map(({ usedBytes }) => usedBytes);
    const total = bytes.reduce((sum, each) => sum + each, 0);
    const weightsBytes = Math.min(total, this.#need?.weightsBytes ?? 0);
    this.#learn({ weightsBytes, contextBytes: total - weightsBytes, parts: bytes });
    this.#ledger.measure(placement, { bytes });
    if (!this.#ledger.machine.probe?.freeGpuBytes) return;
    placement.gpus.forEach((gpu, index) => this.#ledger.noteFree(gpu, gpus[index]?.freeBytes ?? 0));
  }

  /** The next replica needs as much as the largest so far. */
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
   * What a replica uses of each of its devices. On the CPU weights count once, with one of the replicas; being mapped,
   * they show as free memory.
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
    // The others still have the file mapped.
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
            return `${name} with ${gib(total)}, ${Math.round(share * 100)} % and ${gib(taken)} taken${byOthers(foreignBytes)}`;
          })
          .join('; ')}`
      : `${gib(memoryBytes)} of memory, ${gib(this.#ledger.cpuMemoryBytes)} taken${byOthers(this.#ledger.foreignMainBytes)}`;
    const { cpus } = this.#ledger.machine;
    const processorsLeft =
      this.#cpus > 0 && cpus !== undefined ? `${cpus} processors, ${this.#ledger.usedCpus} of them taken, and ` : '';
    return this.#insufficient(
      `${count === 1 ? 'it asks' : `each of its ${count} replicas asks`} for ${demand}; this machine has ${processorsLeft}${supply}`,
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
    const asked = `a replica needs at least ${gib(need.weightsBytes + need.contextBytes)} of memory (${gib(need.weightsBytes)} for its weights, ${gib(need.contextBytes)} for its context)`;
    return this.#insufficient(
      `${asked}; ${where} has ${supply.map(gib).join(' and ')}, less what other replicas have${foreign > 0 ? ` and the ${gib(foreign)} that other programs use` : ''}. A smaller model, a shorter context or fewer replicas would fit`,
      {
        demand: { weights_bytes: need.weightsBytes, context_bytes: need.contextBytes },
        supply: { memory_bytes: supply },
      },
    );
  }

  #insufficient(why: string, facts: { readonly demand: unknown; readonly supply: unknown }): AanaError {
    const { name } = this.#planned;
    return new AanaError('InsufficientResources', 'unavailable', `there is no room for deployment ${name}: ${why}`, {
      data: { deployment: name, ...facts },
    });
  }
}

const placements = new WeakMap<Place, Placement>();

/** Where a place is in the table of devices. */
export function placementOf(place: Place): Placement | undefined {
  return placements.get(place);
}

function byOthers(bytes: number): string {
  return bytes > 0 ? `, ${gib(bytes)} used by other programs` : '';
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 0)} GiB`;
}
