import { readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import * as z from 'zod';
import { DEFER_OPTIONS, MAX_EXECUTION_TIMEOUT_S } from '../../../base/core/endpoint-description.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import {
  type Capability,
  capabilityDefinitions,
  capabilityNames,
  commonInterfaces,
} from '../capabilities/catalogue.ts';
import { hostPattern } from '../capabilities/hosts.ts';
import { DeclaredSettings } from '../rights/declared-settings.ts';
import { LimitsByName } from '../rights/limits.ts';

const inside = z
  .string()
  .refine(
    (path) => !isAbsolute(path) && !relative('.', path).startsWith('..'),
    'must be a path inside the plugin folder',
  );

const EndpointOptions = z.strictObject({
  defer: z.enum(DEFER_OPTIONS).optional(),
  execution_timeout_s: z.number().positive().max(MAX_EXECUTION_TIMEOUT_S).optional(),
  tags: z.array(z.string().min(1)).min(1).optional(),
});

/** Settings of one endpoint in a manifest. */
export type EndpointOptions = z.infer<typeof EndpointOptions>;

const Manifest = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be lower-case words joined by "-"'),
  version: z.string().regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/, 'must be a version such as "1.0.0"'),
  description: z.optional(z.string()),
  runtime: z.enum(['component', 'extism']).default('component'),
  component: z.optional(inside),
  entry: z.optional(inside),
  capabilities: z
    .array(
      z.enum(
        capabilityNames,
        `must be one of ${capabilityNames.join(', ')}; ${commonInterfaces.join(', ')} are always there`,
      ),
    )
    .default([]),
  deployments: z.array(z.string().min(1)).default([]),
  hosts: z
    .array(
      z
        .string()
        .regex(
          hostPattern,
          'must be a host such as "api.example.org" or "*.example.org", with ":port" for a port other than the default',
        ),
    )
    .default([]),
  endpoints: z.record(z.string().min(1), EndpointOptions).default({}),
  limits: LimitsByName.default({}),
  settings: DeclaredSettings.default({}),
});
const CheckedManifest = Manifest.refine(
  ({ deployments, capabilities }) =>
    deployments.length === 0 || capabilities.some((name) => capabilityDefinitions[name].callsDeployments),
  {
    path: ['deployments'],
    message: 'are named, but none of "deployments", "asr", "ocr" and "llm" is among the capabilities',
  },
)
  .refine(
    ({ hosts, capabilities }) => hosts.length === 0 || capabilities.includes('http') || capabilities.includes('media'),
    { path: ['hosts'], message: 'are named, but neither "http" nor "media" is among the capabilities' },
  )
  .check(({ value: { endpoints, limits }, issues }) => {
    for (const [name, { execution_timeout_s: seconds = 0 }] of Object.entries(endpoints)) {
      if (limits.timeout_s === undefined || seconds <= limits.timeout_s) continue;
      issues.push({
        code: 'custom',
        input: seconds,
        path: ['endpoints', name, 'execution_timeout_s'],
        message: `is longer than limits.timeout_s, after which every run is ended (${limits.timeout_s})`,
      });
    }
  });

/** The `plugin.json` of a plugin, with absolute paths. In deployments and hosts, `*` stands for all. */
export type PluginManifest = Readonly<
  Omit<z.output<typeof Manifest>, 'description' | 'capabilities'> & {
    /** The folder of the plugin. */
    dir: string;
    description: string | undefined;
    /** The component file. Default: `dist/<name>.wasm`. It may not be built yet. */
    component: string;
    /** The source of the component. Default: `src/index.ts`. Plugins in other languages have none. */
    entry: string;
    capabilities: readonly Capability[];
  }
>;

/**
 * Reads and checks the `plugin.json` of a folder. A single component file has no `plugin.json`: it has the name of the
 * file and requests everything. Throws `PluginLoadError` with the reason.
 */
export async function readManifest(source: string): Promise<PluginManifest> {
  const root = resolve(source);
  if (isComponentFile(root)) return bareManifest(root);
  const path = join(root, 'plugin.json');
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw pluginLoadError(root, 'has no readable plugin.json', cause);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw pluginLoadError(root, `has a plugin.json that is not JSON (${(cause as Error).message})`, cause);
  }
  const parsed = CheckedManifest.safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues
      .map((issue) => {
        const { message } = (issue.code === 'invalid_key' && issue.issues[0]) || issue;
        return `${issue.path.join('.') || 'plugin.json'}: ${message}`;
      })
      .join('; ');
    throw pluginLoadError(root, `has an invalid plugin.json (${issues})`);
  }
  const { name, description, component = `dist/${name}.wasm`, entry = 'src/index.ts' } = parsed.data;
  return { ...parsed.data, dir: root, description, component: join(root, component), entry: join(root, entry) };
}

/** Whether a path is a component file without a plugin folder. */
export function isComponentFile(path: string): boolean {
  return path.endsWith('.wasm');
}

function bareManifest(file: string): PluginManifest {
  const words =
    basename(file, '.wasm')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const name = words.join('-').replace(/^[^a-z]+/, '');
  if (name === '') throw pluginLoadError(file, 'has no name: its file name must contain letters');
  return {
    dir: dirname(file),
    name,
    version: '0.0.0',
    description: undefined,
    runtime: 'component',
    component: file,
    entry: file,
    capabilities: capabilityNames,
    deployments: ['*'],
    hosts: ['*'],
    limits: {},
    endpoints: {},
    settings: {},
  };
}

/** Returns the error of a plugin that cannot be used: "plugin <its name or folder> <reason>". */
export function pluginLoadError(plugin: string, reason: string, cause?: unknown): AanaError {
  return fail('PluginLoadError', `plugin ${plugin} ${reason}`, { data: { plugin }, cause });
}
