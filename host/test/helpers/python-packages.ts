import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runContained } from '../../processes/index.ts';

/**
 * Returns a folder in the cache whose folder `lib` has Python packages, which are installed once: a value for
 * `PYTHONPATH`. Returns `undefined` if the test should be skipped, because pip or the packages are missing.
 */
export async function pythonPackages(name: string, ...pipArguments: readonly string[]): Promise<string | undefined> {
  const folder = join(process.env['AANA_CACHE_DIR'] || tmpdir(), name);
  const lib = join(folder, 'lib');
  if (existsSync(lib)) return folder;
  const fresh = `${folder}-${process.pid}`;
  try {
    const { code } = await runContained(
      'python3',
      ['-m', 'pip', 'install', '--quiet', '--target', join(fresh, 'lib'), ...pipArguments],
      { timeoutMs: 120_000 },
    );
    if (code !== 0) return undefined;
    await rename(fresh, folder);
    return folder;
  } catch {
    return existsSync(lib) ? folder : undefined;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
