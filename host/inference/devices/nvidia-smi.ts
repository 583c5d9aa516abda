import type { Logger } from '../../base/core/log/logger.ts';
import { runContained } from '../../base/processes/index.ts';
import type { Gpu } from './machine.ts';
import type { DriverGpu } from './visible-gpus.ts';

export interface NvidiaSmiOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 2 ** 20;
const FORMAT = '--format=csv,noheader,nounits';

/**
 * Returns the GPUs of NVIDIA's driver, with their parts (MIG). Empty when `nvidia-smi` is missing or fails. Rejects
 * only with the signal's reason.
 */
export async function listNvidiaGpus(options: NvidiaSmiOptions): Promise<DriverGpu[]> {
  const gpus = parseNvidiaSmi(await ask(['--query-gpu=index,uuid,memory.total,name', FORMAT], options));
  if (gpus.length === 0) return [];
  const parts = parseParts(await ask(['-L'], options));
  return gpus.map((gpu) => {
    const ofGpu = parts.get(gpu.uuid ?? '');
    return ofGpu ? { ...gpu, parts: ofGpu } : gpu;
  });
}

/**
 * Returns the free bytes of each whole GPU, by UUID, with all processes counted. Rejects only with the signal's reason.
 */
export async function freeNvidiaBytes(options: NvidiaSmiOptions): Promise<ReadonlyMap<string, number>> {
  const text = await ask(['--query-gpu=uuid,memory.free', FORMAT], options);
  const lines = [...text.matchAll(/^\s*(GPU-[^,\s]+)\s*,\s*(\d+)\s*$/gm)];
  return new Map(lines.map(([, uuid = '', mebibytes]) => [uuid, Number(mebibytes) * MIB]));
}

/** Returns the version of NVIDIA's driver. Undefined without one. Rejects only with the signal's reason. */
export async function nvidiaDriver(options: NvidiaSmiOptions): Promise<string | undefined> {
  return /^\d+(\.\d+)+$/m.exec(await ask(['--query-gpu=driver_version', '--format=csv,noheader'], options))?.[0];
}

/** Returns the output of `nvidia-smi`; empty when it is missing or fails. */
async function ask(args: readonly string[], { env, log, timeoutMs, signal }: NvidiaSmiOptions): Promise<string> {
  try {
    const { code, stdout, stderr } = await runContained('nvidia-smi', [...args], { env, timeoutMs, signal });
    if (code === 0) return stdout.toString('utf8');
    log.debug('nvidia-smi failed', { code, stderr: stderr.trim().slice(0, 500) }); // usually tools without a driver
  } catch (error) {
    signal?.throwIfAborted();
    const isAbsent = error instanceof Error && error.name === 'CommandNotFound';
    if (!isAbsent)
      log.warn('nvidia-smi cannot list GPUs', {
        reason: error instanceof Error ? error.message : String(error),
      });
  }
  return '';
}

/**
 * Lines such as `0, GPU-8932f937-…, 81559, NVIDIA H100 80GB HBM3`. What is no such line is skipped; memory may be
 * `[N/A]`.
 */
export function parseNvidiaSmi(text: string): DriverGpu[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s*,\s*([^,\s]+)\s*,\s*([^,]*?)\s*,\s*(.+?)\s*$/.exec(line);
    if (!match) return [];
    const [, index = '', uuid = '', mebibytes = '', name = ''] = match;
    return [
      {
        index: Number(index),
        uuid,
        id: uuid,
        name,
        memoryBytes: /^\d+$/.test(mebibytes) ? Number(mebibytes) * MIB : 0,
      },
    ];
  });
}

/**
 * Returns the parts of each divided GPU (MIG), by the GPU's UUID, from lines such as `GPU 0: NVIDIA H100 (UUID: GPU-…)`
 * followed by ` MIG 1g.10gb Device 0: (UUID: MIG-…)`. A part's memory is taken from the name of its profile, in 10⁹
 * bytes, which is slightly less than it has.
 */
export function parseParts(text: string): ReadonlyMap<string, readonly Gpu[]> {
  const partsByGpu = new Map<string, Gpu[]>();
  let gpu = '';
  let gpuName = '';
  for (const line of text.split('\n')) {
    const whole = /^GPU \d+: (.*) \(UUID: (GPU-[^)]+)\)/.exec(line);
    if (whole) [, gpuName = '', gpu = ''] = whole;
    const part = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)/.exec(line);
    if (!part || gpu === '') continue;
    const [, profile = '', id = ''] = part;
    const gigabytes = Number(/(\d+)gb/.exec(profile)?.[1] ?? 0);
    const parts = partsByGpu.get(gpu) ?? [];
    parts.push({ id, name: `${gpuName} ${profile}`, memoryBytes: gigabytes * 1e9, isPart: true });
    partsByGpu.set(gpu, parts);
  }
  return partsByGpu;
}
