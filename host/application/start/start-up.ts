import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { prepareTempDir, removeStaleFolders } from '../../io/artifacts/index.ts';
import { type ProgressPart, type ReportProgress, reportWithin, shareProgress } from '../../setup/packages/index.ts';
import { requireDeclaredDeployments } from '../endpoint/declared-deployments.ts';
import type { Services } from '../services.ts';
import { asksFor, isNotGranted, needsBuild, readManifest } from '../../endpoints/plugins/index.ts';

export interface StartUpOptions {
  readonly services: Services;
  readonly config: Config;
  readonly log: Logger;
  /** Whether deployments start one after the other, in the order of registration. */
  readonly sequential: boolean;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/**
 * Starts the deployments and loads the plugins at the same time, then initializes the endpoints of this program. The
 * first failure ends the start.
 */
export async function startUp(options: StartUpOptions): Promise<void> {
  const { endpoints, deployments } = options.services;
  // Before models are fetched.
  for (const endpoint of endpoints.list()) requireDeclaredDeployments(endpoint, deployments.registered().keys());
  const failed = new AbortController();
  const all = { ...options, signal: AbortSignal.any([failed.signal, options.signal]) };
  const begin = shareProgress(options.report);
  const tempDir = options.config.media.temp_dir ?? tmpdir();
  await prepareTempDir(tempDir);
  void removeStaleFolders(tempDir, options.log); // reports its own failures
  const isPrepared = (await openKept(all, begin)) || !(await opensStorage(options.services));
  const plugins = loadPlugins(all, begin);
  const work = [...(isPrepared ? [] : [openStorage(all, begin)]), startDeployments(all, begin), plugins];
  for (const one of work) one.catch((error: unknown) => failed.abort(error));
  await Promise.allSettled(work);
  failed.signal.throwIfAborted();
  for (const endpoint of endpoints.list()) await endpoint.initialize?.();
  options.services.started.resolve();
  options.services.usage.start();
  await startTasks(options);
  void loadLater(await plugins, options);
  if (!(await opensStorage(options.services))) return;
  await options.services.operatorChanges.begin();
  if (options.config.openai.enabled) {
    options.services.responses.start();
    options.services.files.start();
    options.services.uploadedParts.start();
    options.services.batches.start();
    options.services.vectorStores.start();
  }
}

/**
 * Returns whether the database is opened before requests are served. Without API keys the start does not wait for
 * SQLite to be compiled, because only deferred requests need it. Without these and the queue, the first stored response
 * opens the database.
 */
async function opensStorage(services: Services): Promise<boolean> {
  if (services.usage.needsStorage) return true;
  return services.apiKeys !== undefined || (services.tasks !== undefined && (await services.canOpenStorage()));
}

/**
 * Opens a database that was used before, because operators may have left deployments otherwise than they are
 * configured. Returns false if there is none. Without SQLite, which may be impossible to compile here, the deployments
 * start as configured.
 */
async function openKept(options: StartUpOptions, begin: () => ProgressPart): Promise<boolean> {
  const { services, config, log, signal } = options;
  const { datastore_type: type, datastore_config: database } = config.db_config;
  const usesStorage = services.usage.needsStorage || services.apiKeys !== undefined || services.tasks !== undefined;
  if (!usesStorage || (type === 'sqlite' && !existsSync(database.path ?? ''))) return false;
  const isRequired = await opensStorage(services);
  try {
    await openStorage(options, begin);
    await services.operatorChanges.planStarts();
    return true;
  } catch (error) {
    if (isRequired || signal.aborted) throw error;
    log.warn('what operators changed before is not known, because the database cannot be opened', { error });
    return false;
  }
}

async function openStorage({ services }: StartUpOptions, begin: () => ProgressPart): Promise<void> {
  const { apiKeys } = services;
  const { report, done } = begin();
  report(0, undefined, 'preparing the database');
  await services.storage.migrate();
  await apiKeys?.open();
  done();
}

async function startTasks({ services, log, signal }: StartUpOptions): Promise<void> {
  const { tasks, webhooks } = services;
  if (!tasks) return;
  const start = async (): Promise<void> => {
    await tasks.start();
    await webhooks?.start();
  };
  if (await services.canOpenStorage()) return start();
  log.info('compiling SQLite; requests can be deferred when it is done');
  const later = (): Promise<void> => start().then(() => services.operatorChanges.begin());
  later().catch((error: unknown) => {
    if (!signal.aborted)
      log.warn('requests cannot be deferred', { reason: error instanceof Error ? error.message : String(error) });
  });
}

async function startDeployments(
  { services, sequential, signal }: StartUpOptions,
  begin: () => ProgressPart,
): Promise<void> {
  if (services.needsAddon()) {
    const addon = begin();
    const report = reportWithin(addon.report, 'building the native addon');
    services.buildNative(signal, report).then(addon.done, () => {});
  }
  const parts = new Map(startedNames(services).map((name) => [name, begin()]));
  await services.startDeployments({
    signal,
    sequential,
    onProgress: ({ deployment, fraction, text, isReady }) => {
      if (isReady) parts.get(deployment)?.done();
      else
        parts
          .get(deployment)
          ?.report(
            0,
            undefined,
            `${deployment}: ${text}${fraction === undefined ? '' : ` ${Math.floor(fraction * 100)} %`}`,
          );
    },
  });
  await services.operatorChanges.finishStarts(signal);
}

/** Returns the deployments that are not left unloaded. */
function startedNames({ deployments }: Services): string[] {
  return Object.entries(deployments.status()).flatMap(([name, { status }]) => (status === 'UNLOADED' ? [] : [name]));
}

/**
 * Loads the plugins, and returns those that {@link loadLater} loads. One that fails is reported and skipped, unless the
 * configuration says `strict` or one of its endpoints was registered by name.
 */
async function loadPlugins(options: StartUpOptions, begin: () => ProgressPart): Promise<readonly string[]> {
  const { services, config, log, signal } = options;
  const { pluginSet, endpoints } = services;
  const sources = pluginSet.sources();
  if (sources.length === 0) return [];
  const { report, done } = begin();
  void services.buildSandbox(); // beside what is fetched and built before the first plugin
  if (await asksFor(sources, 'media')) await services.openMedia(signal, report); // a failure ends the start
  const later: string[] = [];
  for (const source of sources) {
    signal.throwIfAborted();
    const isRequired = config.strict || endpoints.isChosen(source);
    try {
      if (!isRequired && !pluginSet.paths().includes(source) && (await canWait(source, services))) {
        later.push(source);
        continue;
      }
      report(0, undefined, `loading ${source}`);
      await pluginSet.load(source, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isRequired) throw error;
      reportSkipped(source, error, log);
    }
  }
  pluginSet.expect(later);
  if (config.watch) pluginSet.watch();
  done();
  return later;
}

/**
 * Whether serving does not wait for a plugin of a folder of plugins: it is to be built, which takes seconds, and names
 * a deployment that is not there, without which its endpoints answer little or nothing.
 */
async function canWait(source: string, { deployments }: Services): Promise<boolean> {
  const there = deployments.registered();
  const { deployments: called } = await readManifest(source);
  return called.some((name) => name !== '*' && !there.has(name)) && needsBuild(source);
}

/** Builds and loads the plugins for which serving has not waited. */
async function loadLater(sources: readonly string[], { services, log, signal }: StartUpOptions): Promise<void> {
  if (sources.length > 0)
    log.info('building plugins that call deployments which are not there; requests are served meanwhile', {
      plugins: sources.map((source) => basename(source)).join(', '),
    });
  for (const source of sources) {
    try {
      await services.pluginSet.load(source, signal);
    } catch (error) {
      if (signal.aborted) return;
      reportSkipped(source, error, log);
    }
  }
}

function reportSkipped(source: string, error: unknown, log: Logger): void {
  const reason = error instanceof Error ? error.message : String(error);
  // Of a folder of plugins, an operator may want only those that need no grant.
  log[isNotGranted(error) ? 'warn' : 'error']('plugin skipped', { folder: source, reason });
}
