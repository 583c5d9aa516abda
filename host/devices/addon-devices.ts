import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../core/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { runContained } from '../processes/index.ts';
import { nativeAddonPath, type NativeDevice } from '../../native/lib/index.ts';

export interface AddonDevicesOptions {
  /** With the `CUDA_VISIBLE_DEVICES` of the host: the addon lists what that leaves. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The program that prints the devices. Default: the one that loads the package's addon. */
  readonly program?: URL | undefined;
}

const PROGRAM = new URL('./process/list-addon-devices.js', import.meta.url);

/**
 * The GPUs that the native addon can use, as a process of its own finds them. Undefined when it cannot be asked: it is not built, or
 * does not load. Rejects with the signal's reason only.
 */
export async function listAddonGpus({ env, log, timeoutMs, signal, program }: AddonDevicesOptions): Promise<NativeDevice[] | undefined> {
  if (!program && !existsSync(nativeAddonPath(packageRoot))) return undefined;
  let reason: string;
  try {
    const { code, signal: endedBy, stdout, stderr } = await runContained(process.execPath, [fileURLToPath(program ?? PROGRAM)], { env, timeoutMs, signal });
    if (code === 0) return gpusOf(stdout.toString('utf8'));
    reason = `its process ended with ${endedBy ?? code}: ${stderr.trim().split('\n').at(-1)?.slice(0, 500) ?? ''}`;
  } catch (error) {
    signal?.throwIfAborted();
    reason = error instanceof Error ? error.message : String(error);
  }
  log.warn('the native addon cannot be asked for GPUs', { reason });
  return undefined;
}

/** The last line is the list; libraries may print before it. */
function gpusOf(text: string): NativeDevice[] {
  const devices = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as NativeDevice[];
  return devices.filter(({ type }) => type === 'gpu');
}
