import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../core/log/logger.ts';
import { packageRoot, packageVersion } from '../core/package-root.ts';
import type { NativeManifest } from '../../native/lib/index.ts';
import { addFiles, filesBelow, packageFolder } from './inputs.ts';
import { platformName } from './platform.ts';

/** Name of the npm package with the compiled addon and SQLite for this platform: `@aana-host/linux-x64`. */
export const PREBUILT_PACKAGE = `@aana-host/${platformName}`;
const ADDON_FOLDER = 'addon';

/** What `pack:release` adds to `package.json`. */
export interface ReleaseManifest {
  /** Digests of the prebuilt packages with which this version was published, by their names. A checkout has none. */
  readonly prebuilt?: Readonly<Record<string, string>>;
}

/**
 * Returns the folder with the compiled addon of the installed prebuilt package, or undefined if there is none that fits:
 * it was made from other sources (`inputs`), or its addon cannot be loaded on this machine, for example because the C
 * library is older.
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
  return loads(join(folder, 'aana_native.node')) ? folder : undefined;
}

/** Returns the folder of the prebuilt package with SQLite's module `name` (`sqlite3-<hash>`), or undefined. */
export async function findPrebuiltSqlite(name: string, log: Logger): Promise<string | undefined> {
  const root = await installedPrebuilt(log);
  if (root === undefined) return undefined;
  const folder = join(root, name);
  return existsSync(folder) && loads(join(folder, 'node_sqlite3.node')) ? folder : undefined;
}

/**
 * Writes the folder of the prebuilt package for `npm pack` from a finished build. Returns the digest that the main
 * package names.
 *
 * @param addonFolder Folder with the addon, its libraries and `aana-native.json`, built without CUDA.
 * @param sqliteFolder Folder `sqlite3-<hash>` of the SQLite module.
 */
export async function writePrebuiltPackage(into: string, addonFolder: string, sqliteFolder: string): Promise<string> {
  await rm(into, { recursive: true, force: true });
  await mkdir(into, { recursive: true });
  await cp(addonFolder, join(into, ADDON_FOLDER), { recursive: true });
  await cp(sqliteFolder, join(into, sqliteFolder.split('/').at(-1) ?? ''), { recursive: true });
  for (const name of ['LICENSE', 'NOTICE']) await cp(join(packageRoot, name), join(into, name));
  const { license } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { license: string };
  const [os, cpu] = platformName.split('-');
  const manifest = {
    name: PREBUILT_PACKAGE,
    version: packageVersion(),
    description: `The compiled addon of aana-host for ${platformName}${await neededGlibc(into)}.`,
    license,
    os: [os],
    cpu: [cpu],
    libc: ['glibc'],
    engines: { node: '>=20.19' },
    publishConfig: { access: 'public' },
  };
  await writeFile(join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return digestOf(into);
}

/** Replaces each file of `to` with that of `from`. Running replicas keep the file that they have mapped. */
export async function replaceFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of await readdir(from)) {
    const fresh = join(to, `.${file}.new`);
    await cp(join(from, file), fresh); // overwriting a mapped file would crash the replica
    await rename(fresh, join(to, file));
  }
}

/**
 * Returns the folder of the installed prebuilt package, or undefined if there is none, or if it is not the one with which
 * this version was published: code of somebody else must not be loaded because it has the name.
 */
async function installedPrebuilt(log: Logger): Promise<string | undefined> {
  let folder;
  try {
    folder = packageFolder(PREBUILT_PACKAGE);
  } catch {
    return undefined;
  }
  const { prebuilt = {} } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as ReleaseManifest;
  if (prebuilt[PREBUILT_PACKAGE] === (await digestOf(folder))) return folder;
  log.warn('the prebuilt package is not used', {
    package: PREBUILT_PACKAGE,
    reason: 'its files are not those with which this version of aana-host was published',
  });
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

/** Returns `, with glibc 2.36 or later` from the newest symbol that the binaries ask for. */
async function neededGlibc(folder: string): Promise<string> {
  const contents = await Promise.all((await filesBelow(folder)).map((file) => readFile(file, 'latin1')));
  const minors = contents.flatMap((content) =>
    [...content.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor)),
  );
  return minors.length === 0 ? '' : `, with glibc 2.${Math.max(...minors)} or later`;
}

/** Returns whether a child process can load an addon. A child, because an unfit addon may end the process. */
function loads(addon: string): boolean {
  return spawnSync(process.execPath, ['-e', 'require(process.argv[1])', addon], { stdio: 'ignore' }).status === 0;
}
