import type { Logger } from '../../base/core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../../base/core/telemetry.ts';
import type { Database, WriteOptions } from './database.ts';
import { databaseError } from './errors.ts';
import { type AppliedMigration, applicationName, HOST_MIGRATIONS, migrate, type MigrationSource } from './migrate.ts';
import { type TlsConfig, tlsOptions } from './postgres/tls.ts';
import type { Peers } from './listeners.ts';
import { Repositories } from './repositories/index.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import { type InTraces, StorageTelemetry } from './storage-telemetry.ts';

/** The database, described like the setting `DB_CONFIG`. */
export interface StorageConfig {
  readonly datastore_type: 'sqlite' | 'postgresql';
  readonly datastore_config: {
    readonly path: string | null;
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string | null;
    readonly database: string;
  } & TlsConfig;
  /** Connections that are kept open. `max_overflow` is the number of further connections under load. */
  readonly pool_size: number;
  readonly max_overflow: number;
  /** Seconds. */
  readonly pool_recycle: number;
  readonly query_timeout: number;
  readonly connection_timeout: number;
  readonly max_vector_memory_bytes: number;
}

export interface StorageOptions {
  readonly config: StorageConfig;
  readonly log: Logger;
  /** Returns the file of the `sqlite3` module, which is built when it is needed. */
  readonly sqliteModule: () => Promise<string>;
  /** Migrations of the application, after the migrations of the host. */
  readonly migrations?: readonly MigrationSource[] | undefined;
  /** Other processes with the same SQLite file, which notify each other. Default: none. */
  readonly peers?: Peers | undefined;
  /** Records how long the work with the database takes. Default: nothing. */
  readonly telemetry?: Telemetry | undefined;
}

/** The database as one piece of work uses it. */
export type TracedStorage = Pick<Storage, 'read' | 'write' | 'listen' | 'now'>;

/** The database of the host. It is opened and migrated when it is first used. */
export class Storage implements AsyncDisposable {
  readonly #options: StorageOptions;
  readonly #telemetry: StorageTelemetry;
  #opened: Promise<Database> | undefined;
  #closed = false;

  constructor(options: StorageOptions) {
    const { config, telemetry = noTelemetry } = options;
    this.#options = options;
    this.#telemetry = new StorageTelemetry(telemetry, config.datastore_type);
  }

  /** Opens the database and applies missing migrations. Returns the migrations that this call applied. */
  async migrate(): Promise<readonly AppliedMigration[]> {
    if (this.#closed) throw databaseError('DatabaseException', 'the database is closed');
    let applied: readonly AppliedMigration[] = [];
    if (!this.#opened) {
      const opened = this.#open((found) => (applied = found));
      this.#opened = opened;
      opened.catch(() => (this.#opened = undefined)); // the next call tries again
    }
    await this.#opened;
    return applied;
  }

  /**
   * Returns the database for the work of a request or an attempt, which is at this place of a trace: reads and
   * transactions have spans there. Work for no trace has none.
   */
  inTrace(traceparent: string | undefined): TracedStorage {
    if (traceparent === undefined || this.#telemetry.isOff) return this;
    const inTraces = [traceparent];
    return {
      read: (work) => this.read(work, { inTraces }),
      write: (work, options) => this.write(work, { ...options, inTraces }),
      listen: (listener) => this.listen(listener),
      now: () => this.now(),
    };
  }

  /** See {@link Database.read}. */
  async read<T>(work: (repositories: Repositories) => Promise<T>, { inTraces }: InTraces = {}): Promise<T> {
    const database = await this.#database();
    return this.#telemetry.run('read', inTraces, (observe) =>
      database.read((connection) => work(new Repositories(observe(connection)))),
    );
  }

  /** Runs one transaction; see {@link Database.write}. */
  async write<T>(work: (repositories: Repositories) => Promise<T>, options: WriteOptions & InTraces = {}): Promise<T> {
    const database = await this.#database();
    return this.#telemetry.run('write', options.inTraces, (observe) =>
      database.write((connection) => work(new Repositories(observe(connection))), options),
    );
  }

  /** See {@link Database.listen}. */
  async listen(listener: (message: string) => void): Promise<() => void> {
    return (await this.#database()).listen(listener);
  }

  /** Returns milliseconds since 1970 by the clock that all hosts of this database share. */
  async now(): Promise<number> {
    return (await this.#database()).now();
  }

  /** Closes the database after running work. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#opened?.then(
      (database) => database.close(),
      () => {}, // it never opened
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #database(): Promise<Database> {
    await this.migrate();
    if (!this.#opened) throw databaseError('DatabaseException', 'the database is closed');
    return this.#opened;
  }

  async #open(onApplied: (applied: readonly AppliedMigration[]) => void): Promise<Database> {
    const { log, migrations = [] } = this.#options;
    const sources = [HOST_MIGRATIONS, ...migrations];
    const database = await openDatabase({ ...this.#options, applicationName: await applicationName(sources) });
    try {
      const applied = await migrate(database, sources);
      for (const { scope, number, name } of applied)
        log.info('migration applied', { database: database.address, scope, number, name });
      onApplied(applied);
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }
}

export interface OpenOptions extends Pick<StorageOptions, 'config' | 'log' | 'sqliteModule' | 'peers'> {
  /** The name of the connections in PostgreSQL. Default: `aana-host`. */
  readonly applicationName?: string;
}

/** Opens the database of the configuration without migrations. */
export async function openDatabase({
  config,
  log,
  sqliteModule,
  peers,
  applicationName: name = 'aana-host',
}: OpenOptions): Promise<Database> {
  const { path, host, port, user, password, database } = config.datastore_config;
  const timeoutMs = config.connection_timeout * 1000;
  const connections = config.pool_size + config.max_overflow;
  if (config.datastore_type === 'sqlite') {
    if (path === null) throw databaseError('DatabaseFault', 'the database has no path');
    return SqliteDatabase.open({
      path,
      modulePath: await sqliteModule(),
      readers: Math.min(connections, SQLITE_READERS),
      timeoutMs,
      vectors: { maxBytes: config.max_vector_memory_bytes, log },
      peers,
    });
  }
  const { PostgresDatabase } = await import('./postgres/postgres-database.ts'); // most hosts need no client of it
  return PostgresDatabase.open({
    host,
    port,
    user,
    password: password ?? undefined,
    database,
    applicationName: name,
    tls: await tlsOptions(config.datastore_config),
    connections,
    recycleS: config.pool_recycle,
    queryTimeoutMs: config.query_timeout * 1000,
    connectionTimeoutMs: timeoutMs,
    log,
  });
}

/** Most connections that read. Each uses one of the four threads of libuv. */
export const SQLITE_READERS = 3;
