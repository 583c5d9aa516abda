import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { delay } from '../core/abort.ts';
import { AanaError } from '../core/errors.ts';
import { holdBody } from './continue.ts';

export interface HttpServerLimits {
  readonly header_timeout_s: number;
  readonly request_timeout_s: number;
  readonly keep_alive_timeout_s: number;
}

/** The listening socket of the host. */
export class HttpServer {
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  constructor(callback: (req: IncomingMessage, res: ServerResponse) => void, limits: HttpServerLimits) {
    this.#server = createServer(
      {
        headersTimeout: limits.header_timeout_s * 1000,
        requestTimeout: limits.request_timeout_s * 1000,
        keepAliveTimeout: limits.keep_alive_timeout_s * 1000,
        connectionsCheckingInterval: 1000,
        noDelay: true,
        requireHostHeader: false, // refused here, with the four keys
      },
      (req, res) => {
        if (this.#closing) res.setHeader('connection', 'close');
        if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(req.socket, '400 Bad Request', 'MalformedRequest', 'the request has no Host header');
        else callback(req, res);
      },
    );
    this.#server.on('clientError', answerBrokenRequest);
    this.#server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
      holdBody(req);
      this.#server.emit('request', req, res);
    });
    this.#server.on('checkExpectation', ({ socket, headers }: IncomingMessage) =>
      refuse(socket, '417 Expectation Failed', 'ExpectationFailed', `what the request expects, ${JSON.stringify(headers.expect)}, is not known`),
    );
    this.#server.on('connect', (_, socket: Socket) => refuse(socket, '405 Method Not Allowed', 'MethodNotAllowed', 'this server is no proxy: CONNECT is not taken'));
  }

  /** Resolves with the real port. Rejects with one sentence when the address cannot be had. */
  async listen(host: string, port: number): Promise<{ host: string; port: number; url: string }> {
    await new Promise<void>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException): void => reject(listenError(host, port, error));
      this.#server.once('error', onError);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', onError);
        resolve();
      });
    });
    const bound = (this.#server.address() as AddressInfo).port;
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return { host, port: bound, url: `http://${name}:${bound}` };
  }

  /** Accepts nothing new, lets running requests finish for `graceMs`, then ends their connections. May be called twice. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  /** Ends all connections at once. */
  destroy(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #close(graceMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const over = new AbortController();
    void closed.then(() => over.abort());
    const deadline = performance.now() + graceMs;
    while (!over.signal.aborted && performance.now() < deadline) {
      this.#server.closeIdleConnections(); // a stream that has just ended leaves an idle one
      await delay(Math.min(50, Math.max(1, deadline - performance.now())), over.signal).catch(() => {});
    }
    this.#server.closeAllConnections();
    await closed;
  }
}

function listenError(host: string, port: number, error: NodeJS.ErrnoException): AanaError {
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} on ${host} is already in use: stop the program that has it, or choose another with --port`,
    EACCES: `port ${port} on ${host} may not be used by this user: choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose another with --host`,
    ENOTFOUND: `the host name ${host} is not known: choose another with --host`,
  };
  const isWrong = error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND';
  return new AanaError('ListenError', isWrong ? 'invalid-input' : 'unavailable', reasons[error.code ?? ''] ?? `cannot listen on ${host} port ${port}: ${error.message}`, { cause: error });
}

/** A request that is not HTTP, too slow or with too large a head never reaches the application; it still gets the four keys. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, name, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'RequestTimeout', 'the request took too long to arrive']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'RequestTooLarge', 'the head of the request is too large']
        : ['400 Bad Request', 'MalformedRequest', 'the request is not valid HTTP'];
  refuse(socket, status, name, message);
}

/** Answers on the bare socket and ends the connection. */
function refuse(socket: Socket, status: string, error: string, message: string): void {
  const body = JSON.stringify({ error, message, data: {}, stacktrace: null });
  socket.on('error', () => {}); // the client has gone
  socket.end(`HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
}
