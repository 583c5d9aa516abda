import type { Member } from './fleet.ts';

/** How little is lost when a replica goes: given up, then not serving, then the calls it works on. */
export function useOf({ slot: { state, replica } }: Member): number {
  if (state === 'failed') return -2;
  return state === 'serving' ? (replica?.ongoing ?? 0) : -1;
}
