/** What guest code may use. */
export interface PluginLimits {
  /** Most bytes of memory an instance can grow to, in all of its memories and tables together. */
  readonly memoryBytes: number;
  /**
   * Most bytes of memory that all instances of a plugin have together. Each may have its equal share of it at any time.
   */
  readonly totalMemoryBytes: number;
  /** Milliseconds that an invocation may compute in all. */
  readonly cpuMs: number;
  /** Milliseconds a guest may compute without calling the host. */
  readonly cpuSliceMs: number;
  /** Milliseconds an invocation may take, waiting for its turn included. */
  readonly timeoutMs: number;
  /** Milliseconds a guest has to return once its invocation was cancelled or is over its deadline. */
  readonly graceMs: number;
  /** Most bytes of one answer: the result, or all streamed values together. */
  readonly outputBytes: number;
  /** Most calls of one invocation that the host's side has to answer. */
  readonly hostCalls: number;
  /** Most videos, audios, images, streams and helpers that one invocation holds at a time. */
  readonly handles: number;
  /** Most invocations of one plugin at a time where guests are suspended (Node 24 and later). */
  readonly maxSuspended: number;
  /**
   * Most threads of one plugin. Before Node 24 each holds one invocation; later, further ones are started while a guest
   * computes for long.
   */
  readonly maxThreads: number;
  /** Milliseconds that a thread beyond the first one of a plugin is kept without work, at least. */
  readonly idleMs: number;
  /** Most invocations of one plugin that wait for a place. */
  readonly maxQueued: number;
}

export const defaultLimits: PluginLimits = {
  memoryBytes: 128 * 1024 * 1024,
  totalMemoryBytes: 1024 * 1024 * 1024,
  cpuMs: 30_000,
  cpuSliceMs: 2_000,
  timeoutMs: 3_600_000,
  graceMs: 150,
  outputBytes: 64 * 1024 * 1024,
  hostCalls: 100_000,
  handles: 256,
  maxSuspended: 128,
  maxThreads: 8,
  idleMs: 60_000,
  maxQueued: 256,
};

/** Limits as `plugin.json` and `plugin_grants` write them; those left out are the host's. */
export interface LimitsByName {
  readonly memory_bytes?: number | undefined;
  readonly total_memory_bytes?: number | undefined;
  readonly cpu_ms?: number | undefined;
  readonly cpu_slice_ms?: number | undefined;
  readonly timeout_s?: number | undefined;
  readonly output_bytes?: number | undefined;
  readonly host_calls?: number | undefined;
  readonly handles?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly queue?: number | undefined;
}

/** Every limit by its name. */
export type NamedLimits = { readonly [K in keyof LimitsByName]-?: number };

/** The limits with the operator's own for one plugin in place of the general ones. */
export function withLimits(general: PluginLimits, own: LimitsByName): PluginLimits {
  return merged(general, own, (_, value) => value);
}

/** The limits where the plugin asks for less, its own. */
export function lowered(granted: PluginLimits, asked: LimitsByName): PluginLimits {
  return merged(granted, asked, Math.min);
}

/** The limits that a configuration's `plugin_limits` makes. */
export function limitsFrom(named: NamedLimits & { readonly threads: number }): PluginLimits {
  const limits = withLimits(defaultLimits, named);
  return { ...limits, maxThreads: Math.min(named.threads, named.concurrency) };
}

/** The limits by the names that operators know. */
export function namedLimits(limits: PluginLimits, concurrency: number): NamedLimits {
  return {
    memory_bytes: limits.memoryBytes,
    total_memory_bytes: limits.totalMemoryBytes,
    cpu_ms: limits.cpuMs,
    cpu_slice_ms: limits.cpuSliceMs,
    timeout_s: limits.timeoutMs / 1000,
    output_bytes: limits.outputBytes,
    host_calls: limits.hostCalls,
    handles: limits.handles,
    concurrency,
    queue: limits.maxQueued,
  };
}

function merged(limits: PluginLimits, own: LimitsByName, pick: (theirs: number, own: number) => number): PluginLimits {
  const of = (theirs: number, value: number | undefined): number =>
    value === undefined ? theirs : pick(theirs, value);
  return {
    ...limits,
    memoryBytes: of(limits.memoryBytes, own.memory_bytes),
    totalMemoryBytes: of(limits.totalMemoryBytes, own.total_memory_bytes),
    cpuMs: of(limits.cpuMs, own.cpu_ms),
    cpuSliceMs: of(limits.cpuSliceMs, own.cpu_slice_ms),
    timeoutMs: of(limits.timeoutMs, own.timeout_s === undefined ? undefined : own.timeout_s * 1000),
    outputBytes: of(limits.outputBytes, own.output_bytes),
    hostCalls: of(limits.hostCalls, own.host_calls),
    handles: of(limits.handles, own.handles),
    maxSuspended: of(limits.maxSuspended, own.concurrency),
    // Threads cost memory of their own: a plugin's concurrency never raises them.
    maxThreads: own.concurrency === undefined ? limits.maxThreads : Math.min(limits.maxThreads, own.concurrency),
    maxQueued: of(limits.maxQueued, own.queue),
  };
}
