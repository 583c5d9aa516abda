import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as z from 'zod';
import { childEnvironment, type Config, loadConfig } from './config/index.ts';
import { deferred } from './core/deferred.ts';
import { AanaError } from './core/errors.ts';
import { createLogger, type Logger } from './core/logger.ts';
import { packageVersion } from './core/package-root.ts';
import {
  type AnyDeployment,
  type BoundDeployment,
  builtinDefinitions,
  type DeploymentDefinition,
  DeploymentManager,
  type DeploymentOptionsInput,
  type HandleOf,
  type HasMethods,
} from './deployments/index.ts';
import { findMachine } from './devices/index.ts';
import { type Endpoint, EndpointRegistry, hostEndpoint, type HostEndpointDefinition } from './endpoints/index.ts';
import { type AppStatus, createHttpApp, HttpServer } from './http/index.ts';
import { findFfmpeg, MediaService, prepareTempDir, ProcessFolder, removeStaleFolders, requestGuarded } from './media/index.ts';
import { ModelStore } from './models/index.ts';
import { buildNative } from './native-build/index.ts';
import { type ProgressPart, type ProgressStream, type ReportProgress, shareProgress, withProgress } from './packages/index.ts';
import { limitsFrom } from './plugins/limits.ts';
import { PluginHost } from './plugins/plugin-host.ts';
import { PluginSet } from './plugins/plugin-set.ts';
import type { PluginState, ReloadOutcome } from './plugins/plugin-state.ts';
import type { HttpPort } from './plugins/ports.ts';
import { isReplica } from './replicas/index.ts';
import { FileStore } from './storage/index.ts';

export interface AanaAppOptions {
  /** Title of the API documentation. Default: the configuration's `name`. */
  readonly name?: string;
  /** Default: what `loadConfig()` finds. Its `deployments` and `plugins` are registered by `aana-host serve`, not here. */
  readonly config?: Config;
  /** Default: lines on the standard error, as the configuration says. */
  readonly log?: Logger;
  /** Kinds of deployments besides those of the package. */
  readonly definitions?: readonly DeploymentDefinition[];
  /** Where the progress of the start is shown. Default: the standard error. */
  readonly progress?: ProgressStream;
}

type Phase = 'new' | 'deploying' | 'deployed' | 'failed' | 'stopping';

/**
 * An application: register deployments, plugins and endpoints, then `connect` and `deploy`. Everything it starts ends with
 * `shutdown`, or with `await using`.
 */
export class AanaApp implements AsyncDisposable {
  readonly config: Config;
  readonly models: ModelStore;
  readonly #name: string;
  readonly #log: Logger;
  readonly #progress: ProgressStream;
  readonly #registry = new EndpointRegistry();
  readonly #deployments: DeploymentManager;
  readonly #deploymentTypes = new Map<string, string>();
  readonly #plugins: PluginHost;
  readonly #pluginSet: PluginSet;
  readonly #callback: (req: IncomingMessage, res: ServerResponse) => void;
  readonly #stopping = new AbortController();
  readonly #stopped = deferred();
  readonly #uploads: ProcessFolder;
  #media: MediaService | undefined;
  #native: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> = Promise.resolve();
  #server: HttpServer | undefined;
  #url: string | undefined;
  #phase: Phase = 'new';
  #shutdown: Promise<void> | undefined;

