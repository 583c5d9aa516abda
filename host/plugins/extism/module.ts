import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { capabilityNames } from '../capabilities/catalogue.ts';
import type { TranslatedComponent } from '../component.ts';
import { pluginLoadError } from '../manifest.ts';
import { capMemory } from '../memory-cap.ts';
import { enableExtendedConstants } from '../wasm-features.ts';
import { capabilityOf } from './interface.ts';

const coreHeader = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/**
 * Reads the core module of an Extism plugin and checks what it imports and exports; `compile` puts a cap on its memory. There is nothing
 * to translate, so nothing is kept. Throws `PluginLoadError`.
 */
export async function readExtismModule(file: string, plugin: string): Promise<TranslatedComponent> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw pluginLoadError(plugin, `has no module at ${file}; build it first`, cause);
  });
  if (!coreHeader.every((byte, n) => bytes[n] === byte)) throw pluginLoadError(plugin, `has a module (${file}) that is not a WebAssembly core module, as Extism plugins are`);
  const compile = async (code: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> => {
    enableExtendedConstants();
    return WebAssembly.compile(code).catch((cause: unknown) => {
      throw pluginLoadError(plugin, `cannot be compiled: ${messageOf(cause)}`, cause);
    });
  };
  const module = await compile(bytes);
  const imports = WebAssembly.Module.imports(module);
  const refused = imports.filter((each) => capabilityOf(each) === 'unknown').map(nameOf);
  if (refused.length > 0) throw pluginLoadError(plugin, `imports ${refused.join(', ')}, which this host does not offer to Extism plugins`);
  const describes = WebAssembly.Module.exports(module).some(({ name, kind }) => name === 'describe' && kind === 'function');
  if (!describes) throw pluginLoadError(plugin, 'does not export the function "describe"');
  const digest = createHash('sha256').update(bytes).digest('hex');
  return {
    digest,
    imports: imports.map(nameOf),
    uses: capabilityNames.filter((capability) => imports.some((each) => capabilityOf(each) === capability)),
    compile: async (memoryBytes) => ({ digest, glue: undefined, memoryBytes, modules: { main: await compile(capped(bytes, memoryBytes, plugin)) } }),
  };
}

function capped(bytes: Uint8Array<ArrayBuffer>, memoryBytes: number, plugin: string): Uint8Array<ArrayBuffer> {
  try {
    return capMemory(bytes, memoryBytes);
  } catch (cause) {
    throw pluginLoadError(plugin, `cannot be loaded: ${messageOf(cause)}`, cause);
  }
}

const nameOf = ({ module, name }: WebAssembly.ModuleImportDescriptor): string => `${module} ${name}`;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
