export interface NativeDevice {
  /** ggml's name, such as `CPU` or `CUDA0`. */
  readonly name: string;
  readonly description: string;
  readonly type: 'cpu' | 'gpu' | 'accelerator';
  readonly memoryFreeBytes: number;
  readonly memoryTotalBytes: number;
}

/** A GPU, or a partition of one, as NVIDIA's driver reports it to this process. */
export interface NativeDriverGpu {
  /** Identifier for `CUDA_VISIBLE_DEVICES`: `GPU-…`, or `MIG-…` for a partition. */
  readonly uuid: string;
  readonly name: string;
  readonly memoryTotalBytes: number;
}

/** A backend for GPUs whose file was found. */
export interface NativeGpuBackend {
  readonly name: 'cuda' | 'vulkan';
  /** Why it has no devices, in the words of the loader or of the backend. Absent if it has some. */
  readonly problem?: string;
}
