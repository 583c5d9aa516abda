import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, extname, join, relative } from 'node:path';

const SOURCES: ReadonlySet<string> = new Set(['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']);
/** Most files of a stamp. Reading more would take longer than a start. */
const MAX_FILES = 5000;

/**
 * Returns a hash of the sources in the package of a module. Processes with different stamps may run different code.
 * Installed packages and tests are not included. Undefined when there are more than 5000 files, or they cannot be read.
 */
export async function codeStamp(file: string): Promise<string | undefined> {
  const root = packageOf(file);
  try {
    const files = root === undefined ? [file] : await sourcesIn(root);
    if (!files) return undefined;
    const hash = createHash('sha256');
    for (const source of files)
      hash.update(`${relative(root ?? '', source)}\0`).update(
        createHash('sha256')
          .update(await readFile(source))
          .digest(),
      );
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}

/** Returns the nearest folder above the module that has a `package.json`. */
function packageOf(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

async function sourcesIn(root: string): Promise<string[] | undefined> {
  const found: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) folders.push(path);
      else if (entry.isFile() && SOURCES.has(extname(entry.name)) && !/\.test\.\w+$/.test(entry.name)) found.push(path);
      if (found.length > MAX_FILES) return undefined;
    }
  }
  return found.sort();
}
