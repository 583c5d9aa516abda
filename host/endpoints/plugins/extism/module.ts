import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { capabilityNames } from '../capabilities/catalogue.ts';
import { type ComponentOptions, prepared } from '../component/component.ts';
import { compileModules, interruptsOf, type TranslatedComponent } from '../component/loaded-component.ts';
import { pluginLoadError } from '../set/manifest.ts';
import { type CacheEntry, cached, cacheFormat, keep } from '../component/translation-cache.ts';
import type { Interrupts } from '../component/core-modules/hooks.ts';
import { enableExtendedConstants } from '../component/core-modules/wasm-features.ts';
import { capabilityOf } from './interface.ts';

const coreHeader = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/**
 * Reads the core module of an Extism plugin and checks its imports and exports. `compile` limits its memory. The module
 * with the host's hooks is cached under `cacheDir` by content. Throws `PluginLoadError`.
 */
export async function readExtismModule(
  file: string,
  { plugin, cacheDir, mode }: ComponentOptions,
): Promise<TranslatedComponent> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw pluginLoadError(plugin, `has no module at ${file}; build it first`, cause);
  });
  if (!coreHeader.every((byte, n) => bytes[n] === byte))
    throw pluginLoadError(
      plugin,
      `has a module (${file}) that is not a WebAssembly core module, which an Extism plugin must be`,
    );
  const digest = createHash('sha256').update(bytes).digest('hex');
  const dir = join(cacheDir, 'plugins', `${digest}-extism-${mode}-${cacheFormat}`);
  const interrupts = interruptsOf(mode, 'extism');
  const { imports, uses, modules } = (await cached(dir)) ?? (await translate(bytes, dir, plugin, interrupts));
  return {
    digest,
    imports,
    uses,
    compile: (memoryBytes) =>
      compileModules({ plugin, digest, glue: undefined, dir, modules, interrupts, memoryBytes }),
  };
}

async function translate(
  bytes: Uint8Array<ArrayBuffer>,
  dir: string,
  plugin: string,
  interrupts: Interrupts,
): Promise<CacheEntry> {
  enableExtendedConstants();
  const module = await WebAssembly.compile(bytes).catch((cause: unknown) => {
    throw pluginLoadError(
      plugin,
      `cannot be compiled: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  });
  const imports = WebAssembly.Module.imports(module);
  const refused = imports.filter((each) => capabilityOf(each) === 'unknown').map(nameOf);
  if (refused.length > 0)
    throw pluginLoadError(plugin, `imports ${refused.join(', ')}, which this host does not offer to Extism plugins`);
  const describes = WebAssembly.Module.exports(module).some(
    ({ name, kind }) => name === 'describe' && kind === 'function',
  );
  if (!describes) throw pluginLoadError(plugin, 'does not export the function "describe"');
  const { code, ...facts } = prepared(plugin, bytes, interrupts);
  const uses = capabilityNames.filter((capability) => imports.some((each) => capabilityOf(each) === capability));
  const entry: CacheEntry = { imports: imports.map(nameOf), uses, modules: { main: facts } };
  await keep(dir, entry, { main: code });
  return entry;
}

const nameOf = ({ module, name }: WebAssembly.ModuleImportDescriptor): string => `${module} ${name}`;
