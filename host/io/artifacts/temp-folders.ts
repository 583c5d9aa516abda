import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, mkdir, readdir, readFile, readlink, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';

/** `aana-host-<pid>-<pid space>-<random>`. Earlier versions left out the middle part. */
const NAME = /^aana-host-(\d+)-(?:([0-9a-f]{8})-)?[0-9a-f]{12}$/;
/**
 * Folders of this process. A folder with the same pid that is not in this set belongs to an earlier process and is
 * stale.
 */
const own = new Set<string>();
/**
 * Interval at which a process marks its folders as used. Other processes treat a folder as stale if it was not marked
 * for `STALE_AFTER_MS`.
 */
const TOUCH_MS = 600_000;
const STALE_AFTER_MS = 3_600_000;

/**
 * Makes the folder if it is missing, and checks that files can be written to it. Throws `ConfigError` with the reason.
 */
export async function prepareTempDir(tempDir: string): Promise<void> {
  try {
    await makeFolder(tempDir);
    await access(tempDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw fail(
      'ConfigError',
      `media.temp_dir: ${tempDir} cannot be used for temporary files (${reason}); choose another with --temp-dir`,
      { cause: error },
    );
  }
}

/**
 * Works like `mkdir -p`. Node's recursive `mkdir` never returns in a folder where nothing can be made, such as /proc.
 */
async function makeFolder(path: string): Promise<void> {
  const error = await mkdir(path).then(
    () => undefined,
    (thrown: NodeJS.ErrnoException) => thrown,
  );
  if (!error || (error.code === 'EEXIST' && (await stat(path)).isDirectory())) return;
  const parent = dirname(path);
  if (error.code !== 'ENOENT' || parent === path || existsSync(parent)) throw error;
  await makeFolder(parent);
  await mkdir(path);
}

/** Makes a folder for this process in `tempDir`, readable only by its user. Returns its path. */
export async function makeProcessFolder(tempDir: string): Promise<string> {
  await makeFolder(tempDir);
  const folder = join(tempDir, `aana-host-${process.pid}-${await pidSpace()}-${randomSuffix()}`);
  keepFresh(folder);
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

/**
 * Returns a name for the space in which a pid is unique: a boot of the system and, on Linux, a pid namespace.
 * Containers that share a volume all have a pid 1 and cannot see each other's processes.
 */
async function pidSpace(): Promise<string> {
  const parts = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
  ]).catch(() => [hostname()]);
  return createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 8);
}

let touching: NodeJS.Timeout | undefined;

/** Marks the folder as used from time to time, for processes that cannot see this one. */
function keepFresh(folder: string): void {
  own.add(folder);
  touching ??= setInterval(() => {
    const now = new Date();
    for (const path of own) void utimes(path, now, now).catch(() => {}); // it may have been removed
  }, TOUCH_MS).unref();
}

/** A folder of this process in `tempDir`, made on first use, and again where somebody else has removed it. */
export class ProcessFolder {
  readonly #tempDir: string;
  #path: Promise<string> | undefined;
  #isRemoved = false;

  constructor(tempDir: string) {
    this.#tempDir = tempDir;
  }

  /** Rejects if the folder cannot be made, or files cannot be written to it. */
  async path(): Promise<string> {
    const known = this.#path;
    const path = await known;
    if (path !== undefined && !this.#isRemoved && !(await isWritable(path)) && this.#path === known) {
      own.delete(path);
      this.#path = undefined;
    }
    this.#path ??= makeProcessFolder(this.#tempDir).catch((error: unknown) => {
      this.#path = undefined; // the next attempt may succeed
      throw error;
    });
    return this.#path;
  }

  /** Removes the folder with everything in it, if it was made. May be called twice. */
  async remove(): Promise<void> {
    const path = await this.#path?.catch(() => undefined);
    if (path === undefined) return;
    this.#isRemoved = true;
    own.delete(path);
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * Removes the folders of dead processes from `tempDir`. A process in another container or on another machine cannot be
 * seen, so its folder is removed if it was not used for an hour. A folder that cannot be removed stays and is logged.
 */
export async function removeStaleFolders(tempDir: string, log: Logger): Promise<void> {
  const space = await pidSpace();
  for (const name of await readdir(tempDir).catch(() => [])) {
    const [, pid, itsSpace] = NAME.exec(name) ?? [];
    const folder = join(tempDir, name);
    if (pid === undefined || own.has(folder)) continue;
    const isUsed = itsSpace === space ? Number(pid) !== process.pid && isRunning(Number(pid)) : await wasUsed(folder);
    if (isUsed) continue;
    try {
      await rm(folder, { recursive: true, force: true });
      log.info('stale temporary folder removed', { folder });
    } catch (error) {
      log.warn('stale temporary folder not removed', { folder, error });
    }
  }
}

const isWritable = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

async function wasUsed(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found === undefined || Date.now() - found.mtimeMs < STALE_AFTER_MS;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'; // a process of another user
  }
}
