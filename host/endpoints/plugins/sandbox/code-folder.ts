import { lstat, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pluginLoadError } from '../set/manifest.ts';

/** No compilation takes as long, and what was used since then is kept. */
const dayMs = 24 * 60 * 60 * 1000;
/** Bytes of a folder above which code that was not used for long is removed. */
const maxFolderBytes = 2 * 1024 * 1024 * 1024;
/** Names of code, of what is known of components, and of what builds have made. The folder may have other files. */
const ownName = /^[0-9a-f]{64}\.(?:code|json|wasm|built)$/;

export const codePath = (folder: string, sha256: string): string => join(folder, `${sha256}.code`);

/** Creates the folder. Refuses one that others can write to, because they could give it code to run. */
export async function prepareFolder(plugin: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  const own = process.getuid?.() ?? found.uid;
  if (!found.isDirectory() || found.uid !== own)
    throw pluginLoadError(plugin, `cannot be compiled: ${folder} is not a folder of the user of this process`);
  if ((found.mode & 0o022) !== 0)
    throw pluginLoadError(
      plugin,
      `cannot be compiled: others can write to ${folder}: run chmod 700 on it, or remove it`,
    );
}

/** Notes that files of the folder are used now. Those that are gone are left out. */
export async function markUsed(...files: readonly string[]): Promise<void> {
  const now = new Date();
  for (const file of files) await utimes(file, now, now).catch(() => {}); // whoever opens it says what is wrong
}

/**
 * Removes what hosts that were ended while they compiled have left, and, above `maxBytes`, what was not used for
 * longest. What was used in the last day stays.
 */
export async function tidyFolder(folder: string, maxBytes = maxFolderBytes): Promise<void> {
  const old: { readonly file: string; readonly bytes: number; readonly usedMs: number }[] = [];
  let sum = 0;
  for (const name of await readdir(folder)) {
    const isTemporary = name.startsWith('.');
    if (!isTemporary && !ownName.test(name)) continue;
    const file = join(folder, name);
    const found = await lstat(file).catch(() => undefined); // another host may have removed it
    if (!found) continue;
    const isOld = Date.now() - found.mtimeMs > dayMs;
    if (isTemporary && isOld) await rm(file, { force: true });
    if (isTemporary) continue;
    sum += found.size;
    if (isOld) old.push({ file, bytes: found.size, usedMs: found.mtimeMs });
  }
  old.sort((a, b) => a.usedMs - b.usedMs);
  for (const { file, bytes } of old) {
    if (sum <= maxBytes) return;
    await rm(file, { force: true });
    sum -= bytes;
  }
}
