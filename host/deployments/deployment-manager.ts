import { availableParallelism } from 'node:os';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { systemClock } from '../core/clock.ts';
import type { Machine } from '../devices/index.ts';
import { callWithRetry, failedDeployment, ReplicaSet, type ReplicaSetOptions, type ReplicaSetStatus, type RetryOptions, streamWithRetry } from '../replicas/index.ts';
import { type BoundDeployment, boundFrom, isBound } from './bound-deployment.ts';
import { check } from './check.ts';
import type { DeploymentDefinition, ModelSource, ReplicaSpec } from './deployment-definition.ts';
import type { CallOptions, DeploymentHandle } from './deployment-handle.ts';
import { HandleOptions, type HandleOptionsInput, retryPolicy } from './handle-options.ts';
import { type DeploymentOptions, type DeploymentOptionsInput, firstReplicas } from './deployment-options.ts';
import { type DeploymentDescription, describeDeployment, describeMethods } from './describe.ts';
import { DevicePlan } from './device-plan.ts';
import { LlamaTextGenerationDeployment } from './llama-text-generation-deployment.ts';
import type { MethodDefinition } from './method.ts';
import { type DescribedHandle, withMethods } from './typed-handle.ts';
import { WhisperDeployment } from './whisper-deployment.ts';

export interface DeploymentManagerOptions {
  readonly log: Logger;
  readonly models: ModelSource;
  /** Environment that replicas get. */
  readonly env: NodeJS.ProcessEnv;
  /** What must have happened before a replica can start, such as the build of the addon; models are fetched meanwhile. */
  readonly beforeReplicas?: (() => Promise<unknown>) | undefined;
  /** What replicas can be placed on. Default: a machine without a GPU, with as much memory as it takes. */
  readonly machine?: ((signal: AbortSignal) => Promise<Machine>) | undefined;
  /** How much lower the priority of replicas is. Default 10. */
  readonly nice?: number | undefined;
  /** Seconds that loading a model may go without a sign of progress. Default 120. */
  readonly startTimeoutS?: number | undefined;
  /** Time, chance and processes that are not real, for the simulation. */
  readonly simulated?: Pick<ReplicaSetOptions, 'clock' | 'random' | 'spawn'> | undefined;
  /** Kinds of deployments beside those that come with the package. */
  readonly definitions?: readonly DeploymentDefinition[] | undefined;
}

export interface DeploymentProgress {
  readonly deployment: string;
  /** 0 to 1; undefined when unknown. */
  readonly fraction: number | undefined;
  readonly text: string;
  /** It has started: nothing follows. */
  readonly isReady?: boolean | undefined;
}

export interface StartOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: DeploymentProgress) => void) | undefined;
  /** One deployment after the other, in the order of registration. Default: false. */
  readonly sequential?: boolean | undefined;
}

/** Progress as a deployment tells it; the manager adds the name. */
type Report = (fraction: number | undefined, text: string) => void;

interface Deployment {
  readonly name: string;
  readonly definition: DeploymentDefinition;
  readonly options: DeploymentOptions;
  readonly config: unknown;
  replicas: ReplicaSet | undefined;
}

interface OpenedCall {
  readonly replicas: ReplicaSet;
  readonly checked: Record<string, unknown>;
  readonly affinity: string | undefined;
}

/** Kinds of deployments that come with the package. */
export const builtinDefinitions: readonly DeploymentDefinition[] = [WhisperDeployment, LlamaTextGenerationDeployment];

const MAX_DEFAULT_THREADS = 8;

/** Half of the cores, so that the rest of the machine stays responsive; at least 1. */
export function defaultThreads(cores: number = availableParallelism()): number {
  return Math.min(MAX_DEFAULT_THREADS, Math.max(1, Math.floor(cores / 2)));
}

/** The deployments of one host: their configuration, their replicas, and handles to them. */
export class DeploymentManager {
  readonly #options: DeploymentManagerOptions;
  readonly #definitions: ReadonlyMap<string, DeploymentDefinition>;
  readonly #deployments = new Map<string, Deployment>();
  readonly #stopping = new AbortController();

  constructor(options: DeploymentManagerOptions) {
    this.#options = options;
    this.#definitions = new Map([...builtinDefinitions, ...(options.definitions ?? [])].map((definition) => [definition.name, definition]));
  }

