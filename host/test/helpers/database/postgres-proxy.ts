import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';

/**
 * The point at which a connection is cut. `statement`: before a statement reaches the server. `commit`: before a COMMIT
 * reaches it. `answer`: after the server has committed and before the client learns of it.
 */
export type Cut = 'statement' | 'commit' | 'answer';

interface Wish {
  readonly at: Cut;
  /** Number of matching statements that pass before the cut. */
  skips: number;
  readonly done: Deferred<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Types of the messages with which a client runs a statement: Query and Execute. */
const RUNS = new Set([0x51, 0x45]);

/**
 * Passes connections of clients on to PostgreSQL, reads the clients' messages, and cuts or holds connections on a
 * test's request.
 */
export class PostgresProxy implements AsyncDisposable {
  readonly host = '127.0.0.1';
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #wishes = new Set<Wish>();
  #isSilent = false;
  /** Number of connections that clients have made. */
  connections = 0;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
    this.#server = createServer({ pauseOnConnect: true }, (client) => this.#accept(client));
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target);
    proxy.#server.listen(0, proxy.host);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts the connection at the next such point, or at a later one. Resolves after the cut. */
  cutNext(at: Cut, skips = 0): Promise<void> {
    const wish: Wish = { at, skips, done: deferred() };
    this.#wishes.add(wish);
    return wish.done.promise;
  }

  /** Cancels all requested cuts that have not happened. */
  forget(): void {
    this.#wishes.clear();
  }

  /** Cuts all connections. */
  cutAll(): void {
    for (const pair of this.#pairs) cut(pair);
  }

  /**
   * Passes nothing on in either direction until {@link resume}. Connections stay open. New connections are accepted,
   * but not answered.
   */
  silence(): void {
    this.#isSilent = true;
    for (const { client, server } of this.#pairs) {
      client.pause();
      server.pause();
    }
  }

  resume(): void {
    this.#isSilent = false;
    for (const { client, server } of this.#pairs) {
      client.resume();
      server.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.connections += 1;
    const server = connect(this.#target.port, this.#target.host);
    const pair: Pair = { client, server };
    this.#pairs.add(pair);
    let swallowed: Wish | undefined;
    const messages = new ClientMessages();
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => cut(pair));
      socket.on('close', () => {
        this.#pairs.delete(pair);
        // Data that one side sent before it closed still reaches the other side.
        if (!this.#isSilent) (socket === client ? server : client).end();
        else cut(pair);
      });
    }
    client.on('data', (chunk) => {
      for (const message of messages.add(chunk)) {
        if (swallowed !== undefined || client.destroyed) return;
        const wish = this.#matching(message);
        if (wish?.at === 'answer') swallowed = wish;
        else if (wish) {
          cut(pair);
          return wish.done.resolve();
        }
        server.write(message);
      }
    });
    server.on('data', (chunk) => {
      if (swallowed === undefined) return void client.write(chunk);
      if (!chunk.includes('COMMIT\0')) return; // the answer to an earlier statement
      cut(pair);
      swallowed.done.resolve();
    });
    if (!this.#isSilent) client.resume();
    else server.pause();
  }

  #matching(message: Buffer): Wish | undefined {
    if (!RUNS.has(message[0] ?? 0)) return undefined;
    const isCommit = message[0] === 0x51 && message.includes('commit\0');
    for (const wish of this.#wishes) {
      if (wish.at !== 'statement' && !isCommit) continue;
      if (wish.skips > 0) {
        wish.skips -= 1;
        continue;
      }
      this.#wishes.delete(wish);
      return wish;
    }
    return undefined;
  }
}

/**
 * Splits the stream of a client into messages. The first message has no type. All others have one byte for the type,
 * then four for the length.
 */
class ClientMessages {
  #rest: Buffer = Buffer.alloc(0);
  #hasBegun = false;

  *add(chunk: Buffer): Generator<Buffer> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const head = this.#hasBegun ? 1 : 0;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readUInt32BE(head);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      this.#hasBegun = true;
      yield message;
    }
  }
}

function cut({ client, server }: Pair): void {
  client.destroy();
  server.destroy();
}
