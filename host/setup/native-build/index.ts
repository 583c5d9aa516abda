import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { manifestPath, nativeAddonPath, type NativeManifest } from '../../../native/lib/index.ts';
import { compileAddon, writeManifest } from './compile-addon.ts';
import { replaceFiles } from './files.ts';
import { hashInputs } from './inputs.ts';
import { type ProgressPart, type ReportProgress, shareProgress, withFileLock } from '../packages/index.ts';
import {
  type GpuBackend,
  type GpuBackendOptions,
  type GpuWishes,
  isComplete,
  prepareGpuBackend,
  wantedGpuBackend,
} from './gpu-backends.ts';
import {
  defaultBuildMode,
  defaultJobs,
  ownToolchain,
  platformName,
  publishedLibrariesProblem,
  type BuildMode,
} from './platform.ts';
import { findPrebuiltAddon } from './prebuilt-package.ts';
import { checkTools, type ToolName } from './tools.ts';

export interface NativeBuildOptions extends GpuWishes {
  /** Sources and libraries are unpacked into `<cacheDir>/native`. */
  readonly cacheDir: string;
  readonly log: Logger;
  /** `auto` links published libraries if the platform has some, and otherwise compiles everything. Default: `auto`. */
  readonly mode?: BuildMode | 'auto' | undefined;
  /** Whether the library for images in prompts is built, which vision projectors need. Default: yes. */
  readonly images?: boolean | undefined;
  /** Number of parallel compilers. Default: one per core. */
  readonly jobs?: number | undefined;
  /** Compile even if nothing changed. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when something is built, and with the progress of its downloads. */
  readonly report?: ReportProgress | undefined;
  /** Environment of git, the compilers and the replicas. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

export interface NativeBuildResult {
  /** Path of the `.node` file. */
  readonly addon: string;
  readonly mode: BuildMode;
  readonly rebuilt: boolean;
}

/** CPU seconds of a compilation on a server of 2026, without and for the library for images. One unit takes 45. */
const CPU_SECONDS = 150;
const IMAGES_CPU_SECONDS = 35;

/**
 * Builds the addon into `build/Release` of the package, together with its shared libraries. Copies it from the prebuilt
 * package if one is installed that fits; then no compiler is needed. Fetches the backend for the GPUs of this machine,
 * at the same time. Returns at once when nothing has changed. Concurrent calls, in one process or several, build once.
 */
export async function buildNative(options: NativeBuildOptions): Promise<NativeBuildResult> {
  const { log, signal, images = true, report, env = process.env } = options;
  const mode = options.mode === undefined || options.mode === 'auto' ? defaultBuildMode() : options.mode;
  const problem = publishedLibrariesProblem();
  if (mode === 'prebuilt' && problem !== undefined)
    throw fail('NativeBuildFailed', `the mode prebuilt cannot be used: ${problem}`);
  const gpu = mode === 'prebuilt' ? await wantedGpuBackend(options, env) : undefined;
  const addon = nativeAddonPath(packageRoot);
  const inputs = await hashInputs({ platform: platformName, mode });
  const isBuilt = async (): Promise<boolean> =>
    !options.force && (await isCurrent(addon, inputs)) && (!images || hasImages(dirname(addon), mode));
  const isDone = async (): Promise<boolean> => (await isBuilt()) && (await hasBackend(addon, gpu, env));
  if (await isDone()) return { addon, mode, rebuilt: false };
  report?.(0);

  await mkdir(join(packageRoot, 'build'), { recursive: true });
  return withFileLock(
    join(packageRoot, 'build', 'native.lock'),
    async () => {
      if (await isDone()) return { addon, mode, rebuilt: false };
      const rebuilt = !(await isBuilt());
      const failed = new AbortController();
      const all = { ...options, env, signal: AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]) };
      const begin = shareProgress(report ?? (() => {}));
      const together = <T>(part: ProgressPart, work: Promise<T>): Promise<T> => {
        work.catch((error: unknown) => failed.abort(error));
        return work.finally(() => part.done());
      };
      const [own, ofGpu] = [begin(), begin()];
      const made = rebuilt
        ? makeAddon({ ...all, mode, images, inputs, problem, addon, report: own.report })
        : Promise.resolve();
      const fetched = gpu ? fetchedBackend(gpu, { ...all, report: ofGpu.report }) : Promise.resolve(undefined);
      const results = await Promise.allSettled([together(own, made), together(ofGpu, fetched)]);
      failed.signal.throwIfAborted();
      const backend = results[1].status === 'fulfilled' ? results[1].value : undefined;
      await setBackend(addon, gpu, backend);
      return { addon, mode, rebuilt };
    },
    { signal, onWait: () => log.info('waiting for another process that builds the native addon') },
  );
}

interface AddonToMake extends NativeBuildOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly mode: BuildMode;
  readonly images: boolean;
  /** Hash of all inputs. */
  readonly inputs: string;
  /** Why published libraries are not used. */
  readonly problem: string | undefined;
  readonly addon: string;
}

