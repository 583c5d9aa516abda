import type { Machine } from './machine.ts';
import type { Placement } from './placement-ledger.ts';

/** Where a replica runs, for people: `CPU`, `GPU 0`, `GPU 0, 1`; `any GPU` where it sees all and has none of its own. */
export function placementText(machine: Machine, { gpus, unbound }: Placement): string {
  if (gpus.length > 0) return `GPU ${gpus.join(', ')}`;
  return unbound && machine.gpus.length > 0 ? 'any GPU' : 'CPU';
}

/** What a replica's environment says of its devices: the GPUs of its placement and no others. */
export function placementEnvironment(machine: Machine, { gpus, unbound }: Placement): Record<string, string> {
  if (unbound) return {};
  const ids = gpus.map((gpu) => machine.gpus[gpu]?.id);
  // Apple's and Vulkan's GPUs have no such variable; a deployment on the CPU is kept from CUDA's all the same.
  const known = ids.filter((id) => id !== undefined);
  if (known.length < ids.length) return {};
  return { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: known.join(',') };
}
