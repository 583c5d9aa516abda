import * as z from 'zod';
import type { Logger } from '../core/logger.ts';
import { loadComponent } from './component.ts';
import { defaultLimits, type PluginLimits } from './limits.ts';
import { pluginLoadError, readManifest } from './manifest.ts';
import { type PluginInvocation, PluginRuntime } from './plugin-runtime.ts';
import type { PluginPorts } from './ports.ts';
import type { RuntimeMode, WitEndpoint } from './protocol.ts';
import { bestMode } from './wasm-features.ts';

export interface PluginHostOptions {
  readonly ports: PluginPorts;
  /** Translated components are kept in its folder `plugins`. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly limits?: Partial<PluginLimits>;
  /** How guests wait for the host; by default the best that this Node can. */
  readonly mode?: RuntimeMode;
}

/** What one endpoint of a plugin takes and gives. */
export interface EndpointInfo {
  readonly name: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema of the output, or of one streamed value. */
  readonly outputSchema: Readonly<Record<string, unknown>>;
  readonly streaming: boolean;
}

/** A plugin that serves. */
export interface LoadedPlugin {
  readonly name: string;
  readonly version: string;
  /** SHA-256 of its component. */
  readonly digest: string;
  readonly endpoints: readonly EndpointInfo[];
  /** The endpoint's result as JSON. */
  run(invocation: PluginInvocation): Promise<string>;
  close(): Promise<void>;
}

const schema = z.string().transform((text, context): Record<string, unknown> => {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {} // said below
  context.addIssue('is not a JSON Schema object');
  return z.NEVER;
});

const Endpoints = z
  .array(
    z.object({
      name: z.string().regex(/^[a-z][\w-]*$/i, 'must be letters, digits, "_" and "-"'),
      path: z.string().regex(/^\/[\w\-./]+$/, 'must be a path such as "/video/transcribe"'),
      summary: z.string(),
      description: z.string(),
      inputSchema: schema,
      outputSchema: schema,
      streaming: z.boolean(),
    }),
  )
  .min(1, 'has no endpoint');

/** Loads plugins and runs their endpoints; each plugin has threads of its own. */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #limits: PluginLimits;
  readonly #loaded = new Map<string, PluginRuntime>();
  #isClosed = false;

  constructor(options: PluginHostOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** Loads a built plugin from its folder. Rejects with a `PluginLoadError` that names the plugin and what is wrong with it. */
  async load(dir: string): Promise<LoadedPlugin> {
    const startedAt = performance.now();
    const { name, version, component: file } = await readManifest(dir);
    if (this.#isClosed) throw pluginLoadError(name, 'cannot be loaded: the host is closing');
    if (this.#loaded.has(name)) throw pluginLoadError(name, 'is loaded already');
    const { ports, cacheDir, log, mode = bestMode() } = this.#options;
    const component = await loadComponent(file, { plugin: name, cacheDir, mode, memoryBytes: this.#limits.memoryBytes });
    if (this.#loaded.has(name)) throw pluginLoadError(name, 'is loaded already');
    const runtime = new PluginRuntime({ name, component, mode, limits: this.#limits, ports });
    this.#loaded.set(name, runtime);
    const close = async (): Promise<void> => {
      if (this.#loaded.get(name) === runtime) this.#loaded.delete(name);
      await runtime.close();
    };
    try {
      const described = await runtime.start().catch((cause: unknown) => {
        throw pluginLoadError(name, `cannot describe itself: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
      });
      const endpoints = endpointsOf(name, described);
      log.info('plugin loaded', { plugin: name, version, endpoints: endpoints.length, mode, ms: Math.round(performance.now() - startedAt) });
      return { name, version, digest: component.digest, endpoints, run: (invocation) => runtime.run(invocation), close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** Closes every plugin; what still runs fails as unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const runtimes = [...this.#loaded.values()];
    this.#loaded.clear();
    await Promise.all(runtimes.map((runtime) => runtime.close()));
  }
}

function endpointsOf(plugin: string, described: readonly WitEndpoint[]): EndpointInfo[] {
  const parsed = Endpoints.safeParse(described);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path: [index, field], message }) => [described[Number(index)]?.name, field, message].filter(Boolean).map(String).join(' '));
    throw pluginLoadError(plugin, `describes itself wrongly (${issues.join('; ')})`);
  }
  for (const field of ['name', 'path'] as const) {
    const values = parsed.data.map((endpoint) => endpoint[field]);
    const twice = values.find((value, n) => values.indexOf(value) !== n);
    if (twice !== undefined) throw pluginLoadError(plugin, `has two endpoints with the ${field} "${twice}"`);
  }
  return parsed.data;
}
