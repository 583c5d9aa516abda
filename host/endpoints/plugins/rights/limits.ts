import * as z from 'zod';

/** Limits for guest code. */
export interface PluginLimits {
  /** Maximum bytes of each memory of an instance. */
  readonly memoryBytes: number;
  /** Maximum bytes of the plugin's process with all instances, beside what the process itself needs. */
  readonly totalMemoryBytes: number;
  /** Milliseconds of computing for a whole invocation. */
  readonly cpuMs: number;
  /** Milliseconds of computing without a call that the host answers. */
  readonly cpuSliceMs: number;
  /** Milliseconds for an invocation, including the wait for its turn. */
  readonly timeoutMs: number;
  /** Milliseconds in which a guest must return after its invocation was cancelled or has passed its deadline. */
  readonly graceMs: number;
  /** Maximum bytes of one answer: the result, or all streamed values together. */
  readonly outputBytes: number;
  /** Maximum number of calls of one invocation that the host must answer. */
  readonly hostCalls: number;
  /** Maximum number of videos, audios, images, streams and helpers that one invocation holds at a time. */
  readonly handles: number;
  /** Maximum number of concurrent invocations of one component. */
  readonly maxConcurrent: number;
  /** Maximum number of threads of one plugin's process. An Extism plugin has one for each concurrent invocation. */
  readonly maxThreads: number;
  /** Maximum number of invocations of one plugin that wait for a place. */
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
  maxConcurrent: 128,
  maxThreads: 8,
  maxQueued: 256,
};

const whole = z.int().min(1);

/** Limits in the form of `plugin.json` and `plugin_grants`. Absent limits have the host's value. */
export const LimitsByName = z
  .strictObject({
    memory_bytes: whole.min(65_536),
    total_memory_bytes: whole.min(65_536),
    cpu_ms: whole,
    cpu_slice_ms: whole,
    timeout_s: z.number().positive(),
    output_bytes: whole,
    host_calls: whole,
    handles: whole,
    concurrency: whole,
    queue: whole.min(0),
  })
  .partial();
export type LimitsByName = Readonly<z.output<typeof LimitsByName>>;

/** All limits by name. */
export type NamedLimits = { readonly [K in keyof LimitsByName]-?: number };

/** Returns the limits with those that the operator sets for one plugin. */
export function withLimits(general: PluginLimits, own: LimitsByName): PluginLimits {
  return merged(general, own, (_, value) => value);
}

/** Returns the limits, lowered where the plugin requests less. */
export function lowered(granted: PluginLimits, asked: LimitsByName): PluginLimits {
  return merged(granted, asked, Math.min);
}

/** Returns the limits from `plugin_limits` in the configuration. */
export function limitsFrom(named: NamedLimits & { readonly threads: number }): PluginLimits {
  const limits = withLimits(defaultLimits, named);
  return { ...limits, maxThreads: Math.min(named.threads, named.concurrency) };
}

/** Returns the limits by the names in the configuration. */
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
    maxConcurrent: of(limits.maxConcurrent, own.concurrency),
    // A thread costs memory, so the plugin's concurrency never raises the number of threads.
    maxThreads: own.concurrency === undefined ? limits.maxThreads : Math.min(limits.maxThreads, own.concurrency),
    maxQueued: of(limits.maxQueued, own.queue),
  };
}
