import { open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Connection } from '../database.ts';
import { databaseError } from '../errors.ts';
import type { SqliteModule } from './module.ts';
import { SqliteConnection } from './sqlite-connection.ts';

export interface SqliteFileOptions {
  /** The file of the database. It must exist. */
  readonly path: string;
  /** The file of the `sqlite3` module. */
  readonly modulePath: string;
  /** The time that a statement waits for other processes. */
  readonly timeoutMs: number;
}

/**
 * Writes a copy of a database to the file `to`, which must not exist. The copy has the transactions that were committed
 * when it began. Other processes may read and write meanwhile. Only this user can read the copy. Throws
 * `DatabaseException` or `DatabaseFault`.
 */
export async function copySqlite(options: SqliteFileOptions, to: string): Promise<void> {
  await (await open(to, 'wx', 0o600)).close(); // SQLite fills an empty file and keeps its mode
  await withFile(options, '', (connection) => connection.script(`vacuum into '${to.replaceAll("'", "''")}'`));
}

/** Runs `work`, which only reads, on a database that no host uses. The file does not change. */
export function readSqlite<T>(options: SqliteFileOptions, work: (connection: Connection) => Promise<T>): Promise<T> {
  return withFile(options, 'pragma query_only = on;', work);
}

/** Returns whether a process has the database open. A file that is no database is not open. */
export async function isSqliteOpen(options: SqliteFileOptions): Promise<boolean> {
  const locks = 'pragma locking_mode = exclusive; begin exclusive; rollback;';
  try {
    await withFile(options, locks, async () => {});
    return false;
  } catch (error) {
    if (/SQLITE_(BUSY|LOCKED)/.test((error as Error).message)) return true;
    if (/SQLITE_(NOTADB|CORRUPT)/.test((error as Error).message)) return false;
    throw error;
  }
}

async function withFile<T>(
  { path, modulePath, timeoutMs }: SqliteFileOptions,
  pragmas: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  await stat(path).catch((error: Error) => {
    throw databaseError('DatabaseFault', `the database ${path} cannot be read: ${error.message}`, error);
  });
  const module = createRequire(import.meta.url)(modulePath) as SqliteModule;
  const connection = await SqliteConnection.open(
    module,
    path,
    `pragma busy_timeout = ${Math.round(timeoutMs)}; ${pragmas}`,
    { now: Date.now },
  );
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
