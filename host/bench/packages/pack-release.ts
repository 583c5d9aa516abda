import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { silentLogger } from '../../core/log/logger.ts';
import { packageRoot, packageVersion } from '../../core/package-root.ts';
import {
  buildNative,
  buildSqlite,
  PREBUILT_PACKAGE,
  type ReleaseManifest,
  writePrebuiltPackage,
} from '../../native-build/index.ts';
import { BUILD_TOOLS, type ToolsManifest } from '../../plugins/build/build-tools.ts';
import { lockedPackages, NOT_INSTALLED } from './locked-packages.ts';
import { writeSbom } from './sbom.ts';

const run = promisify(execFile);

export interface Release {
  /** Tarball of `aana-host`, which names the prebuilt package as an optional dependency. */
  readonly main: string;
  /** Tarball of the compiled addon and SQLite for this platform. */
  readonly prebuilt: string;
  /** Bill of materials: CycloneDX in JSON. */
  readonly sbom: string;
}

/**
 * Packs a release into `folder`: the package, the compiled addon for this platform, and a bill of materials. The checkout's `package.json`
 * does not name the prebuilt package, because a lock file cannot have a package that is published later. It depends on
 * the bundler and the other tools, because a start of a checkout needs them.
 */
export async function packRelease(folder: string, cacheDir: string): Promise<Release> {
  const into = resolve(folder);
  await mkdir(into, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'aana-release-'));
  try {
    const { addon } = await buildNative({ cacheDir, log: silentLogger, mode: 'prebuilt', cuda: 'off' });
    const sqlite = await buildSqlite({ cacheDir, log: silentLogger });
    const binaries = join(work, PREBUILT_PACKAGE);
    const digest = await writePrebuiltPackage(binaries, dirname(addon), dirname(dirname(sqlite)));
    const prebuilt = await pack(binaries, into);

    const plain = await pack(packageRoot, work);
    await run('tar', ['-xzf', plain, '-C', work]);
    const manifestPath = join(work, 'package', 'package.json');
    const manifest = JSON.parse(await readFile(manifestPath, 'utf8')) as {
      dependencies: Readonly<Record<string, string>>;
      devDependencies: Readonly<Record<string, string>>;
      optionalDependencies: object;
    };
    const optionalDependencies = { [PREBUILT_PACKAGE]: packageVersion(), ...manifest.optionalDependencies };
    const dependencies = { ...manifest.dependencies };
    const devDependencies = { ...manifest.devDependencies };
    for (const name of NOT_INSTALLED) {
      devDependencies[name] = dependencies[name]!;
      delete dependencies[name];
    }
    const release: ReleaseManifest & ToolsManifest = {
      prebuilt: { [PREBUILT_PACKAGE]: digest },
      buildTools: [...(await lockedPackages(BUILD_TOOLS)).values()],
    };
    const published = { ...manifest, dependencies, devDependencies, optionalDependencies, ...release };
    await writeFile(manifestPath, `${JSON.stringify(published, null, 2)}\n`);
    const sbom = join(into, `aana-host-${packageVersion()}.cdx.json`);
    await writeSbom(sbom);
    return { main: await pack(join(work, 'package'), into), prebuilt, sbom };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Runs `npm pack` in `folder` and returns the path of the tarball in `into`. */
async function pack(folder: string, into: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', into], {
    cwd: folder,
    maxBuffer: 1e8,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(into, filename);
}
