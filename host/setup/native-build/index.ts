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
import { type ReportProgress, withFileLock } from '../packages/index.ts';
import {
  canUseCudaBackend,
  defaultBuildMode,
  defaultJobs,
  ownToolchain,
  platformName,
  publishedLibrariesProblem,
  type BuildMode,
} from './platform.ts';
import { findPrebuiltAddon } from './prebuilt-package.ts';
import { prepareCudaBackend } from './sources.ts';
import { checkTools, type ToolName } from './tools.ts';

export interface NativeBuildOptions {
  /** Sources and libraries are unpacked into `<cacheDir>/native`. */
  readonly cacheDir: string;
  readonly log: Logger;
  /** `auto` links published libraries if the platform has some, and otherwise compiles everything. Default: `auto`. */
  readonly mode?: BuildMode | 'auto' | undefined;
  /** Whether ggml's CUDA backend is used. `auto` uses it if this machine has a GPU. Default: `auto`. */
  readonly cuda?: 'auto' | 'on' | 'off' | undefined;
  /** Whether the library for images in prompts is built, which vision projectors need. Default: yes. */
  readonly images?: boolean | undefined;
  /** Number of parallel compilers. Default: one per core. */
  readonly jobs?: number | undefined;
  /** Compile even if nothing changed. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when something is built, and with the progress of its downloads. */
  readonly report?: ReportProgress | undefined;
  /** Environment of git and the compilers. */
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
 * package if one is installed that fits; then no compiler is needed. Returns at once when its inputs have not changed.
 * Concurrent calls, in one process or several, build once.
 */
export async function buildNative(options: NativeBuildOptions): Promise<NativeBuildResult> {
  const { log, signal, images = true, report } = options;
  const mode = options.mode === undefined || options.mode === 'auto' ? defaultBuildMode() : options.mode;
  const problem = publishedLibrariesProblem();
  if (mode === 'prebuilt' && problem !== undefined)
    throw fail('NativeBuildFailed', `the mode prebuilt cannot be used: ${problem}`);
  const { cuda: wished = 'auto' } = options;
  const cuda = mode === 'prebuilt' && (wished === 'auto' ? canUseCudaBackend() : wished === 'on');
  const addon = nativeAddonPath(packageRoot);
  const choice = { platform: platformName, mode, cuda };
  const inputs = await hashInputs(choice);
  const isDone = async (): Promise<boolean> =>
    !options.force && (await isCurrent(addon, inputs)) && (!images || hasImages(dirname(addon), mode));
  if (await isDone()) return { addon, mode, rebuilt: false };
  report?.(0);

  const env = options.env ?? process.env;
  await mkdir(join(packageRoot, 'build'), { recursive: true });
  return withFileLock(
    join(packageRoot, 'build', 'native.lock'),
    async () => {
      if (await isDone()) return { addon, mode, rebuilt: false };
      const found = options.force
        ? undefined
        : await findPrebuiltAddon(await hashInputs({ ...choice, cuda: false }), log);
      if (found !== undefined && (!images || hasImages(found, mode))) {
        const backend = cuda
          ? await prepareCudaBackend({ cacheDir: options.cacheDir, ...choice, log, signal, env })
          : undefined;
        await rm(manifestPath(addon), { force: true });
        await replaceFiles(found, dirname(addon));
        await writeManifest(addon, { inputs, mode, backend_directories: ['.', ...(backend ? [backend] : [])] });
        log.info('native addon copied from the prebuilt package', { package: found });
        return { addon, mode, rebuilt: true };
      }
      checkTools(env);
      const started = performance.now();
      const folder = dirname(addon);
      const jobs = options.jobs ?? defaultJobs();
      // An earlier library for images would not fit the new addon.
      const withImages = images || hasImages(folder, mode);
      const seconds = Math.max(60, Math.ceil((CPU_SECONDS + (withImages ? IMAGES_CPU_SECONDS : 0)) / jobs / 10) * 10);
      const note =
        mode === 'source' ? 'compiling all of llama.cpp takes some minutes' : `compiling takes about ${seconds} s`;
      await compileAddon({
        toolchain: ownToolchain,
        mode,
        cuda,
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
      return { addon, mode, rebuilt: true };
    },
    { signal, onWait: () => log.info('waiting for another process that builds the native addon') },
  );
}

/** Returns whether the addon is built from the current inputs, so that nothing has to be built. */
export async function isNativeCurrent(mode: BuildMode | 'auto'): Promise<boolean> {
  const chosen = mode === 'auto' ? defaultBuildMode() : mode;
  const cuda = chosen === 'prebuilt' && canUseCudaBackend();
  const inputs = await hashInputs({ platform: platformName, mode: chosen, cuda });
  return isCurrent(nativeAddonPath(packageRoot), inputs);
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
    return (JSON.parse(await readFile(manifestPath(addon), 'utf8')) as NativeManifest).inputs === inputs;
  } catch {
    return false; // the addon was never built, or a build was interrupted
  }
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
