import { AanaError } from '../core/errors.ts';
import { type Placement, placementEnvironment, type PlacementLedger, placementText } from '../devices/index.ts';
import type { Place } from '../replicas/index.ts';
import type { DeploymentOptions } from './deployment-options.ts';
import type { MemoryNeed } from './memory-need.ts';

export interface PlannedDeployment {
  readonly name: string;
  readonly options: DeploymentOptions;
}

const GIB = 2 ** 30;

/** The places of one version of a deployment: those that are set aside for it, and those that its replicas have. */
export class DeploymentPlaces {
  readonly #ledger: PlacementLedger;
  readonly #planned: PlannedDeployment;
  /** Set aside, not handed out yet. */
  readonly #reserved: Placement[] = [];
  readonly #taken = new Set<Placement>();
  /** Of the replicas that an update found: whoever of them left may come back to it. */
  readonly #held = new Set<Placement>();
  #need: MemoryNeed | undefined;
  /** On the CPU: the place that the weights, which all share, are counted with. */
  #weightsAt: Placement | undefined;

  constructor(ledger: PlacementLedger, planned: PlannedDeployment) {
    this.#ledger = ledger;
    this.#planned = planned;
  }

  /** Those that replicas have. */
  get taken(): ReadonlySet<Placement> {
    return this.#taken;
  }

  /** Whether its replicas run on a GPU. */
  get isOnGpu(): boolean {
    return this.#ledger.machine.gpus.length > 0 && this.#planned.options.ray_actor_options.num_gpus !== 0;
  }

  /** Sets places aside for `count` replicas. Throws `InsufficientResources`, naming what is asked for and what there is; then none is. */
  reserve(count: number): void {
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
   * Counts the memory of a replica, once its model file is there; what is set aside is counted with it. Throws `InsufficientResources` when a
   * device has not as much left.
   */
  countMemory(need: MemoryNeed): void {
    this.#need = need;
    for (const placement of this.#reserved) if (!this.#count(this.#ledger, placement)) throw this.#tooLittleMemory(need, placement);
  }

  /** Throws `InsufficientResources` when `count` replicas would not fit into a machine that is empty but for what others keep. */
  requireRoom(count: number, given: Iterable<Placement>): void {
    const ledger = this.#ledger.without([...given, ...this.#reserved, ...this.#taken]);
    const trial = new DeploymentPlaces(ledger, this.#planned);
    trial.reserve(count);
    if (this.#need) trial.countMemory(this.#need);
  }

  /** Whether one more replica would fit if these places were given back. */
  wouldFit(given: Iterable<Placement>): boolean {
    const trial = new DeploymentPlaces(this.#ledger.without(given), this.#planned);
    trial.#need = this.#need;
    trial.#weightsAt = this.#weightsAt;
    return trial.#placeMore() !== undefined;
  }

  /** A place for one more replica; undefined when there is no room now. */
  take(): Place | undefined {
    const placement = this.#reserved.shift() ?? this.#takeBack() ?? this.#placeMore();
    if (!placement) return undefined;
    this.#taken.add(placement);
    const { machine } = this.#ledger;
    const place: Place = { env: placementEnvironment(machine, placement), device: placementText(machine, placement), release: () => this.#release(placement) };
    placements.set(place, placement);
    return place;
  }

  /** Keeps these places for replicas that come back, and for those of another version that fit into them, until the function that it gives is called. */
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
    const { name, options } = this.#planned;
    return ledger.place({ deployment: name, gpus: options.ray_actor_options.num_gpus, reservedBytes: this.#reservedBytes });
  }

  #count(ledger: PlacementLedger, placement: Placement): boolean {
    if (!this.#need) return true;
    const { weightsBytes, contextBytes } = this.#need;
    const before = this.#weightsAt;
    const hasLeft = before !== undefined && this.#held.has(before) && !this.#taken.has(before);
    const hasWeights = placement.gpus.length > 0 || before === undefined || before === placement || hasLeft;
    const fits = ledger.count(placement, hasWeights ? weightsBytes + contextBytes : contextBytes);
    if (!fits || !hasWeights || placement.gpus.length > 0) return fits;
    if (hasLeft && before !== placement) ledger.count(before, contextBytes);
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

  get #reservedBytes(): number {
    return this.#planned.options.ray_actor_options.memory_bytes ?? 0;
  }

  #tooFewDevices(count: number): AanaError {
    const { gpus, memoryBytes } = this.#ledger.machine;
    const [asked, reserved] = [this.#gpus, this.#reservedBytes];
    const isOnGpus = gpus.length > 0 && asked > 0;
    const bytes = Math.max(reserved, this.#need ? this.#need.weightsBytes + this.#need.contextBytes : 0);
    const demand = [isOnGpus ? `${asked} GPU` : 'the CPU', bytes > 0 ? `${gib(bytes)} of memory` : undefined].filter(Boolean).join(' and ');
    const loads = this.#ledger.loads();
    const supply = isOnGpus
      ? `${gpus.length} GPU: ${gpus.map(({ name, memoryBytes: total }, gpu) => `${name} with ${gib(total)}, ${Math.round((loads[gpu]?.share ?? 0) * 100)} % and ${gib(loads[gpu]?.memoryBytes ?? 0)} taken`).join('; ')}`
      : `${gib(memoryBytes)} of memory, ${gib(this.#ledger.cpuMemoryBytes)} taken`;
    return this.#insufficient(`${count === 1 ? 'it asks' : `each of its ${count} replicas asks`} for ${demand}; this machine has ${supply}`, {
      demand: { num_replicas: count, num_gpus: asked, memory_bytes: bytes },
      supply: { num_gpus: gpus.length, memory_bytes: isOnGpus ? gpus.map((gpu) => gpu.memoryBytes) : memoryBytes },
    });
  }

  #tooLittleMemory(need: MemoryNeed, placement: Placement): AanaError {
    const { machine } = this.#ledger;
    const devices = placement.gpus.map((gpu) => machine.gpus[gpu]);
    const supply = devices.length > 0 ? devices.map((gpu) => gpu?.memoryBytes ?? 0) : [machine.memoryBytes];
    const where = devices.length > 0 ? devices.map((gpu) => gpu?.name).join(' and ') : 'this machine';
    const asked = `a replica needs at least ${gib(need.weightsBytes + need.contextBytes)} of memory (${gib(need.weightsBytes)} for its weights, ${gib(need.contextBytes)} for its context)`;
    return this.#insufficient(`${asked}; ${where} has ${supply.map(gib).join(' and ')}, less what other replicas have. A smaller model, a shorter context or fewer replicas would fit`, {
      demand: { weights_bytes: need.weightsBytes, context_bytes: need.contextBytes },
      supply: { memory_bytes: supply },
    });
  }

  #insufficient(why: string, facts: { readonly demand: unknown; readonly supply: unknown }): AanaError {
    const { name } = this.#planned;
    return new AanaError('InsufficientResources', 'unavailable', `there is no room for deployment ${name}: ${why}`, { data: { deployment: name, ...facts } });
  }
}

const placements = new WeakMap<Place, Placement>();

/** Where a place is in the table of devices. */
export function placementOf(place: Place): Placement | undefined {
  return placements.get(place);
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 0)} GiB`;
}
