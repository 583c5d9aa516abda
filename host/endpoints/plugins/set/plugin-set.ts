import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type BuildOptions, buildPlugin, prepareBuild } from '../build/build-plugin.ts';
import type { BuildLimits } from '../build/contained-build.ts';
import { NextBuild } from '../build/next-build.ts';
import { isNotGranted } from '../rights/grants.ts';
import { findPluginFolders } from './find-plugin-folders.ts';
import { type PluginManifest, readManifest } from './manifest.ts';
import { requireOwnName } from './own-name.ts';
import type { LoadedPlugin, PluginHost } from './plugin-host.ts';
import { missingConfinement } from '../sandbox/index.ts';
import type { InvocationCounters } from '../invocation/invocation-counters.ts';
import type { PluginState, ReloadOutcome } from './plugin-state.ts';
import { PluginWatch } from './watch-plugins.ts';

/** The registry of endpoints, as the set uses it. Each call takes effect completely or not at all. */
export interface EndpointsPort {
  /**
   * Replaces the endpoints of `previous` by the endpoints of a plugin: all of them, or the chosen ones. Throws when one
   * of them cannot be served.
   */
  replacePlugin(
    previous: string | undefined,
    plugin: LoadedPlugin,
    origin: { readonly source: string; readonly isWhole: boolean },
  ): void;
  removePlugin(name: string): void;
}

export interface PluginSetOptions {
  readonly host: PluginHost;
  readonly endpoints: EndpointsPort;
  readonly log: Logger;
  /** Folder for the tools of builds. */
  readonly cacheDir: string;
  /** Limits of builds. */
  readonly buildLimits?: BuildLimits | undefined;
  /** Prepares the parts of the host that a plugin needs, before the plugin is loaded. */
  prepare?(manifest: PluginManifest, signal: AbortSignal): Promise<unknown>;
  /** Ends running loads and reloads, and watching. */
  readonly signal: AbortSignal;
}

interface Entry {
  readonly source: string;
  current: LoadedPlugin | undefined;
  /** The manifest of `current`. */
  manifest: string;
  /** Why the newest version does not serve. Undefined when it does. */
  error: unknown;
  /** Whether a load is announced that has not begun, or has not ended. */
  isExpected: boolean;
  readonly draining: Set<LoadedPlugin>;
  /** Counters of versions that have drained. */
  past: InvocationCounters;
}

const none: InvocationCounters = { running: 0, queued: 0, done: 0, failed: {}, denied: 0, cpuMs: 0 };

/**
 * The plugins of a server. A new version is built and loaded beside the one that serves. Its endpoints then replace the
 * old ones in one step, and the old version ends after its last request. When the new version cannot be loaded, the old
 * one continues to serve.
 */
export class PluginSet {
  readonly #options: PluginSetOptions;
  readonly #paths = new Set<string>();
  /** Sources of which only some endpoints are served. */
  readonly #chosen = new Set<string>();
  readonly #entries = new Map<string, Entry>();
  readonly #watch: PluginWatch;
  #isWatching = false;
  /** While it watches: the next build of the plugin that was brought last. */
  readonly #next = new NextBuild();
  /** Runs one load or reload at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PluginSetOptions) {
    this.#options = options;
    this.#watch = new PluginWatch((source) => this.#onChange(source), options.log);
    options.signal.addEventListener('abort', () => this.#watch.close(), { once: true });
  }

  /** Adds the plugins at `path` to the set. Throws when there is none. */
  register(path: string): void {
    findPluginFolders(path);
    this.#paths.add(resolve(path));
  }

  /**
   * Adds the plugin at `path` to the set, of which only chosen endpoints are served. Returns its source. Throws unless
   * there is exactly one plugin.
   */
  choose(path: string): string {
    const [source, ...others] = findPluginFolders(path);
    if (source === undefined || others.length > 0)
      throw fail('PluginNotFound', `${resolve(path)} holds several plugins: name the folder of one`);
    this.#chosen.add(source);
    return source;
  }

