import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { extractMembers, fetchPackage, withFileLock } from '../packages/index.ts';
import { compile } from './compile.ts';
import { packageFolder } from './inputs.ts';
import { SQLITE_SOURCE } from './pins.ts';
import { defaultJobs, ownToolchain, platformName, type Toolchain } from './platform.ts';
import { findPrebuiltSqlite } from './prebuilt-package.ts';
import { checkTools, missingTool } from './tools.ts';

export interface SqliteBuildOptions {
  /** Folder into which the package is fetched if npm has not installed it. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** Environment of the compilers. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

const cmakeFolder = join(packageRoot, 'native', 'sqlite3');
const require = createRequire(join(packageRoot, 'package.json'));

/** Replaces the package's file, which looks for the addon where an install script would have put it. */
const BINDING = "module.exports = require('../node_sqlite3.node');\n";

/**
 * Returns the path of the `sqlite3` module. Builds its addon into `build/` of this package if necessary. No install
 * script runs, and only the package itself is fetched. The folder is named by a hash of the inputs and valid for every
 * version of Node, because the addon uses only Node-API. Concurrent calls build once.
 */
export async function buildSqlite({ cacheDir, log, signal, env = process.env }: SqliteBuildOptions): Promise<string> {
  const root = join(packageRoot, 'build'); // beside the addon of this package
  const { folder, entry } = await place();
  if (existsSync(entry)) return entry;
  await mkdir(root, { recursive: true });
  return withFileLock(
    join(root, 'sqlite3.lock'),
    async () => {
      if (existsSync(entry)) return entry;
      const prebuilt = await findPrebuiltSqlite(basename(folder), log);
      if (prebuilt !== undefined) {
        const partial = join(root, 'sqlite3.partial');
        await rm(partial, { recursive: true, force: true });
        await cp(prebuilt, partial, { recursive: true });
        await rm(folder, { recursive: true, force: true });
        await rename(partial, folder);
        return entry;
      }
      checkTools(env, ['a C++ compiler', 'cmake']);
      log.info('building SQLite', { version: SQLITE_SOURCE.version });
      const started = performance.now();
      const work = join(root, 'sqlite3.partial');
      await rm(work, { recursive: true, force: true });
      try {
        const made = await compileSqlite({ toolchain: ownToolchain, work, cacheDir, log, signal, env });
        await rm(folder, { recursive: true, force: true });
        await rename(made, folder); // atomic, so that it is complete or missing
      } finally {
        await rm(work, { recursive: true, force: true });
      }
      log.info('SQLite built', { seconds: Math.round((performance.now() - started) / 1000) });
      return entry;
    },
    { signal, onWait: () => log.info('waiting for another process that builds SQLite') },
  );
}

/** Fetches the sources and compiles the module. Returns its folder, `<work>/sqlite3-<hash>`. */
export async function compileSqlite(
  options: SqliteBuildOptions & { readonly toolchain: Toolchain; readonly work: string },
): Promise<string> {
  const { toolchain, work, log, signal, env = process.env } = options;
  const uv = uvHeaders();
  const made = join(work, await folderName(toolchain.platform));
  const sources = await packageSources(options, join(work, 'package'));
  const out = join(work, 'cmake');
  await compile({
    title: 'SQLite',
    directory: cmakeFolder,
    out,
    definitions: {
      ...toolchain.definitions,
      AANA_BINDING_DIR: join(sources, 'src'),
      AANA_SQLITE_DIR: await unpackAmalgamation(sources, join(work, 'sqlite')),
      AANA_NAPI_DIR: packageFolder('node-addon-api'),
      AANA_UV_DIR: uv,
    },
    jobs: defaultJobs(),
    log,
    signal,
    env,
  });
  await cp(join(sources, 'lib'), join(made, 'lib'), { recursive: true });
  await writeFile(join(made, 'lib', 'sqlite3-binding.js'), BINDING);
  await writeFile(join(made, 'package.json'), '{"type":"commonjs"}\n');
  await copyFile(join(sources, 'LICENSE'), join(made, 'LICENSE'));
  await copyFile(join(out, 'Release', 'node_sqlite3.node'), join(made, 'node_sqlite3.node'));
  return made;
}

/** Returns whether the module is already built. */
export async function isSqliteBuilt(): Promise<boolean> {
  return existsSync((await place()).entry);
}

async function place(): Promise<{ readonly folder: string; readonly entry: string }> {
  const folder = join(packageRoot, 'build', await folderName(platformName));
  return { folder, entry: join(folder, 'lib', 'sqlite3.js') };
}

/** Returns the name of the module's folder, which has a hash of all inputs. */
async function folderName(platform: string): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([SQLITE_SOURCE.integrity, platform, BINDING]));
  for (const file of ['CMakeLists.txt', 'package.json']) hash.update(await readFile(join(cmakeFolder, file)));
  return `sqlite3-${hash.digest('hex').slice(0, 12)}`;
}

/** Returns the folder of the package. Fetches it if npm has not installed it, as after a failed install script. */
async function packageSources(options: SqliteBuildOptions, into: string): Promise<string> {
  const installed = installedPackage();
  if (installed) return installed;
  await extractMembers(
    await fetchPackage(SQLITE_SOURCE, options),
    /^package\/(src|lib|deps)\/|^package\/LICENSE$/,
    into,
  );
  return join(into, 'package');
}

function installedPackage(): string | undefined {
  try {
    const manifest = require.resolve('sqlite3/package.json');
    return (require(manifest) as { version: string }).version === SQLITE_SOURCE.version ? dirname(manifest) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a folder with headers of libuv for the binding: those of this Node, or any others on this machine, because
 * all of version 1 have the same binary interface.
 */
function uvHeaders(): string {
  const prefix = dirname(dirname(process.execPath));
  const folders = [prefix, '/usr', '/usr/local', '/opt/homebrew'].flatMap((root) => [
    join(root, 'include', 'node'),
    join(root, 'include'),
  ]);
  const found = folders.find((folder) => existsSync(join(folder, 'uv.h')));
  if (found === undefined)
    throw missingTool(
      `the header uv.h is missing (searched in ${folders.join(', ')}): install it (Debian/Ubuntu: apt-get install ` +
        `libuv1-dev; macOS: brew install libuv)`,
    );
  return found;
}

/** Unpacks SQLite and returns the folder with `sqlite3.c`. */
async function unpackAmalgamation(sources: string, into: string): Promise<string> {
  const archive =
    (await readdir(join(sources, 'deps'))).find((name) => /^sqlite-autoconf-\d+\.tar\.gz$/.test(name)) ?? '';
  const name = archive.replace('.tar.gz', '');
  await extractMembers(
    join(sources, 'deps', archive),
    ['sqlite3.c', 'sqlite3.h', 'sqlite3ext.h'].map((file) => `${name}/${file}`),
    into,
  );
  return join(into, name);
}
