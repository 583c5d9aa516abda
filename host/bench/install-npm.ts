import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Installs npm packages once into the cache, because a benchmark needs them and this package does not. `names` are like
 * `pg-boss@12.30.0`. Returns the path of a file to resolve them from. Throws if npm cannot install them.
 */
export async function installForBench(cacheDir: string, names: readonly string[]): Promise<string> {
  const folder = join(cacheDir, 'bench', names.join('-'));
  if (!existsSync(join(folder, 'node_modules'))) {
    const made = `${folder}.${process.pid}`;
    await mkdir(made, { recursive: true });
    const flags = ['--silent', '--no-save', '--ignore-scripts', '--prefix', made];
    await promisify(execFile)('npm', ['install', ...flags, ...names]);
    await rename(made, folder);
  }
  return join(folder, 'index.js');
}
