import type { Gpu } from './machine.ts';

/** A GPU as the driver knows it. */
export interface DriverGpu extends Gpu {
  readonly index: number;
  /** `GPU-…`; a part of a GPU is `MIG-…`. */
  readonly uuid: string | undefined;
}

/**
 * The GPUs that `CUDA_VISIBLE_DEVICES` leaves, in its order: unset leaves all, empty none. Indices count in the order of the PCI
 * bus, a UUID may be shortened as long as it stays unique. As for CUDA, what names no GPU, or one a second time, ends the list.
 */
export function visibleGpus(all: readonly DriverGpu[], value: string | undefined): Gpu[] {
  if (value === undefined) return all.map(toGpu);
  const visible: Gpu[] = [];
  for (const entry of value.split(',').map((part) => part.trim())) {
    const gpu = find(all, entry);
    if (!gpu || visible.some(({ id }) => id === gpu.id)) break;
    visible.push(gpu);
  }
  return visible;
}

function find(all: readonly DriverGpu[], entry: string): Gpu | undefined {
  // The driver lists whole GPUs; a part of one is taken at its word.
  if (entry.startsWith('MIG-')) return { id: entry, name: 'part of a GPU', memoryBytes: 0 };
  if (/^\d+$/.test(entry)) {
    const gpu = all.find(({ index }) => index === Number(entry));
    return gpu && toGpu(gpu);
  }
  const matches = entry.startsWith('GPU-') ? all.filter(({ uuid }) => uuid?.startsWith(entry)) : [];
  return matches.length === 1 && matches[0] ? toGpu(matches[0]) : undefined;
}

const toGpu = ({ id, name, memoryBytes }: DriverGpu): Gpu => ({ id, name, memoryBytes });
