import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { delay } from '../../core/abort.ts';
import { AanaError } from '../../core/errors.ts';
import { type Logger, silentLogger } from '../../core/log/logger.ts';
import { Certificate, type CertificateFiles } from './certificate.ts';
import { holdBody } from './continue.ts';
import { listenOnPort, listenOnSocket } from './listening.ts';
import { TlsPort } from './tls-port.ts';

export interface HttpServerLimits {
  readonly header_timeout_s: number;
  readonly request_timeout_s: number;
  readonly keep_alive_timeout_s: number;
  /** Default: Node's, 16 KiB. */
  readonly max_header_bytes?: number | undefined;
  /** Default: as many as the system gives. */
  readonly max_connections?: number | undefined;
}

export interface HttpServerOptions {
  /** With it the server speaks HTTPS. */
  readonly certificate?: Certificate | undefined;
  readonly log?: Logger | undefined;
}

/** Where a server listens. */
export interface ListeningAt {
  /** `http://127.0.0.1:8000`, `https://…`, or `unix:/run/aana/http.sock`. */
  readonly url: string;
  /** The address as it was given, or that of the socket, `unix:/…`. */
  readonly host: string;
  /** 0 for a socket. */
  readonly port: number;
}

type RequestListener = (req: IncomingMessage, res: ServerResponse) => void;

const LINGER_MS = 2000;
/** How long a closing server waits for a request that may be on the way on a new connection. */
const FIRST_REQUEST_MS = 500;
/** Connections over the limit are told of once in this time. */
const DROP_LOG_MS = 10_000;

/** The listening socket of the host. */
export class HttpServer {
  readonly #server: Server | HttpsServer;
  readonly #certificate: Certificate | undefined;
  readonly #tlsPort: TlsPort | undefined;
  /** Connections without a request so far, such as those that browsers open in advance. */
  readonly #unused = new Set<Socket>();
  #closing: Promise<void> | undefined;

