import { type Client, type ClientConfig, type PoolClient, types as pgTypes } from 'pg';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { delay } from '../../../base/core/abort.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Connection, Database, WriteOptions } from '../database.ts';
import { databaseError } from '../errors.ts';
import { lend } from '../lent-connection.ts';
import { FoundCollections } from '../repositories/vectors/found-collections.ts';
import { type Listener, Listeners } from '../listeners.ts';
import { batchingSocket } from './batching-socket.ts';
import { hearNotifications } from './notifications.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { reason, runsAgain } from './postgres-errors.ts';
import { type ServerClient, ServerPool } from './server-pool.ts';
import { Servers } from './servers.ts';

export interface PostgresOptions {
  /** The server, or several with commas between them; see {@link Servers}. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** The name of the connections in the server's views. */
  readonly applicationName: string;
  /** The encryption of connections; undefined is none. */
  readonly tls?: TlsOptions | undefined;
  readonly connections: number;
  /** The age at which a connection is replaced. */
  readonly recycleS: number;
  /** The time for one statement; 0 is no limit. */
  readonly queryTimeoutMs: number;
  /** The time to get a connection, and for the first answer on it. */
  readonly connectionTimeoutMs: number;
  readonly log: Logger;
}

const MOST_RUNS = 8;
const FIRST_WAIT_MS = 20;
/** How often the clock of the server is read. */
const CLOCK_AGE_MS = 60_000;
const CLOCK_READS = 3;
/** The time without traffic after which the system checks whether the other side is reachable. */
const KEEP_ALIVE_MS = 10_000;
/**
 * The time by which the client waits longer than the server, because the server ends a statement at its limit and
 * answers.
 */
const ANSWER_MARGIN_MS = 5000;

const TEXT_TYPES = new Set<number>([pgTypes.builtins.JSON, pgTypes.builtins.JSONB]);
const NUMBER_TYPES = new Set<number>([pgTypes.builtins.INT8, pgTypes.builtins.NUMERIC]);
const types = {
  getTypeParser: ((oid: number, format?: 'text') => {
    if (TEXT_TYPES.has(oid)) return (text: string) => text;
    if (NUMBER_TYPES.has(oid)) return Number;
    return pgTypes.getTypeParser(oid, format);
  }) as typeof pgTypes.getTypeParser,
};

