import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { ApiKeys } from '../data/access/index.ts';
import type { Alerts } from '../base/alerts/index.ts';
import {
  type AanaAppOptions,
  addressToListenOn,
  checkOptions,
  type ConnectOptions,
  type DeployOptions,
  retryableNames,
} from './app-options.ts';
import { type BuildOptions, writeAppConfig } from './module/build-config.ts';
import { ApplicationWorkers } from './workers/application-workers.ts';
import { forwardTo } from './workers/forward.ts';
import { workerConfig } from './workers/worker-config.ts';
import { controllerFolders, workerRole } from './workers/link.ts';
import { PeerNotifications } from './workers/peer-notifications.ts';
import { joinController } from './workers/worker-part.ts';
import { ConfigurationChanges } from './changes/configuration-changes.ts';
import { AppConnection } from './attach/connection.ts';
import { controlledApplication } from './attach/control.ts';
import { requireDeclaredDeployments } from './endpoint/declared-deployments.ts';
import type { Helper } from '../base/modules/index.ts';
import type { RunRemoteOptions } from './endpoint/endpoint.ts';
import { checkRegistration, type EndpointRegistration } from './endpoint/endpoint-registration.ts';
import { APP_BRAND, APP_BRAND_VERSION } from './module/load-app.ts';
import { httpFace } from './http-face.ts';
import { appAlerts } from './ports/app-alerts.ts';
import { AppTelemetry } from './ports/app-telemetry.ts';
import { networkFrom } from './ports/outgoing-ports.ts';
import { flushLogs, standardErrorLog } from './ports/standard-error-log.ts';
import { endpointReport } from './ports/endpoint-report.ts';
import { LiveChanges } from './ports/live-changes.ts';
import { modelOperations } from './ports/model-operations.ts';
import { HostDrain } from './start/host-drain.ts';
import { Lifecycle } from './start/lifecycle.ts';
import { runBlocking } from './start/run-blocking.ts';
import { Services } from './services.ts';
import { identityOf } from './start/identity.ts';
import { startUp } from './start/start-up.ts';
import { appStatus, statusReport } from './start/status.ts';
import type { RunningApplication } from '../apis/control/client/index.ts';
import { childEnvironment, type Config, describeConfig, loadConfig } from '../base/config/index.ts';
import type { HeldAudio } from '../apis/control/index.ts';
import { fail } from '../base/core/errors.ts';
import { createLogger, type Logger, withoutContent } from '../base/core/log/logger.ts';
import { inArea, LogLevels } from '../base/core/log/log-levels.ts';
import { LogRing } from '../base/core/log/log-ring.ts';
import { withRequest } from '../base/core/async/request-scope.ts';
import {
  type AnyDeployment,
  type BoundDeployment,
  type DeploymentOptionsInput,
  type HandleOf,
  type HandleOptionsInput,
  type HasMethods,
  type ReplicaRange,
  type UpdateOptions,
  type UpdateReport,
} from '../inference/deployments/index.ts';
import type { ServedEndpoint } from '../endpoints/registry/index.ts';
import { type AppMiddleware, type AppStatus, type HttpFace, type RouterLike, socketPath } from '../apis/http/index.ts';
import type {
  HeldImage,
  HeldVideo,
  MediaSource,
  OpenAudioOptions,
  OpenImageOptions,
  OpenVideoOptions,
} from '../io/media/index.ts';
import type { ModelStore } from '../setup/models/index.ts';
import type { ProgressStream, ReportProgress } from '../setup/packages/index.ts';
import { isReplica } from '../inference/replicas/index.ts';
import type { Storage } from '../data/storage/index.ts';
import { asksFor } from '../endpoints/plugins/index.ts';
// Imported directly, because published types must not refer to other files of plugins/.
import type { PluginState, ReloadOutcome } from '../endpoints/plugins/set/plugin-state.ts';

/** The shutdown does not wait longer than this for a reader of the log. */
const LOG_FLUSH_MS = 1000;

