import { statfs } from 'node:fs/promises';
import { diskFull } from './form-failures.ts';

const GIB = 1024 ** 3;
/** Bytes that may come before the next look where the system does not tell its space. */
const UNKNOWN_BYTES = GIB / 16;

/** Bytes that all uploads together may write before the next look at the disk. */
let untilLook = 0;

/**
 * Throws `DiskFullException` when, after so many further bytes, a disk would have less than 1 GiB left, or less than a
 * twentieth of a smaller disk. Uploads would otherwise take the space of the database and of the log.
 */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const disk = await statfs(folder).catch(() => undefined);
  if (!disk) {
    untilLook = UNKNOWN_BYTES;
    return;
  }
  const kept = Math.min(GIB, (disk.blocks * disk.bsize) / 20);
  untilLook = kept / 16;
  if (disk.bavail * disk.bsize - bytes < kept) throw diskFull();
}

/** Counts bytes of an upload that have arrived. Calls `refuse` with the error when the disk has no room for more. */
export function countArrived(folder: string, bytes: number, refuse: (error: Error) => void): void {
  untilLook -= bytes;
  if (untilLook >= 0) return;
  untilLook = Infinity; // until this look has ended
  requireRoom(folder, 0).catch(refuse);
}
