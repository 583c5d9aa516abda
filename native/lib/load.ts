import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { NativeBinding } from './binding.ts';

const require = createRequire(import.meta.url);

/** Written beside the addon by the build. */
export interface NativeManifest {
  /** Hash of everything it was built from. */
  readonly inputs: string;
  readonly mode: 'prebuilt' | 'source';
  /** Folders with ggml's backends, absolute or relative to the addon's. */
  readonly backend_directories: readonly string[];
}

export interface LoadNativeOptions {
  readonly addonPath: string;
  /** Folders with ggml's backends. Default: those that the build noted beside the addon. */
  readonly backendDirectories?: readonly string[] | undefined;
}

/** Where the build puts the addon of the package at `packageRoot`. */
export function nativeAddonPath(packageRoot: string): string {
  return join(packageRoot, 'build', 'Release', 'aana_native.node');
}

export function manifestPath(addonPath: string): string {
  return join(dirname(addonPath), 'aana-native.json');
}

/**
 * Loads the addon and its backends into this process. Throws an Error that says how to build it when it is not there.
 */
export function loadNative(options: LoadNativeOptions): NativeBinding {
  const addonPath = resolve(options.addonPath);
  if (!existsSync(addonPath))
    throw new Error(`the native addon ${addonPath} is not there: run "npx aana-host build-native"`);
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
