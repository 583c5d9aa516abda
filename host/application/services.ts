import type * as z from 'zod';
import type { Helper } from '../base/modules/index.ts';
import { type HelperCaller, HelperRuns } from './remote/run-helper.ts';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  allowsResult,
  ApiKeys,
  ClientSecrets,
  KeyLookUps,
  MonthlyTokens,
  RateLimiter,
  RateLimits,
  SharedBuckets,
  UserLimits,
} from '../data/access/index.ts';
import { BackgroundResponses, Batches, StoredResponses, VectorStores } from '../apis/openai/index.ts';
import { remoteListening } from '../base/certificates/index.ts';
import { childEnvironment, type Config } from '../base/config/index.ts';
import { deferred } from '../base/core/deferred.ts';
import { fail } from '../base/core/errors.ts';
import type { Telemetry } from '../base/core/telemetry.ts';
import { inArea } from '../base/core/log/log-levels.ts';
import type { Logger } from '../base/core/log/logger.ts';
import {
  type BoundDeployment,
  boundFrom,
  builtinDefinitions,
  type DeploymentDefinition,
  DeploymentManager,
  type DeploymentManagerOptions,
  type DeploymentOptionsInput,
  type DeployOptions,
  type HostDeployments,
  type StartOptions,
  type UpdateOptions,
  type UpdateReport,
} from '../inference/deployments/index.ts';
import { findMachine } from '../inference/devices/index.ts';
import { EndpointRegistry } from '../endpoints/registry/index.ts';
import { remembered } from '../base/core/remembered.ts';
import { StoredFiles, Uploads } from '../data/files/index.ts';
import { RouterSet } from '../apis/http/index.ts';
import { ProcessFolder } from '../io/artifacts/index.ts';
import { findFfmpeg, type MediaOptions, MediaService, requireYtDlp } from '../io/media/index.ts';
import { Controller } from './changes/controller.ts';
import { OperatorChanges } from './changes/operator-changes.ts';
import { BATCH_FORMATS, backgroundWorkOf, batchWorkOf, ingestWorkOf } from './ports/host-work.ts';
import { type AppModels, modelDirectory } from './ports/model-directory.ts';
import { ModelsOnDemand } from './ports/models-on-demand.ts';
import { httpPort, networkSettings, webhookPorts } from './ports/outgoing-ports.ts';
import type { WorkerRole } from './workers/link.ts';
import { WorkerDeployments } from './workers/worker-deployments.ts';
import { appUsage } from './ports/app-usage.ts';
import { userPorts } from './ports/user-ports.ts';
import { ModelPulls, ModelStore } from '../setup/models/index.ts';
import { buildNative, buildSandbox, buildSqlite, isSqliteBuilt, type Sandbox } from '../setup/native-build/index.ts';
import { type ObjectStore, openStore } from '../data/objects/index.ts';
import type { Network } from '../io/outgoing/index.ts';
import type { ReportProgress } from '../setup/packages/index.ts';
import { type MigrationSource, type Peers, Pruner, Storage } from '../data/storage/index.ts';
import { TaskQueue } from '../data/tasks/index.ts';
import type { Usage } from '../data/usage/index.ts';
import { Webhooks } from '../data/webhooks/index.ts';
import { limitsFrom, PluginHost, type PluginPorts, PluginSet } from '../endpoints/plugins/index.ts';

export interface ServicesOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Proxies and certificate authorities of outgoing requests. */
  readonly network: Network;
  readonly definitions: readonly DeploymentDefinition[] | undefined;
  readonly migrations?: readonly MigrationSource[] | undefined;
  /** Names of errors after which a task gets another attempt. */
  readonly retryable?: readonly string[] | undefined;
  /** Returns how the database knows this application at its next start; undefined if it would not recognise it. */
  readonly identity?: (() => string | undefined) | undefined;
  /** Returns whether the start of the application has succeeded. Default: it never does. */
  readonly isStarted?: (() => boolean) | undefined;
  /** Records the work of all parts. */
  readonly telemetry: Telemetry;
  /** Aborted when the application shuts down. */
  readonly signal: AbortSignal;
  /** Set in a worker, which uses the deployments of its controller. */
  readonly worker?: WorkerRole | undefined;
  /** The other processes of the application, which a SQLite file cannot notify. */
  readonly peers?: Peers | undefined;
}

