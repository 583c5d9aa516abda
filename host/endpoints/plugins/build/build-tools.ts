import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { dependencyVersion, packageRoot } from '../../../base/core/package-root.ts';
import { extractMembers, fetchPackage, withFileLock } from '../../../setup/packages/index.ts';

/** The packages with which plugins are built from TypeScript. Serving built plugins needs none of them. */
export const BUILD_TOOLS = ['componentize-qjs', 'esbuild', 'quickjs-wasi', 'rolldown'] as const;

/** A tool, or a package that a tool needs, with the machines for which it is, as in `package-lock.json`. */
export interface ToolPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity?: string | undefined;
  readonly os?: readonly string[] | undefined;
  readonly cpu?: readonly string[] | undefined;
  readonly libc?: readonly string[] | undefined;
}

/** What `pack:release` adds to `package.json`. */
export interface ToolsManifest {
  /** All packages of the tools. Absent in a checkout, where npm installs the tools. */
  readonly buildTools?: readonly ToolPackage[];
}

export interface BuildToolsOptions {
  /** Folder below which the tools are kept. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
}

/** Size of the download, for people. */
const DOWNLOAD = 'about 27 MB';

/** The tools with their versions (`rolldown@1.3.2`), whether they are there or not. */
export const toolVersions = (): string[] => BUILD_TOOLS.map((name) => `${name}@${dependencyVersion(name)}`);

/**
 * Returns the folder in whose `node_modules` the tools are. In a checkout it is this package. A release fetches the
 * packages that it lists, at the first build, and never uses other ones that are installed beside it. Concurrent calls
 * fetch once. Throws `DownloadException`.
 */
export async function findBuildTools({ cacheDir, log, signal }: BuildToolsOptions): Promise<string> {
  const { buildTools } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as ToolsManifest;
  if (!buildTools) return packageRoot;
  const packages = buildTools.filter(fitsThisMachine);
  const digest = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12);
  const folder = join(cacheDir, 'tools', `plugin-build-${digest}`);
  if (existsSync(folder)) return folder;
  const fetchAll = async (): Promise<string> => {
    if (existsSync(folder)) return folder;
    log.info('fetching the tools that build plugins', { tools: toolVersions(), download: DOWNLOAD });
    const partial = `${folder}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial);
    await writeFile(join(partial, 'package.json'), '{"private":true}\n');
    const sizes = await boundedMap(packages, 2, signal ?? new AbortController().signal, async (one, ending) => {
      const options = { cacheDir, log, signal: ending };
      const archive = await fetchPackage({ registry: 'npm', ...one }, options);
      const target = join(partial, 'node_modules', one.name);
      await extractMembers(archive, /^package\//, `${target}.unpacked`, options);
      await mkdir(dirname(target), { recursive: true });
      await rename(join(`${target}.unpacked`, 'package'), target);
      await rm(`${target}.unpacked`, { recursive: true });
      const { size } = await stat(archive);
      await rm(archive);
      return size;
    });
    await rename(partial, folder); // so that it is complete or missing
    log.info('fetched the tools', { folder, bytes: sizes.reduce((sum, size) => sum + size, 0) });
    return folder;
  };
  return withFileLock(`${folder}.lock`, fetchAll, {
    signal,
    onWait: () => log.info('waiting for another process that fetches the tools'),
  });
}

const resolveIn = (folder: string): ((name: string) => string) => createRequire(join(folder, 'package.json')).resolve;

/** Imports the tools that are in the `node_modules` of `folder`. */
export async function loadBuildTools(folder: string) {
  const resolve = resolveIn(folder);
  const load = (name: string) => import(pathToFileURL(resolve(name)).href);
  const [{ rolldown }, { parseAst }, { transformSync }, { componentize }]: [
    typeof import('rolldown'),
    typeof import('rolldown/parseAst'),
    typeof import('esbuild'),
    typeof import('componentize-qjs'),
  ] = await Promise.all(['rolldown', 'rolldown/parseAst', 'esbuild', 'componentize-qjs'].map(load) as never);
  return { rolldown, parseAst, transformSync, componentize };
}

/** Imports the interpreter that is in the `node_modules` of `folder`. `file` is its WebAssembly module. */
export async function loadInterpreter(folder: string) {
  const resolve = resolveIn(folder);
  const library: typeof import('quickjs-wasi') = await import(pathToFileURL(resolve('quickjs-wasi')).href);
  return { ...library, file: resolve('quickjs-wasi/quickjs.wasm') };
}

function fitsThisMachine({ os, cpu, libc }: ToolPackage): boolean {
  const fits = (names: readonly string[] | undefined, name: string): boolean => names?.includes(name) ?? true;
  return fits(os, process.platform) && fits(cpu, process.arch) && (!libc || fits(libc, thisLibc()));
}

function thisLibc(): string {
  const { header } = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}
