import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import type { AanaApp } from '../app.ts';
import { AanaError } from '../../core/errors.ts';
import type { LogRing } from '../../core/log/log-ring.ts';
import type { Logger } from '../../core/log/logger.ts';
import type { DeploymentManager } from '../../deployments/index.ts';
import { HttpServer, socketPath } from '../../http/index.ts';
import { prepareTempDir } from '../../media/index.ts';
import type { ConnectOptions } from '../app-options.ts';
import { Attached } from './attached.ts';
import { openControl } from './control.ts';
import { ignoreOutputErrors } from '../start/output-errors.ts';

type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

export interface AppConnectionOptions {
  readonly app: AanaApp;
  readonly deployments: DeploymentManager;
  /** Returns the request listener for a server at this address. */
  readonly callback: (listensAt: string) => RequestHandler;
  /** Returns the listener for requests for WebSockets. */
  readonly upgrade: (listensAt: string) => RequestHandler;
  readonly log: Logger;
  /** The latest log lines. */
  readonly logs: LogRing;
}

/** The connection of an application: its server, or the running application that it is attached to. */
export class AppConnection {
  readonly #options: AppConnectionOptions;
  #server: HttpServer | undefined;
  #url: string | undefined;
  #attached: Attached | undefined;
  #endControl: (() => Promise<void>) | undefined;

  constructor(options: AppConnectionOptions) {
    this.#options = options;
  }

  get url(): string | undefined {
    return this.#url ?? this.#attached?.running.url;
  }

  get isListening(): boolean {
    return this.#server !== undefined;
  }

  get attached(): Attached | undefined {
    return this.#attached;
  }

  /** Attaches to a running application. Resolves with false if there is none; see {@link Attached.open}. */
  async attach(options: ConnectOptions): Promise<boolean> {
    this.#requireNone();
    this.#attached = await Attached.open(this.#options.app.config, options);
    return this.#attached !== undefined;
  }

  /** Starts the server. `host` is an address, or `unix:/path` of a socket. */
  async listen(host: string, port: number): Promise<void> {
    this.#requireNone();
    const { app, deployments, callback, upgrade, log, logs } = this.#options;
    ignoreOutputErrors();
    await prepareTempDir(app.config.media.temp_dir ?? tmpdir());
    const { limits, socket_mode: mode, tls } = app.config;
    const files =
      tls.cert !== null && tls.key !== null
        ? { cert: tls.cert, key: tls.key, clientCa: tls.client_ca ?? undefined, minVersion: tls.min_version }
        : undefined;
    const server = await HttpServer.open(callback(host), limits, { files, log, upgrade: upgrade(host) });
    const path = socketPath(host);
    const at =
      path === undefined
        ? await server.listen(host, port)
        : await server.listenOnSocket(path, Number.parseInt(mode, 8));
    this.#url = at.url;
    this.#server = server;
    this.#endControl = await openControl({ app, deployments, logs, log, at });
  }

  async reloadCertificate(): Promise<void> {
    await this.#server?.reloadCertificate();
  }

  /** Accepts no new requests, and lets running requests finish for `graceMs` milliseconds. */
  async closeServer(graceMs: number): Promise<void> {
    await this.#server?.close(graceMs);
  }

  /** Ends the control socket. Call it last, so that clients that follow the log receive all lines. */
  async end(): Promise<void> {
    await this.#attached?.running.close();
    await this.#endControl?.();
  }

  #requireNone(): void {
    if (this.#server)
      throw new AanaError('AlreadyConnected', 'conflict', `the application already listens on ${this.#url}`);
    if (this.#attached)
      throw new AanaError('AlreadyConnected', 'conflict', `the application is already attached to ${this.url}`);
  }
}
