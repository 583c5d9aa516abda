/** One GPU that deployments may use. */
export interface Gpu {
  /** What `CUDA_VISIBLE_DEVICES` takes for it: a UUID or an index; undefined for one that the variable has no say over. */
  readonly id: string | undefined;
  readonly name: string;
  /** 0 when unknown. */
  readonly memoryBytes: number;
}

/** What replicas can be placed on. */
export interface Machine {
  readonly gpus: readonly Gpu[];
  /** Main memory that this process and its children may use. */
  readonly memoryBytes: number;
}
