import * as z from 'zod';
import type { EndpointDescription } from '../../../base/core/endpoint-description.ts';
import type { GivenSettings } from '../../../base/core/secrets/given-settings.ts';
import type { Logger, LogLevel } from '../../../base/core/log/logger.ts';
import { noTelemetry } from '../../../base/core/telemetry.ts';
import { type Capability, capabilityDefinitions } from '../capabilities/catalogue.ts';
import { readExtismModule } from '../extism/read-module.ts';
import { readPositions } from '../build/source-positions.ts';
import { checkGrants, checkUses, type Granted, grantTo, type PluginGrants } from '../rights/grants.ts';
import { PluginSettings, type SettingState } from '../rights/plugin-settings.ts';
import { defaultLimits, type NamedLimits, namedLimits, type PluginLimits } from '../rights/limits.ts';
import { type PluginManifest, pluginLoadError, readManifest } from './manifest.ts';
import type { PluginInvocation } from '../invocation/invocation.ts';
import type { InvocationCounters } from '../invocation/invocation-counters.ts';
import { boundedEndpoints } from '../invocation/border.ts';
import { GuestLines } from '../invocation/guest-lines.ts';
import { PluginProcess } from '../invocation/plugin-process.ts';
import { PluginRuntime, runLimits } from '../invocation/plugin-runtime.ts';
import { PluginTelemetry } from '../invocation/plugin-telemetry.ts';
import type { PluginPorts } from '../ports.ts';
import { lastWords, maxPrinted } from '../invocation/printed.ts';
import type { WitEndpoint } from '../invocation/protocol.ts';
import { type Confinement, requireConfinement, type SandboxProgram } from '../sandbox/index.ts';
import { readComponent } from './component.ts';
import { type PluginCode, startMs } from './plugin-code.ts';
import { memoryOf } from './process-memory.ts';

export interface PluginHostOptions {
  readonly ports: PluginPorts;
  /** The cache. Compiled components lie in its folder `plugins`. */
  readonly cacheDir: string;
  /** Returns the program that runs plugins in confinement. It is asked for when the first plugin is read. */
  readonly sandbox: () => Promise<SandboxProgram>;
  readonly log: Logger;
  readonly limits?: Partial<PluginLimits>;
  /** Grants of the operator. Default: each plugin gets what it requests. */
  readonly grants?: PluginGrants;
  /** Values for settings of plugins. Default: none. */
  readonly settings?: GivenSettings;
  /** Variables of the environment that settings may name. Default: none. */
  readonly env?: NodeJS.ProcessEnv;
  /** Whether a plugin is refused where the kernel does not enforce its confinement. Default: it is not. */
  readonly confinement?: 'prefer' | 'require' | undefined;
  /**
   * Milliseconds without an invocation after which the process of a plugin ends, until the next one. Default: never.
   */
  readonly idleMs?: number | undefined;
  /** Whether components are compiled in a fifth of the time to code that is half as fast. Default: no. */
  readonly isFast?: boolean | undefined;
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
  /** Its settings as they are given now. */
  settings(): readonly SettingState[];
  /** The number of its process. Undefined while it does not run. */
  readonly pid: number | undefined;
  /** Bytes of memory that its process has for itself. Undefined while it does not run, and where nobody tells. */
  readonly memoryBytes: number | undefined;
  /** What the kernel enforces for its process. Undefined while it does not run. */
  readonly confinement: Confinement | undefined;
  /** How often its process has ended unexpectedly. */
  readonly restarts: number;
  /** Whether its process has ended because nothing ran. The next invocation starts it. */
  readonly isIdle: boolean;
  counters(): InvocationCounters;
  /** Waits for all invocations, then closes. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum number of helpers that run at a time. */
const maxHelpers = 4;

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

/** A plugin before it runs. */
interface ReadPlugin {
  readonly manifest: PluginManifest;
  readonly granted: Granted;
  readonly settings: PluginSettings;
  readonly code: PluginCode;
}

/** The process of one version of a plugin. */
interface Running {
  readonly settings: PluginSettings;
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
  readonly settings: readonly SettingState[];
  /**
   * Starts the process of the plugin and ends it. Rejects unless it can be started. It runs no code of the plugin, so
   * its endpoints stay unknown.
   */
  tryStart(): Promise<void>;
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
      path: z.string().regex(/^\/[\w\-./{}]+$/, 'must be a path such as "/video/transcribe"'),
      summary: z.string(),
      description: z.string(),
      inputSchema: schema,
      outputSchema: schema,
      streaming: z.boolean(),
    }),
  )
  .min(1, 'has no endpoint');

