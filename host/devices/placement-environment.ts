import type { Machine } from './machine.ts';
import type { Placement } from './placement-ledger.ts';

/** What a replica's environment says of its devices: the GPUs of its placement and no others. */
export function placementEnvironment(machine: Machine, { gpus, unbound }: Placement): Record<string, string> {
  if (unbound) return {};
  const ids = gpus.map((gpu) => machine.gpus[gpu]?.id);
  // Apple's and Vulkan's GPUs have no such variable; a deployment on the CPU is kept from CUDA's all the same.
  const known = ids.filter((id) => id !== undefined);
  if (known.length < ids.length) return {};
  return { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: known.join(',') };
}
