/** What guest code may use. */
export interface PluginLimits {
  /** Most bytes of memory an instance can grow to. */
  readonly memoryBytes: number;
  /** Milliseconds a guest may compute without calling the host. */
  readonly cpuSliceMs: number;
  /** Milliseconds a guest has to return once its invocation was cancelled or is over its deadline. */
  readonly graceMs: number;
  /** Most bytes of one answer: the result, or all streamed values together. */
  readonly outputBytes: number;
  /** Most invocations of one plugin at a time where guests are suspended (Node 24 and later). */
  readonly maxSuspended: number;
  /** Most invocations of one plugin at a time where each holds a thread (before Node 24). */
  readonly maxThreads: number;
  /** Most invocations of one plugin that wait for a place. */
  readonly maxQueued: number;
}

export const defaultLimits: PluginLimits = {
  memoryBytes: 128 * 1024 * 1024,
  cpuSliceMs: 2_000,
  graceMs: 150,
  outputBytes: 64 * 1024 * 1024,
  maxSuspended: 128,
  maxThreads: 8,
  maxQueued: 256,
};
