import { diskReserve } from '../../../../base/core/machine/disk-room.ts';
import { diskFull } from './form-failures.ts';

/** Bytes that may come before the next look where the system does not tell its space. */
const UNKNOWN_BYTES = 1024 ** 3 / 16;

/** Bytes that all uploads together may write before the next look at the disk. */
let untilLook = 0;

/**
 * Throws `DiskFullException` when, after so many further bytes, a disk would have less than 1 GiB left, or less than a
 * twentieth of a smaller disk. Uploads would otherwise take the space of the database and of the log.
 */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const disk = await diskReserve(folder);
  untilLook = disk ? disk.kept / 16 : UNKNOWN_BYTES;
  if (disk && disk.room < bytes) throw diskFull();
}

/** Counts bytes of an upload that have arrived. Calls `refuse` with the error when the disk has no room for more. */
export function countArrived(folder: string, bytes: number, refuse: (error: Error) => void): void {
  untilLook -= bytes;
  if (untilLook >= 0) return;
  untilLook = Infinity; // until this look has ended
  requireRoom(folder, 0).catch(refuse);
}
