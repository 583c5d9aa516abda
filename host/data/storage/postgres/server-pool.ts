import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import { deferred } from '../../../base/core/deferred.ts';
import type { ServerAddress, Servers } from './servers.ts';

export interface ServerPoolOptions {
  readonly servers: Servers;
  /** The options of connections without the server. */
  readonly client: ClientConfig;
  readonly connections: number;
  /** The age at which a connection is replaced. */
  readonly recycleS: number;
  readonly connectionTimeoutMs: number;
  /** Called with each new connection before it is used. */
  readonly prepare: (client: Client) => Promise<void>;
  /** Called when an idle connection was lost. The pool replaces it when it needs one. */
  readonly onLost: (error: Error) => void;
}

/** The time for connections to end, because a server that does not answer does not end them. */
const MOST_END_MS = 2000;

/** A pool of connections to the server that accepts writes. */
export class ServerPool {
  readonly #options: ServerPoolOptions;
  readonly #pool: Pool;
  /** All connections, because the connections to a silent server must be destroyed. */
  readonly #clients = new Set<Client>();
  readonly #empty = deferred();

  constructor(options: ServerPoolOptions) {
    this.#options = options;
    const { servers, client, connections, recycleS, connectionTimeoutMs, prepare } = options;
    this.#pool = new Pool({
      ...client,
      Client: clientOf(servers),
      max: connections,
      maxLifetimeSeconds: recycleS,
      connectionTimeoutMillis: connectionTimeoutMs,
      onConnect: (connected) => prepare(connected as Client).catch((error: unknown) => {
        servers.leave((connected as ServerClient).server);
        throw error;
      }), // prettier-ignore
    });
    this.#pool.on('connect', (connected) => void this.#clients.add(connected));
    this.#pool.on('remove', (removed) => {
      this.#clients.delete(removed);
      if (this.#clients.size === 0 && this.#pool.ending) this.#empty.resolve();
    });
    this.#pool.on('error', options.onLost);
  }

  /** Lends a connection to the current server, or to the next usable one. */
  async connect(): Promise<PoolClient> {
    const { servers } = this.#options;
    for (let left = servers.list.length - 1; ; left -= 1) {
      const tried = servers.current;
      try {
        return await this.#pool.connect();
      } catch (error) {
        if (left <= 0 || servers.current === tried) throw error; // no connection to the current server was free
      }
    }
  }

  /** Waits for running work, and then a moment for the server to close the connections. */
  async end(): Promise<void> {
    await this.#pool.end();
    if (this.#clients.size === 0) return;
    const timer = setTimeout(this.#empty.resolve, MOST_END_MS);
    await this.#empty.promise;
    clearTimeout(timer);
    for (const { connection } of this.#clients) connection.stream.destroy();
  }
}

/** A connection to the server that is the current one at its creation. */
export interface ServerClient extends Client {
  readonly server: ServerAddress;
}

/** Returns the class of clients that connect to the current one of `servers`, and leave it when they cannot. */
export function clientOf(servers: Servers): new (config?: ClientConfig) => ServerClient {
  return class extends Client {
    readonly server: ServerAddress;

    constructor(config: ClientConfig = {}) {
      const server = servers.current;
      super({ ...config, ...server });
      this.server = server;
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | void {
      const noted = (error: Error | null): void => {
        if (error) servers.leave(this.server);
      };
      if (callback === undefined) return super.connect().catch((error: Error) => {
        noted(error);
        throw error;
      }); // prettier-ignore
      super.connect((error: Error | null) => {
        noted(error);
        callback(error as Error);
      });
    }
  };
}