  constructor(
    callback: RequestListener,
    limits: HttpServerLimits,
    { certificate, log = silentLogger }: HttpServerOptions = {},
  ) {
    const options: ServerOptions = {
      headersTimeout: limits.header_timeout_s * 1000,
      requestTimeout: limits.request_timeout_s * 1000,
      keepAliveTimeout: limits.keep_alive_timeout_s * 1000,
      connectionsCheckingInterval: 1000,
      ...(limits.max_header_bytes !== undefined && { maxHeaderSize: limits.max_header_bytes }),
      noDelay: true,
      requireHostHeader: false, // refused here, with the four keys
    };
    const onRequest: RequestListener = (req, res) => {
      this.#unused.delete(req.socket);
      if (this.#closing) res.setHeader('connection', 'close');
      if (req.headers.host === undefined && req.httpVersion === '1.1')
        refuse(req.socket, '400 Bad Request', 'MalformedRequest', 'the request has no Host header');
      else callback(req, res);
    };
    this.#certificate = certificate;
    if (certificate) {
      const timeoutMs = limits.header_timeout_s * 1000;
      const server = createHttpsServer({ ...options, ...certificate.options, handshakeTimeout: timeoutMs }, onRequest);
      this.#tlsPort = new TlsPort(server, { timeoutMs, refuse: refusePlain });
      server.on('listening', () => certificate.watch((changed) => server.setSecureContext(changed)));
      this.#server = server;
    } else this.#server = createServer(options, onRequest);
    this.#server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#unused.add(socket);
      socket.once('close', () => this.#unused.delete(socket));
    });
    if (limits.max_connections !== undefined) this.#limit(limits.max_connections, log);
    this.#server.on('clientError', answerBrokenRequest);
    this.#server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
      holdBody(req);
      this.#server.emit('request', req, res);
    });
    this.#server.on('checkExpectation', ({ socket, headers }: IncomingMessage) =>
      refuse(
        socket,
        '417 Expectation Failed',
        'ExpectationFailed',
        `what the request expects, ${JSON.stringify(headers.expect)}, is not known`,
      ),
    );
    this.#server.on('connect', (_, socket: Socket) =>
      refuse(socket, '405 Method Not Allowed', 'MethodNotAllowed', 'this server is no proxy: CONNECT is not taken'),
    );
  }

  /**
   * A server that speaks HTTPS where there are files of a certificate. Throws `TlsError` naming the one that cannot be
   * used.
   */
  static async open(
    callback: RequestListener,
    limits: HttpServerLimits,
    { files, log = silentLogger }: { readonly files?: CertificateFiles | undefined; readonly log?: Logger },
  ): Promise<HttpServer> {
    return new HttpServer(callback, limits, { log, certificate: files && (await Certificate.open(files, log)) });
  }

  /** Resolves with the real port. Rejects with one sentence when the address cannot be had. */
  async listen(host: string, port: number): Promise<ListeningAt> {
    await listenOnPort(this.#server, host, port);
    const bound = (this.#server.address() as AddressInfo).port;
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return { host, port: bound, url: `${this.#certificate ? 'https' : 'http'}://${name}:${bound}` };
  }

  /** On a Unix socket of this mode. Rejects with one sentence when the path cannot be had. */
  async listenOnSocket(path: string, mode: number): Promise<ListeningAt> {
    if (this.#certificate)
      throw new AanaError(
        'ListenError',
        'invalid-input',
        'a Unix socket needs no encryption: leave out the certificate, or listen on a port',
      );
    await listenOnSocket(this.#server, path, mode);
    return { host: `unix:${path}`, port: 0, url: `unix:${path}` };
  }

  /**
   * Reads the certificate again, where there is one; connections stay. What is wrong with it is logged, and the one
   * that was there stays.
   */
  async reloadCertificate(): Promise<void> {
    await this.#certificate?.reload();
  }

  /**
   * Accepts nothing new, lets running requests finish for `graceMs`, then ends their connections. May be called twice.
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  /** Ends all connections at once. */
  destroy(): void {
    this.#certificate?.close();
    this.#server.close();
    this.#tlsPort?.close();
    this.#server.closeAllConnections();
  }

  async #close(graceMs: number): Promise<void> {
    this.#certificate?.close();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#tlsPort?.close();
    const over = new AbortController();
    void closed.then(() => over.abort());
    const startedAt = performance.now();
    const deadline = startedAt + graceMs;
    while (!over.signal.aborted && performance.now() < deadline) {
      this.#server.closeIdleConnections(); // a stream that has just ended leaves an idle one
      if (performance.now() - startedAt > FIRST_REQUEST_MS) for (const socket of this.#unused) socket.destroy();
      await delay(Math.min(50, Math.max(1, deadline - performance.now())), over.signal).catch(() => {});
    }
    this.#server.closeAllConnections();
    await closed;
  }

  #limit(connections: number, log: Logger): void {
    this.#server.maxConnections = connections;
    let dropped = 0;
    let toldAt = Number.NEGATIVE_INFINITY;
    this.#server.on('drop', () => {
      dropped += 1;
      if (performance.now() - toldAt < DROP_LOG_MS) return;
      toldAt = performance.now();
      log.warn('connections were closed: limits.max_connections are open', { connections, closed: dropped });
      dropped = 0;
    });
  }
}

/**
 * A request that is not HTTP, too slow or with too large a head never reaches the application; it still gets the four
 * keys.
 */
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

/** Answers who speaks plain HTTP to a server that speaks HTTPS, and lets the client read it. */
function refusePlain(socket: Socket): void {
  refuse(socket, '400 Bad Request', 'HttpsExpected', 'this port speaks HTTPS: use https:// in place of http://');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Answers on the bare socket and ends the connection. */
function refuse(socket: Socket, status: string, error: string, message: string): void {
  const body = JSON.stringify({ error, message, data: {}, stacktrace: null });
  socket.on('error', () => {}); // the client has gone
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
