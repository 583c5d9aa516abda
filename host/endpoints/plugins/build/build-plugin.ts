import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { randomSuffix } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { withFileLock } from '../../../setup/packages/file-lock.js';
import { isComponentFile, type PluginManifest, pluginLoadError, readManifest } from '../set/manifest.ts';
import { positionsPath, SourcePositions } from './source-positions.ts';
import { findBuildTools, toolVersions } from './build-tools.ts';
import { type BuildLimits, ContainedBuild, defaultBuildLimits } from './contained-build.ts';
import { guestWorld } from './guest-world.ts';
import type { BegunBuilds, BuildPlan, NextBuild } from './next-build.ts';
import { PluginFiles } from './plugin-files.ts';
import { prepareFolder } from '../sandbox/code-folder.ts';

export interface BuildOptions {
  readonly log: Logger;
  /**
   * Folder below which the tools are kept if they have to be fetched, and what builds have made. Default: `build/` of
   * this package.
   */
  readonly cacheDir?: string;
  /** Whether to build even when no input has changed, and to use nothing that earlier builds have made. */
  readonly force?: boolean;
  /** Path of the component. Default: the path in the manifest. */
  readonly outDir?: string;
  /** Limits of the build's process. */
  readonly limits?: BuildLimits | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A build that may have been begun for this one. */
  readonly next?: BegunBuilds | undefined;
}

export interface BuildResult {
  /** The component file. */
  readonly component: string;
  readonly rebuilt: boolean;
}

