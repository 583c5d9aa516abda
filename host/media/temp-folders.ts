import { constants, existsSync } from 'node:fs';
import { access, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { randomSuffix } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';

const NAME = /^aana-host-(\d+)-[0-9a-f]{12}$/;
/** Folders of this process, so that one of an earlier process with the same pid (as in a container) is known as stale. */
const own = new Set<string>();

/** Makes the folder, if need be, and looks whether files can be written there; `ConfigError` says what is wrong. */
export async function prepareTempDir(tempDir: string): Promise<void> {
  try {
    await makeFolder(tempDir);
    await access(tempDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new AanaError('ConfigError', 'invalid-input', `media.temp_dir: ${tempDir} cannot be used for temporary files (${reason}); choose another with --temp-dir`, { cause: error });
  }
}

/** As `mkdir -p`. Node's own turns for ever in a folder where none can be made, such as /proc. */
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

/** Makes a folder for this process in `tempDir`, readable by its user alone, and names it. */
export async function makeProcessFolder(tempDir: string): Promise<string> {
  await makeFolder(tempDir);
  const name = `aana-host-${process.pid}-${randomSuffix()}`;
  own.add(name);
  const folder = join(tempDir, name);
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

/** A folder of this process in `tempDir`, made when it is first asked for. */
export class ProcessFolder {
  readonly #tempDir: string;
  #path: Promise<string> | undefined;

  constructor(tempDir: string) {
    this.#tempDir = tempDir;
  }

  path(): Promise<string> {
    this.#path ??= makeProcessFolder(this.#tempDir).catch((error: unknown) => {
      this.#path = undefined; // another try may work
      throw error;
    });
    return this.#path;
  }

  /** Removes it with everything in it, if it was ever made. May be called twice. */
  async remove(): Promise<void> {
    const path = await this.#path?.catch(() => undefined);
    if (path !== undefined) await rm(path, { recursive: true, force: true });
  }
}

/** Removes what processes that are no more left in `tempDir`. What cannot be removed stays, and is told. */
export async function removeStaleFolders(tempDir: string, log: Logger): Promise<void> {
  const names = await readdir(tempDir).catch(() => []);
  for (const name of names) {
    const pid = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || own.has(name) || (pid !== process.pid && isRunning(pid))) continue;
    const folder = join(tempDir, name);
    try {
      await rm(folder, { recursive: true, force: true });
      log.info('stale temporary folder removed', { folder });
    } catch (error) {
      log.warn('stale temporary folder not removed', { folder, error });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'; // somebody else's
  }
}
