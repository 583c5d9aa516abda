import { AanaApp } from '../../application/app.ts';
import { childEnvironment, type Config } from '../../base/config/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { usableCores } from '../../base/core/machine/processors.ts';
import { check } from '../../inference/deployments/class/check.ts';
import type { ModelSource, PullOptions } from '../../inference/deployments/class/deployment-definition.ts';
import { builtinDefinitions, defaultCpus } from '../../inference/deployments/index.ts';
import { buildNative, buildSandbox, buildSqlite } from '../../setup/native-build/index.ts';
import {
  type ProgressPart,
  type ReportProgress,
  reportWithin,
  shareProgress,
  withProgress,
} from '../../setup/packages/index.ts';
import { asksFor, buildPlugin, findPluginFolders } from '../../endpoints/plugins/index.ts';

export type Purpose = 'serve' | 'test' | 'demo';

export interface SetupOptions {
  readonly config: Config;
  readonly purpose: Purpose;
  /** Plugin folders to build, or folders that contain them. */
  readonly folders: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Models that more than one test file uses, so that no file needs one that runs before it. */
const TEST_MODELS = [
  ...['whisper-tiny.en', 'whisper-base', 'silero-vad-v6.2.0'],
  ...['smollm2-135m-instruct', 'qwen2.5-coder-0.5b-instruct', 'all-minilm-l6-v2'],
];

/**
 * Builds and downloads, at the same time, everything that serving, testing or the demo needs. Existing parts are
 * reused.
 */
export async function setup(options: SetupOptions): Promise<void> {
  const failed = new AbortController();
  const all = { ...options, signal: AbortSignal.any([options.signal, failed.signal]) };
  await withProgress('setting up', undefined, async (report) => {
    const begin = shareProgress(report);
    const work = [build(all, begin()), download(all, begin())];
    for (const one of work) one.catch((error: unknown) => failed.abort(error));
    await Promise.allSettled(work);
    failed.signal.throwIfAborted();
  });
}

async function build(options: SetupOptions, { report, done }: ProgressPart): Promise<void> {
  const { config, purpose, folders, log, signal } = options;
  await buildAddon(options, purpose === 'test', reportWithin(report, 'building the native addon'));
  report(0, undefined, 'building SQLite');
  if (purpose === 'test' || config.db_config.datastore_type === 'sqlite')
    await buildSqlite({ cacheDir: config.cache_dir, log, signal, env: childEnvironment(config) });
  const plugins = folders.flatMap(findPluginFolders);
  if (plugins.length > 0) {
    report(0, undefined, 'building the sandbox of plugins');
    const withTests = purpose === 'test';
    await buildSandbox({ cacheDir: config.cache_dir, log, signal, env: childEnvironment(config), withTests });
  }
  for (const folder of plugins) {
    report(0, undefined, `building ${folder}`);
    await buildPlugin(folder, { log, cacheDir: config.cache_dir, limits: config.plugin_builds, signal });
  }
  done();
}

async function buildAddon(
  { config, log, signal }: SetupOptions,
  images: boolean,
  report?: ReportProgress,
): Promise<unknown> {
  return buildNative({
    report,
    cacheDir: config.cache_dir,
    mode: config.native_build,
    cuda: config.cuda_backend,
    vulkan: config.vulkan_backend,
    images,
    log,
    signal,
    env: childEnvironment(config),
  });
}

async function download(options: SetupOptions, { report, done }: ProgressPart): Promise<void> {
  const { config, folders, purpose, log, signal } = options;
  const app = new AanaApp({ config, log });
  const models = {
    pull: (id: string, options: PullOptions = {}) =>
      app.models.pull(id, {
        ...options,
        signal,
        onProgress: (bytes, total, stage) => report(bytes, total, `${id}${stage ? `, ${stage}` : ''}`),
      }),
  };
  /** Fetches a required part. For tests a missing part is only logged, because tests that need it are skipped. */
  const needed = async (what: string, fetch: () => Promise<unknown>): Promise<void> => {
    try {
      await fetch();
    } catch (error) {
      signal.throwIfAborted();
      if (purpose !== 'test') throw error;
      log.warn('missing for the tests', { what, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  const sources = folders.flatMap(findPluginFolders);
  const usesMedia = purpose !== 'serve' || sources.length === 0 || (await asksFor(sources, 'media'));
  if (usesMedia) await needed('ffmpeg', () => app.ffmpeg({ signal, report }));
  if (purpose === 'test') for (const id of TEST_MODELS) await needed(id, () => models.pull(id));
  else await prepareDeployments(options, models);
  // Lets the page `/redoc` work without the internet. Serving works without it.
  await app.models
    .pullTool('redoc', { signal })
    .catch((error: unknown) => log.warn('no /redoc', { reason: String(error) }));
  // The sample is for examples. Serving works without it.
  const sample = (): Promise<unknown> => models.pull('speech-sample');
  if (purpose !== 'serve') await needed('speech-sample', sample);
  else if (usesMedia) await sample().catch((error: unknown) => log.warn('no speech sample', { reason: String(error) }));
  done();
}

/** Fetches the models of the configured deployments, and builds what their models need beside the addon. */
async function prepareDeployments(options: SetupOptions, models: ModelSource): Promise<void> {
  const { config, log, signal } = options;
  for (const [name, { type, user_config: userConfig, ray_actor_options: devices }] of Object.entries(
    config.deployments,
  )) {
    const definition = builtinDefinitions.find((one) => one.name === type);
    if (!definition && config.app !== null) continue; // a custom class, which is known only when the application starts
    if (!definition)
      throw fail(
        'ValidationError',
        `deployment ${name}: type: unknown type ${type}; known types are ` +
          `${builtinDefinitions.map((one) => one.name).join(', ')}`,
      );
    const checked = check(definition.configSchema, userConfig, `deployment ${name}: user_config`);
    await definition.prepare(checked, {
      models,
      log,
      signal,
      env: {}, // the secrets of the server are not needed here
      cpus: async () => defaultCpus(usableCores()),
      buildImages: () => buildAddon(options, true),
      numGpus: devices.num_gpus ?? 0,
      progress: () => {},
    });
  }
}
