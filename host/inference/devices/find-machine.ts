import type { Logger } from '../../base/core/log/logger.ts';
import { freeMainBytes } from '../../base/core/machine/main-memory.ts';
import { allowedProcessors, usableCores, usableCpus } from '../../base/core/machine/processors.ts';
import { totalMainBytes } from '../../base/core/machine/total-memory.ts';
import { launcherPath } from '../../base/processes/index.ts';
import { type AddonGpus, listAddonGpus } from './addon-devices.ts';
import { backendProblem } from './backend-problem.ts';
import type { Gpu, GpuProblem, Machine } from './machine.ts';
import { freeNvidiaBytes, listNvidiaGpus } from './nvidia-smi.ts';
import { type DriverGpu, visibleGpus } from './visible-gpus.ts';

/** Devices that the operator declares. They replace detected ones. */
export interface DeclaredDevices {
  readonly gpus?:
    | readonly { readonly id?: string | undefined; readonly name?: string | undefined; readonly memory_bytes: number }[]
    | null
    | undefined;
  readonly memory_bytes?: number | null | undefined;
  readonly cpus?: number | null | undefined;
  readonly placement?: Machine['placement'];
}

export interface FindMachineOptions {
  /** Environment of the replicas. Its `CUDA_VISIBLE_DEVICES` limits the GPUs. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly declared?: DeclaredDevices | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Time limit of `nvidia-smi` and of the addon, each, in milliseconds. Default: 15 000. */
  readonly timeoutMs?: number | undefined;
  /** Test double of the program that lists the addon's devices. */
  readonly addonProgram?: URL | undefined;
}

type FreeGpuBytes = (signal: AbortSignal | undefined) => Promise<readonly (number | undefined)[]>;

interface Found {
  readonly gpus: readonly Gpu[];
  readonly freeBytes: FreeGpuBytes | undefined;
  readonly problems: readonly GpuProblem[];
}

/**
 * Returns the devices for replicas. The GPUs are those of `nvidia-smi` within `CUDA_VISIBLE_DEVICES`, if the native
 * addon can use them; without `nvidia-smi`, the GPUs that the addon lists. No GPU is not an error. Declared devices are
 * not checked, and their free memory is not queried.
 */
export async function findMachine(options: FindMachineOptions): Promise<Machine> {
  const { env, declared } = options;
  const visible = env['CUDA_VISIBLE_DEVICES'];
  const { gpus, freeBytes, problems }: Found = declared?.gpus
    ? { gpus: visibleGpus(declared.gpus.map(toDriverGpu), visible), freeBytes: undefined, problems: [] }
    : await findGpus(options);
  const processors = allowedProcessors();
  const usable = usableCpus('/', processors);
  const cpus = declared?.cpus ?? usable;
  const declaredBytes = declared?.memory_bytes ?? undefined;
  return {
    gpus,
    problems,
    memoryBytes: declaredBytes ?? totalMainBytes(),
    cpus,
    cores: cpus > usable ? cpus : Math.min(cpus, usableCores('/', processors)),
    processors: launcherPath() === undefined ? undefined : processors, // the launcher binds processes
    placement: declared?.placement,
    probe: {
      freeMainBytes: declaredBytes === undefined ? () => freeMainBytes() : undefined,
      freeGpuBytes: gpus.length > 0 ? freeBytes : undefined,
    },
  };
}

async function findGpus({ env, log, signal, timeoutMs = 15_000, addonProgram }: FindMachineOptions): Promise<Found> {
  const visible = env['CUDA_VISIBLE_DEVICES'];
  const ask = { env, log, timeoutMs, program: addonProgram };
  const [ofDriver, ofAddon] = await Promise.all([
    listNvidiaGpus({ ...ask, signal }),
    listAddonGpus({ ...ask, signal }),
  ]);
  const ofSmi = visibleGpus(ofDriver, visible);
  const problems = problemsOf(ofAddon, ofSmi, visible);
  for (const { found, advice } of problems) log.warn('GPUs cannot be used', { reason: found, advice });
  const isVulkan = ofAddon?.gpus.some(({ name }) => name.startsWith('Vulkan')); // CUDA's variable does not apply
  if (ofDriver.length > 0 && !isVulkan) {
    const gpus = ofAddon?.gpus.length === 0 ? [] : ofSmi;
    return {
      gpus,
      problems,
      freeBytes: async (asker) => {
        const free = await freeNvidiaBytes({ ...ask, signal: asker });
        return gpus.map(({ id }) => (id === undefined ? undefined : free.get(id)));
      },
    };
  }
  return {
    gpus: ofAddon ? gpusOfAddon(ofAddon, visible) : [],
    problems,
    freeBytes: async (asker) =>
      (await listAddonGpus({ ...ask, signal: asker }))?.gpus.map(({ memoryFreeBytes }) => memoryFreeBytes) ?? [],
  };
}

/** Returns why the addon cannot use the GPUs of the machine, whose driver lists `gpus`. */
function problemsOf(
  addon: AddonGpus | undefined,
  gpus: readonly Gpu[],
  visible: string | undefined,
): readonly GpuProblem[] {
  if (!addon) return []; // it is not built, or does not load, which the log says
  const wanted = addon.backends.filter(({ name }) => name !== 'cuda' || visible !== '');
  const problems = wanted.flatMap((backend) => backendProblem(backend) ?? []);
  if (problems.length > 0 || addon.gpus.length > 0 || gpus.length === 0) return problems;
  const names = gpus.map(({ name }) => name).join(', ');
  return [
    {
      found: `the native addon has no backend for the GPUs of this machine (${names})`,
      advice: 'set cuda_backend to auto or on, and run aana-host build-native',
    },
  ];
}

/**
 * Returns the addon's GPUs: CUDA devices with the UUIDs of the driver's library, or else their indices; other devices
 * with the engines' names.
 */
function gpusOfAddon({ gpus, driver }: AddonGpus, visible: string | undefined): Gpu[] {
  const cuda = gpus.filter(({ name }) => name.startsWith('CUDA'));
  const listed = visible?.split(',').map((part) => part.trim());
  return gpus.map((gpu) => {
    const { name, description, memoryTotalBytes: memoryBytes } = gpu;
    const at = cuda.indexOf(gpu);
    if (at === -1) return { id: undefined, device: name, name: description, memoryBytes };
    const id = (driver.length === cuda.length ? driver[at]?.uuid : undefined) ?? listed?.[at] ?? String(at);
    return { id, name: description, memoryBytes, ...(id.startsWith('MIG-') && { isPart: true }) };
  });
}

function toDriverGpu(
  { id, name, memory_bytes: memoryBytes }: NonNullable<DeclaredDevices['gpus']>[number],
  index: number,
): DriverGpu {
  return {
    index,
    uuid: id,
    id: id ?? String(index),
    name: name ?? 'declared GPU',
    memoryBytes,
    ...(id?.startsWith('MIG-') && { isPart: true }),
  };
}
