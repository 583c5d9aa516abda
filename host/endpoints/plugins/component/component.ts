import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GenerateOptions } from '@bytecodealliance/jco-transpile/component';
import { dependencyVersion } from '../../../base/core/package-root.ts';
import { boundLifting } from './bounded-lifting.ts';
import { boundHandles } from './bounded-handles.ts';
import { checkComponent, type ComponentWorld } from './component-binary/component-binary.ts';
import { capabilityNames, type EntryFunction, entryFunctions, suspendingFunctions } from '../capabilities/catalogue.ts';
import type { Interrupts } from './core-modules/hooks.ts';
import { timesInitial } from './core-modules/memory-cap.ts';
import { type ModuleFacts, type PreparedModule, prepareModule } from './core-modules/prepare.ts';
import { leanGlue } from './lean-glue.ts';
import { compileModules, interruptsOf, type TranslatedComponent } from './loaded-component.ts';
import { pluginLoadError } from '../set/manifest.ts';
import type { RuntimeMode } from '../invocation/protocol.ts';
import { type CacheEntry, cached, cacheFormat, keep } from './translation-cache.ts';

export interface ComponentOptions {
  /** Name of the plugin, for errors. */
  readonly plugin: string;
  readonly cacheDir: string;
  readonly mode: RuntimeMode;
}

const componentHeader = Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0);
/** Interfaces of language runtimes. The workers have stand-ins for them that deny almost everything. */
const wasiPackages = ['wasi:cli', 'wasi:clocks', 'wasi:filesystem', 'wasi:io', 'wasi:random'];
const glueFile = 'component.js';

/**
 * Reads a component and checks its imports and exports. `compile` limits its memory. The generated glue and the core
 * modules with the host's hooks are cached under `cacheDir` by content, so that only the first load of a component
 * translates it. Throws `PluginLoadError`.
 */
export async function readComponent(file: string, options: ComponentOptions): Promise<TranslatedComponent> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw pluginLoadError(options.plugin, `has no component at ${file}; build it first`, cause);
  });
  if (!componentHeader.every((byte, n) => bytes[n] === byte))
    throw pluginLoadError(
      options.plugin,
      `has a component (${file}) that is not a WebAssembly ` +
        `component${isCoreModule(bytes) ? '; an Extism plugin says "runtime": "extism" in its plugin.json' : ''}`,
    );
  const digest = createHash('sha256').update(bytes).digest('hex');
  const dir = join(
    options.cacheDir,
    'plugins',
    `${digest}-${dependencyVersion('@bytecodealliance/jco-transpile')}-${options.mode}-${cacheFormat}`,
  );
  const entry = (await cached(dir)) ?? (await translate(bytes, dir, options));
  const { imports, uses, modules } = entry;
  const { plugin, mode } = options;
  const glue = pathToFileURL(join(dir, glueFile)).href;
  return {
    digest,
    imports,
    uses,
    compile: (memoryBytes) =>
      compileModules({ plugin, digest, glue, dir, modules, interrupts: interruptsOf(mode, 'component'), memoryBytes }),
  };
}

