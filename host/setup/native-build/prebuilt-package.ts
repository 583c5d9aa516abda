import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot, packageVersion } from '../../base/core/package-root.ts';
import type { NativeManifest } from '../../../native/lib/index.ts';
import { addFiles, filesBelow } from './files.ts';
import { packageFolder } from './inputs.ts';
import { type NeededVersions, neededVersions } from './needed-versions.ts';
import { glibcProblem, glibcVersion, platformName } from './platform.ts';

/** Returns the name of the npm package with what is compiled for a platform: `@aana-host/linux-x64`. */
export const prebuiltPackage = (platform: string): string => `@aana-host/${platform}`;
/** Name of the prebuilt package for this platform. */
export const PREBUILT_PACKAGE = prebuiltPackage(platformName);
const ADDON_FOLDER = 'addon';

/** The folders that a prebuilt package contains. */
export interface Binaries {
  /** Folder with the addon, its libraries and `aana-native.json`, built without CUDA. */
  readonly addonFolder: string;
  /** Folder `sqlite3-<hash>` of the SQLite module. */
  readonly sqliteFolder: string;
  /** Folder `sandbox-<hash>` of the sandbox of plugins, with its library. */
  readonly sandboxFolder: string;
}

/** What the `package.json` of a prebuilt package has beside npm's own fields. */
interface PrebuiltManifest {
  /** On Linux, the oldest C and C++ libraries with which it runs, such as `2.34` and `3.4.30`. */
  readonly config?: NeededVersions;
}

/** What `pack:release` adds to `package.json`. */
export interface ReleaseManifest {
  /** Digests of the prebuilt packages with which this version was published, by their names. A checkout has none. */
  readonly prebuilt?: Readonly<Record<string, string>>;
}

/**
 * Returns the folder with the compiled addon of the installed prebuilt package, or undefined if there is none that
 * fits: it was made from other sources (`inputs`), or its addon cannot be loaded on this machine, for example because
 * the C library is older. The log then has the reason.
 */
export async function findPrebuiltAddon(inputs: string, log: Logger): Promise<string | undefined> {
  const root = await installedPrebuilt(log);
  if (root === undefined) return undefined;
  const folder = join(root, ADDON_FOLDER);
  try {
    const manifest = JSON.parse(await readFile(join(folder, 'aana-native.json'), 'utf8')) as NativeManifest;
    if (manifest.inputs !== inputs) return undefined;
  } catch {
    return undefined; // the package is incomplete
  }
  return loads(join(folder, 'aana_native.node'), log) ? folder : undefined;
}

/** Returns the folder of the prebuilt package with SQLite's module `name` (`sqlite3-<hash>`), or undefined. */
export async function findPrebuiltSqlite(name: string, log: Logger): Promise<string | undefined> {
  const root = await installedPrebuilt(log);
  if (root === undefined) return undefined;
  const folder = join(root, name);
  return existsSync(folder) && loads(join(folder, 'node_sqlite3.node'), log) ? folder : undefined;
}

/** Returns the folder of the prebuilt package with the sandbox of plugins `name` (`sandbox-<hash>`), or undefined. */
export async function findPrebuiltSandbox(name: string, log: Logger): Promise<string | undefined> {
  const root = await installedPrebuilt(log);
  if (root === undefined) return undefined;
  const folder = join(root, name);
  const program = join(folder, 'aana-sandbox');
  return existsSync(folder) && succeeds(log, 'the sandbox of plugins', program, 'confinement') ? folder : undefined;
}

/**
 * Writes the folder of the prebuilt package for `npm pack` from a finished build. Returns the digest that the main
 * package names.
 *
 * @param platform Platform for which it was built, such as `linux-arm64`.
 */
export async function writePrebuiltPackage(
  into: string,
  platform: string,
  { addonFolder, sqliteFolder, sandboxFolder }: Binaries,
): Promise<string> {
  await rm(into, { recursive: true, force: true });
  await mkdir(into, { recursive: true });
  await cp(addonFolder, join(into, ADDON_FOLDER), { recursive: true });
  for (const folder of [sqliteFolder, sandboxFolder])
    await cp(folder, join(into, basename(folder)), { recursive: true });
  for (const name of ['LICENSE', 'NOTICE']) await cp(join(packageRoot, name), join(into, name));
  const { license } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { license: string };
  const [os, cpu] = platform.split('-');
  const needed = os === 'linux' ? await neededVersions(into) : undefined;
  const manifest = {
    name: prebuiltPackage(platform),
    version: packageVersion(),
    description: `The compiled addon of aana-host for ${platform}${needed ? libraries(needed) : ''}.`,
    license,
    os: [os],
    cpu: [cpu],
    ...(needed && { libc: ['glibc'], config: needed }),
    engines: { node: '>=20.19' },
    publishConfig: { access: 'public' },
  };
  await writeFile(join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return digestOf(into);
}

/**
 * Returns the folder of the installed prebuilt package, or undefined if there is none, or if it is not the one with
 * which this version was published: code of somebody else must not be loaded because it has the name.
 */
async function installedPrebuilt(log: Logger): Promise<string | undefined> {
  let folder;
  try {
    folder = packageFolder(PREBUILT_PACKAGE);
  } catch {
    return undefined;
  }
  const { prebuilt = {} } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as ReleaseManifest;
  const isPublished = prebuilt[PREBUILT_PACKAGE] === (await digestOf(folder));
  const problem = isPublished
    ? await libraryProblem(folder)
    : 'its files are not those with which this version of aana-host was published';
  if (problem === undefined) return folder;
  warnUnused(log, problem);
  return undefined;
}

/** Returns the SHA-256 of all files of the package but its `package.json`. */
async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const files = await filesBelow(folder);
  await addFiles(
    hash,
    folder,
    files.filter((file) => file !== join(folder, 'package.json')),
  );
  return hash.digest('hex');
}

/** Returns why the C library of this machine does not fit a prebuilt package. Undefined if it does. */
async function libraryProblem(folder: string): Promise<string | undefined> {
  const { config } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as PrebuiltManifest;
  return config?.glibc === undefined ? undefined : glibcProblem(config.glibc, glibcVersion());
}

/** Returns text such as `, with glibc 2.34 and libstdc++ 3.4.30 or later`. */
function libraries({ glibc, glibcxx }: NeededVersions): string {
  const named = [...(glibc ? [`glibc ${glibc}`] : []), ...(glibcxx ? [`libstdc++ with GLIBCXX_${glibcxx}`] : [])];
  return named.length === 0 ? '' : `, with ${named.join(' and ')} or later`;
}

/**
 * Returns whether a child process can load an addon, and otherwise logs why not. A child, because an unfit addon may
 * end the process.
 */
function loads(addon: string, log: Logger): boolean {
  const load = 'try { require(process.argv[1]) } catch (error) { console.error(error.message); process.exit(1) }';
  return succeeds(log, `the process that loads ${basename(addon)}`, process.execPath, '-e', load, addon);
}

/** Returns whether a command succeeds, and otherwise logs that the prebuilt package is not used. */
function succeeds(log: Logger, title: string, command: string, ...args: readonly string[]): boolean {
  const { status, signal, stderr, error } = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status === 0) return true;
  warnUnused(log, error?.message ?? (stderr.trim() || `${title} ends with ${signal ?? status}`));
  return false;
}

function warnUnused(log: Logger, reason: string): void {
  log.warn('the prebuilt package is not used', { package: PREBUILT_PACKAGE, reason });
}