  /** Takes what `options` of a class gave, or an entry of the configuration file. Throws `ValidationError` that names the deployment and the key. */
  register(name: string, deployment: BoundDeployment | DeploymentOptionsInput): BoundDeployment {
    const what = `deployment ${name}`;
    if (this.#deployments.has(name)) throw new AanaError('DeploymentExists', 'conflict', `${what} is registered already`);
    const bound = isBound(deployment) ? deployment : boundFrom(deployment, this.#definitions, what);
    this.#deployments.set(name, { name, ...bound, config: bound.options.user_config, replicas: undefined });
    return bound;
  }

  /** Forgets a deployment that was not started. Silent when there is none of that name. */
  unregister(name: string): void {
    this.#deployments.delete(name);
  }

  /** Fetches models and starts the replicas of all deployments. When one fails, all are stopped and `FailedDeployment` tells why. */
  async start({ signal, onProgress, sequential = false }: StartOptions = {}): Promise<void> {
    if (this.#deployments.size === 0) return;
    const failed = new AbortController();
    const all = AbortSignal.any([failed.signal, this.#stopping.signal, ...(signal ? [signal] : [])]);
    const starts: Promise<void>[] = [];
    try {
      // Devices are looked for while the first model is fetched; what asks for more than there is ends that.
      const plan = this.#planDevices(all);
      plan.catch((error: unknown) => failed.abort(error));
      // Models are fetched one after the other; replicas load while the next model is fetched.
      for (const deployment of this.#deployments.values()) {
        all.throwIfAborted();
        const report: Report = (fraction, text) => onProgress?.({ deployment: deployment.name, fraction, text });
        const spec = await this.#prepare(deployment, all, report);
        const start = this.#startReplicas(deployment, spec, plan, all, report).then(() => onProgress?.({ deployment: deployment.name, fraction: 1, text: 'ready', isReady: true }));
        start.catch((error: unknown) => failed.abort(error));
        starts.push(start);
        if (sequential) await start;
      }
      await Promise.all(starts);
    } catch (error) {
      failed.abort(error);
      await this.shutdown({ graceMs: 0 });
      throw error;
    }
  }

  status(): Record<string, ReplicaSetStatus> {
    const entries = [...this.#deployments.values()].map(({ name, replicas }) => {
      const status = replicas?.status() ?? { status: 'DEPLOYING' as const, message: '', replicas: [], queued: 0, lastLines: [] };
      return [name, status] as const;
    });
    return Object.fromEntries(entries);
  }

  /** What each deployment can be told and asked. */
  describe(): Record<string, DeploymentDescription> {
    return Object.fromEntries([...this.#deployments.values()].map(({ name, definition }) => [name, describeDeployment(definition)]));
  }

  /** Throws `DeploymentNotFound`, naming those that there are. Calls before the start has reached the deployment are refused. */
  handle(name: string, retry: HandleOptionsInput = {}): DescribedHandle {
    const policy = check(HandleOptions, retry, `handle of deployment ${name}`);
    const deployment = this.#deployments.get(name);
    if (!deployment) {
      const known = [...this.#deployments.keys()].join(', ') || 'none';
      throw new AanaError('DeploymentNotFound', 'not-found', `there is no deployment ${name}; deployments are: ${known}`, { data: { deployment: name } });
    }
    const handle: DeploymentHandle = {
      name,
      call: async (method, args, options = {}) => {
        const { replicas, checked, affinity } = this.#open(deployment, method, args, false);
        return callWithRetry((_, admitted) => replicas.call(method, checked, { ...options, affinity, admitted }), this.#retry(deployment, options, policy));
      },
      stream: (method, args, options = {}) => this.#stream(deployment, method, args, options, policy),
    };
    const { methods } = deployment.definition;
    return withMethods(handle, methods, () => describeMethods(methods));
  }

  /** Lets running calls finish, for `graceMs` or what the deployment's options say if that is less, and ends all replicas. May be called twice. */
  async shutdown({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#stopping.abort(new AanaError('DeploymentStopped', 'unavailable', 'the deployments are shutting down'));
    const stops = [...this.#deployments.values()].map(({ options, replicas }) =>
      replicas?.stop(Math.min(graceMs, options.graceful_shutdown_timeout_s * 1000)),
    );
    await Promise.all(stops);
  }

  async #planDevices(signal: AbortSignal): Promise<DevicePlan> {
    await this.#options.beforeReplicas?.(); // the addon is asked for devices
    signal.throwIfAborted();
    const machine = (await this.#options.machine?.(signal)) ?? { gpus: [], memoryBytes: 0 };
    return new DevicePlan(machine, [...this.#deployments.values()], this.#options.log);
  }

  async #startReplicas(deployment: Deployment, spec: ReplicaSpec, planned: Promise<DevicePlan>, signal: AbortSignal, progress: Report): Promise<void> {
    const plan = await planned;
    signal.throwIfAborted();
    const need = await deployment.definition.memory?.(spec, { gpu: plan.isOnGpu(deployment.name) });
    if (need) plan.countMemory(deployment.name, need);
    signal.throwIfAborted();
    deployment.replicas = this.#replicaSet(deployment, spec, plan, progress);
    await deployment.replicas.start(signal);
  }

  async #prepare(deployment: Deployment, signal: AbortSignal, progress: Report): Promise<ReplicaSpec> {
    const { name, definition, options, config } = deployment;
    const log = this.#options.log.child({ deployment: name });
    const { num_gpus: numGpus, num_cpus: numCpus } = options.ray_actor_options;
    const threads = numCpus === undefined ? defaultThreads() : Math.max(1, Math.floor(numCpus));
    try {
      return await definition.prepare(config, { models: this.#options.models, log, signal, numGpus, threads, progress });
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      throw new AanaError('FailedDeployment', 'unavailable', failedDeployment(name, reason).message, { data: { deployment: name }, cause: error });
    }
  }

  #replicaSet({ name, definition, options }: Deployment, spec: ReplicaSpec, plan: DevicePlan, progress: Report): ReplicaSet {
    const scaling = options.autoscaling_config;
    return new ReplicaSet({
      deployment: name,
      implementation: definition.implementation,
      spec,
      count: firstReplicas(options),
      autoscaling: scaling && {
        minReplicas: scaling.min_replicas,
        maxReplicas: scaling.max_replicas,
        targetOngoing: scaling.target_ongoing_requests,
        upscaleDelayMs: scaling.upscale_delay_s * 1000,
        downscaleDelayMs: scaling.downscale_delay_s * 1000,
      },
      takePlace: () => plan.takePlace(name),
      graceMs: options.graceful_shutdown_timeout_s * 1000,
      maxOngoing: options.max_ongoing_requests ?? definition.maxOngoingRequests,
      maxQueued: options.max_queued_requests,
      log: this.#options.log,
      env: this.#options.env,
      nice: this.#options.nice ?? 10,
      startTimeoutMs: (this.#options.startTimeoutS ?? 120) * 1000,
      healthPeriodMs: options.health_check_period_s * 1000,
      healthTimeoutMs: options.health_check_timeout_s * 1000,
      onProgress: progress,
      ...this.#options.simulated,
    });
  }

  async *#stream(deployment: Deployment, method: string, args: Record<string, unknown>, options: CallOptions, policy: HandleOptions): AsyncGenerator<unknown[], void, undefined> {
    const { replicas, checked, affinity } = this.#open(deployment, method, args, true);
    yield* streamWithRetry((_, admitted) => replicas.stream(method, checked, { ...options, affinity, admitted }), this.#retry(deployment, options, policy));
  }

  #retry({ name }: Deployment, { signal, requestId }: CallOptions, policy: HandleOptions): RetryOptions {
    return {
      clock: this.#options.simulated?.clock ?? systemClock,
      random: this.#options.simulated?.random ?? Math.random,
      signal,
      ...retryPolicy(policy),
      onRetry: ({ message }, delayMs) => this.#options.log.warn('call repeated', { deployment: name, requestId, reason: message, delay_ms: Math.round(delayMs) }),
    };
  }

  /** The replicas and the checked arguments of a call. */
  #open(deployment: Deployment, method: string, args: Record<string, unknown>, streaming: boolean): OpenedCall {
    const { name, replicas } = deployment;
    const definition = requireMethod(deployment, method);
    if (definition.streaming !== streaming) {
      const how = definition.streaming ? 'is a stream and cannot be called for one result' : 'gives one result and cannot be streamed';
      throw new AanaError('MethodNotFound', 'bad-request', `method ${method} of deployment ${name} ${how}`);
    }
    const checked = check(definition.input, args, `${name}.${method}`) as Record<string, unknown>;
    if (!replicas) throw new AanaError('DeploymentNotStarted', 'unavailable', `deployment ${name} is not started yet`);
    return { replicas, checked, affinity: deployment.definition.affinity?.(method, checked) };
  }
}

function requireMethod({ name, definition }: Deployment, method: string): MethodDefinition {
  const found = Object.hasOwn(definition.methods, method) ? definition.methods[method] : undefined;
  if (found) return found;
  const known = Object.keys(definition.methods).join(', ');
  throw new AanaError('MethodNotFound', 'not-found', `deployment ${name} has no method ${method}; its methods are: ${known}`, { data: { deployment: name, method } });
}
