import * as z from 'zod';
import { raceAbort } from '../../../base/core/abort.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../../../base/core/telemetry.ts';
import { deviceName, type Machine, PlacementLedger } from '../../devices/index.ts';
import { DeploymentPlaces, type PlannedDeployment } from './deployment-places.ts';
import { firstReplicas } from '../class/deployment-options.ts';

/** A device of the machine: a GPU, or the processors with the main memory. */
export const DeviceReport = z.object({
  /** `CPU`, or the GPU with the machine's number: `GPU 0`. */
  name: z.string(),
  /** Name of the product; empty for the processors. */
  model: z.string(),
  cpus: z.nullable(z.number()),
  /** Null when it is unknown. */
  memory_bytes: z.nullable(z.number()),
  /** Memory that other programs use, as of the last look. */
  other_bytes: z.number(),
  /** Why GPUs of the machine are not used. Only the processors have some, which compute instead. */
  problems: z.array(z.string()),
});
export type DeviceReport = z.output<typeof DeviceReport>;

/** The span of a place for a replica. */
const PLACEMENT = 'aana.deployment.placement';

/** The placement of all deployments on the devices of one machine. */
export class DevicePlan {
  readonly #ledger: PlacementLedger;
  readonly #log: Logger;
  readonly #stopping: AbortSignal | undefined;
  readonly #span: Telemetry['span'];
  /** The query of the GPUs that is in progress. */
  #looking: Promise<void> | undefined;

  /** `stopping` ends queries of the GPUs. `telemetry` gets a span for each place. */
  constructor(machine: Machine, log: Logger, stopping?: AbortSignal, telemetry: Telemetry = noTelemetry) {
    this.#ledger = new PlacementLedger(machine);
    this.#log = log;
    this.#stopping = stopping;
    this.#span = (name, options) => telemetry.span(name, options);
  }

  get machine(): Machine {
    return this.#ledger.machine;
  }

  /** Returns the devices with the memory that other programs use: all GPUs, and the processors with the main memory. */
  devices(): DeviceReport[] {
    this.#lookAtMain();
    const { machine, foreignMainBytes } = this.#ledger;
    const loads = this.#ledger.loads();
    const gpus = machine.gpus.map(({ name, memoryBytes }, gpu) => ({
      name: deviceName(gpu),
      model: name,
      cpus: null,
      memory_bytes: memoryBytes || null,
      other_bytes: loads[gpu]?.foreignBytes ?? 0,
      problems: [],
    }));
    const main = {
      name: deviceName('main'),
      model: '',
      cpus: machine.cpus ?? null,
      memory_bytes: machine.memoryBytes || null,
      other_bytes: foreignMainBytes,
      problems: (machine.problems ?? []).map(({ found, advice }) => `${found}; ${advice}`),
    };
    return [...gpus, main];
  }

  /** Updates how much of the devices other programs leave free. Rejects only with the signal's reason. */
  async look(signal: AbortSignal): Promise<void> {
    const asked = this.#lookAtGpus();
    if (asked) await raceAbort(asked, signal);
    this.#lookAtMain();
  }

  /**
   * Reserves places for all replicas that must run, the largest first, because small replicas fit into the gaps. Throws
   * `InsufficientResources`, which names demand and supply, and `ValidationError` for processors that replicas cannot
   * use; then no place is reserved.
   */
  reserve(deployments: readonly PlannedDeployment[]): Map<string, DeploymentPlaces> {
    const places = new Map(deployments.map((planned) => [planned.name, this.placesFor(planned)]));
    const largestFirst = [...deployments].sort((a, b) => gpusOf(b) - gpusOf(a) || reservedBytes(b) - reservedBytes(a));
    try {
      for (const planned of largestFirst) this.#reserveOne(planned, places.get(planned.name));
    } catch (error) {
      for (const each of places.values()) each.releaseReserved();
      throw error;
    }
    const lacking = deployments.filter((planned) => gpusOf(planned) > 0).map(({ name }) => name);
    if (this.#ledger.machine.gpus.length === 0 && lacking.length > 0)
      this.#log.warn('this machine has no GPU; deployments that ask for one run on the CPU', { deployments: lacking });
    const unbound = deployments.filter(({ options }) => options.cpu_affinity === 'auto').map(({ name }) => name);
    if (!this.machine.processors && unbound.length > 0)
      this.#log.warn(
        'processes are bound to processors by the native build on Linux, which is not here; cpu_affinity has no effect',
        {
          deployments: unbound,
        },
      );
    return places;
  }

  /** Returns the places of a deployment, with none reserved. */
  placesFor(planned: PlannedDeployment): DeploymentPlaces {
    return new DeploymentPlaces(this.#ledger, planned, {
      main: () => this.#lookAtMain(),
      gpus: () => this.#lookAtGpus(),
      placed: (device) =>
        this.#span(PLACEMENT, { attributes: { 'aana.deployment': planned.name, 'aana.device': device } }).end(),
    });
  }

  /**
   * Updates how much of each GPU is free. Deployments that ask at the same time share one query, because it starts a
   * process. Returns undefined when the machine cannot be queried.
   */
  #lookAtGpus(): Promise<void> | undefined {
    const { freeGpuBytes } = this.machine.probe ?? {};
    if (!freeGpuBytes) return undefined;
    this.#looking ??= freeGpuBytes(this.#stopping)
      .then((free) => free.forEach((bytes, gpu) => bytes !== undefined && this.#ledger.noteFree(gpu, bytes)))
      .catch(() => {}) // the deployments are being stopped
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  #lookAtMain(): void {
    const free = this.machine.probe?.freeMainBytes?.();
    if (free !== undefined) this.#ledger.noteFree('main', free);
  }

  #reserveOne(planned: PlannedDeployment, places: DeploymentPlaces | undefined): void {
    const count = firstReplicas(planned.options);
    try {
      places?.reserve(count);
    } catch (error) {
      this.#span(PLACEMENT, { attributes: { 'aana.deployment': planned.name } }).end({ error });
      throw error;
    }
    // A sleeping deployment must fit on the empty machine.
    if (count === 0) new DeploymentPlaces(new PlacementLedger(this.#ledger.machine), planned).reserve(1);
  }
}

function gpusOf({ options }: PlannedDeployment): number {
  return options.ray_actor_options.num_gpus ?? 0;
}

function reservedBytes({ options }: PlannedDeployment): number {
  return options.ray_actor_options.memory_bytes ?? 0;
}