  constructor(options: AanaAppOptions = {}) {
    if (isReplica()) {
      throw new AanaError('ApplicationInReplica', 'internal', 'the module of a deployment class starts an application when it is imported; keep the class in a module of its own');
    }
    const config = options.config ?? loadConfig();
    this.config = config;
    this.#name = options.name ?? config.name;
    this.#log = options.log ?? createLogger({ ...config.log, write: (line) => process.stderr.write(line) });
    this.#progress = options.progress ?? process.stderr;
    const { hf_token: hfToken, hf_endpoint: hfEndpoint, offline } = config.models;
    this.models = new ModelStore({ cacheDir: config.cache_dir, log: this.#log, hfToken: hfToken ?? undefined, hfEndpoint: hfEndpoint ?? undefined, offline });
    this.#deployments = new DeploymentManager({
      log: this.#log,
      env: childEnvironment(config),
      definitions: options.definitions,
      models: this.models,
      beforeReplicas: () => this.#native,
      machine: (signal) => findMachine({ env: childEnvironment(config), log: this.#log, declared: config.devices, signal }),
    });
    this.#plugins = new PluginHost({
      cacheDir: config.cache_dir,
      log: this.#log,
      limits: limitsFrom(config.plugin_limits),
      grants: config.plugin_grants,
      ports: {
        deployments: this.#deployments,
        openMediaScope: () => this.#requireMedia().openScope(),
        storage: new FileStore({ dir: config.storage_dir ?? join(config.cache_dir, 'storage') }),
        http: httpPort(config),
        log: this.#log,
      },
    });
    this.#pluginSet = new PluginSet({ host: this.#plugins, endpoints: this.#registry, log: this.#log, signal: this.#stopping.signal });
    this.#uploads = new ProcessFolder(config.media.temp_dir ?? tmpdir());
    this.#callback = createHttpApp({
      title: this.#name,
      version: packageVersion(),
      registry: this.#registry,
      status: () => this.status(),
      isReady: () => this.#phase === 'deployed' && this.status().status === 'RUNNING',
      isDeployed: () => this.#phase === 'deployed' || this.#phase === 'stopping',
      limits: config.limits,
      includeStacktrace: config.include_stacktrace,
      tempDir: () => this.#uploads.path(),
      log: this.#log,
    }).callback();
  }

  /** Where the server listens, once connected: `http://127.0.0.1:8000`. */
  get url(): string | undefined {
    return this.#url;
  }

  /** The endpoints that are served, in the order of registration. */
  get endpoints(): readonly Endpoint[] {
    return this.#registry.list();
  }

  /** Resolves when the application has shut down. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /**
   * Registers a deployment under the name that handles use: what `options` of its class gave, or an entry of the configuration file. It
   * starts with `deploy`. Throws `ValidationError` naming the bad option.
   */
  registerDeployment(name: string, deployment: BoundDeployment | DeploymentOptionsInput): this {
    const { options } = this.#deployments.register(name, deployment);
    this.#deploymentTypes.set(name, options.type);
    return this;
  }

  /** Registers an endpoint made of a function of this program. */
  registerEndpoint<I extends z.ZodType>(definition: HostEndpointDefinition<I>): this {
    this.#registry.add(hostEndpoint(definition));
    return this;
  }

  /** Registers plugin folders, or folders of them. They are built where needed and loaded with `deploy`. Throws when there is none at `path`. */
  registerPlugins(...paths: readonly string[]): this {
    for (const path of paths) this.#pluginSet.register(path);
    return this;
  }

  /** The plugins as they are now: what serves, under which limits, and what it did. */
  plugins(): PluginState[] {
    return this.#pluginSet.list();
  }

  /** Loads the newest version of one plugin, or of all that there are now. No request is dropped; what cannot be loaded serves on as it was. */
  async reloadPlugins(name?: string): Promise<readonly ReloadOutcome[]> {
    if (this.#phase !== 'deployed') throw new AanaError('NotReady', 'unavailable', 'plugins can be reloaded once the application is deployed');
    return this.#pluginSet.reload(name);
  }

  /**
   * What host code calls a deployment through: `handle(WhisperDeployment, 'asr_deployment')` has the methods of the class with their types
   * and refuses a deployment of another class; of `handle(name)` the class may be given as a type. Throws `DeploymentNotFound`, naming
   * those that there are.
   */
  handle<D extends HasMethods = AnyDeployment>(name: string): HandleOf<D>;
  handle<D extends HasMethods & { readonly name: string }>(type: D, name: string): HandleOf<D>;
  handle(...args: [name: string] | [type: { readonly name: string }, name: string]): HandleOf<AnyDeployment> {
    const [type, name] = args.length === 1 ? [undefined, ...args] : args;
    const handle = this.#deployments.handle(name);
    const actual = this.#deploymentTypes.get(name);
    if (type && type.name !== actual) throw new AanaError('DeploymentTypeError', 'bad-request', `deployment ${name} is a ${actual}, not a ${type.name}`);
    return handle;
  }

  /** Starts to listen. `/api/ready` answers 503 until the application is deployed. */
  async connect(address: { readonly host?: string; readonly port?: number } = {}): Promise<this> {
    if (this.#server) throw new AanaError('AlreadyConnected', 'conflict', `the application already listens on ${this.#url}`);
    const tempDir = this.config.media.temp_dir ?? tmpdir();
    await prepareTempDir(tempDir);
    void removeStaleFolders(tempDir, this.#log); // reports its own failures
    const server = new HttpServer(this.#callback, this.config.limits);
    this.#url = (await server.listen(address.host ?? this.config.host, address.port ?? this.config.port)).url;
    this.#server = server;
    return this;
  }

  /** Brings stored data up to this version. There is nothing to migrate yet. */
  async migrate(): Promise<this> {
    return this;
  }

  /**
   * Fetches what is missing, starts the deployments and loads the plugins, at the same time. When a deployment fails, everything is
   * stopped and `FailedDeployment` says why. With `blocking` it resolves when the application has shut down, by SIGINT or SIGTERM too.
   */
  async deploy({ blocking = false }: { readonly blocking?: boolean } = {}): Promise<this> {
    if (this.#phase !== 'new') throw new AanaError('AlreadyDeployed', 'conflict', 'the application was deployed before');
    const release = blocking ? stopOnSignals(this) : undefined;
    try {
      this.#phase = 'deploying';
      await withProgress('starting', undefined, (report) => (this.#starting = this.#start(report)), { stream: this.#progress });
      this.#stopping.signal.throwIfAborted();
      this.#phase = 'deployed';
      this.#log.info('Deployed successfully.', { deployments: this.#deploymentTypes.size, endpoints: this.endpoints.length });
      if (blocking) await this.stopped;
      return this;
    } catch (error) {
      if (this.#phase === 'deploying') this.#phase = 'failed';
      await this.shutdown({ graceMs: 0 });
      throw error;
    } finally {
      release?.();
    }
  }

  status(): AppStatus {
    const app = { new: 'NOT_STARTED', deploying: 'DEPLOYING', deployed: 'RUNNING', failed: 'DEPLOY_FAILED', stopping: 'DELETING' }[this.#phase];
    const deployments = Object.fromEntries([
      ['app', { status: app, message: '' }],
      ...Object.entries(this.#deployments.status()).map(([name, { status, message }]) => [
        name,
        { status: this.#phase === 'new' ? 'NOT_STARTED' : status === 'STOPPED' ? 'DELETING' : status, message },
      ]),
    ]) as AppStatus['deployments'];
    const bad = Object.entries(deployments).filter(([, { status }]) => ['DEPLOY_FAILED', 'UNHEALTHY', 'NOT_STARTED'].includes(status));
    const message = bad.map(([name, entry]) => `Error: ${name} (${entry.status}): ${entry.message}`).join('\n');
    if (bad.length > 0) return { status: 'UNHEALTHY', message, deployments };
    const isRunning = Object.values(deployments).every(({ status }) => status === 'RUNNING');
    return { status: isRunning ? 'RUNNING' : 'DEPLOYING', message: '', deployments };
  }

  /** The ffmpeg to use, fetched first when this machine has none. */
  async ffmpeg({ signal, report }: { readonly signal?: AbortSignal; readonly report?: ReportProgress } = {}): Promise<string> {
    const cached = await this.models.resolveTool('ffmpeg');
    const found = await findFfmpeg({ configured: this.config.media.ffmpeg_path, cached, log: this.#log, signal });
    if (found) return found.path;
    return this.models.pullTool('ffmpeg', { signal, onProgress: (bytes, total) => report?.(bytes, total, 'fetching ffmpeg') });
  }

  /** For a server of the embedding program: handles one request. */
  callback(): (req: IncomingMessage, res: ServerResponse) => void {
    return this.#callback;
  }

  /** Takes no new requests, lets running ones finish for `graceMs` (default: the configuration's), then ends everything. May be called twice. */
  shutdown({ graceMs = this.config.shutdown_grace_s * 1000 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#shutdown ??= this.#stop(graceMs);
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #start(report: ReportProgress): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([failed.signal, this.#stopping.signal]);
    const begin = shareProgress(report);
    const work = [this.#startDeployments(begin, signal), this.#loadPlugins(begin, signal)];
    for (const one of work) one.catch((error: unknown) => failed.abort(error));
    await Promise.allSettled(work);
    failed.signal.throwIfAborted();
  }

  async #startDeployments(begin: () => ProgressPart, signal: AbortSignal): Promise<void> {
    if (this.#deploymentTypes.size === 0) return;
    const needsAddon = [...this.#deploymentTypes.values()].some((type) => builtinDefinitions.some(({ name }) => name === type));
    if (needsAddon) {
      const addon = begin();
      addon.report(0, undefined, 'building the native addon');
      const { cache_dir: cacheDir, native_build: mode } = this.config;
      this.#native = buildNative({ cacheDir, mode, log: this.#log, signal, env: childEnvironment(this.config) });
      this.#native.then(addon.done, () => {}); // a failure is seen when the first replica is to start
    }
    const parts = new Map([...this.#deploymentTypes.keys()].map((name) => [name, begin()]));
    await this.#deployments.start({
      signal,
      onProgress: ({ deployment, fraction, text, isReady }) => {
        if (isReady) parts.get(deployment)?.done();
        else parts.get(deployment)?.report(0, undefined, `${deployment}: ${text}${fraction === undefined ? '' : ` ${Math.floor(fraction * 100)} %`}`);
      },
    });
  }

  /** A plugin that cannot be used is reported and skipped, unless the configuration says `strict`. */
  async #loadPlugins(begin: () => ProgressPart, signal: AbortSignal): Promise<void> {
    const sources = this.#pluginSet.sources();
    if (sources.length === 0) return;
    const { report, done } = begin();
    this.#media = new MediaService(mediaOptions(this.config, await this.ffmpeg({ signal, report }), this.#log));
    for (const folder of sources) {
      signal.throwIfAborted();
      try {
        report(0, undefined, `loading ${folder}`);
        await this.#pluginSet.load(folder, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (this.config.strict) throw error;
        this.#log.error('plugin skipped', { folder, reason: error instanceof Error ? error.message : String(error) });
      }
    }
    if (this.config.watch) this.#pluginSet.watch();
    done();
  }

  #requireMedia(): MediaService {
    if (!this.#media) throw new AanaError('NotReady', 'unavailable', 'the application is starting');
    return this.#media;
  }

  async #stop(graceMs: number): Promise<void> {
    this.#phase = this.#phase === 'failed' ? 'failed' : 'stopping';
    const until = performance.now() + graceMs;
    this.#log.info('shutting down');
    this.#stopping.abort(new AanaError('ShuttingDown', 'unavailable', 'the application is shutting down'));
    await this.#server?.close(graceMs);
    await this.#starting.catch(() => {}); // a plugin that is being loaded is there to be closed afterwards
    await this.#plugins.close();
    await this.#deployments.shutdown({ graceMs: Math.max(0, until - performance.now()) });
    await this.#media?.close();
    await this.#uploads.remove();
    await this.#native.catch(() => {}); // its compilers end with the signal
    this.#log.info('shut down');
    this.#stopped.resolve();
  }
}

/** Shuts the application down on SIGINT or SIGTERM; the second signal ends the process at once. Gives a function that takes this back. */
export function stopOnSignals(app: AanaApp): () => void {
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(130); // replicas end with their parent
    void app.shutdown(); // who waits for `stopped` sees the end
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}

function mediaOptions({ media }: Config, ffmpegPath: string, log: Logger): ConstructorParameters<typeof MediaService>[0] {
  return {
    ffmpegPath,
    allowPaths: media.allow_paths,
    allowPrivateUrls: media.allow_private_urls,
    maxBytes: media.max_bytes,
    maxDurationS: media.max_duration_s,
    fetchTimeoutMs: media.fetch_timeout_s * 1000,
    maxRedirects: media.max_redirects,
    tempDir: media.temp_dir ?? tmpdir(),
    log,
  };
}

/** Requests of plugins are small beside media: what takes longer or is larger is a mistake or an attack. */
const REQUEST_LIMITS = { maxBytes: 8 * 1024 * 1024, timeoutMs: 60_000, idleTimeoutMs: 15_000 };

function httpPort({ media }: Config): HttpPort {
  const guards = { ...REQUEST_LIMITS, maxRedirects: media.max_redirects, allowPrivate: media.allow_private_urls };
  return { fetch: (request, options) => requestGuarded(request, { ...guards, ...options }) };
}
