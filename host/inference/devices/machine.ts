import type { Processor } from '../../base/core/machine/processors.ts';

/** One GPU, or one part of a GPU, that deployments may use. */
export interface Gpu {
  /**
   * Its value in `CUDA_VISIBLE_DEVICES`: a UUID or an index. Undefined for a GPU to which the variable does not apply.
   */
  readonly id: string | undefined;
  /** The engines' name of a GPU without `id`. */
  readonly device?: string | undefined;
  readonly name: string;
  /** Total memory in bytes; 0 when unknown. */
  readonly memoryBytes: number;
  /** Whether it is a part of a GPU that the driver has divided (MIG). A process can use only one part. */
  readonly isPart?: boolean | undefined;
}

/**
 * Functions that measure a machine's free memory. Results are undefined when they cannot be measured; declared memory
 * has no function.
 */
export interface MemoryProbe {
  /** Returns the free bytes of main memory. Cached files count as free. */
  readonly freeMainBytes?: (() => number | undefined) | undefined;
  /** Returns the free bytes of each GPU, in the machine's order. Rejects only with the signal's reason. */
  readonly freeGpuBytes?: ((signal: AbortSignal | undefined) => Promise<readonly (number | undefined)[]>) | undefined;
}

/** Why GPUs cannot be used. */
export interface GpuProblem {
  /** What is wrong, in one sentence. */
  readonly found: string;
  /** What to do about it. */
  readonly advice: string;
}

/** The devices for replicas. */
export interface Machine {
  readonly gpus: readonly Gpu[];
  /** Why GPUs that the machine may have are not among them. */
  readonly problems?: readonly GpuProblem[] | undefined;
  /** Main memory that this process and its children may use; 0 when unknown. */
  readonly memoryBytes: number;
  /** Processors that this process and its children may use; undefined when unknown. */
  readonly cpus?: number | undefined;
  /** Cores among them: hardware threads of one core count once. Default: `cpus`. */
  readonly cores?: number | undefined;
  /** The processors to which replicas can be bound; undefined where nothing can bind processes. */
  readonly processors?: readonly Processor[] | undefined;
  /** Whether shares of GPUs go to the emptiest GPU, or to the fullest that has room. Default: `spread`. */
  readonly placement?: 'spread' | 'pack' | undefined;
  /** Measures free memory. Without it only the ledger counts. */
  readonly probe?: MemoryProbe | undefined;
}
