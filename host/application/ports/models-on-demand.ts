import { raceAbort } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError, errorLogFields, fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Config } from '../../base/config/index.ts';
import {
  type BoundDeployment,
  builtinDefinitions,
  type CallOptions,
  type DeploymentOptionsInput,
  type HostDeployments,
  type OnDemandModels,
  type ServedModel,
} from '../../inference/deployments/index.ts';
import {
  catalogue,
  findEntry,
  type ModelStore,
  parseHubReference,
  type Purpose,
  purposeOf,
} from '../../setup/models/index.ts';
import { servedModel } from './served-model.ts';

export interface ModelsOnDemandOptions {
  readonly config: Config['openai']['on_demand'];
  readonly deployments: Pick<HostDeployments, 'has' | 'handle' | 'onNames' | 'register' | 'status'>;
  /** Ends a deployment. */
  readonly remove: (name: string) => Promise<void>;
  readonly models: Pick<ModelStore, 'bytesToPull'>;
  /** Starts a registered deployment. Removes it when the start fails. */
  readonly start: (name: string) => Promise<void>;
  /** Checks the options of a deployment. */
  readonly bind: (name: string, options: DeploymentOptionsInput) => BoundDeployment;
  readonly log: Logger;
}

/** The deployment of a model that a request has started. */
interface Started {
  readonly name: string;
  readonly ready: Promise<void>;
  /** Calls that run or wait, and its start. */
  uses: number;
  /** Whether a deployment has been registered for it. */
  isRegistered: boolean;
  /** Whether it was one too many when the settings last changed. */
  isTooMany: boolean;
  /** Ends it. Runs while nothing uses it. */
  timer: NodeJS.Timeout | undefined;
}

/** A model that requests may start. */
interface Planned {
  readonly name: string;
  readonly bound: BoundDeployment;
}

/** Types of deployments for what a model computes. */
const TYPES: Readonly<Record<Purpose | 'ranking', string>> = {
  text: 'LlamaTextGenerationDeployment',
  embedding: 'LlamaEmbeddingDeployment',
  ranking: 'LlamaRerankDeployment',
  speech: 'WhisperDeployment',
};

/**
 * Starts a deployment for a model when a call names it, and removes it `keep_alive_s` after the last call. The name of
 * the deployment is the id of the model. Its replica loads with the first call, and makes room for other deployments
 * while it is idle, as that of every deployment with `min_replicas` 0.
 */
