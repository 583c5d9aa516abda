import { fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Telemetry } from '../../../base/core/telemetry.ts';
import {
  failedDeployment,
  type Fence,
  type MakeRoom,
  ReplicaSet,
  type ReplicaSetOptions,
} from '../../replicas/index.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import type { CalledDeployment, ModelSource, ReplicaSpec } from '../class/deployment-definition.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';
import { describeMethods } from '../class/describe.ts';
import type { MethodTable } from '../class/method.ts';
import type { ServedMethods } from '../../rpc/index.ts';
import type { DeploymentPlaces } from '../placement/deployment-places.ts';
import type { ManagedDeployment } from './managed-deployment.ts';
import { calleesOf } from './call-graph.ts';
import { replicaVersion } from './version-of.ts';

export interface DeploymentStarterOptions {
  readonly log: Logger;
  readonly models: ModelSource;
  /** Environment of replicas. */
  readonly env: NodeJS.ProcessEnv;
  /** Proxies and certificate authorities as JSON, for deployments that connect to other servers. Default: none. */
  readonly network?: Readonly<Record<string, unknown>> | undefined;
  /** Folder for the sockets on which replicas listen for further hosts. Default: they have none. */
  readonly socketsDir?: string | undefined;
  /** Folders of the artifacts of this host, and where replicas keep copies. Default: there are no artifacts. */
  readonly artifacts?: ReplicaSetOptions['artifacts'];
  /** Where replicas also listen for hosts of other machines. Default: nowhere. */
  readonly remote?: ReplicaSetOptions['remote'];
  /** Builds the library for images in prompts. */
  readonly buildImages?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Added to the niceness of replicas. Default: 10. */
  readonly nice?: number | undefined;
  /** Records calls. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Returns the weight of a user among those who wait. Default: 1 for everyone. */
  readonly weightOf?: ((userId: string) => number | undefined) | undefined;
  /** While it returns an error, no replica is started or replaced. Default: it never does. */
  readonly fence?: Fence | undefined;
  /** Simulated clock, random numbers and processes. */
  readonly simulated?: Pick<ReplicaSetOptions, 'clock' | 'random' | 'spawn'> | undefined;
}

/** What a starter needs of the other deployments. */
export interface OtherDeployments {
  /** Returns the methods of a deployment. Throws `DeploymentNotFound`. */
  methodsOf(name: string): MethodTable;
  /** Returns what replicas may call that call the deployments of these names. */
  servedTo(names: readonly string[]): ServedMethods;
  /** Called when other hosts would see something else of a deployment. */
  onChange(): void;
}

/** Reports progress of one deployment. */
export type Report = (fraction: number | undefined, text: string) => void;

/** Starts deployments: fetches the models and starts the first replicas. */
export class DeploymentStarter {
  readonly #options: DeploymentStarterOptions;
  readonly #others: OtherDeployments;

  constructor(options: DeploymentStarterOptions, others: OtherDeployments) {
    this.#options = options;
    this.#others = others;
  }

  /**
   * Fetches models and returns the start parameters of replicas. `cpus` returns the processors that each replica should
   * keep busy. Throws `FailedDeployment`, which names the deployment and the reason.
   */
  async prepare(
    name: string,
    { definition, options }: BoundDeployment,
    cpus: () => Promise<number>,
    signal: AbortSignal,
    progress: Report,
  ): Promise<ReplicaSpec> {
    const log = this.#options.log.child({ deployment: name });
    const { num_gpus: numGpus = 0 } = options.ray_actor_options;
    try {
      return await definition.prepare(options.user_config, {
        models: this.#options.models,
        env: this.#options.env,
        network: this.#options.network,
        log,
        signal,
        numGpus,
        called: this.#calledBy(options),
        cpus,
        buildImages: async () => this.#options.buildImages?.(signal),
        progress,
      });
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      throw fail('FailedDeployment', failedDeployment(name, reason).message, {
        data: { deployment: name },
        cause: error,
      });
    }
  }

  /** Counts the memory of a replica. Throws `InsufficientResources` when the reserved places have too little. */
  async countMemory({ definition }: BoundDeployment, spec: ReplicaSpec, places: DeploymentPlaces): Promise<void> {
    const need = await definition.memory?.(spec, { gpu: places.isOnGpu });
    if (need) places.countMemory(need);
  }

  /** Starts the replicas. Resolves when they are ready. */
  async start(
    deployment: ManagedDeployment,
    spec: ReplicaSpec,
    places: DeploymentPlaces,
    options: { readonly signal: AbortSignal; readonly progress: Report; makeRoom: MakeRoom },
  ): Promise<void> {
    const { signal, progress, makeRoom } = options;
    signal.throwIfAborted();
    await places.look(); // again, because fetching the model may have taken long
    await this.countMemory(deployment.bound, spec, places);
    signal.throwIfAborted();
    deployment.places = places;
    deployment.replicas = new ReplicaSet({
      deployment: deployment.name,
      version: this.version(deployment.bound, spec, places),
      log: this.#options.log,
      env: this.#options.env,
      nice: this.#options.nice ?? 10,
      onProgress: ({ fraction, text }) => progress(fraction, text),
      makeRoom,
      telemetry: this.#options.telemetry,
      weightOf: this.#options.weightOf,
      socketsDir: this.#options.socketsDir,
      artifacts: this.#options.artifacts,
      remote: this.#options.remote,
      onChange: () => this.#others.onChange(),
      fence: this.#options.fence,
      ...this.#options.simulated,
    });
    await deployment.replicas.start(signal);
  }

  #calledBy({ handles = {} }: DeploymentOptions): Record<string, CalledDeployment> {
    const called = ([key, name]: [string, string]) =>
      [key, { name, methods: describeMethods(this.#others.methodsOf(name)) }] as const;
    return Object.fromEntries(Object.entries(handles).map(called));
  }

  version(bound: BoundDeployment, spec: ReplicaSpec, places: DeploymentPlaces): ReturnType<typeof replicaVersion> {
    return { ...replicaVersion(bound, spec, places), served: this.#others.servedTo(calleesOf(bound)) };
  }
}
