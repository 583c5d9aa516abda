import type * as z from 'zod';
import type { Logger } from '../../core/log/logger.ts';
import type { MemoryNeed } from '../builtin/memory-need.ts';
import type { MethodTable } from './method.ts';

/** Where deployments get model files from: the model store, or a stand-in. */
export interface ModelSource {
  /** Resolves a catalogue id, hub address or path to a local file, fetching it if need be. */
  pull(id: string, options: PullOptions): Promise<{ readonly path: string }>;
}

export interface PullOptions {
  readonly signal?: AbortSignal;
  /** Bytes so far; `total` is absent when the source does not say. */
  readonly onProgress?: (bytes: number, total?: number, stage?: string) => void;
}

export interface PrepareContext {
  readonly models: ModelSource;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /**
   * Processors that each replica should keep busy: at most so many threads compute, also where the configuration names
   * more. Ask once the models are there, because looking at the machine takes a while.
   */
  cpus(): Promise<number>;
  /** GPUs per replica; 0 is the CPU. */
  readonly numGpus: number;
  /** `fraction` is 0 to 1, undefined when unknown. */
  progress(fraction: number | undefined, text: string): void;
}

/** Plain JSON that a replica starts from: paths of local files and numbers, nothing left to look up. */
export type ReplicaSpec = Readonly<Record<string, unknown>>;

/** A kind of deployment: how it is configured, what it offers, and what runs in its replicas. */
export interface DeploymentDefinition<
  Methods extends MethodTable = MethodTable,
  Schema extends z.core.$ZodType = z.core.$ZodType,
> {
  /** The type's name, such as `WhisperDeployment`. */
  readonly name: string;
  /** Schema of `user_config`; unknown keys are refused. */
  readonly configSchema: Schema;
  readonly methods: Methods;
  /** Calls that one replica takes at the same time, unless the deployment's options say otherwise. */
  maxOngoingRequests(config: z.core.output<Schema>): number;
  /**
   * Threads of each replica that the configuration names; undefined where it names none.
   * `cpus`: the processors of the machine.
   */
  threads?(
    config: z.core.output<Schema>,
    machine: { readonly cpus: number; readonly numGpus: number },
  ): number | undefined;
  /** Fetches model files and turns a checked configuration into what replicas start from. */
  prepare(config: z.core.output<Schema>, context: PrepareContext): Promise<ReplicaSpec>;
  /** Memory that a replica made from `spec` needs; `gpu` is whether it runs on one. Without it nothing is counted. */
  memory?(spec: ReplicaSpec, options: { readonly gpu: boolean }): Promise<MemoryNeed>;
  /** Keys of `user_config` that replicas take while they run; their implementation has `reconfigure`. Default: none. */
  readonly reconfigurable?: readonly string[] | 'all';
  /** Calls for which it gives the same text prefer the same replica, which may still hold what they begin with. */
  affinity?(method: string, args: Readonly<Record<string, unknown>>): string | undefined;
  /** The module that replicas run; it exports `start`. */
  readonly implementation: URL;
}
