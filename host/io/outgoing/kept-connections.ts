import { Agent, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect, wholeUrlProxy, throughProxy } from './connect.ts';
import { type Connecting, type Hop, send, StaleConnection } from './exchange.ts';
import { directNetwork, type Network } from './network.ts';

export interface KeptConnectionsOptions {
  /** A URL of the operator at the server, whose addresses are not checked. */
  readonly url: URL;
  /** Default: no proxy, and the authorities of Node. */
  readonly network?: Network | undefined;
  /** Milliseconds without a byte after which a connection or an answer is given up. */
  readonly idleTimeoutMs: number;
}

/** Connections that wait for requests. Further ones are closed after their answer. */
const MOST_WAITING = 16;
/** A connection without requests for so long is closed, or earlier if the server says so in its answers. */
const KEPT_MS = 30_000;

/**
 * Connections to one server, which are kept between requests. `fetch` is not used, because a request costs three times
 * as much with it, and it knows neither the proxies nor the authorities of the configuration. Connections that wait do
 * not keep the process running.
 */
export class KeptConnections {
  readonly #options: KeptConnectionsOptions;
  readonly #agent: ConnectingAgent;

  constructor(options: KeptConnectionsOptions) {
    const { url, network, idleTimeoutMs } = options;
    this.#options = options;
    this.#agent = new ConnectingAgent(async (signal) => {
      const { stream } = await connect(url, { network, idleTimeoutMs, signal });
      return stream;
    });
  }

  /**
   * Sends a request to a URL of the server. The connection is kept once the answer was read to its end. A server may
   * close a connection while a request is on its way, so the request is then sent again over a new connection: it must
   * be one that may arrive twice.
   */
  async send(hop: Hop, signal: AbortSignal): Promise<IncomingMessage> {
    const { network = directNetwork, idleTimeoutMs } = this.#options;
    const timing = { network, idleTimeoutMs, signal };
    const proxy = wholeUrlProxy(hop.url, network);
    try {
      return await send(hop, { agent: this.#agent, ...(proxy && throughProxy(proxy)) }, timing);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StaleConnection)) throw error;
      return send(hop, await connect(hop.url, timing), timing);
    }
  }

  /** Closes all connections; requests under way fail. Later requests make new ones. */
  close(): void {
    this.#agent.destroy();
  }
}

/** Keeps connections that are made by a function. */
class ConnectingAgent extends Agent {
  readonly #connect: (signal: AbortSignal) => Promise<Duplex>;

  constructor(connecting: (signal: AbortSignal) => Promise<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: MOST_WAITING, timeout: KEPT_MS });
    this.#connect = connecting;
  }

  override createConnection(request: object, done?: (error: Error | null, stream: Duplex) => void): undefined {
    // Node expects no stream beside an error.
    void this.#give((request as Connecting).within, done as (error: unknown, stream?: Duplex) => void);
  }

  async #give(within: AbortSignal, done: (error: unknown, stream?: Duplex) => void): Promise<void> {
    let stream: Duplex;
    try {
      stream = await this.#connect(within);
    } catch (error) {
      return done(error);
    }
    done(null, stream);
  }
}
