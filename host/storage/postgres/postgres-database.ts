import { createHash } from 'node:crypto';
import { Client, type ClientConfig, DatabaseError, Pool, type PoolClient, type QueryResultRow, types as pgTypes } from 'pg';
import { delay } from '../../core/abort.ts';
import { AanaError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Connection, Database, Row, Statement, Value } from '../database.ts';
import { databaseError } from '../errors.ts';
import { LentConnection } from '../lent-connection.ts';
import { type Listener, Listeners } from '../listeners.ts';
import { batchingSocket } from './batching-socket.ts';

export interface PostgresOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly connections: number;
  /** How old a connection gets. */
  readonly recycleS: number;
  /** Time for one statement; 0 for ever. */
  readonly queryTimeoutMs: number;
  /** Time for getting a connection. */
  readonly connectionTimeoutMs: number;
  readonly log: Logger;
}

/** A transaction that lost against another one, or came into a deadlock, is run again. */
const AGAIN = new Set(['40001', '40P01']);
const MOST_RUNS = 8;
const FIRST_WAIT_MS = 20;
/** How often the server's clock is asked for. */
const CLOCK_AGE_MS = 60_000;

const CHANNEL = 'aana_host';
const HEAR_AGAIN_MS = 1000;
const NOTIFY: Statement = { sqlite: '', postgresql: 'select pg_notify($1, message) from json_array_elements_text(cast($2 as json)) as message' };

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
  readonly #server: ClientConfig;
  readonly #log: Logger;
  readonly #listeners: Listeners;
  #listening: Promise<void> | undefined;
  readonly #ending = new AbortController();
  readonly #pool: Pool;
  #clock = { server: Date.now(), local: performance.now() };
  #clockTimer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: PostgresOptions) {
    const { host, port, user, password, database } = options;
    this.address = `postgresql://${user}@${host}:${port}/${database}`;
    this.#server = { host, port, user, ...(password !== undefined && { password }), database, application_name: 'aana-host' };
    this.#log = options.log;
    this.#listeners = new Listeners(options.log);
    this.#pool = new Pool({
      ...this.#server,
      max: options.connections,
      maxLifetimeSeconds: options.recycleS,
      connectionTimeoutMillis: options.connectionTimeoutMs,
      statement_timeout: options.queryTimeoutMs,
      pipeline: true,
      stream: batchingSocket,
      types,
    });
    this.#pool.on('error', (error) => options.log.warn('lost an idle connection to PostgreSQL', { error })); // the pool replaces it
  }

  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(options);
    try {
      await database.#readClock();
    } catch (error) {
      await database.close();
      throw error;
    }
    const tick = (): void => void database.#readClock().catch((error: unknown) => options.log.debug('the clock of PostgreSQL was not read', { error }));
    database.#clockTimer = setInterval(tick, CLOCK_AGE_MS).unref();
    return database;
  }

  /** The server's clock: hosts agree on it, and it does not jump with the clock of this machine. */
  now(): number {
    return Math.round(this.#clock.server + performance.now() - this.#clock.local);
  }

  async read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#lend((connection) => LentConnection.for(connection, work));
  }

  async write<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let run = 1; ; run += 1) {
      try {
        return await this.#lend((connection) => transaction(connection, work));
      } catch (error) {
        if (run >= MOST_RUNS || !AGAIN.has(postgresCode(error))) throw error;
        await delay(Math.random() * FIRST_WAIT_MS * 2 ** run); // by chance, so that the same ones do not meet again
      }
    }
  }

  listen(listener: Listener): () => void {
    this.#listening ??= this.#hear();
    return this.#listeners.add(listener);
  }

  close(): Promise<void> {
    clearInterval(this.#clockTimer);
    this.#ending.abort();
    this.#closed ??= Promise.all([this.#pool.end(), this.#listening]).then(() => {});
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #lend<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.#closed) throw databaseError('the database is closed', 'unavailable');
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw databaseError(`the database ${this.address} cannot be reached: ${reason(error)}`, 'unavailable', error);
    }
    const connection = new PostgresConnection(client, this);
    const onError = (error: Error): void => connection.lose(error);
    client.on('error', onError);
    try {
      return await work(connection);
    } finally {
      client.off('error', onError);
      client.release(connection.lost);
    }
  }

  /** Hears notifications on a connection of its own, and opens another one when it is lost. */
  async #hear(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const client = new Client(this.#server);
      try {
        const lost = new Promise<void>((resolve) => {
          client.on('error', () => resolve());
          client.on('end', () => resolve());
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        client.on('notification', ({ payload = '' }) => this.#listeners.tell(payload));
        await client.connect();
        await client.query(`listen ${CHANNEL}`);
        this.#listeners.tell(''); // what was before is not told of
        await lost;
      } catch (error) {
        if (!signal.aborted) this.#log.warn('notifications of PostgreSQL are not heard', { error });
      } finally {
        await client.end().catch(() => {}); // it was lost
      }
      await delay(HEAR_AGAIN_MS, signal).catch(() => {});
    }
  }

  async #readClock(): Promise<void> {
    const sent = performance.now();
    const [row] = await this.read((connection) => connection.query<{ now: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as now'));
    const local = (sent + performance.now()) / 2;
    this.#clock = { server: row?.now ?? Date.now(), local };
  }
}

/** Names of prepared statements, by their text. */
const names = new Map<string, string>();

function nameOf(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) names.set(sql, (name = createHash('sha256').update(sql).digest('hex').slice(0, 32)));
  return name;
}

