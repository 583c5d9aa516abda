import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system with little space. */
export interface SmallDisk extends Disposable {
  readonly folder: string;
}

/** Returns a disk of `kib` KiB in memory; undefined where this process may not mount one. */
export function smallDisk(kib: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'aana-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmdirSync(folder);
    return undefined;
  }
  return {
    folder,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['-l', folder]);
      rmdirSync(folder);
    },
  };
}