async function translate(bytes: Uint8Array, dir: string, { plugin, mode }: ComponentOptions): Promise<CacheEntry> {
  const { imports, exports } = checked(plugin, bytes);
  const refused = imports.filter((name) => !isAllowed(name));
  if (refused.length > 0)
    throw pluginLoadError(plugin, `imports ${refused.join(', ')}, which this host does not offer`);
  const endpoint = exports.find((name) => /^aana:host\/endpoint@0\.1\.\d+$/.test(name));
  if (endpoint === undefined) throw pluginLoadError(plugin, 'does not export aana:host/endpoint@0.1');
  const { $init: ready, generate } = await import('@bytecodealliance/jco-transpile/component');
  await ready;
  const options: GenerateOptions = {
    name: 'component',
    instantiation: { tag: 'sync' },
    base64Cutoff: 0,
    noTypescript: true,
    noComponentErrorWrapping: true,
  };
  if (mode === 'suspending')
    options.asyncMode = { tag: 'jspi', val: { imports: imports.flatMap(suspendingOf), exports: [`${endpoint}#run`] } };
  let files: Readonly<Record<string, Uint8Array>>;
  try {
    files = Object.fromEntries(generate(bytes, options).files);
  } catch (cause) {
    throw pluginLoadError(plugin, `has a broken component: ${firstLine(messageOf(cause))}`, cause);
  }

  const generated = new TextDecoder().decode(files[glueFile]);
  const glue = boundHandles(boundLifting(leanGlue(generated)));
  const uses = capabilityNames.filter((name) => entryFunctions(name).some((entry) => takes(generated, name, entry)));
  const kept: Record<string, Uint8Array | string> = {};
  const modules: Record<string, ModuleFacts> = {};
  for (const [name, content] of Object.entries(files)) {
    if (name.includes('/')) continue;
    if (!name.endsWith('.wasm')) {
      kept[name] = name === glueFile ? glue : content;
      continue;
    }
    const { code, initial, hiddenState } = prepared(plugin, new Uint8Array(content), interruptsOf(mode, 'component'));
    kept[name] = code;
    modules[name] = { initial: timesInitial(initial, instancesOf(generated, name)), hiddenState };
  }
  const entry: CacheEntry = { imports, uses, modules };
  await keep(dir, entry, kept);
  return entry;
}

/**
 * Returns a core module in the form in which it is cached. Throws a `PluginLoadError` for a module that plugins cannot
 * have.
 */
export function prepared(plugin: string, module: Uint8Array<ArrayBuffer>, interrupts: Interrupts): PreparedModule {
  try {
    return prepareModule(module, { interrupts });
  } catch (cause) {
    throw pluginLoadError(plugin, `cannot be loaded: ${messageOf(cause)}`, cause);
  }
}

/** Returns how many instances of a core module the glue makes. */
function instancesOf(glue: string, file: string): number {
  const variable = new RegExp(`^ *const (module\\d+) = getCoreModule\\('${file}'\\);$`, 'm').exec(glue)?.[1];
  if (variable === undefined) throw new Error(`the shape of the generated glue has changed: it does not name ${file}`);
  return [...glue.matchAll(new RegExp(`\\binstantiateCore\\(${variable}\\b`, 'g'))].length;
}

/**
 * Whether the glue calls a function of an interface: `const { Chunks, Image, call, open: open$1 } =
 * imports['aana:host/deployments'];`. A class alone is no sign, because an interface that borrows its objects imports
 * it too; its function is called as `Image.open(`.
 */
function takes(glue: string, interfaceName: string, { entryPoint, member }: EntryFunction): boolean {
  const imported = new RegExp(`const \\{([^}]*)\\} = imports\\['aana:host/${interfaceName}'\\]`, 'g');
  return [...glue.matchAll(imported)]
    .flatMap((match) => match[1]!.split(',').map((each) => each.trim().split(/: */)))
    .some(
      ([name, alias = name]) => name === entryPoint && (member === undefined || glue.includes(`${alias}.${member}(`)),
    );
}

/**
 * Returns the imports and exports of a component that may be translated. Throws a `PluginLoadError` for another one.
 */
function checked(plugin: string, component: Uint8Array): ComponentWorld {
  try {
    return checkComponent(component);
  } catch (cause) {
    throw pluginLoadError(plugin, `has a component that is refused: ${messageOf(cause)}`, cause);
  }
}

function isAllowed(name: string): boolean {
  const [, packageName, interfaceName, version] = /^([\w-]+:[\w-]+)\/([\w-]+)@(\d+\.\d+)\.\S+$/.exec(name) ?? [];
  if (packageName === 'aana:host') return version === '0.1' && suspendingFunctions(interfaceName!) !== undefined;
  return packageName !== undefined && version === '0.2' && wasiPackages.includes(packageName);
}

function suspendingOf(name: string): string[] {
  const interfaceName = /^aana:host\/([\w-]+)@/.exec(name)?.[1];
  return (suspendingFunctions(interfaceName ?? '') ?? []).map((fn) => `${name}#${fn}`);
}

const isCoreModule = (bytes: Uint8Array): boolean =>
  [...componentHeader.subarray(0, 4), 1, 0, 0, 0].every((byte, n) => bytes[n] === byte);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const firstLine = (text: string): string => text.split('\n')[0]!;
