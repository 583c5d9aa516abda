import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { extractMembers, fetchPackage, type PackageSource, withFileLock } from '../packages/index.ts';
import { compile } from './compile.ts';
import { addFiles, filesBelow } from './files.ts';
import { WASMTIME_VERSION, WASMTIME_WHEELS } from './pins.ts';
import { defaultJobs, glibcVersion, ownToolchain, platformName, type Toolchain } from './platform.ts';
import { findPrebuiltSandbox } from './prebuilt-package.ts';
import { checkTools } from './tools.ts';

export interface SandboxBuildOptions {
  /** The library is fetched into `<cacheDir>/packages`. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** Environment of the compilers. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Whether the programs that test it are built, too. Default: no. */
  readonly withTests?: boolean | undefined;
}

/** The built sandbox of plugins. */
export interface Sandbox {
  /** Path of the program, which has its library beside it. */
  readonly program: string;
  /** The version of the library, which compiled code depends on. */
  readonly libraryVersion: string;
}

const cmakeFolder = join(packageRoot, 'native', 'sandbox');
const testPrograms = ['aana-sandbox-test', 'aana-sandbox-confined', 'aana-sandbox-forks'] as const;

/** Returns why the sandbox cannot be built on this machine. Undefined when it can. */
export function sandboxProblem(): string | undefined {
  return wheelFor(platformName) ? undefined : `no library of Wasmtime is published for ${platformName}`;
}

/**
 * Returns the sandbox. If necessary, copies it from the prebuilt package into `build/` of this package, or builds it
 * there and fetches its library. The folder is named by a hash of all inputs. Concurrent calls build once. Throws
 * `NativeBuildFailed`.
 */
export async function buildSandbox(options: SandboxBuildOptions): Promise<Sandbox> {
  const { log, signal, env = process.env, withTests = false } = options;
  const root = join(packageRoot, 'build');
  const folder = join(root, await folderName(platformName, withTests));
  if (existsSync(folder)) return sandboxIn(folder);
  await mkdir(root, { recursive: true });
  return withFileLock(
    join(root, 'sandbox.lock'),
    async () => {
      if (existsSync(folder)) return sandboxIn(folder);
      const work = join(root, 'sandbox.partial');
      await rm(work, { recursive: true, force: true });
      try {
        const prebuilt = await findPrebuiltSandbox(basename(folder), log);
        if (prebuilt !== undefined) {
          await cp(prebuilt, work, { recursive: true });
          await rename(work, folder);
          log.info('sandbox of plugins copied from the prebuilt package', { package: prebuilt });
          return sandboxIn(folder);
        }
        checkTools(env, ['a C++ compiler', 'cmake']);
        log.info('building the sandbox of plugins', { wasmtime: WASMTIME_VERSION });
        const started = performance.now();
        const made = await compileSandbox({ ...options, toolchain: ownToolchain, work });
        await rename(made, folder); // atomic, so that it is complete or missing
        log.info('sandbox of plugins built', { seconds: Math.round((performance.now() - started) / 1000) });
      } finally {
        await rm(work, { recursive: true, force: true });
      }
      return sandboxIn(folder);
    },
    { signal, onWait: () => log.info('waiting for another process that builds the sandbox of plugins') },
  );
}

/** Returns the sandbox if it is already built. */
export async function builtSandbox(): Promise<Sandbox | undefined> {
  const folder = join(packageRoot, 'build', await folderName(platformName, false));
  return existsSync(folder) ? sandboxIn(folder) : undefined;
}

/** Fetches the library and compiles the program. Returns their folder, `<work>/sandbox-<hash>`. */
export async function compileSandbox(
  options: SandboxBuildOptions & { readonly toolchain: Toolchain; readonly work: string },
): Promise<string> {
  const { toolchain, work, cacheDir, log, signal, env = process.env, withTests = false } = options;
  const source = wheelFor(toolchain.platform);
  if (!source) throw fail('NativeBuildFailed', `the sandbox of plugins cannot be built: ${sandboxProblem()}`);
  const made = join(work, await folderName(toolchain.platform, withTests));
  await unpackLibrary(await fetchPackage(source, { cacheDir, log, signal }), work, made);
  const out = join(work, 'cmake');
  await compile({
    title: 'the sandbox of plugins',
    directory: cmakeFolder,
    out,
    definitions: { ...toolchain.definitions, AANA_WASMTIME_DIR: made },
    target: withTests ? 'aana-sandbox-with-tests' : 'aana-sandbox',
    ...{ jobs: defaultJobs(), log, signal, env },
  });
  for (const name of ['aana-sandbox', ...(withTests ? testPrograms : [])])
    await copyFile(join(out, 'programs', name), join(made, name));
  return made;
}

const sandboxIn = (folder: string): Sandbox => ({
  program: join(folder, 'aana-sandbox'),
  libraryVersion: WASMTIME_VERSION,
});

/** Returns the package with the library for a platform; for this one, the library that fits its C library. */
function wheelFor(platform: string): PackageSource | undefined {
  const isMusl = platform === platformName && process.platform === 'linux' && glibcVersion() === undefined;
  return WASMTIME_WHEELS[isMusl ? `${platform}-musl` : platform];
}

/** Unpacks the library with its licence into the new folder `made`. */
async function unpackLibrary(archive: string, work: string, made: string): Promise<void> {
  const unpacked = join(work, 'wheel');
  const files = await extractMembers(archive, /\/_libwasmtime\.(so|dylib)$|\/licenses\/LICENSE$/, unpacked);
  const [library = ''] = files.filter((file) => file.includes('_libwasmtime.'));
  const [licence = ''] = files.filter((file) => file.endsWith('LICENSE'));
  await mkdir(made, { recursive: true });
  await copyFile(library, join(made, library.endsWith('.dylib') ? 'libwasmtime.dylib' : 'libwasmtime.so'));
  await copyFile(licence, join(made, 'LICENSE-wasmtime'));
}

/** Returns the name of the sandbox's folder, which has a hash of all inputs. */
async function folderName(platform: string, withTests: boolean): Promise<string> {
  const folders = ['native/sandbox', 'native/src/sandbox', ...(withTests ? ['native/test/sandbox'] : [])];
  const files = await Promise.all(folders.map((folder) => filesBelow(join(packageRoot, folder))));
  const hash = createHash('sha256').update(JSON.stringify([wheelFor(platform)?.integrity, platform, withTests]));
  await addFiles(hash, packageRoot, files.flat());
  return `sandbox-${hash.digest('hex').slice(0, 12)}`;
}
