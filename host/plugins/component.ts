import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { randomSuffix } from '../core/ids.ts';
import { type Capability, capabilityDefinitions, capabilityNames, suspendingFunctions } from './capabilities/catalogue.ts';
import { exposeState } from './expose-state.ts';
import { leanGlue } from './lean-glue.ts';
import { pluginLoadError } from './manifest.ts';
import { capMemory } from './memory-cap.ts';
import type { RuntimeMode } from './protocol.ts';
import { enableExtendedConstants } from './wasm-features.ts';

/** A component, ready to be instantiated in a worker. */
export interface LoadedComponent {
  /** SHA-256 of the component file, hexadecimal. */
  readonly digest: string;
  /** URL of the generated glue module; an Extism plugin has none, and its only module is `main`. */
  readonly glue: string | undefined;
  /** The cap on each module's memory. */
  readonly memoryBytes: number;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
}

export interface ComponentOptions {
  /** The plugin's name, for errors. */
  readonly plugin: string;
  readonly cacheDir: string;
  readonly mode: RuntimeMode;
}

/** A component as it lies in the cache, not compiled yet. */
export interface TranslatedComponent {
  /** SHA-256 of the component file, hexadecimal. */
  readonly digest: string;
  /** What it imports, such as `aana:host/log@0.1.0`. */
  readonly imports: readonly string[];
  /** Capabilities that must be asked for and whose functions it imports. An interface imported for its types alone is none. */
  readonly uses: readonly Capability[];
  compile(memoryBytes: number): Promise<LoadedComponent>;
}

const componentHeader = Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0);
/** Interfaces of language runtimes for which the workers have a deny-all stand-in. */
const wasiPackages = ['wasi:cli', 'wasi:clocks', 'wasi:filesystem', 'wasi:io', 'wasi:random'];
const glueFile = 'component.js';
/** Counts changes of what is kept in the cache. */
const cacheFormat = 4;

/** What is kept beside a translation: the members of its `package.json`. */
interface CacheEntry {
  readonly imports: readonly string[];
  readonly uses: readonly Capability[];
  readonly modules: readonly string[];
}

/**
 * Reads a component and checks what it imports and exports; `compile` puts a cap on its memory. The generated glue and core modules are
 * kept under `cacheDir` by content, so that only the first load of a component translates it. Throws `PluginLoadError`.
 */
export async function readComponent(file: string, options: ComponentOptions): Promise<TranslatedComponent> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw pluginLoadError(options.plugin, `has no component at ${file}; build it first`, cause);
  });
  if (!componentHeader.every((byte, n) => bytes[n] === byte)) throw pluginLoadError(options.plugin, `has a component (${file}) that is not a WebAssembly component${isCoreModule(bytes) ? '; an Extism plugin says "runtime": "extism" in its plugin.json' : ''}`);
  const digest = createHash('sha256').update(bytes).digest('hex');
  const dir = join(options.cacheDir, 'plugins', `${digest}-${await toolVersion()}-${options.mode}-${cacheFormat}`);
  const entry = (await cached(dir)) ?? (await translate(bytes, dir, options));
  return { digest, imports: entry.imports, uses: entry.uses, compile: (memoryBytes) => compile(digest, dir, entry, memoryBytes, options) };
}

async function compile(digest: string, dir: string, { modules }: CacheEntry, memoryBytes: number, { plugin }: ComponentOptions): Promise<LoadedComponent> {
  enableExtendedConstants();
  const compiled = await Promise.all(
    modules.map(async (name) => {
      try {
        return [name, await WebAssembly.compile(capMemory(exposeState(await readFile(join(dir, name))), memoryBytes))] as const;
      } catch (cause) {
        throw pluginLoadError(plugin, `cannot be compiled: ${messageOf(cause)}`, cause);
      }
    }),
  );
  return { digest, glue: pathToFileURL(join(dir, glueFile)).href, memoryBytes, modules: Object.fromEntries(compiled) };
}

