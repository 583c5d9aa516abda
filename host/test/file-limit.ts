import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Returns whether the kernel can limit the size of files in the temporary directory. Not every file system supports it.
 */
export function boundsFiles(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
  const file = join(folder, 'out');
  try {
    execFileSync('sh', ['-c', 'ulimit -f 8; head -c 1000000 /dev/zero > "$0"; true', file], { stdio: 'ignore' });
    return statSync(file).size < 1_000_000;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
