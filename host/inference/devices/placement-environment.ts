import { GPU_DEVICES_VARIABLE } from '../../../native/lib/index.ts';
import type { Machine } from './machine.ts';
import type { Placement } from './placement-ledger.ts';

/** Returns the name of a replica's devices for people: `CPU`, `GPU 0`, `GPU 0, 1`. */
export function placementText({ gpus }: Placement): string {
  return gpus.length > 0 ? `GPU ${gpus.join(', ')}` : 'CPU';
}

/** Returns the name of a device for people: `GPU 0`, or `CPU` for the processors with the main memory. */
export function deviceName(device: number | 'main'): string {
  return device === 'main' ? 'CPU' : `GPU ${device}`;
}

/** Returns the environment variables that show a replica only the GPUs of its placement. */
export function placementEnvironment(machine: Machine, { gpus }: Placement): Record<string, string> {
  const mine = gpus.flatMap((gpu) => machine.gpus[gpu] ?? []);
  const ids = mine.flatMap(({ id }) => id ?? []);
  const names = mine.flatMap(({ id, device }) => (id === undefined && device !== undefined ? [device] : []));
  return {
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    CUDA_VISIBLE_DEVICES: ids.join(','),
    [GPU_DEVICES_VARIABLE]: names.join(','),
  };
}