  /** Undoes `choose`. A plugin that is not in the set otherwise ends after its last request. */
  release(source: string): void {
    this.#chosen.delete(source);
    void this.#inTurn(async () => {
      const entry = this.#entries.get(source);
      if (entry && !this.sources().includes(source)) this.#drop(entry);
    });
  }

  /** The registered paths, which are absolute. */
  paths(): string[] {
    return [...this.#paths];
  }

  /** Returns the folders and component files that exist at the registered paths now. */
  sources(): string[] {
    return [...new Set([...this.#whole(), ...[...this.#chosen].flatMap(foundAt)])];
  }

  /** Announces plugins that are loaded while requests are served. Their state is `building` until then. */
  expect(sources: readonly string[]): void {
    for (const source of sources) this.#entryOf(source).isExpected = true;
  }

  /** Whether endpoints may come that are not there yet. */
  get isBuilding(): boolean {
    return [...this.#entries.values()].some(({ isExpected }) => isExpected);
  }

  /**
   * Builds and loads a plugin, unless a reload has loaded the same version before. Rejects with the reason. The plugin
   * then stays in the set and can be reloaded.
   */
  load(source: string, signal = this.#options.signal): Promise<void> {
    return this.#inTurn(() => this.#bring(this.#entryOf(source), true, signal).then(() => {}));
  }

  /**
   * Loads the newest version of one plugin, or of all plugins. A plugin that cannot be loaded serves on as before, and
   * the outcome says so. Rejects with `PluginNotFound` when no plugin has the name.
   */
  reload(name?: string): Promise<readonly ReloadOutcome[]> {
    return this.#inTurn(async () => {
      const named = [...this.#entries.values()].filter((entry) => this.#nameOf(entry) === name);
      if (name !== undefined && named.length === 0) {
        throw fail(
          'PluginNotFound',
          `there is no plugin ${name}; there are: ${
            this.list()
              .map((plugin) => plugin.name)
              .join(', ') || 'none'
          }`,
        );
      }
      if (name !== undefined) return this.#reloadEach(named, { isNamed: true });
      const sources = this.sources();
      const gone = [...this.#entries.values()]
        .filter((entry) => !sources.includes(entry.source))
        .map((entry) => this.#drop(entry));
      const outcomes = await this.#reloadEach(sources.map((source) => this.#entryOf(source)));
      if (this.#isWatching) this.#watch.follow(sources);
      return [...gone, ...outcomes];
    });
  }

  /** Starts to build and reload plugins when their files change. */
  watch(): void {
    this.#options.signal.throwIfAborted();
    this.#isWatching = true;
    const sources = [...this.#entries.keys()];
    this.#watch.follow(sources);
    const last = sources.at(-1);
    if (last !== undefined) this.#prepareNext(last);
  }

  /** Ends what it has begun ahead. The plugins are those of the host. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#inTurn(() => this.#next.stop());
  }

  list(): PluginState[] {
    return [...this.#entries.values()].map((entry) => {
      const { current, error, source } = entry;
      const counters = [...(current ? [current] : []), ...entry.draining]
        .map((plugin) => plugin.counters())
        .reduce(sum, entry.past);
      return {
        name: this.#nameOf(entry),
        state: stateOf(entry),
        error: error === undefined ? null : messageOf(error),
        source,
        version: current?.version ?? null,
        digest: current?.digest ?? null,
        endpoints: current?.endpoints.map(({ path }) => path) ?? [],
        limits: current?.limits ?? null,
        counters: {
          running: counters.running,
          queued: counters.queued,
          done: counters.done,
          failed: { ...counters.failed },
          denied: counters.denied,
          cpu_ms: Math.round(counters.cpuMs),
        },
        draining: entry.draining.size,
        memory_bytes: current?.memoryBytes ?? null,
        missing_confinement: current?.confinement ? [...missingConfinement(current.confinement)] : null,
        restarts: current?.restarts ?? null,
        rights: current?.rights ?? null,
        settings: current ? [...current.settings()] : null,
      };
    });
  }

  async #reloadEach(
    entries: readonly Entry[],
    { isNamed = false, onlyChanged = false }: { readonly isNamed?: boolean; readonly onlyChanged?: boolean } = {},
  ): Promise<ReloadOutcome[]> {
    const outcomes: ReloadOutcome[] = [];
    for (const entry of entries) {
      const { error: told } = entry;
      try {
        if (!(await this.#bring(entry, onlyChanged))) continue;
        outcomes.push({
          name: this.#nameOf(entry),
          outcome: 'reloaded',
          detail: `version ${entry.current?.version}, ${entry.current?.digest.slice(0, 12)}`,
        });
      } catch (error) {
        this.#options.signal.throwIfAborted();
        // Of all plugins, an operator may want only those that need no grant.
        const isSkipped = !isNamed && !entry.current && isNotGranted(error);
        const reason = messageOf(error);
        outcomes.push({ name: this.#nameOf(entry), outcome: isSkipped ? 'skipped' : 'failed', detail: reason });
        if (isSkipped) {
          if (reason !== messageOf(told)) this.#options.log.warn('plugin skipped', { folder: entry.source, reason });
          continue;
        }
        this.#options.log.error('plugin not reloaded', {
          source: entry.source,
          reason,
          serving: entry.current?.version,
        });
      }
    }
    return outcomes;
  }

  /**
   * Builds, loads and switches to a plugin. Returns false when nothing has changed and only changes were to be loaded.
   */
  async #bring(entry: Entry, onlyChanged: boolean, signal = this.#options.signal): Promise<boolean> {
    const { host, endpoints } = this.#options;
    try {
      await requireOwnName(entry.source, this.sources());
      await buildPlugin(entry.source, { ...this.#buildOptions(), next: this.#next, signal });
      signal.throwIfAborted();
      const described = await readManifest(entry.source);
      const manifest = JSON.stringify(described);
      if (
        onlyChanged &&
        entry.current &&
        manifest === entry.manifest &&
        (await digestOf(described.component)) === entry.current.digest
      ) {
        entry.error = undefined;
        return false;
      }
      await this.#options.prepare?.(described, signal);
      const previous = entry.current;
      const next = await host.load(entry.source, { replaces: previous });
      try {
        signal.throwIfAborted();
        endpoints.replacePlugin(previous?.name, next, {
          source: entry.source,
          isWhole: this.#whole().includes(entry.source),
        });
      } catch (error) {
        await host.restore(next, previous);
        throw error;
      }
      Object.assign(entry, { current: next, manifest, error: undefined });
      if (previous) this.#drain(entry, previous);
      return true;
    } catch (error) {
      entry.error = error;
      throw error;
    } finally {
      entry.isExpected = false;
      if (this.#isWatching && !this.isBuilding) this.#prepareNext(entry.source);
    }
  }

  #buildOptions(): BuildOptions {
    const { log, cacheDir, buildLimits: limits, signal } = this.#options;
    return { log, cacheDir, limits, signal };
  }

  #prepareNext(source: string): void {
    const prepared = this.#inTurn(async () => {
      if (!this.#options.signal.aborted) await prepareBuild(source, this.#next, this.#buildOptions());
    });
    prepared.catch((error: unknown) => this.#options.log.debug('next build not prepared', { source, error }));
  }

  #onChange(source: string): void {
    const refreshed = this.#inTurn(async () => {
      const entry = this.#entries.get(source); // a reload before this one may have ended it
      return entry ? this.#reloadEach([entry], { onlyChanged: true }) : [];
    });
    // The set is ending.
    refreshed.catch((error: unknown) => this.#options.log.debug('plugin change not followed', { source, error }));
  }

  #drop(entry: Entry): ReloadOutcome {
    const name = this.#nameOf(entry);
    this.#entries.delete(entry.source);
    if (entry.current) {
      this.#options.endpoints.removePlugin(entry.current.name);
      this.#drain(entry, entry.current);
    }
    return { name, outcome: 'removed', detail: `${entry.source} is not there any more` };
  }

  #drain(entry: Entry, plugin: LoadedPlugin): void {
    entry.draining.add(plugin);
    const finished = plugin.drain().then(() => {
      entry.draining.delete(plugin);
      entry.past = sum(entry.past, plugin.counters());
      this.#options.log.info('plugin drained', {
        plugin: plugin.name,
        version: plugin.version,
        digest: plugin.digest.slice(0, 12),
      });
    });
    finished.catch((error: unknown) => this.#options.log.error('plugin not drained', { plugin: plugin.name, error }));
  }

  #whole(): string[] {
    return [...this.#paths].flatMap(foundAt);
  }

  #entryOf(source: string): Entry {
    const found = this.#entries.get(source);
    if (found) return found;
    const entry: Entry = {
      source,
      current: undefined,
      manifest: '',
      error: undefined,
      isExpected: false,
      draining: new Set(),
      past: none,
    };
    this.#entries.set(source, entry);
    return entry;
  }

  #nameOf({ current, source }: Entry): string {
    return current?.name ?? basename(source, '.wasm');
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

function stateOf({ current, isExpected, error }: Entry): PluginState['state'] {
  if (current) return current.isIdle ? 'idle' : 'running';
  if (isExpected) return 'building';
  return isNotGranted(error) ? 'not_granted' : 'failed';
}

function sum(a: InvocationCounters, b: InvocationCounters): InvocationCounters {
  const kinds = new Set([...Object.keys(a.failed), ...Object.keys(b.failed)]);
  const failed = Object.fromEntries([...kinds].map((kind) => [kind, (a.failed[kind] ?? 0) + (b.failed[kind] ?? 0)]));
  return {
    running: a.running + b.running,
    queued: a.queued + b.queued,
    done: a.done + b.done,
    failed,
    denied: a.denied + b.denied,
    cpuMs: a.cpuMs + b.cpuMs,
  };
}

function foundAt(path: string): string[] {
  try {
    return findPluginFolders(path);
  } catch {
    return []; // it was removed after its registration
  }
}

/** Returns the SHA-256 of a component, hexadecimal. Undefined when it cannot be read, which a load reports. */
async function digestOf(component: string): Promise<string | undefined> {
  const bytes = await readFile(component).catch(() => undefined);
  return bytes && createHash('sha256').update(bytes).digest('hex');
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
