import type { Gpu } from './machine.ts';

/** A GPU as the driver knows it. */
export interface DriverGpu extends Gpu {
  readonly index: number;
  /** `GPU-…`; a part of a GPU is `MIG-…`. */
  readonly uuid: string | undefined;
  /** What it is cut into; then CUDA uses these parts and not the whole. */
  readonly parts?: readonly Gpu[] | undefined;
}

/**
 * The GPUs that `CUDA_VISIBLE_DEVICES` leaves, in its order: unset leaves all, with all parts of those that are cut;
 * empty none. Indices count in the order of the PCI bus, a UUID may be shortened as long as it stays unique; of a cut
 * GPU either gives the first part. As for CUDA, what names no GPU, or one a second time, ends the list.
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
    // One in a form that the driver's list does not have is taken at its word.
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
