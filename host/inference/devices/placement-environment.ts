import { processorListText } from '../../base/core/machine/processor-list.ts';
import { GPU_DEVICES_VARIABLE } from '../../../native/lib/index.ts';
import type { Machine } from './machine.ts';
import type { Placement } from './placement-ledger.ts';

/**
 * Returns the name of a replica's devices for people: `CPU`, `GPU 0`, `GPU 0, 1`; with the processors to which it is
 * bound, `CPU 0-3`, `GPU 0, CPU 0-3`.
 */
export function placementText({ gpus }: Placement, processors?: readonly number[]): string {
  const cpu = processors ? `CPU ${processorListText(processors)}` : 'CPU';
  if (gpus.length === 0) return cpu;
  return `GPU ${gpus.join(', ')}${processors ? `, ${cpu}` : ''}`;
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