export class PostgresDatabase implements Database {
  readonly dialect = 'postgresql';
  readonly address: string;
  readonly #options: PostgresOptions;
  readonly #servers: Servers;
  readonly #client: ClientConfig;
  readonly #listeners: Listeners;
  readonly #foundCollections = new FoundCollections();
  #listening: Promise<void> | undefined;
  readonly #ending = new AbortController();
  readonly #pool: ServerPool;
  /**
   * Connections for urgent writes. They do not wait for other writes, and not long for an answer, because the next try
   * may succeed.
   */
  readonly #urgent: ServerPool;
  #clock = { server: Date.now(), local: performance.now() };
  #clockTimer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: PostgresOptions) {
    const { host, port, user, password, database, applicationName, tls, connections } = options;
    this.#options = options;
    this.#servers = new Servers(host, port);
    this.address = `postgresql://${user}@${this.#servers.toString()}/${database}`;
    this.#client = {
      user,
      ...(password !== undefined && { password }),
      database,
      ssl: tls ?? false,
      application_name: applicationName,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    };
    this.#listeners = new Listeners(options.log);
    this.#pool = this.#makePool(connections);
    this.#urgent = this.#makePool(1);
  }

  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(options);
    try {
      await database.#readClock();
    } catch (error) {
      await database.close();
      throw error;
    }
    const tick = (): void =>
      void database
        .#readClock()
        .catch((error: unknown) => options.log.debug('the clock of PostgreSQL was not read', { error }));
    database.#clockTimer = setInterval(tick, CLOCK_AGE_MS).unref();
    return database;
  }

  /** Returns the time of the server. All hosts share it, and it does not jump with the clock of this machine. */
  readonly now = (): number => Math.round(this.#clock.server + performance.now() - this.#clock.local);

  async read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return runAgain(() => this.#lend(this.#pool, (connection) => lend(connection, work)));
  }

  async write<T>(
    work: (connection: Connection) => Promise<T>,
    { isUrgent = false, isUnlimited = false }: WriteOptions = {},
  ): Promise<T> {
    const pool = isUrgent ? this.#urgent : this.#pool;
    return runAgain(() => this.#lend(pool, (connection) => connection.transaction(work, isUnlimited)));
  }

  listen(listener: Listener): () => void {
    const { connectionTimeoutMs, log } = this.#options;
    this.#listening ??= hearNotifications({
      servers: this.#servers,
      client: this.#client,
      listeners: this.#listeners,
      connectionTimeoutMs,
      log,
      signal: this.#ending.signal,
    });
    return this.#listeners.add(listener);
  }

  close(): Promise<void> {
    clearInterval(this.#clockTimer);
    this.#ending.abort();
    this.#closed ??= Promise.all([this.#pool.end(), this.#urgent.end(), this.#listening]).then(() => {});
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #makePool(connections: number): ServerPool {
    const { recycleS, connectionTimeoutMs, log } = this.#options;
    return new ServerPool({
      servers: this.#servers,
      client: { ...this.#client, pipeline: true, stream: batchingSocket, types },
      connections,
      recycleS,
      connectionTimeoutMs,
      prepare: (client) => this.#prepare(client),
      onLost: (error) => log.warn('lost an idle connection to PostgreSQL', { error }),
    });
  }

  /**
   * Limits the time of statements and idle transactions of a session. Rejects a read-only server if there are other
   * servers.
   */
  async #prepare(client: Client): Promise<void> {
    const { queryTimeoutMs, connectionTimeoutMs } = this.#options;
    const limit = Math.ceil(queryTimeoutMs);
    // A host that stops in a transaction holds its locks, and other hosts wait for them.
    const settings =
      `set statement_timeout = ${limit}; set idle_in_transaction_session_timeout = ${limit}; show ` +
      `transaction_read_only`;
    const results = (await client.query({ text: settings, query_timeout: connectionTimeoutMs } as {
      text: string;
    })) as unknown as readonly { readonly rows: readonly { readonly transaction_read_only?: string }[] }[];
    this.#servers.requireWritable(results.at(-1)?.rows[0]?.transaction_read_only === 'on');
  }

  async #lend<T>(pool: ServerPool, work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.#closed) throw databaseError('DatabaseException', 'the database is closed');
    const { queryTimeoutMs, connectionTimeoutMs } = this.#options;
    let client: PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw databaseError(
        'DatabaseException',
        `the database ${this.address} cannot be reached: ${reason(error)}`,
        error,
      );
    }
    const answerTimeoutMs =
      pool === this.#urgent ? connectionTimeoutMs : queryTimeoutMs === 0 ? 0 : queryTimeoutMs + ANSWER_MARGIN_MS;
    const connection = new PostgresConnection({
      client,
      address: this.address,
      now: this.now,
      answerTimeoutMs,
      beginTimeoutMs: connectionTimeoutMs,
      foundCollections: this.#foundCollections,
      tellHere: (message) => this.#listeners.tell(message),
    });
    client.on('error', connection.lose);
    try {
      return await work(connection);
    } finally {
      client.off('error', connection.lose);
      if (connection.isReadOnly) this.#servers.leave((client as unknown as ServerClient).server);
      client.release(connection.lost);
    }
  }

  /**
   * Reads the clock of the server a few times, and keeps the quickest answer: its error is at most half of the time
   * that it took.
   */
  async #readClock(): Promise<void> {
    await this.read(async (connection) => {
      let quickest = Infinity;
      for (let count = 0; count < CLOCK_READS; count += 1) {
        const sent = performance.now();
        const [row] = await connection.query<{ now: number }>(
          'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
        );
        const tookMs = performance.now() - sent;
        if (!row || tookMs >= quickest) continue;
        quickest = tookMs;
        this.#clock = { server: row.now, local: sent + tookMs / 2 };
      }
    });
  }
}

/**
 * Runs work until it fails with no error that passes, with random waits, so that the same writers do not meet again.
 */
async function runAgain<T>(work: () => Promise<T>): Promise<T> {
  for (let run = 1; ; run += 1) {
    try {
      return await work();
    } catch (error) {
      if (run >= MOST_RUNS || !runsAgain(error)) throw error;
      await delay(Math.random() * FIRST_WAIT_MS * 2 ** run);
    }
  }
}
