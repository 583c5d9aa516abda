import type { Logger } from '../core/log/logger.ts';
import { runContained } from '../processes/index.ts';
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
 * The GPUs that NVIDIA's driver knows, with the parts that they are cut into; none when there is no `nvidia-smi`, or
 * when it fails. Rejects with the signal's reason only.
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
 * Free bytes of each whole GPU by its UUID, as the driver sees all processes. Rejects with the signal's reason only.
 */
export async function freeNvidiaBytes(options: NvidiaSmiOptions): Promise<ReadonlyMap<string, number>> {
  const text = await ask(['--query-gpu=uuid,memory.free', FORMAT], options);
  const lines = [...text.matchAll(/^\s*(GPU-[^,\s]+)\s*,\s*(\d+)\s*$/gm)];
  return new Map(lines.map(([, uuid = '', mebibytes]) => [uuid, Number(mebibytes) * MIB]));
}

/** What the program prints; empty when it is not there or fails. */
async function ask(args: readonly string[], { env, log, timeoutMs, signal }: NvidiaSmiOptions): Promise<string> {
  try {
    const { code, stdout, stderr } = await runContained('nvidia-smi', [...args], { env, timeoutMs, signal });
    if (code === 0) return stdout.toString('utf8');
    log.debug('nvidia-smi failed', { code, stderr: stderr.trim().slice(0, 500) }); // tools without a driver: no GPU
  } catch (error) {
    signal?.throwIfAborted();
    const isAbsent = error instanceof Error && error.name === 'CommandNotFound';
    if (!isAbsent)
      log.warn('nvidia-smi cannot be asked for GPUs', {
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
 * The parts of each GPU that is cut (MIG), by the GPU's UUID, from lines such as `GPU 0: NVIDIA H100 (UUID: GPU-…)` and
 * below it ` MIG 1g.10gb Device 0: (UUID: MIG-…)`. A part's memory is what its profile is named for, in 10⁹ bytes,
 * which is a little less than it has.
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
