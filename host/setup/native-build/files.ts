import type { Hash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Returns the paths of all files in a folder and below it. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Adds the names below `root` and the contents of files to a hash, in the order of the names. */
export async function addFiles(hash: Hash, root: string, files: readonly string[]): Promise<void> {
  for (const file of files.toSorted()) {
    hash.update(`\0${relative(root, file)}\0`);
    hash.update(await readFile(file));
  }
}

/** Replaces each file of `to` with that of `from`. Running replicas keep the file that they have mapped. */
export async function replaceFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of await readdir(from)) {
    const fresh = join(to, `.${file}.new`);
    await cp(join(from, file), fresh); // overwriting a mapped file would crash the replica
    await rename(fresh, join(to, file));
  }
}
