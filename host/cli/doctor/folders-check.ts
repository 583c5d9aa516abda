import { randomBytes } from 'node:crypto';
import { open, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { bytesText, type Check, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';

const LEAST_BYTES = 100 * 2 ** 20;
const FEW_BYTES = 2 * 2 ** 30;

/** The folders of the configuration: whether this user can write in them, and the space on their disks. */
export const foldersCheck: Check = {
  name: 'folders',
  needsConfig: true,
  run: ({ config }) =>
    Promise.all([
      folderResult('data_dir', config.data_dir),
      folderResult('cache_dir', config.cache_dir),
      folderResult('runtime_dir', config.runtime_dir),
      folderResult('media.temp_dir', config.media.temp_dir ?? tmpdir()),
    ]),
};

/** Checks the folder of a setting, or the folder in which it would be created. */
export async function folderResult(setting: string, path: string): Promise<CheckResult> {
  const advice = `let this user write there, or set ${setting} to another folder`;
  try {
    const { folder, isDirectory } = await nearest(resolve(path));
    if (!isDirectory) return fail(setting, `${folder} is not a folder`, `remove it, or set ${setting} to a folder`);
    await tryWriting(folder);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const made = folder === resolve(path) ? '' : ` (will be created in ${folder})`;
    const found = `${path}${made}, ${bytesText(free)} free`;
    if (free < LEAST_BYTES) return fail(setting, found, 'free some space on this disk');
    return free < FEW_BYTES ? warn(setting, found, 'free some space on this disk') : ok(setting, found);
  } catch (error) {
    return fail(setting, `${path} cannot be used: ${reasonOf(error)}`, advice);
  }
}

/** Returns the path if it exists, or else its first parent that exists. */
export async function nearest(path: string): Promise<{ readonly folder: string; readonly isDirectory: boolean }> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && path !== dirname(path)) return undefined;
    if (error.code === 'ENOTDIR') return undefined; // the parent that is not a folder is reported
    throw error;
  });
  return found ? { folder: path, isDirectory: found.isDirectory() } : nearest(dirname(path));
}

/** Creates and removes an empty file. Permissions alone do not tell: the disk may be full or read-only. */
async function tryWriting(folder: string): Promise<void> {
  const file = join(folder, `.aana-doctor-${randomBytes(6).toString('hex')}`);
  await (await open(file, 'wx', 0o600)).close();
  await rm(file, { force: true });
}
