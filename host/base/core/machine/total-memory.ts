import { totalmem } from 'node:os';

/** Returns the machine's memory in bytes, or the container's limit where that is less. */
export function totalMainBytes(): number {
  const limit = process.constrainedMemory(); // 0, or more than the machine has, when there is no limit
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
