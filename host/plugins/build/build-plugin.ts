import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { randomSuffix } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { packageRoot } from '../../core/package-root.ts';
import { withFileLock } from '../../packages/file-lock.ts';
import { isComponentFile, type PluginManifest, pluginLoadError, readManifest } from '../manifest.ts';
import { positionsPath } from '../source-positions.ts';
import { guestWorld } from './guest-world.ts';

export interface BuildOptions {
  readonly log: Logger;
  /** Builds even when no input has changed. */
  readonly force?: boolean;
  /** Where the component goes instead of the manifest's place. */
  readonly outDir?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface BuildResult {
  /** The component file. */
  readonly component: string;
  readonly rebuilt: boolean;
}

/** What a component was made of; stands beside it. */
interface Stamp {
  readonly toolchain: string;
  /** Hash of the component that was written. */
  readonly component: string;
  /** Hash of every bundled source file, by absolute path. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** The contract between host and guests. */
export const worldFile = join(packageRoot, 'wit', 'world.wit');

/**
 * Makes a plugin's component from its TypeScript entry: bundled into one module, then compiled with the WIT world into a component.
 * Does nothing when the component is there and neither the sources it was made of, the world nor the tools have changed. Processes
 * that build the same plugin at once wait for each other. A plugin without the entry file, or of Extism, is not ours to build: its
 * component must exist.
 */
export async function buildPlugin(dir: string, options: BuildOptions): Promise<BuildResult> {
  const manifest = await readManifest(dir);
  if (isComponentFile(dir)) return { component: manifest.component, rebuilt: false };
  const component = options.outDir === undefined ? manifest.component : join(options.outDir, basename(manifest.component));
  const isOurs = manifest.runtime === 'component' && (await exists(manifest.entry));
  if (!isOurs) {
    if (await exists(component)) return { component, rebuilt: false };
    if (manifest.runtime === 'extism') throw pluginLoadError(manifest.name, `has no module ${component}: an Extism plugin is built with its own language's tools`);
    throw pluginLoadError(manifest.name, `has neither a component (${component}) nor a source to build it from (${manifest.entry})`);
  }
  const world = guestWorld(await readFile(worldFile, 'utf8'), manifest.capabilities);
  const toolchain = await toolchainHash(world);
  const isCurrent = async (): Promise<boolean> => options.force !== true && (await isUpToDate(component, toolchain));
  if (await isCurrent()) return { component, rebuilt: false };
  await mkdir(dirname(component), { recursive: true });
  return withFileLock(
    `${component}.lock`,
    async () => {
      if (await isCurrent()) return { component, rebuilt: false }; // another process built it meanwhile
      await build(manifest, component, { text: world, toolchain }, options);
      return { component, rebuilt: true };
    },
    { signal: options.signal, onWait: () => options.log.info('plugin build waits for another', { plugin: manifest.name }) },
  );
}

async function build(manifest: PluginManifest, component: string, world: { readonly text: string; readonly toolchain: string }, { log, signal }: BuildOptions): Promise<void> {
  const startedAt = performance.now();
  const { bundlePlugin } = await import('./bundle.ts'); // the bundler is large, and most starts build nothing
  const bundle = await bundlePlugin(manifest);
  signal?.throwIfAborted();
  const { componentize } = await import('componentize-qjs');
  const witPath = `${component}.${randomSuffix()}.wit`;
  await writeFile(witPath, world.text);
  const making = componentize({ witPath, jsSource: bundle.code, world: 'plugin', sync: true }).finally(() => rm(witPath, { force: true }));
  const made = await making.catch((cause: unknown) => {
    throw pluginLoadError(manifest.name, `cannot be made into a component: ${bundle.positions.translate(evaluationError(cause, bundle.waitsAt))}`, cause);
  });
  signal?.throwIfAborted();
  const inputs = Object.fromEntries(await Promise.all(bundle.files.map(async (file) => [file, sha256(await readFile(file))] as const)));
  const stamp: Stamp = { toolchain: world.toolchain, component: sha256(made.component), inputs };
  await rm(stampPath(component), { force: true }); // never a stamp beside another component
  await writeAtomically(component, made.component);
  await writeAtomically(positionsPath(component), bundle.positions.toJson(stamp.component));
  await writeAtomically(stampPath(component), `${JSON.stringify(stamp, undefined, 1)}\n`);
  log.info('plugin built', { plugin: manifest.name, bytes: made.component.length, ms: Math.round(performance.now() - startedAt) });
}

async function isUpToDate(component: string, toolchain: string): Promise<boolean> {
  const stamp = await readStamp(component);
  if (!stamp || stamp.toolchain !== toolchain || (await hashOf(component)) !== stamp.component || !(await exists(positionsPath(component)))) return false;
  const current = await Promise.all(Object.entries(stamp.inputs).map(async ([file, hash]) => (await hashOf(file)) === hash));
  return current.every(Boolean);
}

async function readStamp(component: string): Promise<Stamp | undefined> {
  try {
    const { toolchain, component: hash, inputs } = JSON.parse(await readFile(stampPath(component), 'utf8'));
    if (typeof toolchain !== 'string' || typeof hash !== 'string' || typeof inputs !== 'object') return undefined;
    return { toolchain, component: hash, inputs };
  } catch {
    return undefined; // absent or unreadable: build
  }
}

/** Why the top level of the sources did not run to its end, less what the compiler says around it. */
function evaluationError(cause: unknown, waitsAt: string | undefined): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (waitsAt !== undefined && message.includes('blocking on a promise')) return `${waitsAt}: its top level waits for a promise that nothing settles: a plugin has no event loop`;
  const [, missing] = /unknown import: `(aana:host\/[^`]+)` has not been defined/.exec(message) ?? [];
  if (missing !== undefined) return `its top level calls the host (${missing}), which is there inside "run" only`;
  return message.replace(/^(: )?Failed to evaluate user JavaScript module: (Failed to finish JavaScript module evaluation: )?/, '').trimEnd();
}

/** The world and the versions of what turns sources into a component. */
async function toolchainHash(world: string): Promise<string> {
  const require = createRequire(import.meta.url);
  const versions = await Promise.all(
    ['componentize-qjs', 'rolldown'].map(async (name) => {
      const { version } = JSON.parse(await readFile(join(packageDir(require.resolve(name), name), 'package.json'), 'utf8'));
      return `${name}@${version}`;
    }),
  );
  return sha256(`${versions.join('\n')}\n${world}`);
}

function packageDir(resolved: string, name: string): string {
  const marker = join('node_modules', name);
  return resolved.slice(0, resolved.lastIndexOf(marker) + marker.length);
}

const stampPath = (component: string): string => `${component}.stamp.json`;
const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const exists = (path: string): Promise<boolean> => access(path).then(() => true, () => false);
const hashOf = (path: string): Promise<string | undefined> => readFile(path).then(sha256, () => undefined);

async function writeAtomically(path: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomSuffix()}`;
  try {
    await writeFile(temporary, data);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}
