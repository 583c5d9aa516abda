import * as z from 'zod';
import { MIB } from './fields.ts';

/** Limits that both all plugins and one plugin can have. */
const pluginLimits = {
  memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Memory of one component instance, in bytes, all of its memories and tables together; more is a trap (status 502).',
    ),
  total_memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Memory of all instances of one plugin, in bytes. An instance may always have its equal share, this divided by `concurrency`; more is a trap (status 502) while there is no more.',
    ),
  cpu_ms: z
    .int()
    .min(1)
    .describe('Milliseconds that one invocation may compute in all, with what the host computes for it (status 504).'),
  cpu_slice_ms: z
    .int()
    .min(1)
    .describe('Milliseconds that a plugin may compute without calling the host (status 504).'),
  timeout_s: z
    .number()
    .positive()
    .max(604_800)
    .describe('Time for one invocation, waiting for its turn included, in seconds (status 504).'),
  output_bytes: z
    .int()
    .min(1)
    .describe('Largest answer of one invocation, all streamed values together, in bytes (status 413).'),
  host_calls: z
    .int()
    .min(1)
    .describe('Calls of one invocation to the host; streamed values are no calls (status 413).'),
  handles: z
    .int()
    .min(1)
    .describe('Videos, audios, images, streams and helpers that one invocation holds at a time (status 413).'),
  concurrency: z.int().min(1).max(10_000).describe('Invocations of one plugin at the same time.'),
  queue: z
    .int()
    .min(0)
    .max(100_000)
    .describe(
      'Invocations of one plugin that wait for their turn; more are refused (status 503 with Retry-After), first those of the user with the most. Users take turns.',
    ),
};

export const PluginConfig = z.strictObject({
  memory_bytes: pluginLimits.memory_bytes.default(128 * MIB),
  total_memory_bytes: pluginLimits.total_memory_bytes.default(1024 * MIB),
  cpu_ms: pluginLimits.cpu_ms.default(30_000),
  cpu_slice_ms: pluginLimits.cpu_slice_ms.default(2000),
  timeout_s: pluginLimits.timeout_s.default(3600),
  output_bytes: pluginLimits.output_bytes.default(64 * MIB),
  host_calls: pluginLimits.host_calls.default(100_000),
  handles: pluginLimits.handles.default(256),
  concurrency: pluginLimits.concurrency.default(128),
  threads: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe(
      'Threads of one plugin. Before Node 24 each holds one invocation; later Nodes need one, and start further ones while a guest computes for long.',
    ),
  queue: pluginLimits.queue.default(256),
});

export const PluginGrant = z.strictObject({
  capabilities: z.array(z.string().min(1)).optional().describe('Capabilities that it may use; `*` is every one.'),
  deployments: z.array(z.string().min(1)).optional().describe('Deployments that it may call; `*` is every one.'),
  hosts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Hosts that it may make requests to, with `http`, and open media of that its request does not name, with `media`; `*` is every public one. Default: none.',
    ),
  limits: z.strictObject(pluginLimits).partial().optional().describe('Limits in place of those of `plugin_limits`.'),
});
