import { availableParallelism } from 'node:os';
import * as z from 'zod';
import type { EndpointDescription } from '../../../base/core/endpoint-description.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { noTelemetry } from '../../../base/core/telemetry.ts';
import { type Capability, capabilityDefinitions } from '../capabilities/catalogue.ts';
import { readComponent } from '../component/component.ts';
import { readExtismModule } from '../extism/module.ts';
import { checkGrants, checkUses, type Granted, grantTo, type PluginGrants } from '../rights/grants.ts';
import { defaultLimits, type NamedLimits, namedLimits, type PluginLimits } from '../rights/limits.ts';
import type { LoadedComponent, TranslatedComponent } from '../component/loaded-component.ts';
import { type PluginManifest, pluginLoadError, readManifest } from './manifest.ts';
import type { PluginInvocation } from '../invocation/invocation.ts';
import type { InvocationCounters } from '../invocation/invocation-counters.ts';
import { PluginRuntime } from '../invocation/plugin-runtime.ts';
import { PluginTelemetry } from '../invocation/plugin-telemetry.ts';
import type { PluginPorts } from '../ports.ts';
import type { RuntimeMode, WitEndpoint } from '../invocation/protocol.ts';
import { readPositions } from '../component/source-positions.ts';
import { bestMode } from '../component/core-modules/wasm-features.ts';

export interface PluginHostOptions {
  readonly ports: PluginPorts;
  /** The cache. Translated components lie in its folder `plugins`. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly limits?: Partial<PluginLimits>;
  /** Grants of the operator. Default: each plugin gets what it requests. */
  readonly grants?: PluginGrants;
  /** How guests wait for the host. Default: the best mode of this Node. */
  readonly mode?: RuntimeMode;
}