/** Time after a failed fetch of a page's scripts before the next attempt. */
const RETRY_AFTER_MS = 60_000;
/** Time for which expired values of plugins stay in the database. Nobody reads them, so their removal can wait. */
const EXPIRED_VALUES_MS = 60_000;

/** Creates and connects the parts of an application. Nothing runs before it is needed. */
export class Services {
  readonly models: ModelStore;
  /** The pulls that admins began. */
  readonly pulls: ModelPulls;
  readonly deployments: HostDeployments;
  readonly routers = new RouterSet();
  readonly endpoints = new EndpointRegistry({
    ownerOf: (path, method) => this.routers.ownerOf(path, method),
    hasRoute: (path, method) => this.routers.hasRoute(path, method),
  });
  readonly pluginSet: PluginSet;
  /** What plugins get of this application. Those with `media` need `openMedia` first. */
  readonly pluginPorts: PluginPorts;
  readonly storage: Storage;
  /** The right to start and replace replicas. */
  readonly control: Controller;
  /** The changes of deployments that operators make. */
  readonly operatorChanges: OperatorChanges;
  /** Undefined when API keys are off. */
  readonly apiKeys: ApiKeys | undefined;
  /** Undefined when the task queue is off. */
  readonly tasks: TaskQueue | undefined;
  /** Defined together with `tasks`. */
  readonly webhooks: Webhooks | undefined;
  readonly usage: Usage;
  readonly rateLimits: RateLimits;
  readonly userLimits: UserLimits;
  /** The stored responses of OpenAI's API. */
  readonly responses: StoredResponses;
  /** The responses that tasks make. */
  readonly background: BackgroundResponses;
  readonly clientSecrets: ClientSecrets;
  /** The stored files of OpenAI's API. */
  readonly files: StoredFiles;
  /** The files of OpenAI's API that come in parts. */
  readonly uploadedParts: Uploads;
  /** The batches of OpenAI's and Anthropic's APIs. */
  readonly batches: Batches;
  /** The vector stores of OpenAI's API. */
  readonly vectorStores: VectorStores;
  /** The deployments as the models of OpenAI's API. */
  readonly directory: AppModels;
  readonly uploads: ProcessFolder;
  /** Folder of artifacts: decoded audio and uploads. */
  readonly artifactsDir: string;
  /** Resolved when the start is over. Work that can wait does not compile SQLite beside the addon. */
  readonly started = deferred();
  /** Builds the program that runs plugins, once. */
  readonly buildSandbox: () => Promise<Sandbox>;
  /** Returns the file of Redoc's bundle. Fetches it if necessary. */
  readonly redocBundle: () => Promise<string>;
  readonly #options: ServicesOptions;
  readonly #network: Network;
  /** Undefined in a worker, whose controller has it. */
  readonly #manager: DeploymentManager | undefined;
  readonly #objects: ObjectStore;
  readonly #plugins: PluginHost;
  readonly #monthlyTokens: MonthlyTokens;
  /** Undefined where no other host uses the database. */
  readonly #sharedBuckets: SharedBuckets | undefined;
  readonly #expiredValues: Pruner;
  readonly #helpers: HelperRuns;
  #media: MediaService | undefined;
  #openingMedia: Promise<MediaService> | undefined;
  #native: Promise<unknown> | undefined;

