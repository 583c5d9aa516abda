import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runContained } from '../../base/processes/index.ts';

/**
 * Returns a folder in the cache whose folder `node_modules` has npm packages, which are installed once. Returns
 * `undefined` if the test should be skipped, because npm cannot install them.
 */
export function npmPackages(name: string, versions: Readonly<Record<string, string>>): Promise<string | undefined> {
  return installed(name, 'node_modules', async (folder) => {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
    return ['npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', folder]];
  });
}

/**
 * Returns a folder in the cache whose folder `lib` has Python packages, which are installed once: a value for
 * `PYTHONPATH`. Returns `undefined` if the test should be skipped, because pip or the packages are missing.
 */
export function pythonPackages(name: string, ...pipArguments: readonly string[]): Promise<string | undefined> {
  return installed(name, 'lib', async (folder) => [
    'python3',
    ['-m', 'pip', 'install', '--quiet', '--target', join(folder, 'lib'), ...pipArguments],
  ]);
}

const INSTALL_TIMEOUT_MS = 180_000;

/** Runs the command that makes the folder `made`, unless it was made before. */
async function installed(
  name: string,
  made: string,
  commandFor: (folder: string) => Promise<readonly [program: string, args: readonly string[]]>,
): Promise<string | undefined> {
  const folder = join(process.env['AANA_CACHE_DIR'] || tmpdir(), name);
  if (existsSync(join(folder, made))) return folder;
  const fresh = `${folder}-${process.pid}`;
  try {
    await mkdir(fresh, { recursive: true });
    const [program, args] = await commandFor(fresh);
    const { code } = await runContained(program, args, { timeoutMs: INSTALL_TIMEOUT_MS });
    if (code !== 0) return undefined;
    await rename(fresh, folder);
    return folder;
  } catch {
    return existsSync(join(folder, made)) ? folder : undefined;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
