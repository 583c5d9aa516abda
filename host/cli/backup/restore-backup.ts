import { fail } from '../../base/core/errors.ts';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { randomSuffix } from '../../base/core/ids.ts';
import { extractMembers } from '../../setup/packages/index.ts';
import {
  HOST_MIGRATIONS,
  isSqliteOpen,
  migrationState,
  moveFile,
  readSqlite,
  syncFile,
  syncMadeFolders,
} from '../../data/storage/index.ts';
import { copyFileHashed } from './copy-file.ts';
import { type BackupConfig, requireLocal } from './make-backup.ts';
import { BACKUP_PATH, DATABASE_FILE, type Manifest, readManifest } from './manifest.ts';

export interface RestoreOptions {
  readonly config: BackupConfig;
  /** The folder or the archive of a backup. */
  readonly source: string;
  /** Whether data that are there are put aside. Otherwise the folder must be empty. */
  readonly force: boolean;
  readonly sqliteModule: () => Promise<string>;
  readonly signal: AbortSignal;
}

export interface Restored {
  readonly manifest: Manifest;
  /** The folder with the data that were there. Undefined if there were none. */
  readonly aside: string | undefined;
}

const FOLDERS = ['tasks', 'files'];
const DATABASE_SUFFIXES = ['', '-wal', '-shm', '-journal'];

/**
 * Restores a backup into the folder of the data. Nothing there changes before the whole backup was checked: the length
 * and the SHA-256 of each file, the database, and its migrations. Throws `InvalidBackup` or `BackupRefused`.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { config, source, force, signal } = options;
  requireLocal(config);
  const dataDir = resolve(config.data_dir);
  const database = resolve(config.db_config.datastore_config.path ?? '');
  const modulePath = await options.sqliteModule();
  const present = await presentData(dataDir, database);
  if (present.length > 0 && !force)
    throw fail(
      'BackupRefused',
      `${dataDir} is not empty (it has ${present
        .slice(0, 3)
        .map((path) => basename(path))
        .join(', ')}); --force puts the data there aside`,
    );
  if ((await exists(database)) && (await isSqliteOpen({ path: database, modulePath, timeoutMs: 1000 })))
    throw fail('BackupRefused', `a process has the database ${database} open; stop the application first`);

  const made = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const staging = join(dataDir, `.restore-${randomSuffix()}`);
  try {
    const manifest = await checkedCopy(staging, { source: resolve(source), signal });
    await checkDatabase(join(staging, DATABASE_FILE), modulePath, source);
    signal.throwIfAborted();
    const aside = present.length > 0 ? await putAside(dataDir, database) : undefined;
    for (const name of FOLDERS)
      if (await exists(join(staging, name))) await rename(join(staging, name), join(dataDir, name));
    await mkdir(dirname(database), { recursive: true, mode: 0o700 });
    await moveFile(join(staging, DATABASE_FILE), database); // last, because a start needs it first
    await syncFile(database);
    await syncMadeFolders(dirname(database), undefined);
    await syncMadeFolders(dataDir, made);
    return { manifest, aside };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Copies the files that the manifest names, and compares them with it. */
async function checkedCopy(
  staging: string,
  { source, signal }: { readonly source: string; readonly signal: AbortSignal },
): Promise<Manifest> {
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw fail('InvalidBackup', `the backup ${source} cannot be read: ${error.code ?? error.message}`, {
      cause: error,
    });
  });
  let folder = source;
  if (!found.isDirectory()) {
    folder = join(staging, 'unpacked');
    const wanted = new RegExp(`${BACKUP_PATH.source}|^manifest\\.json$`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await extractMembers(source, wanted, folder, { signal }).catch((error: Error) => {
      signal.throwIfAborted();
      throw fail('InvalidBackup', `the backup ${source} cannot be unpacked: ${error.message}`, { cause: error });
    });
  }
  const manifest = await readManifest(folder, source);
  for (const { path, bytes, sha256 } of manifest.files) {
    const copied = await copyFileHashed(join(folder, path), join(staging, path), signal).catch((error: Error) => {
      signal.throwIfAborted();
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw fail(
        'InvalidBackup',
        `the backup ${source} is damaged: ${path} ${isMissing ? 'is missing' : `cannot be copied: ${error.message}`}`,
        { cause: error },
      );
    });
    if (copied.bytes !== bytes || copied.sha256 !== sha256)
      throw fail('InvalidBackup', `the backup ${source} is damaged: ${path} differs from its checksum in the manifest`);
  }
  return manifest;
}

async function checkDatabase(path: string, modulePath: string, source: string): Promise<void> {
  await readSqlite({ path, modulePath, timeoutMs: 1000 }, async (connection) => {
    const [row] = await connection.query<Record<string, string>>('pragma integrity_check(1)');
    const verdict = Object.values(row ?? {})[0];
    if (verdict !== 'ok') throw fail('InvalidBackup', `the database of ${source} is damaged: ${verdict}`);
    const { refusal } = await migrationState(connection, HOST_MIGRATIONS);
    if (refusal)
      throw fail(
        'BackupRefused',
        `the database of ${source} ${refusal.reason}; restore it with the version that made it`,
      );
  });
}

/** Returns the paths of data that a restoration would meet. */
async function presentData(dataDir: string, database: string): Promise<string[]> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw fail('InvalidBackup', `the folder ${dataDir} cannot be used: ${error.message}`, { cause: error });
  });
  const inside = names.map((name) => join(dataDir, name));
  const files = [];
  for (const suffix of DATABASE_SUFFIXES) if (await exists(`${database}${suffix}`)) files.push(`${database}${suffix}`);
  return [...new Set([...inside, ...files])];
}

/** Moves the database and the files of the application to a new folder beside them, and returns this folder. */
async function putAside(dataDir: string, database: string): Promise<string> {
  const aside = join(dataDir, `before-restore-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  await mkdir(aside, { mode: 0o700 });
  const files = DATABASE_SUFFIXES.map((suffix) => `${database}${suffix}`);
  for (const path of [...files, ...FOLDERS.map((name) => join(dataDir, name))]) {
    if (!(await exists(path))) continue;
    await moveFile(path, join(aside, basename(path)));
    await rm(path, { recursive: true, force: true }); // moved between disks, it was copied
  }
  return aside;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
