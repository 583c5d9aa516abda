import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { manifestPath, type NativeManifest } from '../../../native/lib/index.ts';
import { compile } from './compile.ts';
import { replaceFiles } from './files.ts';
import { hashInputs, packageFolder } from './inputs.ts';
import { WHISPER_VERSION } from './pins.ts';
import { canCompileWithLargeHeaps, type Toolchain } from './platform.ts';
import { prepareSources, type SourceOptions } from './sources.ts';

export interface AddonToCompile extends Omit<SourceOptions, 'platform'> {
  readonly toolchain: Toolchain;
  /** Whether the library for images in prompts is compiled, too. */
  readonly images: boolean;
  /** Folder that gets the addon, its libraries, the launcher and `aana-native.json`. */
  readonly folder: string;
  /** CMake's build folder. */
  readonly out: string;
  readonly jobs: number;
  /** Called when everything was fetched. */
  readonly onFetched?: (() => void) | undefined;
}

/** Fetches the sources of the addon and compiles it into a folder. */
export async function compileAddon(options: AddonToCompile): Promise<void> {
  const { toolchain, mode, folder, log, signal, env } = options;
  const { platform } = toolchain;
  const addon = join(folder, 'aana_native.node');
  const inputs = await hashInputs({ platform, mode }); // before they are read, because they may change meanwhile
  const sources = await prepareSources({ ...options, platform });
  await rm(manifestPath(addon), { force: true }); // an interrupted build must not count as current
  await mkdir(folder, { recursive: true });
  // Beside the addon (RUNPATH `$ORIGIN`), so that it does not depend on the cache.
  if (sources.libraries) await replaceFiles(sources.libraries, folder);
  options.onFetched?.();
  await compile({
    title: 'the native addon',
    directory: packageRoot,
    out: options.out,
    definitions: {
      ...toolchain.definitions,
      AANA_OUTPUT_DIR: folder,
      AANA_LLAMA_DIR: sources.llama,
      AANA_WHISPER_DIR: sources.whisper,
      AANA_WHISPER_VERSION: WHISPER_VERSION,
      AANA_NAPI_DIR: packageFolder('node-addon-api'),
      AANA_PREBUILT_DIR: sources.libraries ?? 'OFF',
      AANA_LARGE_HEAPS: canCompileWithLargeHeaps() ? 'ON' : 'OFF',
    },
    target: options.images ? 'aana_with_images' : 'all',
    jobs: options.jobs,
    log,
    signal,
    env,
  });
  await writeManifest(addon, { inputs, mode, backend_directories: mode === 'prebuilt' ? ['.'] : [] });
}

/** Writes what the addon was built from. A build without it counts as unfinished. */
export async function writeManifest(addon: string, manifest: NativeManifest): Promise<void> {
  const path = manifestPath(addon);
  await writeFile(`${path}.new`, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(`${path}.new`, path); // replicas may read it now
}
