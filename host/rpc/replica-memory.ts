/** Memory that a replica uses, as its process tells after loading and with each health check. */
export interface ReplicaMemory {
  /** Bytes of main memory that are the process's own. */
  readonly privateBytes: number;
  /** Bytes of main memory that it shares with others, because they are mapped from files: programs, and models. */
  readonly fileBytes: number;
  /** Of each GPU that it was given, in their order; empty without one, or where its engine cannot tell. */
  readonly gpus: readonly GpuMemory[];
}

export interface GpuMemory {
  /** Bytes that became used since the process began to load. */
  readonly usedBytes: number;
  /** Bytes that are free, as all programs together leave them. */
  readonly freeBytes: number;
}
