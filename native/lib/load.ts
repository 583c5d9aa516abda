import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { NativeBinding } from './binding/index.ts';

const require = createRequire(import.meta.url);

/** The file that the build writes beside the addon. */
export interface NativeManifest {
  /** Hash of all inputs of the build. */
  readonly inputs: string;
  readonly mode: 'prebuilt' | 'source';
  /** Folders with ggml's backends, absolute or relative to the addon's folder. */
  readonly backend_directories: readonly string[];
  /** The backend for GPUs, whose folder is the last one. */
  readonly gpu_backend?: 'cuda' | 'vulkan' | undefined;
}

export interface LoadNativeOptions {
  readonly addonPath: string;
  /** Folders with ggml's backends. Default: the folders in the manifest beside the addon. */
  readonly backendDirectories?: readonly string[] | undefined;
}

/** Returns where the build puts the addon of the package at `packageRoot`. */
export function nativeAddonPath(packageRoot: string): string {
  return join(packageRoot, 'build', 'Release', 'aana_native.node');
}

export function manifestPath(addonPath: string): string {
  return join(dirname(addonPath), 'aana-native.json');
}

/**
 * Loads the addon and its backends into this process. Throws an Error that says how to build the addon if it is
 * missing.
 */
export function loadNative(options: LoadNativeOptions): NativeBinding {
  const addonPath = resolve(options.addonPath);
  if (!existsSync(addonPath))
    throw new Error(`the native addon ${addonPath} is missing: run "npx aana-host build-native"`);
  const binding = require(addonPath) as NativeBinding;
  binding.loadBackends(options.backendDirectories ?? builtBackends(addonPath));
  return binding;
}

function builtBackends(addonPath: string): readonly string[] {
  const file = manifestPath(addonPath);
  if (!existsSync(file)) return [dirname(addonPath)];
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as NativeManifest;
  return manifest.backend_directories.map((directory) => resolve(dirname(addonPath), directory));
}
