import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { type Machine, type Placement, placementEnvironment, PlacementLedger } from '../devices/index.ts';
import type { Place } from '../replicas/index.ts';
import { type DeploymentOptions, firstReplicas } from './deployment-options.ts';
import type { MemoryNeed } from './memory-need.ts';

export interface PlannedDeployment {
  readonly name: string;
  readonly options: DeploymentOptions;
}

interface Planned extends PlannedDeployment {
  /** Places of the replicas that must run, not yet handed out. */
  readonly reserved: Placement[];
  need: MemoryNeed | undefined;
}

const GIB = 2 ** 30;

/**
 * Places for the replicas of all deployments on one machine. All that must run gets its place before anything is fetched or
 * started, the largest first, so that what fits together is found to fit.
 */
export class DevicePlan {
  readonly #ledger: PlacementLedger;
  readonly #planned = new Map<string, Planned>();

  /** Throws `InsufficientResources`, naming what is asked for and what there is. */
  constructor(machine: Machine, deployments: readonly PlannedDeployment[], log: Logger) {
    this.#ledger = new PlacementLedger(machine);
    for (const { name, options } of deployments) this.#planned.set(name, { name, options, reserved: [], need: undefined });
    const largestFirst = [...this.#planned.values()].sort((a, b) => gpusOf(b) - gpusOf(a) || reservedBytes(b) - reservedBytes(a));
    for (const planned of largestFirst) this.#reserve(planned);
    const lacking = [...this.#planned.values()].filter((planned) => gpusOf(planned) > 0).map(({ name }) => name);
    if (machine.gpus.length === 0 && lacking.length > 0) log.warn('this machine has no GPU, deployments that ask for one run on the CPU', { deployments: lacking });
  }

  /**
   * Counts the memory of a deployment's replicas, once its model file is there. Throws `InsufficientResources` when a device has not as
   * much left.
   */
  countMemory(deployment: string, need: MemoryNeed): void {
    const planned = this.#get(deployment);
    planned.need = need;
    for (const [index, placement] of planned.reserved.entries()) {
      if (!this.#ledger.count(placement, bytesOf(need, placement, index === 0))) throw this.#tooLittleMemory(planned, need, placement);
    }
  }

  /** Whether replicas of a deployment run on a GPU. */
  isOnGpu(deployment: string): boolean {
    return this.#ledger.machine.gpus.length > 0 && this.#get(deployment).options.ray_actor_options.num_gpus !== 0;
  }

  /** A place for one more replica; undefined when there is no room now. */
  takePlace(deployment: string): Place | undefined {
    const planned = this.#get(deployment);
    const placement = planned.reserved.shift() ?? this.#placeMore(planned);
    if (!placement) return undefined;
    return { env: placementEnvironment(this.#ledger.machine, placement), release: () => this.#ledger.release(placement) };
  }

  #placeMore(planned: Planned): Placement | undefined {
    const placement = this.#ledger.place(demandOf(planned));
    if (placement && planned.need && !this.#ledger.count(placement, bytesOf(planned.need, placement, false))) {
      this.#ledger.release(placement);
      return undefined;
    }
    return placement;
  }

  #reserve(planned: Planned): void {
    const count = firstReplicas(planned.options);
    for (let index = 0; index < count; index += 1) {
      const placement = this.#ledger.place(demandOf(planned));
      if (!placement) throw this.#tooFewDevices(planned, count);
      planned.reserved.push(placement);
    }
    // One that sleeps must be able to run alone.
    if (count === 0 && !new PlacementLedger(this.#ledger.machine).place(demandOf(planned))) throw this.#tooFewDevices(planned, 1);
  }

  #get(deployment: string): Planned {
    const planned = this.#planned.get(deployment);
    if (!planned) throw new Error(`deployment ${deployment} is not in the plan`);
    return planned;
  }

  #tooFewDevices(planned: Planned, count: number): AanaError {
    const { gpus, memoryBytes } = this.#ledger.machine;
    const [asked, bytes] = [gpusOf(planned), reservedBytes(planned)];
    const demand = [gpus.length > 0 && asked > 0 ? `${asked} GPU` : 'the CPU', bytes > 0 ? `${gib(bytes)} of memory` : undefined].filter(Boolean).join(' and ');
    const loads = this.#ledger.loads();
    const supply =
      gpus.length > 0 && asked > 0
        ? `${gpus.length} GPU: ${gpus.map(({ name, memoryBytes: total }, gpu) => `${name} with ${gib(total)}, ${Math.round((loads[gpu]?.share ?? 0) * 100)} % and ${gib(loads[gpu]?.memoryBytes ?? 0)} taken`).join('; ')}`
        : `${gib(memoryBytes)} of memory, ${gib(this.#ledger.cpuMemoryBytes)} taken`;
    return insufficient(planned.name, `${count === 1 ? 'it asks' : `each of its ${count} replicas asks`} for ${demand}; this machine has ${supply}`, {
      demand: { num_replicas: count, num_gpus: asked, memory_bytes: bytes },
      supply: { num_gpus: gpus.length, memory_bytes: gpus.length > 0 && asked > 0 ? gpus.map((gpu) => gpu.memoryBytes) : memoryBytes },
    });
  }

  #tooLittleMemory({ name }: Planned, need: MemoryNeed, placement: Placement): AanaError {
    const { machine } = this.#ledger;
    const devices = placement.gpus.map((gpu) => machine.gpus[gpu]);
    const supply = devices.length > 0 ? devices.map((gpu) => gpu?.memoryBytes ?? 0) : [machine.memoryBytes];
    const where = devices.length > 0 ? devices.map((gpu) => gpu?.name).join(' and ') : 'this machine';
    const asked = `a replica needs at least ${gib(need.weightsBytes + need.contextBytes)} of memory (${gib(need.weightsBytes)} for its weights, ${gib(need.contextBytes)} for its context)`;
    return insufficient(name, `${asked}; ${where} has ${supply.map(gib).join(' and ')}, less what other replicas have. A smaller model, a shorter context or fewer replicas would fit`, {
      demand: { weights_bytes: need.weightsBytes, context_bytes: need.contextBytes },
      supply: { memory_bytes: supply },
    });
  }
}

function gpusOf({ options }: PlannedDeployment): number {
  return options.ray_actor_options.num_gpus ?? 0;
}

function reservedBytes({ options }: PlannedDeployment): number {
  return options.ray_actor_options.memory_bytes ?? 0;
}

function demandOf(planned: Planned): Parameters<PlacementLedger['place']>[0] {
  return { deployment: planned.name, gpus: planned.options.ray_actor_options.num_gpus, reservedBytes: reservedBytes(planned) };
}

/** On the CPU the weights are counted with the first replica: the others have the same file mapped. */
function bytesOf({ weightsBytes, contextBytes }: MemoryNeed, { gpus }: Placement, isFirst: boolean): number {
  return gpus.length > 0 || isFirst ? weightsBytes + contextBytes : contextBytes;
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 0)} GiB`;
}

function insufficient(deployment: string, why: string, facts: { readonly demand: unknown; readonly supply: unknown }): AanaError {
  return new AanaError('InsufficientResources', 'unavailable', `there is no room for deployment ${deployment}: ${why}`, { data: { deployment, ...facts } });
}
