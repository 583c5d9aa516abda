import type { Gpu } from './machine.ts';

/** A GPU in the driver's list. */
export interface DriverGpu extends Gpu {
  readonly index: number;
  /** UUID such as `GPU-…`, or `MIG-…` for a part of a GPU. */
  readonly uuid: string | undefined;
  /** Parts of a divided GPU. CUDA then uses the parts instead of the whole. */
  readonly parts?: readonly Gpu[] | undefined;
}

/**
 * Returns the GPUs that `CUDA_VISIBLE_DEVICES` selects, in its order. Unset selects all GPUs, with all parts of divided
 * ones; empty selects none. Indices follow the PCI bus, and a UUID may be shortened if it stays unique; both select the
 * first part of a divided GPU. As in CUDA, an unknown or repeated entry ends the list.
 */
export function visibleGpus(all: readonly DriverGpu[], value: string | undefined): Gpu[] {
  if (value === undefined) return all.flatMap((gpu) => gpu.parts ?? toGpu(gpu));
  const visible: Gpu[] = [];
  for (const entry of value.split(',').map((part) => part.trim())) {
    const gpu = find(all, entry);
    if (!gpu || visible.some(({ id }) => id === gpu.id)) break;
    visible.push(gpu);
  }
  return visible;
}

function find(all: readonly DriverGpu[], entry: string): Gpu | undefined {
  if (entry.startsWith('MIG-')) {
    const parts = all.flatMap((gpu) => gpu.parts ?? []).filter(({ id }) => id?.startsWith(entry));
    const declared = all.find(({ uuid }) => uuid === entry);
    // An entry in a form that the driver's list does not have is accepted unchecked.
    return parts.length > 0
      ? only(parts)
      : declared
        ? toGpu(declared)
        : { id: entry, name: 'part of a GPU', memoryBytes: 0, isPart: true };
  }
  const gpu = /^\d+$/.test(entry)
    ? all.find(({ index }) => index === Number(entry))
    : entry.startsWith('GPU-')
      ? only(all.filter(({ uuid }) => uuid?.startsWith(entry)))
      : undefined;
  return gpu && (gpu.parts?.[0] ?? toGpu(gpu));
}

const only = <T>(matches: readonly T[]): T | undefined => (matches.length === 1 ? matches[0] : undefined);

const toGpu = ({ id, name, memoryBytes, isPart }: DriverGpu): Gpu => ({
  id,
  name,
  memoryBytes,
  ...(isPart && { isPart }),
});