/** Loads plugins and runs their endpoints. Each plugin has a process of its own. */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #limits: PluginLimits;
  /** The version of each plugin that gets new requests. */
  readonly #loaded = new Map<string, Running>();
  readonly #running = new Set<Running>();
  readonly #runningOf = new WeakMap<LoadedPlugin, Running>();
  /** Telemetry by name of the plugin. All versions of a plugin report together. */
  readonly #telemetryOf = new Map<string, PluginTelemetry>();
  /** Aborted when the host closes. It ends compilations. */
  readonly #closing = new AbortController();
  #given: GivenSettings;

  constructor(options: PluginHostOptions) {
    checkGrants(options.grants ?? {});
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#given = options.settings ?? {};
  }

  /** Takes other values for settings. The next invocations have them. */
  configureSettings(given: GivenSettings): void {
    this.#given = given;
  }

  /** Returns the secrets that loaded plugins have now. */
  secrets(): string[] {
    return [...this.#running].flatMap(({ settings }) => settings.read().secrets);
  }

  /**
   * Returns the imports of a built plugin, its requested rights and the rights that it would get. It runs no code of
   * the plugin. Rejects with a `PluginLoadError` like {@link load}.
   */
  async inspect(source: string): Promise<PluginReport> {
    const read = await this.#read(source);
    const { manifest, granted, settings, code } = read;
    const { name, version } = manifest;
    return {
      name,
      version,
      component: manifest.component,
      digest: code.digest,
      imports: code.imports,
      asks: asksOf(manifest),
      gets: rightsOf(granted),
      limits: namedLimits(granted.limits, code.concurrency(granted.limits)),
      settings: settings.read().states,
      tryStart: async () => {
        const process = await this.#start(read);
        await process.close();
      },
    };
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
    const { manifest, granted, settings, code } = read;
    const { name, version } = manifest;
    const { ports, log } = this.#options;
    // A closure here must not name `replaces`, because each version would then keep its predecessor in memory.
    this.#requireRoom(name, replaces);
    const inSources = await readPositions(manifest.component, code.digest);
    const process = await this.#start(read);
    try {
      this.#requireRoom(name, replaces);
    } catch (error) {
      await process.close();
      throw error;
    }
    const shared = { name, process, granted, settings, ports, telemetry: this.#telemetry(name), inSources };
    const concurrency = code.concurrency(granted.limits);
    const helpers = new PluginRuntime({ ...shared, concurrency: maxHelpers });
    const runtime = new PluginRuntime({
      ...{ ...shared, concurrency },
      runHelper: (invocation) => helpers.run(invocation),
    });
    const running: Running = {
      settings,
      close: async () => {
        await Promise.all([runtime.close(), helpers.close()]);
        await process.close();
      },
    };
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
      await running.close();
      this.#running.delete(running);
    };
    try {
      const lines = new GuestLines({ log: ports.log.child({ plugin: name }), inSources, onFault: () => {} });
      const described = await describe(process, granted.limits, lines).catch((cause: unknown) => {
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
        ms: Math.round(performance.now() - startedAt),
      });
      const plugin: LoadedPlugin = {
        name,
        version,
        digest: code.digest,
        endpoints,
        deployments: manifest.deployments.filter((deployment) => deployment !== '*'),
        limits: namedLimits(granted.limits, concurrency),
        rights: { asks: asksOf(manifest), gets: rightsOf(granted) },
        settings: () => settings.read().states,
        get pid() {
          return process.pid;
        },
        get memoryBytes() {
          return process.pid === undefined ? undefined : memoryOf(process.pid);
        },
        get confinement() {
          return process.confinement;
        },
        get restarts() {
          return process.restarts;
        },
        get isIdle() {
          return process.isIdle;
        },
        run: (invocation) => runtime.run(invocation),
        counters: () => {
          const [own, ofHelpers] = [runtime.counters(), helpers.counters()];
          return { ...own, denied: own.denied + ofHelpers.denied, cpuMs: own.cpuMs + ofHelpers.cpuMs };
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

  /** Throws when the host is closing, or another plugin than `replaces` has the name. */
  #requireRoom(name: string, replaces: LoadedPlugin | undefined): void {
    if (this.#closing.signal.aborted) throw pluginLoadError(name, 'cannot be loaded: the host is closing');
    const isTaken = this.#loaded.has(name) && (!replaces || this.#loaded.get(name) !== this.#runningOf.get(replaces));
    if (isTaken) throw pluginLoadError(name, 'is loaded already');
  }

  #telemetry(plugin: string): PluginTelemetry {
    const telemetry =
      this.#telemetryOf.get(plugin) ?? new PluginTelemetry(plugin, this.#options.ports.telemetry ?? noTelemetry);
    this.#telemetryOf.set(plugin, telemetry);
    return telemetry;
  }

  #start({ manifest, granted, code }: ReadPlugin): Promise<PluginProcess> {
    checkUses(manifest, code.uses, granted);
    const { limits } = granted;
    return PluginProcess.start({
      start: async (signal) => {
        const process = await code.start({ limits, slots: code.concurrency(limits) + maxHelpers, signal });
        try {
          requireConfinement(manifest.name, process.facts.confinement, this.#options.confinement ?? 'prefer');
          return process;
        } catch (error) {
          await process.close();
          throw error;
        }
      },
      idleMs: this.#options.idleMs ?? 0,
      log: this.#options.ports.log.child({ plugin: manifest.name }),
    });
  }

  async #read(source: string): Promise<ReadPlugin> {
    const manifest = await readManifest(source);
    const granted = grantTo(manifest, this.#options.grants ?? {}, this.#limits);
    const { name: plugin, component: file, runtime } = manifest;
    const { cacheDir, sandbox, isFast } = this.#options;
    const read = runtime === 'extism' ? readExtismModule : readComponent;
    const code = await read(file, { plugin, cacheDir, sandbox, isFast, signal: this.#closing.signal });
    const settings = new PluginSettings({
      ...{ plugin, declared: manifest.settings, env: this.#options.env ?? {}, log: this.#options.log },
      given: () => (Object.hasOwn(this.#given, plugin) ? this.#given[plugin] : undefined),
    });
    return { manifest, granted, settings, code };
  }

  /** Closes every plugin. Invocations that still run fail as unavailable. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the host is closing'));
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

/** Asks a plugin for its endpoints. Rejects with the reason of the guest when it does not say them. */
async function describe(
  process: PluginProcess,
  limits: PluginLimits,
  lines: GuestLines,
): Promise<readonly WitEndpoint[]> {
  let printed = '';
  const run = process.run({
    export: 'describe',
    args: [],
    limits: runLimits(limits, false),
    answer: (name) => {
      throw new Error(`${name.split('#')[1]} can be called from \`run\` only`);
    },
    onTold: (name, args) => {
      if (name.endsWith('#log')) lines.add(undefined, ...(args as [LogLevel, string, string]));
    },
    onPrinted: (text) => (printed = (printed + text).slice(0, maxPrinted)),
  });
  const timer = setTimeout(() => run.cancel(), startMs);
  const outcome = await run.outcome;
  clearTimeout(timer);
  if (outcome.state === 'returned') return boundedEndpoints(outcome.value as readonly WitEndpoint[]);
  if (outcome.state === 'stopped') throw new Error(`it has not ended within ${startMs} ms`);
  const said = lastWords(printed);
  throw new Error(said === undefined ? outcome.reason : `${said} (${outcome.reason})`);
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
