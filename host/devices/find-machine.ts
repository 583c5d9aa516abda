import { totalmem } from 'node:os';
import type { Logger } from '../core/logger.ts';
import { listAddonGpus } from './addon-devices.ts';
import type { Gpu, Machine } from './machine.ts';
import { listNvidiaGpus } from './nvidia-smi.ts';
import { type DriverGpu, visibleGpus } from './visible-gpus.ts';

/** Devices as an operator declares them, in place of those that are found. */
export interface DeclaredDevices {
  readonly gpus?: readonly { readonly id?: string | undefined; readonly name?: string | undefined; readonly memory_bytes: number }[] | null | undefined;
  readonly memory_bytes?: number | null | undefined;
}

export interface FindMachineOptions {
  /** Environment of the replicas; its `CUDA_VISIBLE_DEVICES` says which GPUs may be used. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly declared?: DeclaredDevices | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for each of the two who are asked. Default 15 000. */
  readonly timeoutMs?: number | undefined;
  /** Stand-in for the program that asks the addon. */
  readonly addonProgram?: URL | undefined;
}

/**
 * What replicas can be placed on. GPUs are those of `nvidia-smi` that `CUDA_VISIBLE_DEVICES` leaves and that the native addon can
 * use; where there is no `nvidia-smi`, those that the addon lists. Neither: no GPUs, which is no error.
 */
export async function findMachine(options: FindMachineOptions): Promise<Machine> {
  const { env, log, declared } = options;
  const memoryBytes = declared?.memory_bytes ?? usableMemory();
  const visible = env['CUDA_VISIBLE_DEVICES'];
  if (declared?.gpus) return { gpus: visibleGpus(declared.gpus.map(toDriverGpu), visible), memoryBytes };

  const ask = { env, log, signal: options.signal, timeoutMs: options.timeoutMs ?? 15_000 };
  const [ofDriver, ofAddon] = await Promise.all([listNvidiaGpus(ask), listAddonGpus({ ...ask, program: options.addonProgram })]);
  const gpus = visibleGpus(ofDriver, visible);
  if (gpus.length > 0 && ofAddon?.length === 0) {
    log.warn('the native addon can use none of the GPUs of this machine; models run on the CPU', { gpus: gpus.map(({ name }) => name) });
    return { gpus: [], memoryBytes };
  }
  if (ofDriver.length > 0) return { gpus, memoryBytes };
  return { gpus: (ofAddon ?? []).map(({ description, memoryTotalBytes }): Gpu => ({ id: undefined, name: description, memoryBytes: memoryTotalBytes })), memoryBytes };
}

function toDriverGpu({ id, name, memory_bytes: memoryBytes }: NonNullable<DeclaredDevices['gpus']>[number], index: number): DriverGpu {
  return { index, uuid: id, id: id ?? String(index), name: name ?? 'declared GPU', memoryBytes };
}

/** The machine's memory, or the container's limit where that is less. */
function usableMemory(): number {
  const limit = process.constrainedMemory(); // 0, or more than there is, when there is no limit
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
