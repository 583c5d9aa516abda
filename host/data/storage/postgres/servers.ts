/** The address of one PostgreSQL server. `host` may be the folder of its socket. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const WITH_PORT = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/;

/**
 * The servers of a database: a primary and its replicas, which change their roles when the primary fails. One of them
 * accepts writes at a time. New connections go to `current`.
 */
export class Servers {
  readonly list: readonly ServerAddress[];
  #index = 0;

  /**
   * @param hosts one address, or several with commas between them, each with its port if that is not `port`:
   * `a,b:5433,[::1]:5434`
   */
  constructor(hosts: string, port: number) {
    this.list = hosts.split(',').map((text) => {
      const address = text.trim();
      const [, host = address, own] = WITH_PORT.exec(address) ?? [];
      return { host: host.replace(/^\[(.*)\]$/, '$1'), port: own === undefined ? port : Number(own) };
    });
  }

  get current(): ServerAddress {
    return this.list[this.#index] as ServerAddress;
  }

  /** Throws for a server that is read-only, if there are other servers that may accept writes. */
  requireWritable(isReadOnly: boolean): void {
    if (isReadOnly && this.list.length > 1) throw new Error('the server accepts no writes because it is a replica');
  }

  /**
   * Called when `server` cannot be reached or accepts no writes. Makes the next server the current one, unless another
   * caller has already done so.
   */
  leave(server: ServerAddress): void {
    if (server === this.current) this.#index = (this.#index + 1) % this.list.length;
  }

  toString(): string {
    return this.list.map(({ host, port }) => `${host}:${port}`).join(',');
  }
}