/** Copies the addon from the prebuilt package, or compiles it. */
async function makeAddon(options: AddonToMake): Promise<void> {
  const { env, mode, images, inputs, problem, addon, log, signal, report } = options;
  const folder = dirname(addon);
  const found = options.force ? undefined : await findPrebuiltAddon(inputs, log);
  if (found !== undefined && (!images || hasImages(found, mode))) {
    await rm(manifestPath(addon), { force: true });
    await replaceFiles(found, folder);
    log.info('native addon copied from the prebuilt package', { package: found });
    return;
  }
  checkTools(env);
  const started = performance.now();
  const jobs = options.jobs ?? defaultJobs();
  // An earlier library for images would not fit the new addon.
  const withImages = images || hasImages(folder, mode);
  const seconds = Math.max(60, Math.ceil((CPU_SECONDS + (withImages ? IMAGES_CPU_SECONDS : 0)) / jobs / 10) * 10);
  const note =
    mode === 'source' ? 'compiling all of llama.cpp takes some minutes' : `compiling takes about ${seconds} s`;
  await compileAddon({
    toolchain: ownToolchain,
    mode,
    images: withImages,
    folder,
    out: join(packageRoot, 'build', 'cmake'),
    cacheDir: options.cacheDir,
    jobs,
    log,
    signal,
    report,
    env,
    onFetched: () =>
      log.info('building the native addon', { mode, note, ...(mode === 'source' && { reason: problem }) }),
  });
  log.info('native addon built', { mode, seconds: Math.round((performance.now() - started) / 1000) });
}

/**
 * Returns the folder of the backend with what it needs. Undefined when it cannot be fetched and was not asked for: the
 * models then run on the processors, and the next start tries again.
 */
async function fetchedBackend(gpu: GpuBackend, options: GpuBackendOptions & GpuWishes): Promise<string | undefined> {
  try {
    return await prepareGpuBackend(gpu, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (options[gpu] === 'on') throw error;
    const reason = error instanceof Error ? error.message : String(error);
    options.log.warn('the backend for GPUs cannot be fetched; models run on the CPU', { backend: gpu, reason });
    return undefined;
  }
}

/** Returns whether the addon loads this backend with all that it needs, or none when it is undefined. */
async function hasBackend(addon: string, gpu: GpuBackend | undefined, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { gpu_backend: present, backend_directories: folders } = await readManifest(addon);
  if (gpu === undefined || present !== gpu) return gpu === present;
  return isComplete(folders.at(-1) ?? '', gpu, env);
}

/** Lets the addon load the backend of a folder, or none. */
async function setBackend(addon: string, gpu: GpuBackend | undefined, folder: string | undefined): Promise<void> {
  const { inputs, mode, backend_directories: folders, gpu_backend: before } = await readManifest(addon);
  const own = before === undefined ? folders : folders.slice(0, -1);
  await writeManifest(
    addon,
    folder === undefined
      ? { inputs, mode, backend_directories: own }
      : { inputs, mode, backend_directories: [...own, folder], gpu_backend: gpu },
  );
}

/** Returns whether the addon is built from the current inputs, so that nothing has to be built. */
export async function isNativeCurrent(mode: BuildMode | 'auto'): Promise<boolean> {
  const chosen = mode === 'auto' ? defaultBuildMode() : mode;
  return isCurrent(nativeAddonPath(packageRoot), await hashInputs({ platform: platformName, mode: chosen }));
}

/** Returns what is missing on this machine for a build, and how to install it. Undefined if nothing is missing. */
export function buildToolsProblem(env: NodeJS.ProcessEnv, needed?: readonly ToolName[]): string | undefined {
  try {
    checkTools(env, needed);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns whether a folder with the addon also has the library for images, which is a part of the addon in the mode
 * `source`.
 */
function hasImages(folder: string, mode: BuildMode): boolean {
  return mode === 'source' || existsSync(join(folder, 'aana_images.so'));
}

async function isCurrent(addon: string, inputs: string): Promise<boolean> {
  if (!existsSync(addon)) return false;
  try {
    return (await readManifest(addon)).inputs === inputs;
  } catch {
    return false; // the addon was never built, or a build was interrupted
  }
}

async function readManifest(addon: string): Promise<NativeManifest> {
  return JSON.parse(await readFile(manifestPath(addon), 'utf8')) as NativeManifest;
}

export { compileAddon } from './compile-addon.ts';
export { defaultJobs, platformName, type Toolchain } from './platform.ts';
export {
  type Binaries,
  PREBUILT_PACKAGE,
  prebuiltPackage,
  type ReleaseManifest,
  writePrebuiltPackage,
} from './prebuilt-package.ts';
export {
  buildSandbox,
  builtSandbox,
  compileSandbox,
  type Sandbox,
  type SandboxBuildOptions,
  sandboxProblem,
} from './sandbox.ts';
export { buildSqlite, compileSqlite, isSqliteBuilt, type SqliteBuildOptions } from './sqlite.ts';
export { checkRuns } from './tools.ts';
