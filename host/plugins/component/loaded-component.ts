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
  /** URL of the generated glue module; an Extism plugin has none, and its only module is `main`. */
  readonly glue: string | undefined;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  /** Bytes of memories and tables that an instance begins with. */
  readonly initialBytes: number;
  /** Whether bringing back memories and variables makes an instance as new. */
  readonly isRestorable: boolean;
  /** How its guests find out that they must stop. */
  readonly interrupts: Interrupts;
}

/** A plugin's code as it lies in the cache, not compiled yet. */
export interface TranslatedComponent {
  /** SHA-256 of the component file, hexadecimal. */
  readonly digest: string;
  /** What it imports, such as `aana:host/log@0.1.0`. */
  readonly imports: readonly string[];
  /**
   * Capabilities that must be asked for and whose functions it imports. An interface imported for its types alone is
   * none.
   */
  readonly uses: readonly Capability[];
  compile(memoryBytes: number): Promise<LoadedComponent>;
}

/**
 * Guests that wait for the host suspended share a thread, so that one that computes for ever must be ended alone. Where
 * each has a thread, the thread is ended, and guests do not pay for looking. Extism's library gives modules no
 * memories.
 */
export function interruptsOf(mode: RuntimeMode, runtime: 'component' | 'extism'): Interrupts {
  if (mode === 'blocking') return 'never';
  return runtime === 'component' ? 'cell' : 'calls';
}

export interface CompileOptions {
  readonly plugin: string;
  readonly digest: string;
  readonly glue: string | undefined;
  /** Where the modules' files are. */
  readonly dir: string;
  readonly modules: Readonly<Record<string, ModuleFacts>>;
  readonly interrupts: Interrupts;
  readonly memoryBytes: number;
}

/**
 * Compiles what lies in the cache. Throws a `PluginLoadError`, such as for a plugin that begins with more memory than
 * it may have.
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
