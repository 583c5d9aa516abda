import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runContained } from '../../processes/index.ts';

/** Packages at exact versions. */
export type Versions = Readonly<Record<string, string>>;

/**
 * Installs npm packages into a folder of the cache, once for each set of versions. Returns the folder, which has
 * `node_modules`; undefined if npm cannot install them.
 */
export function npmPackages(versions: Versions): Promise<string | undefined> {
  return installed('npm', versions, async (folder) => {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
    return ['npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', folder]];
  });
}

/** Does the same with packages of PyPI. The folder is for `PYTHONPATH`. */
export function pythonPackages(versions: Versions): Promise<string | undefined> {
  const wanted = Object.entries(versions).map(([name, version]) => `${name}==${version}`);
  return installed('python', versions, async (folder) => [
    'python3',
    ['-m', 'pip', 'install', '--quiet', '--target', folder, ...wanted],
  ]);
}

const INSTALL_TIMEOUT_MS = 180_000;

async function installed(
  kind: string,
  versions: Versions,
  commandFor: (folder: string) => Promise<[program: string, args: readonly string[]]>,
): Promise<string | undefined> {
  const id = createHash('sha256').update(JSON.stringify(versions)).digest('hex').slice(0, 16);
  const folder = join(process.env['AANA_CACHE_DIR'] || tmpdir(), 'test-packages', `${kind}-${id}`);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}-${process.pid}`;
  try {
    await mkdir(fresh, { recursive: true });
    const { code } = await runContained(...(await commandFor(fresh)), { timeoutMs: INSTALL_TIMEOUT_MS });
    if (code !== 0) return undefined;
    await rename(fresh, folder);
    return folder;
  } catch {
    return existsSync(folder) ? folder : undefined;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
