import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { delay } from '../../../base/core/abort.ts';
import { fail } from '../../../base/core/errors.ts';
import { type Logger, silentLogger } from '../../../base/core/log/logger.ts';
import { Certificate, type CertificateFacts, type CertificateFiles } from '../../../base/certificates/index.ts';
import { type RequestListener, Connections } from './connections.ts';
import { type Contain, containing } from './containing.ts';
import { listenOnHandle, listenOnPort, listenOnSocket } from './listening.ts';
import { TlsPort } from './tls-port.ts';
import type { UpgradeListener } from './upgrades.ts';

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
  /** Takes requests for `protocol`. Default: they are ordinary requests. */
  readonly upgrade?: UpgradeListener | undefined;
  /** Default: `websocket`. */
  readonly protocol?: string | undefined;
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

/** Time that a closing server waits for the first request of a new connection. */
const FIRST_REQUEST_MS = 500;
/** Interval of log lines about connections over the limit. */
const DROP_LOG_MS = 10_000;

/** The listening socket of the host. */
export class HttpServer {
  readonly #server: Server | HttpsServer;
  readonly #certificate: Certificate | undefined;
  readonly #tlsPort: TlsPort | undefined;
  readonly #connections: Connections;
  #closing: Promise<void> | undefined;

  constructor(
    callback: RequestListener,
    limits: HttpServerLimits,
    { certificate, upgrade, protocol = 'websocket', log = silentLogger }: HttpServerOptions = {},
  ) {
    const contain = containing(log);
    this.#connections = new Connections({ callback, upgrade, protocol, contain });
    const options: ServerOptions = {
      headersTimeout: limits.header_timeout_s * 1000,
      requestTimeout: limits.request_timeout_s * 1000,
      keepAliveTimeout: limits.keep_alive_timeout_s * 1000,
      connectionsCheckingInterval: 1000,
      ...(limits.max_header_bytes !== undefined && { maxHeaderSize: limits.max_header_bytes }),
      noDelay: true,
      requireHostHeader: false, // `Connections` refuses such requests, with the four keys of an error
      IncomingMessage: this.#connections.Request,
    };
    this.#certificate = certificate;
    if (certificate) {
      const timeoutMs = limits.header_timeout_s * 1000;
      const server = createHttpsServer({ ...options, ...certificate.options, handshakeTimeout: timeoutMs });
      this.#tlsPort = new TlsPort(server, { timeoutMs, contain });
      const watch = (): void => certificate.watch((changed) => server.setSecureContext(changed));
      server.once(
        'listening',
        contain(watch, () => undefined),
      );
      this.#connections.listen(server, 'secureConnection');
      this.#server = server;
    } else {
      this.#server = createServer(options);
      this.#connections.listen(this.#server, 'connection');
    }
    if (limits.max_connections !== undefined) this.#limit(limits.max_connections, log, contain);
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

  /**
   * Listens on a port and returns the real one. Rejects with `ListenError` or `InvalidAddress`, whose messages name the
   * setting with the address. Default: the options of `serve`.
   */
  async listen(host: string, port: number, setting?: string): Promise<ListeningAt> {
    await listenOnPort(this.#server, host, port, setting);
    const bound = (this.#server.address() as AddressInfo).port;
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return { host, port: bound, url: `${this.#certificate ? 'https' : 'http'}://${name}:${bound}` };
  }

  /** Listens on a Unix socket of this mode. Rejects with `ListenError` or `InvalidAddress`. */
  async listenOnSocket(path: string, mode: number): Promise<ListeningAt> {
    if (this.#certificate)
      throw fail('InvalidAddress', 'a Unix socket needs no encryption: leave out the certificate, or listen on a port');
    await listenOnSocket(this.#server, path, mode);
    return { host: `unix:${path}`, port: 0, url: `unix:${path}` };
  }

  /** Listens where a server of another process listens, and takes connections in turns with it. */
  async listenWith(other: NetServer): Promise<void> {
    await listenOnHandle(this.#server, other);
  }

  /** The listening server, with which other processes can listen as well. */
  get listening(): NetServer {
    return this.#server;
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
    this.#connections.close();
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
      if (performance.now() - startedAt > FIRST_REQUEST_MS) this.#connections.destroyUnused();
      await delay(Math.min(50, Math.max(1, deadline - performance.now())), over.signal).catch(() => {});
    }
    this.#server.closeAllConnections();
    await closed;
  }

  #limit(connections: number, log: Logger, contain: Contain): void {
    this.#server.maxConnections = connections;
    let dropped = 0;
    let toldAt = Number.NEGATIVE_INFINITY;
    const count = (): void => {
      dropped += 1;
      if (performance.now() - toldAt < DROP_LOG_MS) return;
      toldAt = performance.now();
      log.warn('connections were closed: limits.max_connections are open', { connections, closed: dropped });
      dropped = 0;
    };
    this.#server.on(
      'drop',
      contain(count, () => undefined), // the connection is already closed
    );
  }
}
