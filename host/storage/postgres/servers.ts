/** Address of one PostgreSQL server; `host` may be the folder of its socket. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const WITH_PORT = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/;

/**
 * The servers that may have a database, of which one takes writes at a time: a primary and its replicas, which change
 * their roles when the primary fails. `current` is the one that new connections go to.
 */
export class Servers {
  readonly list: readonly ServerAddress[];
  #index = 0;

  /**
   * @param hosts one address, or several with commas between them, each with a port of its own where it is not `port`:
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

  /** Whether there are others than the current one. */
  get areSeveral(): boolean {
    return this.list.length > 1;
  }

  /**
   * Called when `server` cannot be reached or takes no writes: the next one is current, unless another caller has left
   * this one already.
   */
  leave(server: ServerAddress): void {
    if (server === this.current) this.#index = (this.#index + 1) % this.list.length;
  }

  toString(): string {
    return this.list.map(({ host, port }) => `${host}:${port}`).join(',');
  }
}
