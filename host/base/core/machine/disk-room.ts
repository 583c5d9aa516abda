import { statfs } from 'node:fs/promises';

const GIB = 1024 ** 3;

/** Bytes of a disk that stay free for the database and the log. */
export interface DiskReserve {
  /** 1 GiB, or a twentieth of a smaller disk. */
  readonly kept: number;
  /** Bytes that may be written until only the reserve is left; below 0 if it is used. */
  readonly room: number;
}

/** Returns what may be written to the disk of a folder; undefined where the system does not tell it. */
export async function diskReserve(folder: string): Promise<DiskReserve | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  if (!disk) return undefined;
  const kept = Math.min(GIB, (disk.blocks * disk.bsize) / 20);
  return { kept, room: disk.bavail * disk.bsize - kept };
}
