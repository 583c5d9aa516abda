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

export interface AppConnectionOptions {
  readonly app: AanaApp;
  readonly deployments: DeploymentManager;
  /** Gives what answers the requests to a server at this address. */
  readonly callback: (listensAt: string) => (req: IncomingMessage, res: ServerResponse) => void;
  readonly log: Logger;
  /** What was logged last. */
  readonly logs: LogRing;
}

/** How an application is reached, or which one it has reached: it listens, or is attached to one that does. */
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

  /** Whether there was one to attach to; see {@link Attached.open}. */
  async attach(options: ConnectOptions): Promise<boolean> {
    this.#requireNone();
    this.#attached = await Attached.open(this.#options.app.config, options);
    return this.#attached !== undefined;
  }

  /** `host` is an address, or `unix:/path` of a socket. */
  async listen(host: string, port: number): Promise<void> {
    this.#requireNone();
    const { app, deployments, callback, log, logs } = this.#options;
    ignoreOutputErrors();
    await prepareTempDir(app.config.media.temp_dir ?? tmpdir());
    const { limits, socket_mode: mode, tls } = app.config;
    const files = tls.cert !== null && tls.key !== null ? { cert: tls.cert, key: tls.key, clientCa: tls.client_ca ?? undefined, minVersion: tls.min_version } : undefined;
    const server = await HttpServer.open(callback(host), limits, { files, log });
    const path = socketPath(host);
    const at = path === undefined ? await server.listen(host, port) : await server.listenOnSocket(path, Number.parseInt(mode, 8));
    this.#url = at.url;
    this.#server = server;
    this.#endControl = await openControl({ app, deployments, logs, log, at });
  }

  async reloadCertificate(): Promise<void> {
    await this.#server?.reloadCertificate();
  }

  /** Takes no new requests, and gives running ones so long. */
  async closeServer(graceMs: number): Promise<void> {
    await this.#server?.close(graceMs);
  }

  /** The last thing: those who follow the log read what was logged before. */
  async end(): Promise<void> {
    await this.#attached?.running.close();
    await this.#endControl?.();
  }

  #requireNone(): void {
    if (this.#server) throw new AanaError('AlreadyConnected', 'conflict', `the application already listens on ${this.#url}`);
    if (this.#attached) throw new AanaError('AlreadyConnected', 'conflict', `the application is attached to ${this.url} already`);
  }
}
