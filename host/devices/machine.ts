/** One GPU, or one part of a GPU, that deployments may use. */
export interface Gpu {
  /**
   * What `CUDA_VISIBLE_DEVICES` takes for it: a UUID or an index; undefined for one that the variable has no say over.
   */
  readonly id: string | undefined;
  /** The engines' own name of it, where it has no `id`. */
  readonly device?: string | undefined;
  readonly name: string;
  /** 0 when unknown. */
  readonly memoryBytes: number;
  /** A part that the driver has cut off a GPU (MIG). A process can use one part, not several. */
  readonly isPart?: boolean | undefined;
}

/**
 * What other programs leave of a machine's memory. Each figure is undefined where it cannot be told; what was declared
 * has no function.
 */
export interface MemoryProbe {
  /** Bytes of main memory that can be had now; files that are only cached count as free. */
  readonly freeMainBytes?: (() => number | undefined) | undefined;
  /** Free bytes of each GPU, in the machine's order. Rejects with the signal's reason only. */
  readonly freeGpuBytes?: ((signal: AbortSignal | undefined) => Promise<readonly (number | undefined)[]>) | undefined;
}

/** What replicas can be placed on. */
export interface Machine {
  readonly gpus: readonly Gpu[];
  /** Main memory that this process and its children may use; 0 when unknown. */
  readonly memoryBytes: number;
  /** Processors that this process and its children may use; undefined when unknown. */
  readonly cpus?: number | undefined;
  /** Whether shares of GPUs go to the emptiest GPU, or to the fullest that has room. Default: `spread`. */
  readonly placement?: 'spread' | 'pack' | undefined;
  /** Undefined where nobody looks: the table alone counts. */
  readonly probe?: MemoryProbe | undefined;
}
