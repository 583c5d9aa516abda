import { chmod, mkdir, open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Connection, Database, WriteOptions } from '../database.ts';
import { databaseError } from '../errors.ts';
import { lend } from '../lent-connection.ts';
import { type Listener, Listeners, type Peers } from '../listeners.ts';
import { syncMadeFolders } from '../sync-files.ts';
import { Lending } from './lending.ts';
import type { SqliteModule } from './module.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { VectorMemory, type VectorMemoryOptions } from './vectors/vector-memory.ts';

export interface SqliteOptions {
  /** The file of the database. Only this user can read a new file and its folder. */
  readonly path: string;
  /** The file of the `sqlite3` module. */
  readonly modulePath: string;
  /** Connections for reading, besides one for writing. */
  readonly readers: number;
  /** The time that a statement waits for other processes, and a caller for a connection. */
  readonly timeoutMs: number;
  /** Which vectors are kept in memory. Default: none. */
  readonly vectors?: Omit<VectorMemoryOptions, 'read'>;
  /** Other processes with this file, which notify each other. Default: none. */
  readonly peers?: Peers | undefined;
  /** Default: the clock of this machine. */
  readonly now?: () => number;
}

/**
 * SQLite in WAL mode, in which readers never wait for the writer. SQLite has one writer at a time, so transactions take
 * turns on one connection that writes, and wait for other processes.
 */
export class SqliteDatabase implements Database {
  readonly dialect = 'sqlite';
  readonly address: string;
  readonly now: () => number;
  readonly #listeners = new Listeners();
  readonly #writer: Lending<SqliteConnection>;
  readonly #readers: Lending<SqliteConnection>;
  readonly #vectors: VectorMemory | undefined;
  readonly #peers: Peers | undefined;
  readonly #endPeers: (() => void) | undefined;

  private constructor(
    module: SqliteModule,
    { path, readers, timeoutMs, vectors, peers, now = Date.now }: SqliteOptions,
  ) {
    this.address = path;
    this.now = now;
    this.#peers = peers;
    this.#endPeers = peers?.listen((message) => this.#listeners.tell(message));
    // Committed transactions survive the end of the process, and with FULL also a crash of the machine.
    const busy = Math.round(timeoutMs);
    const shared = `pragma busy_timeout = ${busy}; pragma foreign_keys = on; pragma synchronous = full;`;
    this.#writer = new Lending(
      () =>
        SqliteConnection.open(
          module,
          path,
          `${shared} pragma journal_mode = wal; pragma journal_size_limit = 67108864;`,
          { now },
        ),
      1,
      timeoutMs,
    );
    const keptVectors = vectors && new VectorMemory({ ...vectors, read: (work) => this.read(work) });
    this.#vectors = keptVectors;
    this.#readers = new Lending(
      () => SqliteConnection.open(module, path, `${shared} pragma query_only = on;`, { now, keptVectors }),
      readers,
      timeoutMs,
    );
  }

  static async open(options: SqliteOptions): Promise<SqliteDatabase> {
    await prepareFile(options.path);
    const module = createRequire(import.meta.url)(options.modulePath) as SqliteModule;
    const database = new SqliteDatabase(module, options);
    try {
      // Fails if the file is not a database, and sets WAL mode.
      await database.#writer.with((connection) => connection.query('pragma schema_version'));
    } catch (error) {
      await database.close();
      throw error;
    }
    return database;
  }

  read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#readers.with((connection) => lend(connection, work));
  }

  write<T>(work: (connection: Connection) => Promise<T>, { isUrgent = false }: WriteOptions = {}): Promise<T> {
    return this.#writer.with((connection) => this.#transaction(connection, work), isUrgent);
  }

  async #transaction<T>(connection: SqliteConnection, work: (connection: Connection) => Promise<T>): Promise<T> {
    await connection.script('begin immediate');
    connection.notifications = [];
    try {
      const result = await lend(connection, work);
      await connection.script('commit');
      for (const message of new Set(connection.notifications)) {
        this.#listeners.tell(message);
        this.#peers?.tell(message);
      }
      return result;
    } catch (error) {
      await connection.script('rollback').catch(() => {}); // some errors have already rolled it back
      throw error;
    }
  }

  listen(listener: Listener): () => void {
    return this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    const end = (connection: SqliteConnection): Promise<void> => connection.close();
    this.#endPeers?.();
    await this.#vectors?.close();
    await this.#readers.close(end);
    await this.#writer.close(end); // the last connection writes the log into the file
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function prepareFile(path: string): Promise<void> {
  try {
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (made !== undefined) await chmod(dirname(path), 0o700); // independent of the umask
    await (await open(path, 'a', 0o600)).close(); // SQLite gives its other files the permissions of this one
    await syncMadeFolders(dirname(path), made); // SQLite syncs the content of the file but not its name
  } catch (error) {
    throw databaseError(
      'DatabaseFault',
      `the database ${path} cannot be opened: ${(error as Error).message}; set another one with DB_CONFIG`,
      error,
    );
  }
}