  constructor(options: ServicesOptions) {
    const { config, log, network, definitions, migrations, retryable, telemetry, signal, worker, peers } = options;
    this.#options = options;
    this.artifactsDir = resolve(config.media.temp_dir ?? tmpdir());
    const { hf_token: hfToken, hf_endpoint: hfEndpoint, offline } = config.models;
    this.#network = network;
    this.uploads = new ProcessFolder(this.artifactsDir);
    this.#objects = openStore({
      ...{ config: config.object_store, dir: resolve(config.data_dir), network },
      copiesRoot: this.artifactsDir,
      copies: () => this.uploads.path(),
    });
    this.models = new ModelStore({
      cacheDir: config.cache_dir,
      log: inArea(log, 'models'),
      network: this.#network,
      hfToken: hfToken ?? undefined,
      hfEndpoint: hfEndpoint ?? undefined,
      offline,
    });
    this.pulls = new ModelPulls({ store: this.models, log, signal });
    const weights = new Map(Object.entries(config.api_service.user_weights));
    const weightOf = (userId: string): number | undefined => weights.get(userId);
    this.#helpers = new HelperRuns({ env: childEnvironment(config), log: inArea(log, 'application'), weightOf });
    const own = { log: inArea(log, 'deployments'), definitions, telemetry, weightOf };
    if (worker)
      this.deployments = new WorkerDeployments({
        ...{ ...own, control: worker.control, artifactRoots: this.#artifactRoots() },
        onLost: () => worker.lost(),
      });
    else this.deployments = this.#manager = this.#managerOf(own);
    this.storage = new Storage({
      config: config.db_config,
      log: inArea(log, 'storage'),
      sqliteModule: () =>
        buildSqlite({ cacheDir: config.cache_dir, log: inArea(log, 'storage'), signal, env: childEnvironment(config) }),
      migrations,
      telemetry,
      peers,
    });
    const { storage } = this;
    this.control = new Controller({
      ...{ storage, application: options.identity ?? (() => undefined) },
      log: inArea(log, 'deployments'),
    });
    this.operatorChanges = new OperatorChanges({
      ...{ storage, deployments: () => this.manager, controller: this.control, log: inArea(log, 'deployments') },
      load: (name) => this.loadOne(name),
      isStarted: options.isStarted ?? (() => false),
    });
    this.usage = appUsage({
      ...{ config, storage: this.storage, network: this.#network, telemetry },
      log: inArea(log, 'usage'),
    });
    const accessLog = inArea(log, 'access');
    const rates = new RateLimiter();
    if (config.db_config.datastore_type === 'postgresql' || config.workers > 1)
      this.#sharedBuckets = new SharedBuckets({ storage: this.storage, limiter: rates, log: accessLog });
    this.rateLimits = new RateLimits(config.rate_limits, rates);
    this.#monthlyTokens = new MonthlyTokens({ storage: this.storage, log: accessLog });
    this.userLimits = new UserLimits({
      ...{ config: config.user_limits, months: this.#monthlyTokens, minutes: rates, log: accessLog, telemetry },
    });
    this.apiKeys = config.api_service.enabled
      ? new ApiKeys({
          storage: this.storage,
          log: accessLog,
          lookUps: new KeyLookUps(config.rate_limits.refused_keys),
          retentionMs: config.api_service.expired_key_retention_s * 1000,
        })
      : undefined;
    this.buildSandbox = remembered(
      () =>
        buildSandbox({
          ...{ cacheDir: config.cache_dir, log: inArea(log, 'plugins'), signal, env: childEnvironment(config) },
        }),
      RETRY_AFTER_MS,
    );
    this.pluginPorts = {
      deployments: this.deployments,
      openMediaScope: (context) => this.#requireMedia().openScope({ context }),
      http: httpPort(config, this.#network),
      as: userPorts(this.storage, config.api_service),
      log: inArea(log, 'plugins'),
      telemetry,
    };
    this.#plugins = new PluginHost({
      cacheDir: config.cache_dir,
      sandbox: this.buildSandbox,
      log: inArea(log, 'plugins'),
      limits: limitsFrom(config.plugin_limits),
      grants: config.plugin_grants,
      settings: config.plugin_settings,
      env: childEnvironment(config),
      confinement: config.plugin_confinement,
      idleMs: config.plugin_idle_s * 1000,
      isFast: config.watch, // it compiles at each change
      ports: this.pluginPorts,
    });
    this.#expiredValues = new Pruner({
      storage: this.storage,
      log: inArea(log, 'plugins'),
      what: 'expired values of plugins',
      retentionMs: EXPIRED_VALUES_MS,
      prune: ({ pluginValues }, before, limit) => pluginValues.removeExpired(before, limit),
    });
    this.pluginSet = new PluginSet({
      ...{ host: this.#plugins, endpoints: this.endpoints, log: inArea(log, 'plugins'), signal },
      cacheDir: config.cache_dir,
      buildLimits: config.plugin_builds,
      prepare: async ({ capabilities }, loading) => {
        if (capabilities.includes('storage')) void this.started.promise.then(() => this.#expiredValues.start());
        if (capabilities.includes('media')) await this.openMedia(loading);
      },
    });
    this.responses = new StoredResponses({
      storage: this.storage,
      config: config.openai.responses,
      log: inArea(log, 'openai'),
    });
    this.clientSecrets = new ClientSecrets(this.storage);
    this.files = new StoredFiles({
      storage: this.storage,
      objects: this.#objects,
      config: config.openai.files,
      log: inArea(log, 'openai'),
    });
    this.uploadedParts = new Uploads({
      storage: this.storage,
      files: this.files,
      objects: this.#objects,
      maxBytes: config.openai.files.maximum_stored_bytes_per_user || undefined,
      log,
    });
    const onDemand = new ModelsOnDemand({
      config: config.openai.on_demand,
      deployments: this.deployments,
      remove: (name) => this.manager.remove(name),
      models: this.models,
      start: this.startOne,
      bind: this.bindDeployment,
      log: inArea(log, 'deployments'),
    });
    this.directory = modelDirectory({
      ...{ deployments: this.deployments, onDemand, aliases: config.openai.aliases },
      ...{ log: inArea(log, 'openai'), telemetry },
    });
    const work = batchWorkOf(this, config);
    const responseWork = backgroundWorkOf(this, config);
    const storeWork = ingestWorkOf(this, config);
    this.tasks = config.task_queue.enabled
      ? new TaskQueue({
          storage: this.storage,
          endpoints: this.endpoints,
          hostWork: [work, responseWork, storeWork],
          objects: this.#objects,
          config: { ...config.task_queue, num_workers: Math.ceil(config.task_queue.num_workers / config.workers) },
          subscribersOnly: config.api_service.enabled,
          retryable,
          log: inArea(log, 'tasks'),
          telemetry,
          usage: this.usage,
          allowanceOf: (userId) => this.userLimits.of({ userId, keyId: null, client: undefined }),
          signal,
        })
      : undefined;
    this.webhooks =
      this.tasks &&
      new Webhooks({
        storage: this.storage,
        config: config.webhook,
        includeStacktrace: config.include_stacktrace && !config.api_service.enabled,
        mayRead: allowsResult,
        ...webhookPorts(config, this.#network),
        log: inArea(log, 'webhooks'),
        telemetry,
      });
    this.background = new BackgroundResponses({
      ...{ storage: this.storage, tasks: this.tasks, work: responseWork.endpoint, responses: this.responses },
      maxStoredBytes: config.openai.responses.maximum_stored_bytes_per_user || undefined,
      onStored: () => this.responses.start(),
    });
    this.batches = new Batches({
      ...{ storage: this.storage, tasks: this.tasks, work: work.endpoint, log: inArea(log, 'openai') },
      formats: BATCH_FORMATS,
      retentionS: config.openai.batches.retention,
    });
    this.vectorStores = new VectorStores({
      ...{ storage: this.storage, tasks: this.tasks, work: storeWork.endpoint, log: inArea(log, 'openai') },
      config: config.openai.vector_stores,
    });
    this.redocBundle = remembered(() => this.models.pullTool('redoc', { signal }), RETRY_AFTER_MS);
  }

  /** The folders in which this process opens artifacts. */
  #artifactRoots(): readonly string[] {
    return [this.artifactsDir, this.#objects.localRoot('tasks')];
  }

  #managerOf(own: Pick<DeploymentManagerOptions, 'log' | 'definitions' | 'telemetry' | 'weightOf'>): DeploymentManager {
    const { config, log } = this.#options;
    return new DeploymentManager({
      ...own,
      env: childEnvironment(config),
      artifacts: { roots: this.#artifactRoots(), copies: this.artifactsDir },
      models: this.models,
      network: { ...networkSettings(config) },
      socketsDir: config.runtime_dir,
      fence: () => this.control.superseded(),
      remote: remoteListening(config.cluster),
      beforeReplicas: async () => this.#native,
      buildImages: (preparing) => this.#build(preparing, true),
      machine: (started) =>
        findMachine({
          env: childEnvironment(config),
          log: inArea(log, 'deployments'),
          declared: config.devices,
          signal: started,
        }),
    });
  }

  /** What keeps the replicas running and changes deployments. Throws `NotTheController` in a worker. */
  get manager(): DeploymentManager {
    if (this.#manager) return this.#manager;
    throw fail(
      'NotTheController',
      'this process is one of several workers, which call deployments but cannot change them; the API for admins can',
    );
  }

  /** Makes the deployments callable: starts their replicas or, in a worker, connects to those of the controller. */
  async startDeployments(options: StartOptions): Promise<void> {
    await (this.deployments instanceof WorkerDeployments ? this.deployments.start() : this.manager.start(options));
  }

  /** Returns whether the database can be opened now, without compiling SQLite first. */
  async canOpenStorage(): Promise<boolean> {
    return this.#options.config.db_config.datastore_type !== 'sqlite' || (await isSqliteBuilt());
  }

  /** Returns whether the deployment with this name, or without a name any deployment, needs the addon. */
  needsAddon(deployment?: string): boolean {
    if (!this.#manager) return false;
    const bounds = [...this.deployments.registered()].filter(
      ([name]) => deployment === undefined || name === deployment,
    );
    return bounds.some(([, { options }]) => builtinDefinitions.some(({ name }) => name === options.type));
  }

  /** Builds the addon, once. Replicas wait for it before they start, and fail if it fails. */
  buildNative(signal: AbortSignal, report?: ReportProgress): Promise<unknown> {
    this.#native ??= this.#build(signal, false, report);
    this.#native.catch(() => {});
    return this.#native;
  }

  async #build(signal: AbortSignal, images: boolean, report?: ReportProgress): Promise<unknown> {
    const { config, log } = this.#options;
    return buildNative({
      cacheDir: config.cache_dir,
      mode: config.native_build,
      cuda: config.cuda_backend,
      vulkan: config.vulkan_backend,
      images,
      log: inArea(log, 'models'),
      signal,
      report,
      env: childEnvironment(config),
    });
  }

  /** Starts a deployment that was just registered. Removes it when the start fails. */
  readonly startOne = async (name: string, options: Pick<DeployOptions, 'onProgress'> = {}): Promise<void> => {
    const { signal } = this.#options;
    try {
      if (this.needsAddon(name)) void this.buildNative(signal);
      await this.manager.deployOne(name, { ...options, signal });
    } catch (error) {
      await this.manager.remove(name, { graceMs: 0 });
      throw error;
    }
  };

  /** Starts a deployment that was unloaded or has failed. */
  async loadOne(name: string, options: DeployOptions = {}): Promise<void> {
    const { signal } = this.#options;
    if (this.needsAddon(name)) void this.buildNative(signal);
    await this.manager.load(name, { signal, ...options });
  }

  /** The sections with live settings. Each function takes the values of a new configuration. */
  readonly liveSections: { readonly [Section in keyof Config]?: (next: Config) => void } = {
    openai: (next) => this.directory.configure(next.openai),
    user_limits: (next) => this.userLimits.configure(next.user_limits),
    rate_limits: (next) => this.rateLimits.configure(next.rate_limits),
    task_queue: (next) => this.tasks?.configure(next.task_queue),
    plugin_settings: (next) => this.#plugins.configureSettings(next.plugin_settings),
  };

  /** Returns the secrets in the settings of plugins. */
  pluginSecrets(): readonly string[] {
    return this.#plugins.secrets();
  }

  /** Registers a deployment. Replaces one of the same name that was not started. */
  configureDeployment(name: string, entry: DeploymentOptionsInput): void {
    const bound = this.#classed(name, structuredClone(entry));
    this.deployments.unregister(name);
    this.deployments.register(name, bound);
  }

  updateDeployment(
    name: string,
    deployment: BoundDeployment | DeploymentOptionsInput,
    options: UpdateOptions,
  ): Promise<UpdateReport> {
    return this.manager.update(name, this.#classed(name, deployment), options);
  }

  /** Returns an entry of a configuration with its checked options. Throws `ValidationError`, which names the key. */
  readonly bindDeployment = (name: string, entry: DeploymentOptionsInput): BoundDeployment => {
    const given = this.#classed(name, entry);
    const definitions = [...builtinDefinitions, ...(this.#options.definitions ?? [])];
    if ('definition' in given) return given;
    return boundFrom(given, new Map(definitions.map((one) => [one.name, one])), `deployment ${name}`);
  };

  /** Binds an entry whose type is a custom class of the application, which is known from the registered deployment. */
  #classed(name: string, given: BoundDeployment | DeploymentOptionsInput): BoundDeployment | DeploymentOptionsInput {
    const registered = this.deployments.registered().get(name)?.definition;
    if ('definition' in given || given.type !== registered?.name) return given;
    return boundFrom(given, new Map([[given.type, registered]]), `deployment ${name}`);
  }

  runHelper<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    helper: Helper<I, O>,
    input: z.core.input<I>,
    caller: HelperCaller,
  ): Promise<z.core.output<O>> {
    return this.#helpers.run(helper, input, caller);
  }

  /** Opens the media service for plugins and for other processes of this user. Fetches ffmpeg if necessary. */
  openMedia(signal: AbortSignal = this.#options.signal, report?: ReportProgress): Promise<MediaService> {
    this.#openingMedia ??= this.#openMedia(signal, report);
    this.#openingMedia.catch(() => (this.#openingMedia = undefined)); // the next attempt may succeed
    return this.#openingMedia;
  }

  async #openMedia(signal: AbortSignal, report: ReportProgress | undefined): Promise<MediaService> {
    const { config, log, telemetry } = this.#options;
    if (config.media.yt_dlp_path !== null) await requireYtDlp(config.media.yt_dlp_path);
    const ffmpegPath = await this.ffmpeg(signal, report);
    this.#media = new MediaService({
      ...mediaOptions(config, ffmpegPath, this.#network, inArea(log, 'media')),
      telemetry,
    });
    return this.#media;
  }

  /** Returns the path of the ffmpeg to use. Fetches it if this machine has none. */
  async ffmpeg(signal?: AbortSignal, report?: ReportProgress): Promise<string> {
    const { config, log } = this.#options;
    const cached = await this.models.resolveTool('ffmpeg');
    const found = await findFfmpeg({ configured: config.media.ffmpeg_path, cached, log: inArea(log, 'media'), signal });
    if (found) return found.path;
    return this.models.pullTool('ffmpeg', {
      signal,
      onProgress: (bytes, total) => report?.(bytes, total, 'fetching ffmpeg'),
    });
  }

  /** Ends everything that runs. Calls of deployments may finish for `graceMs`. */
  async close(graceMs: number): Promise<void> {
    const until = performance.now() + graceMs;
    await this.tasks?.stop(graceMs);
    await this.webhooks?.stop(Math.max(0, until - performance.now()));
    await this.#helpers.close();
    await this.pluginSet.close();
    await this.#plugins.close();
    await this.#expiredValues.stop();
    await this.deployments.shutdown({ graceMs: Math.max(0, until - performance.now()) });
    await this.#media?.close();
    await this.apiKeys?.close();
    await this.responses.stop();
    await this.batches.stop();
    await this.vectorStores.stop();
    await this.uploadedParts.stop();
    await this.files.stop();
    await this.#monthlyTokens.stop();
    await this.#sharedBuckets?.stop();
    await this.usage.stop();
    await this.control.stop();
    await this.storage.close();
    this.#objects.close();
    await this.uploads.remove();
    await this.#native?.catch(() => {}); // its compilers end with the signal
  }

  #requireMedia(): MediaService {
    if (!this.#media) throw fail('NotReady', 'the application is starting');
    return this.#media;
  }
}

/**
 * Returns the cache of media. Hosts share it if they have the same users, which are those of a database, and the same
 * rule for private addresses.
 */
function mediaCache({ cache_dir: cacheDir, db_config: database, media }: Config): MediaOptions['cache'] {
  const { path, host, port, database: name } = database.datastore_config;
  const users = database.datastore_type === 'sqlite' ? resolve(path ?? '') : [host, port, name];
  const shared = JSON.stringify([users, media.allow_private_urls]);
  const { max_bytes: maxBytes, max_user_bytes: maxUserBytes, unused_s: unusedS } = media.cache;
  return {
    folder: join(cacheDir, 'media', createHash('sha256').update(shared).digest('hex').slice(0, 32)),
    ...{ maxBytes, maxUserBytes, unusedMs: unusedS * 1000 },
  };
}

function mediaOptions(config: Config, ffmpegPath: string, network: Network, log: Logger): MediaOptions {
  const { media } = config;
  return {
    ffmpegPath,
    ...(media.yt_dlp_path !== null && { ytDlp: { path: media.yt_dlp_path, env: childEnvironment(config) } }),
    allowPaths: media.allow_paths,
    allowPrivateUrls: media.allow_private_urls,
    maxBytes: media.max_bytes,
    maxDurationS: media.max_duration_s,
    fetchTimeoutMs: media.fetch_timeout_s * 1000,
    maxRedirects: media.max_redirects,
    tempDir: media.temp_dir ?? tmpdir(),
    ...(media.cache.max_bytes > 0 && { cache: mediaCache(config) }),
    network,
    log,
  };
}