/** The inputs of a component. The stamp lies beside the component. */
interface Stamp {
  readonly toolchain: string;
  /** Hash of the component. */
  readonly component: string;
  /** Hashes of the files that it depends on. Paths are from the component's folder, because folders are copied. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** The world of a component, and the hash of it and of the versions of the tools. */
interface BuildWorld {
  readonly text: string;
  readonly toolchain: string;
}

/** The version of the build. It changes when the same sources give a different component. */
const BUILDER = 'the entry of a component imports the bundle, an AbortSignal in ctx, forms and URLs';

const defaultCacheDir = join(packageRoot, 'build');

/** The contract between host and guests. */
export const worldFile = join(packageRoot, 'wit', 'world.wit');

/**
 * Builds a plugin's component from its TypeScript entry: bundles it into one module and compiles the module with the
 * WIT world. Does nothing when the component exists and neither sources, world nor tools have changed. Processes that
 * build the same plugin at the same time wait for each other. A plugin without an entry file and an Extism plugin
 * cannot be built here, so their component must exist. Throws `PluginLoadError`.
 */
export async function buildPlugin(dir: string, options: BuildOptions): Promise<BuildResult> {
  const manifest = await readManifest(dir);
  if (isComponentFile(dir)) return { component: manifest.component, rebuilt: false };
  const component =
    options.outDir === undefined ? manifest.component : join(options.outDir, basename(manifest.component));
  if (!(await isBuiltHere(dir, manifest))) {
    if (await exists(component)) return { component, rebuilt: false };
    if (manifest.runtime === 'extism')
      throw pluginLoadError(
        manifest.name,
        `has no module ${component}: an Extism plugin is built with its own language's tools`,
      );
    throw pluginLoadError(
      manifest.name,
      `has neither a component (${component}) nor a source to build it from (${manifest.entry})`,
    );
  }
  const world = await worldOf(manifest);
  const isCurrent = async (): Promise<boolean> =>
    options.force !== true && (await isUpToDate(component, world.toolchain));
  if (await isCurrent()) return { component, rebuilt: false };
  await mkdir(dirname(component), { recursive: true });
  if (options.outDir === undefined && !(await new PluginFiles(dir).isOwn(dirname(component)))) {
    throw pluginLoadError(
      manifest.name,
      `cannot be built: ${relative(manifest.dir, dirname(component))} leads out of its folder by a link`,
    );
  }
  return withFileLock(
    `${component}.lock`,
    async () => {
      if (await isCurrent()) return { component, rebuilt: false }; // another process has built it meanwhile
      await build(manifest, component, world, options);
      return { component, rebuilt: true };
    },
    {
      signal: options.signal,
      onWait: () => options.log.info('plugin build waits for another process', { plugin: manifest.name }),
    },
  );
}

async function build(
  manifest: PluginManifest,
  component: string,
  world: BuildWorld,
  options: BuildOptions,
): Promise<void> {
  const startedAt = performance.now();
  const { log, signal } = options;
  const plan = await planOf(manifest, world, options);
  const begun =
    (await options.next?.take(plan)) ??
    (await ContainedBuild.begin({ ...plan, dir: manifest.dir, folder: `${component}.build` }));
  const made = await begun.finish(manifest, signal);
  signal?.throwIfAborted();
  const inputs = Object.fromEntries(
    await Promise.all(
      made.files.map(async (file) => [relative(dirname(component), file), sha256(await readFile(file))] as const),
    ),
  );
  const stamp: Stamp = { toolchain: world.toolchain, component: sha256(made.component), inputs };
  await rm(stampPath(component), { force: true }); // a stamp must never lie beside a different component
  await writeAtomically(component, made.component);
  await writeAtomically(positionsPath(component), new SourcePositions(made.map).toJson(stamp.component));
  await writeAtomically(stampPath(component), `${JSON.stringify(stamp, undefined, 1)}\n`);
  log.info('plugin built', {
    plugin: manifest.name,
    bytes: made.component.length,
    ms: Math.round(performance.now() - startedAt),
  });
}

/** Whether {@link buildPlugin} would compile the plugin. Throws `PluginLoadError`. */
export async function needsBuild(dir: string): Promise<boolean> {
  const manifest = await readManifest(dir);
  if (!(await isBuiltHere(dir, manifest))) return false;
  return !(await isUpToDate(manifest.component, (await worldOf(manifest)).toolchain));
}

/** Whether this package compiles the plugin from a source in its folder. */
async function isBuiltHere(dir: string, { runtime, entry }: PluginManifest): Promise<boolean> {
  return !isComponentFile(dir) && runtime === 'component' && (await exists(entry));
}

/** Begins the next build of a plugin, if this package builds it. Throws `PluginLoadError`. */
export async function prepareBuild(dir: string, next: NextBuild, options: BuildOptions): Promise<void> {
  const manifest = await readManifest(dir);
  if (!(await isBuiltHere(dir, manifest))) return;
  await next.prepare(await planOf(manifest, await worldOf(manifest), options));
}

async function planOf(manifest: PluginManifest, world: BuildWorld, options: BuildOptions): Promise<BuildPlan> {
  const { log, cacheDir = defaultCacheDir, limits = defaultBuildLimits, signal } = options;
  const tools = await findBuildTools({ cacheDir, log, signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw pluginLoadError(manifest.name, `cannot be built: its tools are missing: ${messageOf(cause)}`, cause);
  });
  const workshop = { world: world.text, toolchain: world.toolchain, tools, kept: await keptFolder(manifest, options) };
  return { manifest, workshop, limits };
}

async function worldOf({ capabilities }: PluginManifest): Promise<BuildWorld> {
  const text = guestWorld(await readFile(worldFile, 'utf8'), capabilities);
  return { text, toolchain: toolchainHash(text) };
}

/** Returns the folder of what earlier builds have made. Undefined when it cannot be used, or `force` is set. */
async function keptFolder(
  { name }: PluginManifest,
  { cacheDir = defaultCacheDir, force }: BuildOptions,
): Promise<string | undefined> {
  if (force === true) return undefined;
  const folder = join(cacheDir, 'plugins');
  return prepareFolder(name, folder).then(
    () => folder,
    () => undefined,
  );
}

async function isUpToDate(component: string, toolchain: string): Promise<boolean> {
  const stamp = await readStamp(component);
  if (
    !stamp ||
    stamp.toolchain !== toolchain ||
    (await hashOf(component)) !== stamp.component ||
    !(await exists(positionsPath(component)))
  )
    return false;
  const current = await Promise.all(
    Object.entries(stamp.inputs).map(
      async ([file, hash]) => (await hashOf(resolve(dirname(component), file))) === hash,
    ),
  );
  return current.every(Boolean);
}

async function readStamp(component: string): Promise<Stamp | undefined> {
  try {
    const { toolchain, component: hash, inputs } = JSON.parse(await readFile(stampPath(component), 'utf8'));
    if (typeof toolchain !== 'string' || typeof hash !== 'string' || typeof inputs !== 'object') return undefined;
    return { toolchain, component: hash, inputs };
  } catch {
    return undefined; // absent or unreadable, so the plugin is built
  }
}

/** Returns the hash of the world and of the versions of the tools. */
const toolchainHash = (world: string): string => sha256(`${BUILDER}\n${toolVersions().join('\n')}\n${world}`);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const stampPath = (component: string): string => `${component}.stamp.json`;
const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Returns the hash of a regular file, or undefined. A stamp can come with a plugin and name any file, so devices and
 * pipes are not read.
 */
async function hashOf(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? sha256(await readFile(path)) : undefined;
  } catch {
    return undefined;
  }
}

async function writeAtomically(path: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomSuffix()}`;
  try {
    await writeFile(temporary, data);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}
