import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { type ClusterSettings, memberFiles, Membership } from '../../base/certificates/index.ts';
import { type Config, exposureOf } from '../../base/config/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { ControlServer } from '../../apis/control/server/index.ts';
import { tcpAddress } from '../../base/core/net/cluster-names.ts';
import { HttpServer, socketPath } from '../../apis/http/index.ts';
import { prepareTempDir } from '../../io/artifacts/index.ts';
import type { ConnectOptions } from '../app-options.ts';
import type { Address } from '../../apis/control/index.ts';
import { Attached } from './attached.ts';
import { openControl, type OpenControlOptions } from './control.ts';
import { DashboardServer, type DashboardServerOptions } from './dashboard-server.ts';
import { ignoreOutputErrors } from '../start/output-errors.ts';

type RemoteControl = OpenControlOptions['remote'];
type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

export interface AppConnectionOptions {
  readonly config: Config;
  /** What commands of this user see and change. */
  readonly application: OpenControlOptions['application'];
  /** Returns the request listener for a server at this address. */
  readonly callback: (listensAt: string) => RequestHandler;
  /** Returns the listener for requests for WebSockets. */
  readonly upgrade: (listensAt: string) => RequestHandler;
  /** Returns the request listener for the server of the dashboard. */
  readonly dashboard: DashboardServerOptions['callback'];
  /** Returns the request listener for the control socket. */
  readonly owner: OpenControlOptions['callback'];
  readonly log: Logger;
}

/** The connection of an application: its server, or the running application that it is attached to. */
export class AppConnection {
  readonly #options: AppConnectionOptions;
  #server: HttpServer | undefined;
  #url: string | undefined;
  #listensAt: string | undefined;
  #attached: Attached | undefined;
  #dashboard: DashboardServer | undefined;
  #control: ControlServer | undefined;

  constructor(options: AppConnectionOptions) {
    this.#options = options;
  }

  get url(): string | undefined {
    return this.#url ?? this.#attached?.running.url;
  }

  /** The port or the path of the socket that was asked for; undefined if it was any free port. */
  get listensAt(): string | undefined {
    return this.#listensAt;
  }

  get dashboardUrl(): string | undefined {
    return this.#dashboard?.url;
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
    this.#attached = await Attached.open(this.#options.config, options);
    return this.#attached !== undefined;
  }

  /** What workers need: the listening server, and the control socket. Undefined before `listen`, and without it. */
  get shared(): { readonly server: Server; readonly control: Address } | undefined {
    return this.#server && this.#control && { server: this.#server.listening, control: this.#control.address };
  }

  /** Takes connections in turns with the process whose listening server this is, and which has this address. */
  async listenWith(server: Server, { url, host }: Address): Promise<void> {
    this.#requireNone();
    ignoreOutputErrors();
    const own = await this.#openServer(host);
    await own.listenWith(server);
    this.#url = url;
    this.#server = own;
  }

  /** Starts the server. `host` is an address, or `unix:/path` of a socket. */
  async listen(host: string, port: number): Promise<void> {
    this.#requireNone();
    const { config, application, owner, log } = this.#options;
    ignoreOutputErrors();
    await prepareTempDir(config.media.temp_dir ?? tmpdir());
    const { limits, socket_mode: mode } = config;
    const remote = await remoteControl(config.cluster, log);
    const server = await this.#openServer(host);
    const path = socketPath(host);
    const at =
      path === undefined
        ? await server.listen(host, port)
        : await server.listenOnSocket(path, Number.parseInt(mode, 8));
    this.#url = at.url;
    this.#listensAt = path ?? (port === 0 ? undefined : String(port));
    const exposure = exposureOf(config, host);
    if (exposure) log.warn(exposure.found, { advice: exposure.advice });
    this.#server = server;
    this.#control = await openControl({
      ...{ runtimeDir: config.runtime_dir, application, callback: owner, limits, log, at, remote },
    });
  }

  /** Starts the server of the dashboard, once, and returns the address that opens it. */
  async openDashboard(): Promise<string> {
    const { config, dashboard: callback, log } = this.#options;
    this.#dashboard ??= await DashboardServer.open({ config, callback, log });
    return this.#dashboard.url;
  }

  /** The certificate of the server; undefined without HTTPS. */
  get certificate(): HttpServer['certificate'] {
    return this.#server?.certificate;
  }

  async reloadCertificate(): Promise<void> {
    await this.#server?.reloadCertificate();
  }

  /** Accepts no new requests, and lets running requests finish for `graceMs` milliseconds. */
  async closeServer(graceMs: number): Promise<void> {
    await this.#server?.close(graceMs);
  }

  /** Ends the dashboard and the control socket. Call it last, so that clients that follow the log receive all lines. */
  async end(): Promise<void> {
    await this.#attached?.running.close();
    await this.#dashboard?.close();
    await this.#control?.close();
  }

  #openServer(host: string): Promise<HttpServer> {
    const { config, callback, upgrade, log } = this.#options;
    const { limits, tls } = config;
    const files =
      tls.cert !== null && tls.key !== null
        ? { cert: tls.cert, key: tls.key, clientCa: tls.client_ca ?? undefined, minVersion: tls.min_version }
        : undefined;
    return HttpServer.open(callback(host), limits, { files, log, upgrade: upgrade(host) });
  }

  #requireNone(): void {
    if (this.#server) throw fail('AlreadyConnected', `the application already listens on ${this.#url}`);
    if (this.#attached) throw fail('AlreadyConnected', `the application is already attached to ${this.url}`);
  }
}

/** Returns where other machines of the cluster reach this one. Throws `TlsError` for files that cannot be used. */
async function remoteControl(cluster: ClusterSettings, log: Logger): Promise<RemoteControl> {
  const files = memberFiles(cluster);
  if (cluster.listen === null || !files) return undefined;
  return { ...tcpAddress(cluster.listen), membership: await Membership.open(files, log) };
}