export class ModelsOnDemand implements OnDemandModels {
  readonly #options: Omit<ModelsOnDemandOptions, 'config'>;
  #config: ModelsOnDemandOptions['config'];
  #patterns: readonly RegExp[] = [];
  #names: readonly string[] = [];
  /** In the order of their last use. */
  readonly #started = new Map<string, Started>();
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: ModelsOnDemandOptions) {
    this.#options = options;
    this.#config = options.config;
    options.deployments.onNames(() => this.#forgetRemoved());
    this.configure(options.config);
  }

  /**
   * Takes other settings. A model that is no longer allowed, or that is one too many, ends as soon as nothing uses it.
   * Those that run keep their GPUs.
   */
  configure(config: ModelsOnDemandOptions['config']): void {
    const { models, max_models: most } = config;
    this.#config = config;
    this.#patterns = models.map(patternOf);
    const plain = models.filter((model) => !model.includes('*')).flatMap((model) => identified(model)?.id ?? []);
    const known = catalogue.filter((entry) => entry.isDefault && purposeOf(entry)).map(({ name }) => name);
    this.#names = [...new Set([...plain, ...known.filter((name) => this.#isAllowed(name))])];
    const all = [...this.#started.values()];
    const idle = all.filter(({ uses }) => uses === 0);
    const inTurn = [...idle, ...all.filter(({ uses }) => uses > 0)];
    for (const [n, started] of inTurn.entries()) started.isTooMany = n < all.length - most;
    for (const started of idle) this.#endLater(started);
  }

  names(): readonly string[] {
    return this.#names;
  }

  find(name: string, methods: readonly string[]): ServedModel | undefined {
    const planned = this.#plan(name, methods);
    if (!planned) return undefined;
    const { status } = this.#options.deployments.status()[planned.name] ?? { status: 'UNLOADED' };
    // Its files, which tell whether it hears, may not be there.
    return servedModel(planned.name, planned.bound, { state: status, takesAudio: false });
  }

  /** Whether calls of a deployment go through this object. */
  isFor(deployment: string): boolean {
    if (this.#patterns.length === 0 && this.#started.size === 0) return false;
    return this.#started.has(deployment) || this.#isFree(deployment);
  }

  /** Runs a method like a handle. Starts the deployment if necessary. */
  async call(
    deployment: string,
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    using _used = await this.#use(deployment, method, options);
    return await this.#options.deployments.handle(deployment).call(method, args, options);
  }

  /** Runs a streaming method like a handle. Starts the deployment if necessary. */
  async *stream(
    deployment: string,
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    using _used = await this.#use(deployment, method, options);
    return yield* this.#options.deployments.handle(deployment).stream(method, args, options);
  }

  async #use(name: string, method: string, { signal }: CallOptions): Promise<Disposable> {
    const started = this.#started.get(name) ?? this.#begin(name, method);
    if (!started) return { [Symbol.dispose]: () => {} }; // the handle says that there is no such deployment
    clearTimeout(started.timer);
    started.uses += 1;
    this.#started.delete(name);
    this.#started.set(name, started);
    const used = { [Symbol.dispose]: () => this.#leave(started) };
    try {
      await raceAbort(started.ready, signal);
      return used;
    } catch (error) {
      used[Symbol.dispose]();
      throw error;
    }
  }

  #leave(started: Started): void {
    started.uses -= 1;
    if (started.uses === 0 && this.#started.get(started.name) === started) this.#endLater(started);
  }

  #endLater(started: Started): void {
    const isKept = this.#isAllowed(started.name) && !started.isTooMany;
    this.#endAfter(started, isKept ? this.#config.keep_alive_s : 0);
  }

  #endAfter(started: Started, seconds: number): void {
    clearTimeout(started.timer);
    started.timer = setTimeout(() => void this.#end(started), seconds * 1000);
    started.timer.unref();
  }

  /** Whether no deployment has the name, or one that is about to end. */
  #isFree(name: string): boolean {
    return this.#ending.has(name) || !this.#options.deployments.has(name);
  }

  /** Forgets what others have removed. A deployment that then gets the name belongs to them. */
  #forgetRemoved(): void {
    for (const started of this.#started.values())
      if (started.isRegistered && !this.#options.deployments.has(started.name)) this.#forget(started);
  }

  #forget(started: Started): void {
    clearTimeout(started.timer);
    if (this.#started.get(started.name) === started) this.#started.delete(started.name);
  }

  #begin(name: string, method: string): Started | undefined {
    const planned = this.#plan(name, [method]);
    if (planned?.name !== name || !this.#isFree(name)) return undefined;
    const { promise: ready, resolve } = deferred();
    const started: Started = { name, ready, uses: 1, isRegistered: false, isTooMany: false, timer: undefined };
    this.#started.set(name, started);
    resolve(this.#start(started, planned));
    ready.then(
      () => this.#leave(started),
      () => this.#forget(started),
    );
    return started;
  }

  async #start(started: Started, { name, bound }: Planned): Promise<void> {
    const { deployments, start, remove, log } = this.#options;
    await this.#ending.get(name);
    if (deployments.has(name)) {
      started.isRegistered = true; // it could not end
      return;
    }
    this.#unneeded(); // before anything is fetched
    await this.#requireSize(name);
    log.info('a request starts a model', { deployment: name });
    deployments.register(name, bound);
    started.isRegistered = true;
    await start(name).catch((error: unknown) => {
      // The caller knows the model, not its deployment.
      throw error instanceof Error && error.cause instanceof AanaError ? error.cause : error;
    });
    try {
      const unneeded = this.#unneeded(); // now that the model exists
      if (unneeded) await this.#end(unneeded);
    } catch (error) {
      await remove(name);
      throw error;
    }
  }

  /** Refuses a model that is too large to be fetched. */
  async #requireSize(name: string): Promise<void> {
    const { max_bytes: most } = this.#config;
    const bytes = await this.#options.models.bytesToPull(name);
    if (bytes === undefined || bytes <= most) return;
    throw fail(
      'InvalidParameter',
      `'model': ${name} has ${bytes} bytes, and a request can start a model of ${most} (openai.on_demand.max_bytes)`,
      { data: { param: 'model' } },
    );
  }

  /**
   * Returns the model that was not used for longest, if there is one too many. Throws `InsufficientResources` if all
   * are in use.
   */
  #unneeded(): Started | undefined {
    const { max_models: most } = this.#config;
    if (this.#started.size <= most) return undefined;
    const unneeded = [...this.#started.values()].find(({ uses }) => uses === 0);
    if (unneeded) return unneeded;
    throw fail(
      'InsufficientResources',
      `${most} models (openai.on_demand.max_models) that requests have started are in use; try again later`,
    );
  }

  async #end(started: Started): Promise<void> {
    const { deployments, remove, log } = this.#options;
    const { name } = started;
    this.#forget(started);
    const ended = remove(name)
      .then(
        () => log.info('model is not used any more', { deployment: name }),
        (error: unknown) => {
          log.error('unused model not removed', { deployment: name, ...errorLogFields(error) });
          if (!deployments.has(name) || this.#started.has(name)) return;
          this.#started.set(name, started); // another deployment may call it
          this.#endAfter(started, Math.max(1, this.#config.keep_alive_s));
        },
      )
      .finally(() => this.#ending.delete(name));
    this.#ending.set(name, ended);
    await ended;
  }

  /** Returns the deployment of a model that requests may start; undefined for other names. */
  #plan(name: string, methods: readonly string[]): Planned | undefined {
    const model = identified(name);
    if (!model || !this.#isAllowed(model.id)) return undefined;
    const type = model.type ?? Object.values(TYPES).find((one) => hasMethods(one, methods));
    if (type === undefined) return undefined;
    const { keep_alive_s: keepAliveS, num_gpus: gpus } = this.#config;
    const bound = this.#options.bind(model.id, {
      type,
      user_config: { [type === TYPES.speech ? 'model_size' : 'model_id']: model.id },
      autoscaling_config: { min_replicas: 0, max_replicas: 1, downscale_delay_s: keepAliveS },
      ray_actor_options: { num_gpus: gpus },
    });
    return { name: model.id, bound };
  }

  #isAllowed(id: string): boolean {
    return this.#patterns.some((pattern) => pattern.test(id));
  }
}

/** Returns the id of a model of the catalogue, with the type of its deployment, or of the hub. */
function identified(name: string): { readonly id: string; readonly type?: string } | undefined {
  const entry = findEntry(name);
  if (!entry) return parseHubReference(name) ? { id: name } : undefined;
  const purpose = purposeOf(entry);
  return purpose && { id: entry.isDefault ? entry.name : entry.id, type: TYPES[purpose] };
}

function hasMethods(type: string, methods: readonly string[]): boolean {
  const definition = builtinDefinitions.find(({ name }) => name === type);
  return definition !== undefined && methods.every((method) => Object.hasOwn(definition.methods, method));
}

/**
 * Returns the expression for the names that a pattern allows, in which `*` stands for any characters. Without `/` it
 * allows models of the catalogue alone, whose names may have upper or lower case.
 */
function patternOf(pattern: string): RegExp {
  const isOfHub = pattern.includes('/');
  const parts = pattern.split('*').map((text) => text.replaceAll('.', '\\.'));
  return new RegExp(`^${parts.join(isOfHub ? '.*' : '[^/]*')}$`, isOfHub ? '' : 'i');
}
