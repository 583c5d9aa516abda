/** Memory of a replica, which its process reports after loading and with each health check. */
export interface ReplicaMemory {
  /** Bytes of private main memory. */
  readonly privateBytes: number;
  /** Bytes of main memory that are mapped from files, such as programs and models, and shared with other processes. */
  readonly fileBytes: number;
  /** Memory of each of its GPUs, in their order; empty without a GPU, or if the engine cannot report it. */
  readonly gpus: readonly GpuMemory[];
}

export interface GpuMemory {
  /** Bytes that came into use since the process began to load. */
  readonly usedBytes: number;
  /** Bytes that all programs together leave free. */
  readonly freeBytes: number;
}