/** A loaded plugin. */
export interface LoadedPlugin {
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the component. */
  readonly digest: string;
  readonly endpoints: readonly EndpointDescription[];
  /** Names of the deployments that it calls, without `*`. */
  readonly deployments: readonly string[];
  /** Runs an endpoint. Returns its result as JSON. */
  run(invocation: PluginInvocation): Promise<string>;
  readonly limits: NamedLimits;
  readonly rights: RightsOfPlugin;
  /** Bytes that the memories and tables of its instances have. */
  readonly memoryBytes: number;
  counters(): InvocationCounters;
  /** The number of threads that are ready for invocations. */
  readonly threads: number;
  /** Waits for all invocations, then closes. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum number of threads for helpers. Each thread has one instance. */
const maxHelperThreads = 4;
/** Bytes of a page of WebAssembly. */
const WASM_PAGE_BYTES = 65_536;

/** Rights that a plugin requests or has. */
export interface PluginRights {
  readonly capabilities: readonly Capability[];
  readonly deployments: readonly string[];
  readonly hosts: readonly string[];
}

/** What a plugin asks for, and what the operator grants it. */
export interface RightsOfPlugin {
  readonly asks: PluginRights;
  readonly gets: PluginRights;
}

/** A plugin before its component is compiled. */
interface ReadPlugin {
  readonly manifest: PluginManifest;
  readonly granted: Granted;
  readonly translated: TranslatedComponent;
}

/** The threads of one version of a plugin. */
interface Running {
  close(): Promise<unknown>;
}

/** The imports of a plugin, its requested rights and its granted rights. */
export interface PluginReport {
  readonly name: string;
  readonly version: string;
  readonly component: string;
  readonly digest: string;
  readonly imports: readonly string[];
  readonly asks: PluginRights;
  readonly gets: PluginRights;
  readonly limits: NamedLimits;
}

const schema = z.string().transform((text, context): Record<string, unknown> => {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {} // the check below reports it
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

/** Loads plugins and runs their endpoints. Each plugin has its own threads. */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #limits: PluginLimits;
  /** The version of each plugin that gets new requests. */
  readonly #loaded = new Map<string, Running>();
  readonly #running = new Set<Running>();
  readonly #runningOf = new WeakMap<LoadedPlugin, Running>();
  /** Telemetry by name of the plugin. All versions of a plugin report together. */
  readonly #telemetryOf = new Map<string, PluginTelemetry>();
  #isClosed = false;

  constructor(options: PluginHostOptions) {
    checkGrants(options.grants ?? {});
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /**
   * Returns the imports of a built plugin, its requested rights and the rights that it would get. It runs no code of
   * the plugin. Rejects with a `PluginLoadError` like {@link load}.
   */
  async inspect(source: string): Promise<PluginReport> {
    const { manifest, granted, translated } = await this.#read(source);
    const { name, version } = manifest;
    return {
      name,
      version,
      component: manifest.component,
      digest: translated.digest,
      imports: translated.imports,
      asks: asksOf(manifest),
      gets: rightsOf(granted),
      limits: this.#named(granted.limits),
    };
  }

  /**
   * Compiles a built plugin. Rejects like {@link load} unless it can be started. It runs no code of the plugin, so its
   * endpoints stay unknown.
   */
  async check(source: string): Promise<void> {
    await this.#compile(await this.#read(source));
  }

  /**
   * Loads a built plugin from its folder or component file. Rejects with a `PluginLoadError` that names the plugin and
   * the problem. A new version is loaded beside `replaces`, which serves until it is drained or closed.
   */
  async load(
    source: string,
    { replaces }: { readonly replaces?: LoadedPlugin | undefined } = {},
  ): Promise<LoadedPlugin> {
    const startedAt = performance.now();
    const read = await this.#read(source);
    const { manifest, granted, translated } = read;
    const { name, version } = manifest;
    if (this.#isClosed) throw pluginLoadError(name, 'cannot be loaded: the host is closing');
    // A closure here must not name `replaces`, because each version would then keep its predecessor in memory.
    if (this.#isTaken(name, replaces)) throw pluginLoadError(name, 'is loaded already');
    const { ports, log } = this.#options;
    const mode = this.#mode;
    const component = await this.#compile(read);
    const inSources = await readPositions(manifest.component, translated.digest);
    if (this.#isClosed) throw pluginLoadError(name, 'cannot be loaded: the host is closing');
    if (this.#isTaken(name, replaces)) throw pluginLoadError(name, 'is loaded already');
    const shared = {
      name,
      component,
      mode,
      granted,
      ports,
      telemetry: this.#telemetry(name),
      inSources,
      pages: new Int32Array(new SharedArrayBuffer(4)),
    };
    const helpers = new PluginRuntime({
      ...shared,
      helperThreads: Math.max(2, Math.min(maxHelperThreads, availableParallelism())),
    });
    const runtime = new PluginRuntime({ ...shared, runHelper: (invocation) => helpers.run(invocation) });
    const running: Running = { close: () => Promise.all([runtime.close(), helpers.close()]) };
    const previous = this.#loaded.get(name);
    this.#loaded.set(name, running);
    this.#running.add(running);
    const release = (): void => {
      if (this.#loaded.get(name) === running) this.#loaded.delete(name);
    };
    const close = async (): Promise<void> => {
      release();
      await running.close();
      this.#running.delete(running);
    };
    const drain = async (): Promise<void> => {
      release();
      await runtime.drain(); // helpers end with their parents
      await helpers.close();
      this.#running.delete(running);
    };
    try {
      const described = await runtime.start().catch((cause: unknown) => {
        throw pluginLoadError(
          name,
          `cannot describe its endpoints: ${cause instanceof Error ? cause.message : String(cause)}`,
          cause,
        );
      });
      const endpoints = withOptions(endpointsOf(name, described), manifest, granted.limits);
      log.info('plugin loaded', {
        plugin: name,
        version,
        endpoints: endpoints.length,
        mode,
        ms: Math.round(performance.now() - startedAt),
      });
      const plugin: LoadedPlugin = {
        name,
        version,
        digest: component.digest,
        endpoints,
        deployments: manifest.deployments.filter((deployment) => deployment !== '*'),
        limits: this.#named(granted.limits),
        rights: { asks: asksOf(manifest), gets: rightsOf(granted) },
        get memoryBytes() {
          return Atomics.load(shared.pages, 0) * WASM_PAGE_BYTES;
        },
        run: (invocation) => runtime.run(invocation),
        counters: () => ({ ...runtime.counters(), cpuMs: runtime.counters().cpuMs + helpers.counters().cpuMs }),
        get threads() {
          return runtime.threads;
        },
        drain,
        close,
      };
      this.#runningOf.set(plugin, running);
      return plugin;
    } catch (error) {
      await close();
      if (previous) this.#loaded.set(name, previous);
      throw error;
    }
  }

  /** Undoes a load: closes `plugin` and gives its name back to the previous version. */
  async restore(plugin: LoadedPlugin, replaced: LoadedPlugin | undefined): Promise<void> {
    await plugin.close();
    const running = replaced && this.#runningOf.get(replaced);
    if (running && replaced.name === plugin.name) this.#loaded.set(replaced.name, running);
  }

  /** Returns whether another plugin than `replaces` has the name. */
  #isTaken(name: string, replaces: LoadedPlugin | undefined): boolean {
    return this.#loaded.has(name) && (!replaces || this.#loaded.get(name) !== this.#runningOf.get(replaces));
  }

  #telemetry(plugin: string): PluginTelemetry {
    const telemetry =
      this.#telemetryOf.get(plugin) ?? new PluginTelemetry(plugin, this.#options.ports.telemetry ?? noTelemetry);
    this.#telemetryOf.set(plugin, telemetry);
    return telemetry;
  }

  get #mode(): RuntimeMode {
    return this.#options.mode ?? bestMode();
  }

  #compile({ manifest, granted, translated }: ReadPlugin): Promise<LoadedComponent> {
    checkUses(manifest, translated.uses, granted);
    return translated.compile(granted.limits.memoryBytes);
  }

  async #read(source: string): Promise<ReadPlugin> {
    const manifest = await readManifest(source);
    const granted = grantTo(manifest, this.#options.grants ?? {}, this.#limits);
    const { name: plugin, component: file, runtime } = manifest;
    const read = runtime === 'extism' ? readExtismModule : readComponent;
    const translated = await read(file, { plugin, cacheDir: this.#options.cacheDir, mode: this.#mode });
    return { manifest, granted, translated };
  }

  #named(limits: PluginLimits): NamedLimits {
    return namedLimits(limits, this.#mode === 'suspending' ? limits.maxSuspended : limits.maxThreads);
  }

  /** Closes every plugin. Invocations that still run fail as unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#running];
    this.#loaded.clear();
    this.#running.clear();
    await Promise.all(all.map((running) => running.close()));
  }
}

/** Returns the grants that have an effect: no deployments without a capability that calls them. */
function asksOf({ capabilities, deployments, hosts }: PluginManifest): PluginRights {
  return { capabilities, deployments, hosts };
}

function rightsOf({ capabilities, deployments, hosts }: Granted): PluginRights {
  const callsDeployments = [...capabilities].some((name) => capabilityDefinitions[name].callsDeployments);
  return {
    capabilities: [...capabilities],
    deployments: callsDeployments ? deployments : [],
    hosts: capabilities.has('http') || capabilities.has('media') ? hosts : [],
  };
}

function endpointsOf(plugin: string, described: readonly WitEndpoint[]): EndpointDescription[] {
  const parsed = Endpoints.safeParse(described);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path: [index, field], message }) =>
      [described[Number(index)]?.name, field, message].filter(Boolean).map(String).join(' '),
    );
    throw pluginLoadError(plugin, `describes its endpoints incorrectly (${issues.join('; ')})`);
  }
  for (const field of ['name', 'path'] as const) {
    const values = parsed.data.map((endpoint) => endpoint[field]);
    const twice = values.find((value, n) => values.indexOf(value) !== n);
    if (twice !== undefined) throw pluginLoadError(plugin, `has two endpoints with the ${field} "${twice}"`);
  }
  return parsed.data;
}

/**
 * Returns the endpoints with their settings in the manifest. An attempt of a task has no more time than the plugin's
 * limit.
 */
function withOptions(
  endpoints: readonly EndpointDescription[],
  { name: plugin, endpoints: options }: PluginManifest,
  { timeoutMs }: PluginLimits,
): EndpointDescription[] {
  const unknown = Object.keys(options).find((name) => !endpoints.some((endpoint) => endpoint.name === name));
  if (unknown !== undefined)
    throw pluginLoadError(
      plugin,
      `has options in its plugin.json for an endpoint "${unknown}", which it does not have; there are ` +
        `${endpoints.map(({ name }) => name).join(', ')}`,
    );
  return endpoints.map((endpoint) => {
    const {
      defer,
      execution_timeout_s: seconds,
      tags,
    } = Object.hasOwn(options, endpoint.name) ? options[endpoint.name]! : {};
    return {
      ...endpoint,
      ...(defer && { deferOption: defer }),
      ...(seconds !== undefined && { executionTimeoutS: Math.min(seconds, timeoutMs / 1000) }),
      ...(tags && { tags }),
    };
  });
}
