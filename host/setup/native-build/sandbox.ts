import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { extractMembers, fetchPackage, type PackageSource, withFileLock } from '../packages/index.ts';
import { compile } from './compile.ts';
import { addFiles, filesBelow } from './files.ts';
import { WASMTIME_WHEELS } from './pins.ts';
import { defaultJobs, glibcVersion, platformName } from './platform.ts';
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
const testPrograms = ['aana-sandbox-test', 'aana-sandbox-confined'] as const;

/** Returns why the sandbox cannot be built on this machine. Undefined when it can. */
export function sandboxProblem(): string | undefined {
  return wheel() ? undefined : `no library of Wasmtime is published for ${platformName}`;
}

/**
 * Builds the sandbox into `build/` of this package if necessary, and fetches its library. The folder is named by a hash
 * of all inputs. Concurrent calls build once. Throws `NativeBuildFailed`.
 */
export async function buildSandbox(options: SandboxBuildOptions): Promise<Sandbox> {
  const { cacheDir, log, signal, env = process.env, withTests = false } = options;
  const source = wheel();
  if (!source) throw fail('NativeBuildFailed', `the sandbox of plugins cannot be built: ${sandboxProblem()}`);
  const root = join(packageRoot, 'build');
  const folder = join(root, await folderName(source, withTests));
  const built = { program: join(folder, 'aana-sandbox'), libraryVersion: source.version };
  if (existsSync(folder)) return built;
  await mkdir(root, { recursive: true });
  return withFileLock(
    join(root, 'sandbox.lock'),
    async () => {
      if (existsSync(folder)) return built;
      checkTools(env, ['a C++ compiler', 'cmake']);
      log.info('building the sandbox of plugins', { wasmtime: source.version });
      const started = performance.now();
      const work = join(root, 'sandbox.partial');
      await rm(work, { recursive: true, force: true });
      try {
        const made = join(work, 'made');
        const library = await unpackLibrary(await fetchPackage(source, { cacheDir, log, signal }), work, made);
        const out = join(work, 'cmake');
        const programs = ['aana-sandbox', ...(withTests ? testPrograms : [])];
        await compile({
          title: 'the sandbox of plugins',
          directory: cmakeFolder,
          out,
          definitions: { AANA_WASMTIME_DIR: library },
          target: withTests ? 'aana-sandbox-with-tests' : 'aana-sandbox',
          ...{ jobs: defaultJobs(), log, signal, env },
        });
        for (const name of programs) await copyFile(join(out, 'programs', name), join(made, name));
        await rename(made, folder); // atomic, so that it is complete or missing
      } finally {
        await rm(work, { recursive: true, force: true });
      }
      log.info('sandbox of plugins built', { seconds: Math.round((performance.now() - started) / 1000) });
      return built;
    },
    { signal, onWait: () => log.info('waiting for another process that builds the sandbox of plugins') },
  );
}

/** Returns the package with the library for this machine. */
function wheel(): PackageSource | undefined {
  const isMusl = process.platform === 'linux' && glibcVersion() === undefined;
  return WASMTIME_WHEELS[isMusl ? `${platformName}-musl` : platformName];
}

/** Unpacks the library with its licence into `made`, and returns that folder. */
async function unpackLibrary(archive: string, work: string, made: string): Promise<string> {
  const unpacked = join(work, 'wheel');
  const files = await extractMembers(archive, /\/_libwasmtime\.(so|dylib)$|\/licenses\/LICENSE$/, unpacked);
  const [library = ''] = files.filter((file) => file.includes('_libwasmtime.'));
  const [licence = ''] = files.filter((file) => file.endsWith('LICENSE'));
  await mkdir(made);
  await copyFile(library, join(made, library.endsWith('.dylib') ? 'libwasmtime.dylib' : 'libwasmtime.so'));
  await copyFile(licence, join(made, 'LICENSE-wasmtime'));
  return made;
}

async function folderName(source: PackageSource, withTests: boolean): Promise<string> {
  const folders = ['native/sandbox', 'native/src/sandbox', ...(withTests ? ['native/test/sandbox'] : [])];
  const files = await Promise.all(folders.map((folder) => filesBelow(join(packageRoot, folder))));
  const hash = createHash('sha256').update(JSON.stringify([source.integrity, platformName, withTests]));
  await addFiles(hash, packageRoot, files.flat());
  return `sandbox-${hash.digest('hex').slice(0, 12)}`;
}
