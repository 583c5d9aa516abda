import { fail } from '../../base/core/errors.ts';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import * as tar from 'tar';
import type { Config } from '../../base/config/index.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import {
  copySqlite,
  HOST_MIGRATIONS,
  migrationState,
  type NeededFile,
  neededFiles,
  readSqlite,
  syncFile,
  syncMadeFolders,
} from '../../data/storage/index.ts';
import { type CopiedFile, copyFileHashed, hashedFile } from './copy-file.ts';
import { BACKUP_PATH, DATABASE_FILE, type Manifest, MANIFEST_FILE } from './manifest.ts';

export type BackupConfig = Pick<Config, 'data_dir' | 'db_config' | 'object_store'>;

export interface BackupOptions {
  readonly config: BackupConfig;
  /** A folder that does not exist or is empty, or a file `….tar.gz` or `….tgz` that does not exist. */
  readonly target: string;
  readonly sqliteModule: () => Promise<string>;
  readonly signal: AbortSignal;
}

/** How often the database is copied until all files that it names were copied too. */
const ROUNDS = 5;

export const isArchive = (path: string): boolean => /\.(tar\.gz|tgz)$/.test(path);

/**
 * Copies the database and the files of tasks and users, also while hosts write. The backup has everything that was
 * acknowledged before this call. It appears under its name when it is whole. Throws `InvalidBackup`,
 * `BackupRefused`, and `DatabaseFault` if the database cannot be read.
 */
export async function makeBackup(options: BackupOptions): Promise<Manifest> {
  const target = resolve(options.target);
  requireLocal(options.config);
  await requireFree(target);
  const made = await mkdir(dirname(target), { recursive: true });
  const partial = `${target}.${randomSuffix()}.partial`;
  const packed = `${partial}.tar.gz`;
  try {
    await mkdir(partial, { mode: 0o700 });
    const manifest = await fill(partial, options);
    if (isArchive(target)) {
      await tar.create({ file: packed, mode: 0o600, gzip: true, cwd: partial, portable: true }, await readdir(partial));
      options.signal.throwIfAborted();
      await syncFile(packed);
      await rename(packed, target);
    } else await rename(partial, target); // replaces an empty folder
    await syncMadeFolders(dirname(target), made);
    return manifest;
  } finally {
    await Promise.all([partial, packed].map((path) => rm(path, { recursive: true, force: true })));
  }
}

async function fill(folder: string, { config, sqliteModule, signal }: BackupOptions): Promise<Manifest> {
  const path = config.db_config.datastore_config.path ?? '';
  const modulePath = await sqliteModule();
  const timeoutMs = config.db_config.connection_timeout * 1000;
  const copy = join(folder, DATABASE_FILE);
  const files = new FileCopies(config.data_dir, folder, signal);
  const createdAt = new Date().toISOString();
  let missing: NeededFile[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    // The files come first: what a task needs is removed after its row says that the task has ended.
    await files.copyAll();
    await rm(copy, { force: true });
    await copySqlite({ path, modulePath, timeoutMs }, copy);
    signal.throwIfAborted();
    const needed = await readSqlite({ path: copy, modulePath, timeoutMs }, neededFiles);
    missing = await files.copyNeeded(needed);
    if (missing.length === 0) break;
  }
  const { applied } = await readSqlite({ path: copy, modulePath, timeoutMs }, (connection) =>
    migrationState(connection, HOST_MIGRATIONS),
  );
  await syncFile(copy);
  const database = { path: DATABASE_FILE, ...(await hashedFile(copy, signal)) };
  const manifest: Manifest = {
    format: 1,
    version: packageVersion(),
    created_at: createdAt,
    migration: applied,
    files: [database, ...files.list()],
    missing: missing.map((file) => file.path),
  };
  await writeFile(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600 });
  await syncFile(join(folder, MANIFEST_FILE));
  return manifest;
}

/** The copies of the files of tasks and users. */
class FileCopies {
  readonly #from: string;
  readonly #to: string;
  readonly #signal: AbortSignal;
  readonly #copied = new Map<string, CopiedFile>();

  constructor(from: string, to: string, signal: AbortSignal) {
    this.#from = from;
    this.#to = to;
    this.#signal = signal;
  }

  /** Copies all files that were not copied yet. */
  async copyAll(): Promise<void> {
    const tasks = await namesIn(join(this.#from, 'tasks'));
    for (const task of tasks)
      for (const name of await namesIn(join(this.#from, 'tasks', task))) await this.#copyNew(`tasks/${task}/${name}`);
    for (const name of await namesIn(join(this.#from, 'files'))) await this.#copyNew(`files/${name}`);
  }

  /**
   * Copies needed files that are missing or differ, because they were written meanwhile, and removes the others.
   * Returns the needed files that do not exist.
   */
  async copyNeeded(needed: readonly NeededFile[]): Promise<NeededFile[]> {
    const missing: NeededFile[] = [];
    for (const file of needed) {
      const copied = this.#copied.get(file.path);
      if (copied && fits(copied, file)) continue;
      const again = BACKUP_PATH.test(file.path) ? await this.#copy(file.path) : undefined;
      if (!again || !fits(again, file)) missing.push(file);
    }
    const wanted = new Set(needed.map(({ path }) => path));
    for (const path of [...this.#copied.keys()].filter((one) => !wanted.has(one))) {
      this.#copied.delete(path);
      await rm(join(this.#to, path), { force: true });
    }
    return missing;
  }

  list(): Manifest['files'] {
    return [...this.#copied].map(([path, { bytes, sha256 }]) => ({ path, bytes, sha256 }));
  }

  async #copyNew(path: string): Promise<void> {
    if (BACKUP_PATH.test(path) && !this.#copied.has(path)) await this.#copy(path);
  }

  async #copy(path: string): Promise<CopiedFile | undefined> {
    try {
      const copied = await copyFileHashed(join(this.#from, path), join(this.#to, path), this.#signal);
      this.#copied.set(path, copied);
      return copied;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      this.#copied.delete(path); // the task has ended
      return undefined;
    }
  }
}

function fits(copied: CopiedFile, { bytes, sha256 }: NeededFile): boolean {
  return copied.bytes === bytes && (sha256 === undefined || copied.sha256 === sha256);
}

/** Returns the names in a folder; none if it does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

/** Throws `InvalidBackup` if the database is not a file, or the files are in an object store. */
export function requireLocal({ data_dir: dataDir, db_config: database, object_store: store }: BackupConfig): void {
  const bytes = store.url ?? dataDir;
  if (database.datastore_type !== 'sqlite')
    throw fail(
      'InvalidBackup',
      `the database is PostgreSQL, which has tools of its own: copy ${bytes} first, and then run pg_dump ` +
        `(docs/operating.md, "Backups")`,
    );
  if (store.url !== null)
    throw fail(
      'InvalidBackup',
      `the files are in ${bytes}, which has tools of its own: stop the application, and copy the bucket and the ` +
        `database (docs/operating.md, "Backups")`,
    );
}

async function requireFree(target: string): Promise<void> {
  const found = await stat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw fail('InvalidBackup', `${target} cannot be used: ${error.message}`, { cause: error });
  });
  if (!found) return;
  if (isArchive(target) || !found.isDirectory())
    throw fail('BackupRefused', `${target} exists; name a file or folder that does not`);
  if ((await readdir(target)).length > 0)
    throw fail('BackupRefused', `the folder ${target} is not empty; name another one`);
}
