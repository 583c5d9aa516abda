import type * as z from 'zod';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { WeightType } from '../../../base/core/model-files/weight-types.ts';
import type { MemoryNeed } from '../builtin/memory-need.ts';
import type { MethodDescription } from './describe.ts';
import type { MethodTable } from './method.ts';

/** Source of model files for deployments: the model store, or a test double. */
export interface ModelSource {
  /** Returns the local file of a catalogue id, hub address or path. Fetches it if necessary. */
  pull(id: string, options: PullOptions): Promise<PulledModel>;
}

export interface PulledModel {
  readonly path: string;
  /** Digest of a file in the store. Undefined for a file elsewhere, beside which nothing is written. */
  readonly sha256?: string | undefined;
}

export interface PullOptions {
  /** Type of the weights of a GGUF model. A model with other weights is written once with this type. */
  readonly weightType?: WeightType;
  /** For a GGUF model of texts in ONNX form: its type of weights. It is written once. */
  readonly form?: 'onnx_q8' | 'onnx_fp16';
  /** Type of the weights of a Whisper model that is converted from a folder. Default: `q8_0`. */
  readonly whisperType?: string;
  /** Whether the projector that belongs to the model is pulled in its place. */
  readonly projector?: boolean;
  readonly signal?: AbortSignal;
  /** Called with the bytes so far. `total` is absent when the source does not report it. */
  readonly onProgress?: (bytes: number, total?: number, stage?: string) => void;
}

export interface PrepareContext {
  readonly models: ModelSource;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Environment of the host. */
  readonly env: NodeJS.ProcessEnv;
  /** Proxies and certificate authorities of the host, as JSON; undefined means none. */
  readonly network?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Returns the number of processors that each replica should keep busy. It limits the threads, even if the
   * configuration names more. Call it after the models are fetched, because it takes time to examine the machine.
   */
  cpus(): Promise<number>;
  /** Builds the library for images and audio in prompts, which projectors need. */
  buildImages?(): Promise<unknown>;
  /** GPUs per replica; 0 means the CPU. */
  readonly numGpus: number;
  /** The deployments that the deployment calls, by the keys of its handles. */
  readonly called?: Readonly<Record<string, CalledDeployment>> | undefined;
  /** Reports progress. `fraction` is 0 to 1, or undefined when unknown. */
  progress(fraction: number | undefined, text: string): void;
}

/** A deployment that another one calls, as the replicas of the latter know it. */
export interface CalledDeployment {
  readonly name: string;
  readonly methods: Readonly<Record<string, MethodDescription>>;
}

/** Start parameters of a replica as plain JSON: paths of local files, numbers and other final values. */
export type ReplicaSpec = Readonly<Record<string, unknown>>;

/** A type of deployment: its configuration, its methods, and the implementation that its replicas run. */
export interface DeploymentDefinition<
  Methods extends MethodTable = MethodTable,
  Schema extends z.core.$ZodType = z.core.$ZodType,
> {
  /** Name of the type, such as `WhisperDeployment`. */
  readonly name: string;
  /** Schema of `user_config`; unknown keys are refused. */
  readonly configSchema: Schema;
  readonly methods: Methods;
  /**
   * Returns the definition of a deployment with this configuration, which has only some of the methods. Returns the
   * same object for the same methods. Default: a deployment has all methods.
   */
  variant?(config: z.core.output<Schema>): DeploymentDefinition;
  /** Keys of the handles to deployments that it calls, with the names of these. Default: it calls none. */
  readonly handles?: Readonly<Record<string, string>> | undefined;
  /**
   * Keys of handles to deployments that it calls only where its options name them, and the method that each of these
   * must have. Default: none.
   */
  readonly optionalHandles?: Readonly<Record<string, string>> | undefined;
  /** Whether it has many models, of which a call names one. Default: no. */
  readonly isMultiplexed?: boolean;
  /** Returns the number of calls that one replica takes at the same time, unless the options set another number. */
  maxOngoingRequests(config: z.core.output<Schema>): number;
  /**
   * Whether a replica pauses calls of one user when another user waits. Then a user with less than an equal share of
   * the places gets a place beyond the number of calls. Default: no.
   */
  readonly pausesForOthers?: boolean;
  /**
   * Returns the threads of each replica that the configuration names, or undefined if it names none. `cpus` is the
   * number of processors of the machine.
   */
  threads?(
    config: z.core.output<Schema>,
    machine: { readonly cpus: number; readonly numGpus: number },
  ): number | undefined;
  /** Returns whether the dialogs of `chat` can have images. Default: no. */
  takesImages?(config: z.core.output<Schema>): boolean;
  /** Returns whether the dialogs of `chat` can have audio, which the model of such replicas hears. Default: no. */
  takesAudio?(spec: ReplicaSpec): boolean;
  /** Fetches model files and returns the start parameters of replicas. */
  prepare(config: z.core.output<Schema>, context: PrepareContext): Promise<ReplicaSpec>;
  /**
   * Returns the memory that a replica needs; `gpu` is whether it runs on a GPU. Without this method no memory is
   * counted.
   */
  memory?(spec: ReplicaSpec, options: { readonly gpu: boolean }): Promise<MemoryNeed>;
  /** Keys of `user_config` that running replicas can take through `reconfigure`. Default: none. */
  readonly reconfigurable?: readonly string[] | 'all';
  /**
   * Returns a text for a call. Calls with the same text prefer the same replica, which may have cached their beginning.
   */
  affinity?(method: string, args: Readonly<Record<string, unknown>>): string | undefined;
  /**
   * Methods that take audio while it is decoded, a `GrowingAudioReference`, with the name of the argument. All others
   * get it when it is complete.
   */
  readonly growingAudio?: Readonly<Record<string, string>>;
  /** Module that replicas run. It exports `start`. */
  readonly implementation: URL;
}