/**
 * An application: register deployments, endpoints, plugins and routers, then `connect` and `deploy`. Everything it
 * starts ends with `shutdown`, or with `await using`.
 */
export class AanaApp implements AsyncDisposable {
  /** Commands recognise applications by it. */
  readonly [APP_BRAND] = APP_BRAND_VERSION;
  readonly config: Config;
  readonly name: string;
  readonly #log: Logger;
  readonly #migrate: AanaAppOptions['migration_func'];
  readonly #services: Services;
  readonly #alerts: Alerts;
  readonly #face: HttpFace;
  readonly #callback: (req: IncomingMessage, res: ServerResponse) => void;
  readonly #connection: AppConnection;
  readonly #lifecycle: Lifecycle;
  readonly #workers: ApplicationWorkers;
  #showsLogs = true;
  #failure = '';

  constructor(options: AanaAppOptions = {}) {
    if (isReplica()) {
      throw fail(
        'ApplicationInReplica',
        'the module of a deployment class starts an application when it is imported; move the class to its own module',
      );
    }
    checkOptions(options);
    const role = workerRole();
    const config = role ? workerConfig(role) : (options.config ?? loadConfig());
    this.config = config;
    this.name = options.name ?? config.name;
    const logLevels = new LogLevels(config.log.level, config.log.levels);
    const lines = standardErrorLog(config.log.format);
    const log =
      options.log ??
      createLogger({
        level: (area) => (this.#showsLogs ? logLevels.of(area) : 'error'),
        format: config.log.format,
        write: (line) => lines.write(line),
      });
    const logs = new LogRing();
    const peers = new PeerNotifications();
    const bound = role && { worker: role.worker };
    const tapped = logs.tap(bound ? log.child(bound) : log, (area) => logLevels.of(area), bound);
    const everyArea = config.log.content ? tapped : withoutContent(tapped);
    this.#log = inArea(everyArea, 'application');
    this.#migrate = options.migration_func;
    const progress = options.progress ?? (role ? { write: () => true } : process.stderr);
    const network = networkFrom(config);
    const telemetry = new AppTelemetry({
      name: this.name,
      config: config.telemetry,
      network,
      own: options.telemetry,
      log: everyArea,
      logs,
    });
    this.#lifecycle = new Lifecycle({
      log: this.#log,
      progress,
      onFailure: (error) => this.#fail(error, progress),
      closeServer: async (graceMs) =>
        void (await Promise.all([
          this.#connection.closeServer(graceMs),
          this.#face.closeSockets(graceMs),
          this.#services.tasks?.stop(graceMs),
          this.#workers.stop(graceMs),
        ])),
      close: async (graceMs) => {
        this.#alerts.stop();
        await this.#services.close(graceMs);
        await telemetry.close();
      },
      end: async () => {
        await this.#connection.end();
        await flushLogs(LOG_FLUSH_MS);
      },
    });
    this.#services = new Services({
      config: role || controllerFolders() ? config : { ...config, workers: 1 }, // others start no workers
      log: everyArea,
      network,
      definitions: options.definitions,
      migrations: options.migrations,
      retryable: retryableNames(options),
      identity: () => (role ? undefined : identityOf(this.name, this.#connection.listensAt, config)),
      isStarted: () => this.#lifecycle.hasStarted,
      telemetry: telemetry.port,
      signal: this.#lifecycle.signal,
      worker: role,
      peers,
    });
    telemetry.observe(role ? undefined : this.#services.manager, this.#services.pluginSet);
    const { traces, load, metricsText } = telemetry;
    const changes = new ConfigurationChanges({
      config,
      services: this.#services,
      operator: this.#services.operatorChanges,
      isDeployed: () => this.#lifecycle.phase === 'deployed',
      onApplied: () => this.#workers.applySettings(),
      log: this.#log,
    });
    const drain = new HostDrain({
      tasks: () => this.#services.tasks,
      endSubscriptions: () => this.#face.endSubscriptions(),
      log: this.#log,
    });
    this.#workers = new ApplicationWorkers({
      ...{ config, changes, logs, logLevels, peers, drain, log: this.#log },
    });
    this.#alerts = appAlerts({
      config,
      services: this.#services,
      requests: telemetry.requests,
      certificate: () => this.#connection.certificate,
      log: inArea(everyArea, 'alerts'),
      telemetry: telemetry.port,
    });
    const application = controlledApplication({
      app: this,
      deployments: () => this.#services.manager,
      changes,
      operator: this.#services.operatorChanges,
      control: this.#services.control,
      drain,
      workers: this.#workers,
      alerts: this.#alerts,
      logs,
      logLevels,
      traces,
      endpoints: () => endpointReport(this.#services.endpoints, telemetry.routeWork()),
      metrics: metricsText && (() => metricsText('prometheus')),
      env: childEnvironment(config),
      secrets: () => this.#services.pluginSecrets(),
    });
    const live = new LiveChanges({
      ...{ services: this.#services, changes, logs, logLevels, traces },
      deliveryAttempts: telemetry.deliveryAttempts,
      requests: () => telemetry.requests?.().total ?? 0,
      isDeployed: () => this.#lifecycle.phase === 'deployed',
    });
    this.#face = httpFace({
      name: this.name,
      config,
      services: this.#services,
      openapi: options.openapi_params,
      status: () => this.status(),
      readiness: (deployment) => {
        const { ready, away } = this.#services.deployments.readiness(deployment);
        return { ready: ready && this.#lifecycle.phase === 'deployed', away };
      },
      drain,
      isDeployed: () => this.#lifecycle.hasStarted,
      log: inArea(everyArea, 'http'),
      telemetry: telemetry.port,
      operations: {
        application,
        configuration: () => describeConfig(changes.current),
        load,
        models: modelOperations(this.#services),
        revisions: () => live.read(),
      },
      traces,
      metrics: metricsText && ((format) => this.#workers.metrics(metricsText(format), format)),
      controller: role && forwardTo(role.control.socket),
    });
    this.#callback = this.#face.callback();
    this.#connection = new AppConnection({
      config,
      application,
      callback: (listensAt) => this.#face.callback({ listensAt }),
      upgrade: (listensAt) => this.#face.upgrade({ listensAt }),
      dashboard: (at) => this.#face.dashboard(at),
      owner: () => this.#face.owner(),
      log: this.#log,
    });
    if (role) {
      joinController({
        ...{ role, services: this.#services, peers, logs, logLevels, drain, metricsText },
        listen: (server) => this.#connection.listenWith(server, role.control),
        stop: (graceMs) => void this.shutdown({ graceMs }),
      });
    }
  }

  /** Address of the application, once connected: `http://127.0.0.1:8000`, or `unix:/path` of a socket. */
  get url(): string | undefined {
    return this.#connection.url;
  }

  /**
   * The served endpoints: those of this program in the order of registration, those of plugins in the order of loading.
   */
  get endpoints(): readonly ServedEndpoint[] {
    return this.#services.endpoints.list();
  }

  get models(): ModelStore {
    return this.#services.models;
  }

  /** The database, for the program that embeds the application. It is opened and migrated at the first use. */
  get storage(): Storage {
    return this.#services.storage;
  }

  /** Creates and revokes API keys. Undefined without `api_service.enabled`. */
  get apiKeys(): ApiKeys | undefined {
    return this.#services.apiKeys;
  }

  /** Resolves when the application has shut down. */
  get stopped(): Promise<void> {
    return this.#lifecycle.stopped;
  }

  /**
   * Registers a deployment under the name that handles use. `deployment` is the result of a class's `options`, or an
   * entry of the configuration file. It starts with `deploy()`. With `deploy: true` it starts now; if the start fails,
   * the name becomes free again and the promise rejects with `FailedDeployment` or `InsufficientResources`. Throws
   * `ValidationError`, which names the invalid option.
   */
  registerDeployment(
    name: string,
    deployment: BoundDeployment | DeploymentOptionsInput,
    options?: { readonly deploy?: false | undefined },
  ): this;
  registerDeployment(
    name: string,
    deployment: BoundDeployment | DeploymentOptionsInput,
    options: { readonly deploy: true },
  ): Promise<this>;
  registerDeployment(
    name: string,
    deployment: BoundDeployment | DeploymentOptionsInput,
    { deploy = false }: { readonly deploy?: boolean | undefined } = {},
  ): this | Promise<this> {
    this.#services.deployments.register(name, deployment);
    return deploy ? this.#services.startOne(name).then(() => this) : this;
  }

  /**
   * Removes a deployment. New calls are refused; running calls may finish for `graceMs` or the time in its options,
   * whichever is less.
   */
  unregisterDeployment(name: string, options: { readonly graceMs?: number } = {}): Promise<void> {
    return this.#services.manager.remove(name, options);
  }

  /**
   * Changes a running deployment without losing a call: in place if its replicas can take the changes, otherwise
   * replica by replica. If the new version fails, the change is rolled back, as the report says. Rejects, with nothing
   * changed, when the options are invalid or the new version fits on no device.
   */
  async updateDeployment(
    name: string,
    deployment: BoundDeployment | DeploymentOptionsInput,
    options: UpdateOptions = {},
  ): Promise<UpdateReport> {
    return this.#services.updateDeployment(name, deployment, options);
  }

  /**
   * Ends the replicas of a deployment, which stays registered. Running and waiting calls may finish for `graceMs` or
   * the time in its options, whichever is less; later calls are refused with `DeploymentUnloaded` until it is loaded.
   */
  unloadDeployment(name: string, options: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    return this.#services.manager.unload(name, options);
  }

  /**
   * Starts a deployment that was unloaded or has failed. Resolves when its replicas are ready, at once if it serves.
   * Rejects with `FailedDeployment` or `InsufficientResources`.
   */
  loadDeployment(name: string): Promise<void> {
    return this.#services.loadOne(name);
  }

  /** Sets the number of replicas of a deployment (the minimum, if it is autoscaled), or the bounds of autoscaling. */
  scaleDeployment(name: string, replicas: number | ReplicaRange): Promise<void> {
    return this.#services.manager.scale(name, replicas);
  }

  /**
   * Applies a configuration to an application. Its deployments replace registered ones of the same names, and its
   * plugins are added. `aana-host serve` calls this.
   */
  configure({ deployments, plugins }: Pick<Config, 'deployments' | 'plugins'>): this {
    if (this.#lifecycle.phase !== 'new')
      throw fail('AlreadyDeployed', 'an application can be configured only before it is deployed');
    for (const [name, entry] of Object.entries(deployments))
      this.#services.configureDeployment(name, entry as DeploymentOptionsInput);
    return this.registerPlugins(...plugins);
  }

  /**
   * Registers an endpoint: a class that extends `Endpoint` (`endpoint_cls`), a function (`input`, `output`, `run`), or
   * one endpoint of a plugin (`component`). Throws when the name or the path is taken. After `deploy`, an endpoint of
   * this program is served at once, and that of a component after the next `reloadPlugins()`.
   */
  registerEndpoint<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    registration: EndpointRegistration<I, O>,
  ): this {
    const { apiKeys, deployments, endpoints, pluginSet } = this.#services;
    const checked = checkRegistration(registration as EndpointRegistration, this, {
      hasApiKeys: apiKeys !== undefined,
      reserve: (name, context) => deployments.reserve(name, context),
    });
    if ('host' in checked) {
      if (this.#lifecycle.phase !== 'new') requireDeclaredDeployments(checked.host, deployments.registered().keys());
      endpoints.add(checked.host);
      if (this.#lifecycle.phase === 'deployed') this.#initializeLate(checked.host);
      return this;
    }
    const source = pluginSet.choose(checked.component);
    try {
      endpoints.choose(checked.choose(source));
    } catch (error) {
      if (!endpoints.isChosen(source)) pluginSet.release(source);
      throw error;
    }
    return this;
  }

  /** Removes an endpoint; running requests finish. Does nothing if there is none of that name. */
  unregisterEndpoint(name: string): this {
    const { endpoints, pluginSet } = this.#services;
    const source = endpoints.remove(name)?.source;
    if (source !== undefined && !endpoints.isChosen(source)) pluginSet.release(source);
    return this;
  }

  /**
   * Registers a router of `@koa/router`. Its errors are answered like those of endpoints. Throws when one of its routes
   * is taken.
   */
  registerRouter(name: string, router: RouterLike): this {
    this.#services.routers.add(name, router, this.#services.endpoints.taken());
    return this;
  }

  /** Removes a router. Does nothing if there is none of that name. */
  unregisterRouter(name: string): this {
    this.#services.routers.remove(name);
    return this;
  }

  /**
   * Registers plugin folders, or folders that contain them. Plugins are built if necessary and loaded by `deploy`.
   * Throws when a path has no plugin.
   */
  registerPlugins(...paths: readonly string[]): this {
    for (const path of paths) this.#services.pluginSet.register(path);
    return this;
  }

  /** Returns the current plugins: their serving versions, limits and counters. */
  plugins(): PluginState[] {
    return this.#services.pluginSet.list();
  }

  /**
   * Loads the newest version of one plugin, or of all plugins. No request is dropped; if a version cannot be loaded,
   * the old one keeps serving.
   */
  async reloadPlugins(name?: string): Promise<readonly ReloadOutcome[]> {
    if (this.#lifecycle.phase !== 'deployed')
      throw fail('NotReady', 'plugins can be reloaded only after the application is deployed');
    void this.#services.manager; // throws in a worker
    return this.#workers.reload(name, await this.#services.pluginSet.reload(name));
  }

  /**
   * Returns the handle through which host code calls a deployment. `handle(WhisperDeployment, 'asr_deployment')` has
   * the methods of the class with their types and refuses a deployment of another class. `handle(name)` takes the class
   * as a type. `options` set how calls are retried. Throws `DeploymentNotFound`, which names all deployments.
   */
  handle<D extends HasMethods = AnyDeployment>(name: string, options?: HandleOptionsInput): HandleOf<D>;
  handle<D extends HasMethods & { readonly name: string }>(
    type: D,
    name: string,
    options?: HandleOptionsInput,
  ): HandleOf<D>;
  handle(
    first: string | { readonly name: string },
    second?: string | HandleOptionsInput,
    third?: HandleOptionsInput,
  ): HandleOf<AnyDeployment> {
    const [type, name, options] =
      typeof first === 'string'
        ? [undefined, first, second as HandleOptionsInput | undefined]
        : [first, second as string, third];
    const { attached } = this.#connection;
    const handle = attached ? attached.handle(name, options) : this.#services.deployments.handle(name, options);
    const actual = attached ? attached.typeOf(name) : this.#services.deployments.registered().get(name)?.options.type;
    if (type && type.name !== actual)
      throw fail('DeploymentTypeError', `deployment ${name} is a ${actual}, not a ${type.name}`);
    return handle;
  }

  /**
   * Decodes the audio of a file, a URL or an uploaded part for `transcribe`. Its files are removed when it is disposed.
   * The source may come from a request: a path must be within `media.allow_paths`, and a URL must obey the rules of
   * `media`. For a file that the program itself chose, give `allowPaths`. In an endpoint, `context` has the `signal`
   * and the `files` of the request. Throws `PathNotAllowedException`, `UploadedFileNotFound`, and errors of fetching
   * and decoding.
   */
  async openAudio(source: MediaSource, options: OpenAudioOptions = {}): Promise<HeldAudio> {
    return (await this.#services.openMedia()).openAudio(source, withRequest(options));
  }

  /**
   * Decodes the image of a file, a URL or an uploaded part for `chat`, in the same way as {@link AanaApp.openAudio}:
   * PNG, JPEG, GIF, WebP, BMP, AVIF or HEIC. Throws `ImageReadingException`, too.
   */
  async openImage(source: MediaSource, options: OpenImageOptions = {}): Promise<HeldImage> {
    return (await this.#services.openMedia()).openImage(source, withRequest(options));
  }

  /**
   * Opens the video of a file, a URL or an uploaded part, in the same way: its facts, its audio, and frames that are
   * decoded when they are asked for. Throws `VideoReadingException`, too.
   */
  async openVideo(source: MediaSource, options: OpenVideoOptions = {}): Promise<HeldVideo> {
    return (await this.#services.openMedia()).openVideo(source, withRequest(options));
  }

  /**
   * Runs a function of the program in a process of its own, so that it computes without holding up other requests.
   * Four of them run at a time; further ones wait, in turns between users. A helper ends with its signal, and when the
   * application shuts down. Rejects with the error that the helper throws, the signal's reason, or `HelperError`.
   */
  async runRemote<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    helper: Helper<I, O>,
    input: z.core.input<I>,
    options: RunRemoteOptions = {},
  ): Promise<z.core.output<O>> {
    return this.#services.runHelper(helper, input, withRequest(options));
  }

  /**
   * Attaches to this user's running application, whose deployments are then used. With a `host` or `port` on which no
   * application of this user listens, it listens there, like `listen`. Throws `NotRunning` or `SeveralRunning`, or
   * `ListenError` when another program uses the port.
   */
  async connect(options: ConnectOptions = {}): Promise<this> {
    return (await this.#connection.attach(options)) ? this : this.listen(options);
  }

  /** The application in another process to which this one is attached. */
  get attached(): RunningApplication | undefined {
    return this.#connection.attached?.running;
  }

  /** Starts to listen. `/api/ready` answers 503 until the application is deployed. */
  async listen({ show_logs: showLogs = true, ...at }: ConnectOptions = {}): Promise<this> {
    const { host, port } = addressToListenOn(at, this.config);
    this.#showsLogs = showLogs;
    await this.#connection.listen(host, port);
    return this;
  }

  /**
   * Serves the dashboard on a port of its own (`dashboard` of the configuration), and returns the address that opens
   * it, with its token. `aana-host serve` and `aana-host deploy` call this. Throws `ListenError`.
   */
  openDashboard(): Promise<string> {
    return this.#connection.openDashboard();
  }

  /** The address that opens the dashboard, with its token. Undefined before `openDashboard`. */
  get dashboardUrl(): string | undefined {
    return this.#connection.dashboardUrl;
  }

  /**
   * Reloads the certificate of `tls`, if there is one. Its files are also watched. An unusable certificate is logged,
   * and the old one stays in use.
   */
  reloadCertificate(): Promise<void> {
    return this.#connection.reloadCertificate();
  }

  /** Updates the tables of the host and those of `migrations`, and runs `migration_func`. Throws `MigrationError`. */
  async migrate(): Promise<this> {
    await this.storage.migrate();
    await this.#migrate?.(this.config);
    return this;
  }

  /**
   * Fetches missing files, starts the deployments, loads the plugins and initializes the endpoints. When a deployment
   * fails, everything is stopped, the state of each deployment is printed, and `FailedDeployment` or
   * `InsufficientResources` is thrown.
   */
  async deploy({ blocking = false, sequential = false }: DeployOptions = {}): Promise<this> {
    this.#lifecycle.requireNew();
    if (this.attached)
      throw fail(
        'AlreadyDeployed',
        `the application at ${this.url} is already deployed; use its handles, or connect to another port`,
      );
    const start = (): Promise<void> => this.#deploy(sequential);
    const usesMedia = asksFor(this.#services.pluginSet.sources(), 'media');
    if (blocking)
      await runBlocking(this, start, {
        log: this.#log,
        isLogged: this.#showsLogs,
        usesMedia,
        stopping: this.#lifecycle.signal,
        out: process.stdout,
      });
    else await start();
    return this;
  }

  /**
   * Writes a configuration file with which `aana-host serve --config` serves this application, and returns its path.
   * The file is beside the module of `importPath` (`<module>:<app>`, from the working directory).
   */
  build(importPath: string, options: BuildOptions = {}): Promise<string> {
    const deployments = Object.fromEntries(
      [...this.#services.deployments.registered()].map(([name, bound]) => [name, bound.options]),
    );
    return writeAppConfig(
      { name: this.name, deployments, plugins: this.#services.pluginSet.paths() },
      importPath,
      options,
    );
  }

  status(): AppStatus {
    return appStatus(this.#lifecycle.phase, this.#services.deployments.status(), this.#failure);
  }

  /** Writes a line for the application and one for each deployment. */
  printStatus(out: { write(text: string): unknown } = process.stdout): void {
    out.write(statusReport(this.status(), this.name));
  }

  /** Returns the path of the ffmpeg to use. Fetches it if this machine has none. */
  ffmpeg({
    signal,
    report,
  }: { readonly signal?: AbortSignal; readonly report?: ReportProgress } = {}): Promise<string> {
    return this.#services.ffmpeg(signal, report);
  }

  /** Returns a request handler for a server of the embedding program. */
  callback(): (req: IncomingMessage, res: ServerResponse) => void {
    return this.#callback;
  }

  /**
   * Returns a middleware for another Koa application. It answers known paths below `prefix` (default: everywhere) and
   * passes other paths on.
   */
  middleware({ prefix }: { readonly prefix?: string | undefined } = {}): AppMiddleware {
    return this.#face.middleware(prefix);
  }

  /**
   * Refuses new requests, lets running ones finish for `graceMs` (default: the configured time), then ends everything.
   * May be called twice.
   */
  shutdown({ graceMs = this.config.shutdown_grace_s * 1000 }: { readonly graceMs?: number } = {}): Promise<void> {
    return this.#lifecycle.stop(graceMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #deploy(sequential: boolean): Promise<void> {
    const { signal } = this.#lifecycle;
    const { workers } = this.config;
    const folders = controllerFolders();
    await this.#lifecycle.start(async (report) => {
      const { shared } = this.#connection;
      if (workers > 1 && folders && !shared)
        throw fail(
          'ConfigError',
          `runtime_dir: ${workers} workers need a control socket, which cannot be opened in it; choose another ` +
            'folder, or set workers to 1',
        );
      await startUp({ services: this.#services, config: this.config, log: this.#log, sequential, signal, report });
      if (workers > 1 && !folders && !workerRole())
        this.#log.warn('one process serves, because only aana-host serve starts workers', { workers });
      if (folders && shared) await this.#workers.start({ ...shared, folders, signal });
    });
    if (!workerRole()) this.#alerts.start();
    const deployments = this.#services.deployments.registered().size;
    if (workerRole()) return this.#log.info('worker ready');
    this.#log.info('Deployed successfully.', {
      deployments,
      endpoints: this.endpoints.length,
      ...(this.url !== undefined &&
        (socketPath(this.url) === undefined ? { docs: `${this.url}/docs` } : { listens: this.url })),
    });
  }

  /** Records the reason of a failed start, and prints the state of each deployment. */
  #fail(error: unknown, progress: ProgressStream): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    if (this.#services.deployments.registered().size > 0) this.printStatus(progress);
  }

  #initializeLate(endpoint: ServedEndpoint): void {
    endpoint
      .initialize?.()
      .catch((error: unknown) => this.#log.error('endpoint not initialized', { endpoint: endpoint.name, error }));
  }
}
