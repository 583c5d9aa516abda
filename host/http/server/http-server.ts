import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { delay } from '../../core/abort.ts';
import { AanaError } from '../../core/errors.ts';
import { type Logger, silentLogger } from '../../core/log/logger.ts';
import { Certificate, type CertificateFacts, type CertificateFiles } from './certificate.ts';
import { holdBody } from './continue.ts';
import { listenOnPort, listenOnSocket } from './listening.ts';
import { TlsPort } from './tls-port.ts';
import { handleUpgrades, UPGRADE_OPTIONS, type UpgradeListener } from './upgrades.ts';

export interface HttpServerLimits {
  readonly header_timeout_s: number;
  readonly request_timeout_s: number;
  readonly keep_alive_timeout_s: number;
  /** Default: 16 KiB, the default of Node. */
  readonly max_header_bytes?: number | undefined;
  /** Default: no limit besides the one of the system. */
  readonly max_connections?: number | undefined;
}

export interface HttpServerOptions {
  /** Makes the server speak HTTPS. */
  readonly certificate?: Certificate | undefined;
  /** Takes requests for WebSockets. Default: they are ordinary requests. */
  readonly upgrade?: UpgradeListener | undefined;
  readonly log?: Logger | undefined;
}

/** The place where a server listens. */
export interface ListeningAt {
  /** `http://127.0.0.1:8000`, `https://…`, or `unix:/run/aana/http.sock`. */
  readonly url: string;
  /** The given address, or `unix:/…` for a socket. */
  readonly host: string;
  /** Port number; 0 for a socket. */
  readonly port: number;
}

type RequestListener = (req: IncomingMessage, res: ServerResponse) => void;

const LINGER_MS = 2000;
/** Time that a closing server waits for the first request of a new connection. */
const FIRST_REQUEST_MS = 500;
/** Interval of log lines about connections over the limit. */
const DROP_LOG_MS = 10_000;

/** The listening socket of the host. */
export class HttpServer {
  readonly #server: Server | HttpsServer;
  readonly #certificate: Certificate | undefined;
  readonly #tlsPort: TlsPort | undefined;
  /** Connections without a request yet. Browsers open such connections in advance. */
  readonly #unused = new Set<Socket>();
  #closing: Promise<void> | undefined;

  constructor(
    callback: RequestListener,
    limits: HttpServerLimits,
    { certificate, upgrade, log = silentLogger }: HttpServerOptions = {},
  ) {
    const options: ServerOptions = {
      headersTimeout: limits.header_timeout_s * 1000,
      requestTimeout: limits.request_timeout_s * 1000,
      keepAliveTimeout: limits.keep_alive_timeout_s * 1000,
      connectionsCheckingInterval: 1000,
      ...(limits.max_header_bytes !== undefined && { maxHeaderSize: limits.max_header_bytes }),
      noDelay: true,
      ...(upgrade && UPGRADE_OPTIONS),
      requireHostHeader: false, // this class refuses such requests, with the four keys of an error
    };
    const taking =
      (listener: RequestListener): RequestListener =>
      (req, res) => {
        this.#unused.delete(req.socket);
        if (this.#closing) res.setHeader('connection', 'close');
        if (req.headers.host === undefined && req.httpVersion === '1.1')
          refuse(req.socket, '400 Bad Request', 'MalformedRequest', 'the request has no Host header');
        else listener(req, res);
      };
    const onRequest = taking(callback);
    this.#certificate = certificate;
    if (certificate) {
      const timeoutMs = limits.header_timeout_s * 1000;
      const server = createHttpsServer({ ...options, ...certificate.options, handshakeTimeout: timeoutMs }, onRequest);
      this.#tlsPort = new TlsPort(server, { timeoutMs, refuse: refusePlain });
      server.on('listening', () => certificate.watch((changed) => server.setSecureContext(changed)));
      this.#server = server;
    } else this.#server = createServer(options, onRequest);
    const connection = certificate ? 'secureConnection' : 'connection';
    if (upgrade) handleUpgrades(this.#server, connection, taking(upgrade));
    this.#server.on(connection, (socket: Socket) => {
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
        `the expectation ${JSON.stringify(headers.expect)} is not supported`,
      ),
    );
    this.#server.on('connect', (_, socket: Socket) =>
      refuse(
        socket,
        '405 Method Not Allowed',
        'MethodNotAllowed',
        'this server is not a proxy: it does not accept CONNECT',
      ),
    );
  }

  /**
   * Returns a server. It speaks HTTPS if there are files of a certificate. Throws `TlsError` that names the file that
   * cannot be used.
   */
  static async open(
    callback: RequestListener,
    limits: HttpServerLimits,
    {
      files,
      log = silentLogger,
      upgrade,
    }: { readonly files?: CertificateFiles | undefined } & Omit<HttpServerOptions, 'certificate'>,
  ): Promise<HttpServer> {
    return new HttpServer(callback, limits, {
      log,
      upgrade,
      certificate: files && (await Certificate.open(files, log)),
    });
  }

  /** Listens on a port and returns the real one. Rejects with `ListenError` if the address is not available. */
  async listen(host: string, port: number): Promise<ListeningAt> {
    await listenOnPort(this.#server, host, port);
    const bound = (this.#server.address() as AddressInfo).port;
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return { host, port: bound, url: `${this.#certificate ? 'https' : 'http'}://${name}:${bound}` };
  }

  /** Listens on a Unix socket of this mode. Rejects with `ListenError` if the path is not available. */
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

  /** The certificate in use; undefined without HTTPS. */
  get certificate(): CertificateFacts | undefined {
    return this.#certificate?.facts;
  }

  /**
   * Reads the certificate again, if there is one. Connections stay open. If it cannot be used, the failure is logged
   * and the old one stays.
   */
  async reloadCertificate(): Promise<void> {
    await this.#certificate?.reload();
  }

  /**
   * Accepts no new connections, waits up to `graceMs` for running requests, then ends their connections. Connections of
   * WebSockets must be ended by the part that took them. May be called twice.
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  /** Ends all connections immediately. */
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
      this.#server.closeIdleConnections(); // a stream that has just ended leaves an idle connection
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
 * Answers a request that is not HTTP, is too slow or has too large a head. It never reaches the application, but its
 * answer has the four keys of an error.
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

/** Answers plain HTTP on a port that speaks HTTPS, so that the client can read the reason. */
function refusePlain(socket: Socket): void {
  refuse(socket, '400 Bad Request', 'HttpsExpected', 'this port speaks HTTPS: use https:// instead of http://');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Writes an answer to the socket itself and ends the connection. */
function refuse(socket: Socket, status: string, error: string, message: string): void {
  const body = JSON.stringify({ error, message, data: {}, stacktrace: null });
  socket.on('error', () => {}); // the client has left
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
