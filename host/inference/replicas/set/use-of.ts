import type { Member } from './fleet.ts';

/**
 * Returns a sort key for ending replicas: first those given up, then those not serving, then by the number of calls.
 */
export function useOf({ slot: { state, replica } }: Member): number {
  if (state === 'failed') return -2;
  return state === 'serving' ? (replica?.ongoing ?? 0) : -1;
}
