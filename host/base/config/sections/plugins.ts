import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { givenSetting } from '../../core/secrets/given-settings.ts';
import { whole } from '../../core/fields.ts';
import { MIB } from './fields.ts';

/** Limits that can be set for all plugins and for one plugin. */
const pluginLimits = {
  memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Each memory of one instance, in bytes. A component has four at most, and most have one. Growing beyond it ' +
        'fails in the plugin: status 413, or usually 502 in another language than TypeScript.',
    ),
  total_memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Memory of the process of one plugin with all its instances, in bytes, beside what the process itself needs ' +
        '(on Linux). A process beyond it may end, and is started again; requests that had effects fail (status 503). ' +
        'The process of an Extism plugin may have more: twice `memory_bytes` for each place.',
    ),
  cpu_ms: z
    .int()
    .min(1)
    .describe(
      'CPU time of one invocation, in milliseconds, including the work that the host does for it (status 504).',
    ),
  cpu_slice_ms: z
    .int()
    .min(1)
    .describe('CPU time that a plugin may use without calling the host, in milliseconds (status 504).'),
  timeout_s: z
    .number()
    .positive()
    .max(604_800)
    .describe('Time limit of one invocation, including its wait in the queue, in seconds (status 504).'),
  output_bytes: z
    .int()
    .min(1)
    .describe('Largest answer of one invocation, in bytes, all streamed values together (status 413).'),
  host_calls: z
    .int()
    .min(1)
    .describe('Most calls that one invocation makes to the host (status 413). Streamed values are not counted.'),
  handles: z
    .int()
    .min(1)
    .describe(
      'Most videos, audios, images, streams and helpers that one invocation holds at the same time (status 413).',
    ),
  concurrency: z
    .int()
    .min(1)
    .max(4_000)
    .describe('Most invocations of one plugin at the same time, also of those that wait for a model.'),
  queue: z
    .int()
    .min(0)
    .max(100_000)
    .describe(
      'Most invocations of one plugin that wait. Further ones are refused (status 503 with Retry-After), first ' +
        'those of the user with the most waiting. Users take turns.',
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
  threads: whole(
    { min: 1, max: 64, default: 8 },
    'Most threads of the process of one plugin. Invocations of a component share them, and there are never more ' +
      'than half of the processors. An Extism plugin has one for each invocation, so it runs at most this many at ' +
      'the same time.',
  ),
  queue: pluginLimits.queue.default(256),
});

export const PluginBuilds = z.strictObject({
  timeout_s: z
    .number()
    .positive()
    .max(86_400)
    .default(120)
    .describe('Time limit of the build of one plugin, in seconds. A build runs the top level of the sources.'),
  memory_bytes: whole(
    { min: 64 * MIB, default: 2048 * MIB },
    'Memory of the build of one plugin, in bytes (on Linux).',
  ),
});

export const PluginGrant = z.strictObject({
  capabilities: z.array(z.string().min(1)).optional().describe('Capabilities that the plugin may use; `*` is all.'),
  deployments: z.array(z.string().min(1)).optional().describe('Deployments that the plugin may call; `*` is all.'),
  hosts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Hosts that the plugin may reach: with `http` for requests, with `media` for media that the client’s request ' +
        'does not name. `*` is every public host. Default: none.',
    ),
  limits: z
    .strictObject(pluginLimits)
    .partial()
    .optional()
    .describe('Limits of this plugin that replace those of `plugin_limits`.'),
});

/** Messages have no value, because a secret may be in the wrong place. */
export const PluginSettings = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be the name of a setting, alone or with "_env" or "_file"'),
    z.union([z.string(), z.number(), z.boolean()], 'must be a text, a number or a boolean'),
  )
  .check(({ value: values, issues }) => {
    const names = new Set<string>();
    for (const [key, value] of Object.entries(values)) {
      const { name, by } = givenSetting(key, value);
      const refuse = (message: string): unknown =>
        issues.push({ code: 'custom', input: undefined, path: [key], message });
      if (names.has(name)) refuse(`${name} is given twice; give one of ${name}, ${name}_env and ${name}_file`);
      else if (by === 'environment' && (typeof value !== 'string' || !/^[A-Za-z_]\w*$/.test(value)))
        refuse('must be the name of an environment variable');
      else if (by === 'file' && (typeof value !== 'string' || !isAbsolute(value)))
        refuse('must be the absolute path of a file');
      names.add(name);
    }
  });
