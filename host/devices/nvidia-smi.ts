import type { Logger } from '../core/logger.ts';
import { runContained } from '../processes/index.ts';
import type { DriverGpu } from './visible-gpus.ts';

export interface NvidiaSmiOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 2 ** 20;
const QUERY = ['--query-gpu=index,uuid,memory.total,name', '--format=csv,noheader,nounits'];

/** The GPUs that NVIDIA's driver knows; none when there is no `nvidia-smi`, or when it fails. Rejects with the signal's reason only. */
export async function listNvidiaGpus({ env, log, timeoutMs, signal }: NvidiaSmiOptions): Promise<DriverGpu[]> {
  try {
    const { code, stdout, stderr } = await runContained('nvidia-smi', QUERY, { env, timeoutMs, signal });
    if (code === 0) return parseNvidiaSmi(stdout.toString('utf8'));
    log.debug('nvidia-smi failed', { code, stderr: stderr.trim().slice(0, 500) }); // tools without a driver: no GPU
  } catch (error) {
    signal?.throwIfAborted();
    const isAbsent = error instanceof Error && error.name === 'CommandNotFound';
    if (!isAbsent) log.warn('nvidia-smi cannot be asked for GPUs', { reason: error instanceof Error ? error.message : String(error) });
  }
  return [];
}

/** Lines such as `0, GPU-8932f937-…, 81559, NVIDIA H100 80GB HBM3`. What is no such line is skipped; memory may be `[N/A]`. */
export function parseNvidiaSmi(text: string): DriverGpu[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s*,\s*([^,\s]+)\s*,\s*([^,]*?)\s*,\s*(.+?)\s*$/.exec(line);
    if (!match) return [];
    const [, index = '', uuid = '', mebibytes = '', name = ''] = match;
    return [{ index: Number(index), uuid, id: uuid, name, memoryBytes: /^\d+$/.test(mebibytes) ? Number(mebibytes) * MIB : 0 }];
  });
}
