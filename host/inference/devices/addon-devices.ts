import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { runContained } from '../../base/processes/index.ts';
import {
  nativeAddonPath,
  type NativeDevice,
  type NativeDriverGpu,
  type NativeGpuBackend,
} from '../../../native/lib/index.ts';

export interface AddonDevicesOptions {
  /** Environment with the host's `CUDA_VISIBLE_DEVICES`, which limits the GPUs that the addon lists. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Program that prints the devices. Default: the program that loads the package's addon. */
  readonly program?: URL | undefined;
}

const PROGRAM = new URL('./process/list-addon-devices.js', import.meta.url);

export interface AddonGpus {
  readonly gpus: readonly NativeDevice[];
  /** The GPUs of NVIDIA's driver, with UUIDs, in the order of the addon's CUDA devices. */
  readonly driver: readonly NativeDriverGpu[];
  /** The backends for GPUs that the addon has. */
  readonly backends: readonly NativeGpuBackend[];
}

/**
 * Returns the GPUs that the native addon can use, which a separate process lists. Undefined when the addon is not built
 * or does not load. Rejects only with the signal's reason.
 */
export async function listAddonGpus({
  env,
  log,
  timeoutMs,
  signal,
  program,
}: AddonDevicesOptions): Promise<AddonGpus | undefined> {
  if (!program && !existsSync(nativeAddonPath(packageRoot))) return undefined;
  let reason: string;
  try {
    const {
      code,
      signal: endedBy,
      stdout,
      stderr,
    } = await runContained(process.execPath, [fileURLToPath(program ?? PROGRAM)], {
      env: { ...env, CUDA_DEVICE_ORDER: 'PCI_BUS_ID' },
      timeoutMs,
      signal,
    });
    if (code === 0) return gpusOf(stdout.toString('utf8'));
    reason = `its process ended with ${endedBy ?? code}: ${stderr.trim().split('\n').at(-1)?.slice(0, 500) ?? ''}`;
  } catch (error) {
    signal?.throwIfAborted();
    reason = error instanceof Error ? error.message : String(error);
  }
  log.warn('the native addon cannot list GPUs', { reason });
  return undefined;
}

/** Parses the last line of the output, because libraries may print lines before the list. */
function gpusOf(text: string): AddonGpus {
  const { devices, ...others } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as Omit<AddonGpus, 'gpus'> & {
    readonly devices: readonly NativeDevice[];
  };
  return { gpus: devices.filter(({ type }) => type === 'gpu'), ...others };
}
