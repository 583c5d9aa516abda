import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { signalWithin } from '../../base/core/abort.ts';
import { connect, proxyHeaders } from './connect.ts';
import type { Network } from './network.ts';

export interface KeptConnectionOptions {
  /** A URL of the operator, whose addresses are not checked. A user name and password in it are sent. */
  readonly url: URL;
  readonly network: Network;
  /** Milliseconds that one request may take, the connection included. */
  readonly timeoutMs: number;
  /** Longest answer in bytes. */
  readonly maxBytes: number;
  /** Ends the connection. */
  readonly until: AbortSignal;
}

export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/**
 * Posts messages to one server, one at a time, over a connection that is kept between them. `fetch` is not used,
 * because a request costs three times as much with it, and it knows neither the proxies nor the authorities of the
 * configuration.
 */
export class KeptConnection {
  readonly #options: KeptConnectionOptions;
  readonly #agent: Agent;
  /** Of the request for which a connection is made. */
  #within: AbortSignal = AbortSignal.abort();

  constructor(options: KeptConnectionOptions) {
    this.#options = options;
    this.#agent = new ConnectingAgent(async () => {
      const { url, network, timeoutMs } = this.#options;
      const { stream } = await connect(url, { network, idleTimeoutMs: timeoutMs, signal: this.#within });
      return stream;
    });
    options.until.addEventListener('abort', () => this.#agent.destroy(), { once: true });
  }

  /**
   * Sends a message and returns the answer with any status; redirects are not followed. Rejects when there is no
   * complete answer in time, or it is too long.
   */
  async post(headers: Readonly<Record<string, string>>, body: Uint8Array, signal: AbortSignal): Promise<Posted> {
    const { url, network, timeoutMs, maxBytes } = this.#options;
    const path = `${url.pathname}${url.search}`;
    // A proxy for http gets the whole URL; for https there is a tunnel.
    const proxy = url.protocol === 'http:' ? network.proxyFor(url) : undefined;
    const within = signalWithin(timeoutMs, signal);
    this.#within = within;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        method: 'POST',
        path: proxy ? `http://${url.host}${path}` : path,
        headers: {
          ...headers,
          ...(proxy && proxyHeaders(proxy)),
          host: url.host,
          'content-length': body.length,
        },
        ...(url.username !== '' && { auth: [url.username, url.password].map(decodeURIComponent).join(':') }),
        agent: this.#agent,
        signal: within,
      });
      outgoing.on('response', (message) => {
        readUpTo(maxBytes, message).then(
          (answer) => resolve({ status: message.statusCode ?? 0, headers: message.headers, body: answer }),
          reject,
        );
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

/** Returns the body of an answer. Leaving the loop ends the connection. */
async function readUpTo(maxBytes: number, message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Keeps connections that are made by a function. */
class ConnectingAgent extends Agent {
  readonly #connect: () => Promise<Duplex>;

  constructor(connecting: () => Promise<Duplex>) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#connect = connecting;
  }

  override createConnection(_: unknown, done?: (error: Error | null, stream: Duplex) => void): undefined {
    void this.#give(done as (error: unknown, stream?: Duplex) => void); // Node expects no stream beside an error
  }

  async #give(done: (error: unknown, stream?: Duplex) => void): Promise<void> {
    let stream: Duplex;
    try {
      stream = await this.#connect();
    } catch (error) {
      return done(error);
    }
    done(null, stream);
  }
}