/** Statements are sent as they are issued, without waiting for the answers of those before. */
class PostgresConnection implements Connection {
  readonly dialect = 'postgresql';
  readonly #client: PoolClient;
  readonly #database: PostgresDatabase;
  /** What the running transaction notifies of. */
  notifications = new Set<string>();
  /** Set when the connection must not be used again. */
  lost: Error | undefined;

  constructor(client: PoolClient, database: PostgresDatabase) {
    this.#client = client;
    this.#database = database;
  }

  now(): number {
    return this.#database.now();
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly Value[] = []): Promise<R[]> {
    try {
      const given = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
      const prepared = typeof statement === 'string' ? { text: statement } : { text: statement.postgresql, name: nameOf(statement.postgresql) };
      return (await this.#client.query<R & QueryResultRow>({ ...prepared, values: given })).rows;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async script(sql: string): Promise<void> {
    try {
      await this.#client.query(sql);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async notify(message: string): Promise<void> {
    this.notifications.add(message);
  }

  /** Ends the transaction, with its notifications. */
  async commit(): Promise<void> {
    const told = this.notifications.size === 0 ? undefined : this.query(NOTIFY, [CHANNEL, JSON.stringify([...this.notifications])]);
    try {
      const [{ command }] = await Promise.all([this.#client.query('commit'), told]);
      if (command !== 'COMMIT') throw databaseError(`the database ${this.#database.address} rolled a transaction back, for one of its statements had failed`, 'internal');
    } catch (error) {
      throw error instanceof AanaError ? error : this.#failure(error);
    }
  }

  lose(error: Error): void {
    this.lost ??= error;
  }

  #failure(error: unknown): Error {
    const code = (error as { readonly code?: unknown }).code;
    // A plan that was prepared before the tables changed is good for nothing, and goes with its connection.
    const isConnection = !(error instanceof DatabaseError) || /^(08|53|57P)/.test(String(code)) || error.message.startsWith('cached plan must not change');
    if (isConnection && error instanceof Error) this.lose(error);
    return databaseError(`the database ${this.#database.address}: ${reason(error)}`, isConnection || AGAIN.has(String(code)) || code === '57014' ? 'unavailable' : 'internal', error);
  }
}

async function transaction<T>(connection: PostgresConnection, work: (connection: Connection) => Promise<T>): Promise<T> {
  connection.notifications = new Set();
  const begun = connection.script('begin');
  try {
    const [result] = await Promise.all([LentConnection.for(connection, work), begun]);
    await connection.commit();
    return result;
  } catch (error) {
    await connection.script('rollback').catch((failed: Error) => connection.lose(failed));
    throw error;
  }
}

/** The SQLSTATE of a {@link databaseError}. */
function postgresCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof DatabaseError ? (cause.code ?? '') : '';
}

/** Node gives several refused addresses one error without a message. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join(', ');
  return error instanceof Error ? error.message : String(error);
}