/** What an earlier translation left. A folder is complete or absent: it was renamed into place. */
async function cached(dir: string): Promise<CacheEntry | undefined> {
  const text = await readFile(join(dir, 'package.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text).aana;
}

async function translate(bytes: Uint8Array, dir: string, { plugin, mode }: ComponentOptions): Promise<CacheEntry> {
  const { transpileBytes } = await import('@bytecodealliance/jco-transpile');
  const { componentWit } = await import('@bytecodealliance/jco-transpile/wasm-tools');
  const broken = (cause: unknown): never => {
    throw pluginLoadError(plugin, `has a broken component: ${firstLine(messageOf(cause))}`, cause);
  };
  const { imports, exports } = worldOf(await componentWit(bytes).catch(broken));
  const refused = imports.filter((name) => !isAllowed(name));
  if (refused.length > 0) throw pluginLoadError(plugin, `imports ${refused.join(', ')}, which this host does not offer`);
  const endpoint = exports.find((name) => /^aana:host\/endpoint@0\.1\.\d+$/.test(name));
  if (endpoint === undefined) throw pluginLoadError(plugin, 'does not export aana:host/endpoint@0.1');
  const suspending =
    mode === 'suspending' ? { asyncMode: 'jspi' as const, asyncImports: imports.flatMap(suspendingOf), asyncExports: [`${endpoint}#run`] } : { asyncMode: 'sync' as const };
  const { files } = await transpileBytes(bytes, {
    name: 'component',
    instantiation: 'sync',
    base64Cutoff: 0,
    emitTypescriptDeclarations: false,
    ...suspending,
  }).catch(broken);

  const glue = new TextDecoder().decode(files[glueFile]);
  const uses = capabilityNames.filter((name) => capabilityDefinitions[name].entryPoints.some((point) => takes(glue, name, point)));
  const entry: CacheEntry = { imports, uses, modules: Object.keys(files).filter((name) => name.endsWith('.wasm')) };
  const temporary = `${dir}.${randomSuffix()}`;
  await mkdir(temporary, { recursive: true });
  try {
    await writeFile(join(temporary, 'package.json'), `${JSON.stringify({ type: 'module', aana: entry })}\n`);
    for (const [name, content] of Object.entries(files)) {
      if (!name.includes('/')) await writeFile(join(temporary, name), name === glueFile ? leanGlue(glue) : content);
    }
    await rename(temporary, dir).catch(async (error: unknown) => {
      if (!(await cached(dir))) throw error; // else another process was first, with the same content
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return entry;
}

/** Whether the glue takes a name from an interface: `const { Chunks, call, open: open$1 } = imports['aana:host/deployments'];`. */
function takes(glue: string, interfaceName: string, name: string): boolean {
  return [...glue.matchAll(new RegExp(`const \\{([^}]*)\\} = imports\\['aana:host/${interfaceName}'\\]`, 'g'))].some((match) => match[1]!.split(',').some((each) => each.trim().split(':')[0] === name));
}

/** The names that a component's world imports and exports: interfaces with their version, functions by their own name. */
function worldOf(wit: string): { imports: string[]; exports: string[] } {
  const world = /^world root \{$([\s\S]*?)^\}$/m.exec(wit)?.[1] ?? '';
  const names = (direction: 'import' | 'export'): string[] =>
    [...world.matchAll(new RegExp(`^  ${direction} ([^;{]+?)(?:: (?:async )?(?:func|interface)\\b.*|;| \\{)?$`, 'gm'))].map((match) => match[1]!);
  return { imports: names('import'), exports: names('export') };
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

async function toolVersion(): Promise<string> {
  const file = createRequire(import.meta.url).resolve('@bytecodealliance/jco-transpile').replace(/jco-transpile.*$/s, 'jco-transpile/package.json');
  return JSON.parse(await readFile(file, 'utf8')).version;
}

const isCoreModule = (bytes: Uint8Array): boolean => [...componentHeader.subarray(0, 4), 1, 0, 0, 0].every((byte, n) => bytes[n] === byte);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const firstLine = (text: string): string => text.split('\n')[0]!;
