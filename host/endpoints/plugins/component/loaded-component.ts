import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Capability } from '../capabilities/catalogue.ts';
import type { Interrupts } from './core-modules/hooks.ts';
import { importMemories } from './core-modules/import-memories.ts';
import { capMemory, checkInitialMemory } from './core-modules/memory-cap.ts';
import type { ModuleFacts } from './core-modules/prepare.ts';
import { enableExtendedConstants } from './core-modules/wasm-features.ts';
import { pluginLoadError } from '../set/manifest.ts';
import type { RuntimeMode } from '../invocation/protocol.ts';

/** A plugin's code, ready to be instantiated in a worker. */
export interface LoadedComponent {
  /** SHA-256 of the component file, hexadecimal. */
  readonly digest: string;
  /** URL of the generated glue module. Undefined for an Extism plugin, whose only module is `main`. */
  readonly glue: string | undefined;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  /** Bytes of memories and tables of a new instance. */
  readonly initialBytes: number;
  /** Whether restoring memories and variables resets an instance completely. */
  readonly isRestorable: boolean;
  /** How guests notice that they must stop. */
  readonly interrupts: Interrupts;
}

/** A plugin's code in the cache, before it is compiled. */
export interface TranslatedComponent {
  /** SHA-256 of the component file, hexadecimal. */
  readonly digest: string;
  /** Imported interfaces, such as `aana:host/log@0.1.0`. */
  readonly imports: readonly string[];
  /**
   * Capabilities whose functions the component imports. An interface that is imported only for its types does not
   * count.
   */
  readonly uses: readonly Capability[];
  compile(memoryBytes: number): Promise<LoadedComponent>;
}

/**
 * Returns how guests of a mode and a runtime notice that they must stop. Suspended guests share a thread, so a guest
 * that computes endlessly must be ended alone. When each guest has a thread, the thread is ended, and guests do not pay
 * for looking. Extism's library gives modules no memories.
 */
export function interruptsOf(mode: RuntimeMode, runtime: 'component' | 'extism'): Interrupts {
  if (mode === 'blocking') return 'never';
  return runtime === 'component' ? 'cell' : 'calls';
}

export interface CompileOptions {
  readonly plugin: string;
  readonly digest: string;
  readonly glue: string | undefined;
  /** The folder of the modules' files. */
  readonly dir: string;
  readonly modules: Readonly<Record<string, ModuleFacts>>;
  readonly interrupts: Interrupts;
  readonly memoryBytes: number;
}

/**
 * Compiles the modules in the cache. Throws a `PluginLoadError`, for example for a plugin that begins with more memory
 * than it may have.
 */
export async function compileModules({
  plugin,
  digest,
  glue,
  dir,
  modules,
  interrupts,
  memoryBytes,
}: CompileOptions): Promise<LoadedComponent> {
  enableExtendedConstants();
  const failed = (what: string, cause: unknown): Error =>
    pluginLoadError(plugin, `cannot be ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  const facts = Object.values(modules);
  let initialBytes: number;
  try {
    initialBytes = checkInitialMemory(
      facts.map(({ initial }) => initial),
      memoryBytes,
    );
  } catch (cause) {
    throw failed('loaded', cause);
  }
  const codeOf = async (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const code = capMemory(await readFile(join(dir, name)), memoryBytes);
    return interrupts === 'cell' ? importMemories(code) : code;
  };
  const compiled = await Promise.all(
    Object.keys(modules).map(async (name) => [name, await WebAssembly.compile(await codeOf(name))] as const),
  ).catch((cause: unknown) => {
    throw failed('compiled', cause);
  });
  const isRestorable = facts.every(({ hiddenState }) => hiddenState === null);
  return { digest, glue, modules: Object.fromEntries(compiled), initialBytes, isRestorable, interrupts };
}
