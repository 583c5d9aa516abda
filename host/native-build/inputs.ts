import { createHash, type Hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../core/package-root.ts';
import { LLAMA_SOURCE, WHISPER_SOURCE } from './pins.ts';
import { platformName, type BuildMode } from './platform.ts';

const require = createRequire(join(packageRoot, 'package.json'));

/** Returns the folder of an installed package. */
export function packageFolder(name: string): string {
  return dirname(require.resolve(`${name}/package.json`));
}

/** Returns the SHA-256 of all inputs of the addon. If it is unchanged, there is nothing to build. */
export async function hashInputs(choice: { readonly mode: BuildMode; readonly cuda: boolean }): Promise<string> {
  const hash = createHash('sha256');
  const versions = [LLAMA_SOURCE, WHISPER_SOURCE].map((source) => source.integrity);
  const napi = JSON.parse(await readFile(join(packageFolder('node-addon-api'), 'package.json'), 'utf8')) as {
    version: string;
  };
  hash.update(JSON.stringify({ ...choice, platformName, versions, napi: napi.version }));
  const folders = await Promise.all(
    ['native/src', 'native/cmake'].map((folder) => filesBelow(join(packageRoot, folder))),
  );
  await addFiles(hash, packageRoot, [join(packageRoot, 'CMakeLists.txt'), ...folders.flat()]);
  return hash.digest('hex');
}

/** Adds the names below `root` and the contents of files to a hash, in the order of the names. */
export async function addFiles(hash: Hash, root: string, files: readonly string[]): Promise<void> {
  for (const file of files.toSorted()) {
    hash.update(`\0${relative(root, file)}\0`);
    hash.update(await readFile(file));
  }
}

/** Returns the paths of all files in a folder and below it. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
