import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { create } from 'tar';
import { packageRoot, packageVersion } from '../../host/base/core/package-root.ts';
import {
  platformName,
  prebuiltPackage,
  type ReleaseManifest,
  writePrebuiltPackage,
} from '../../host/setup/native-build/index.ts';
import { BUILD_TOOLS, type ToolsManifest } from '../../host/endpoints/plugins/build/build-tools.ts';
import { buildBinaries } from './build-binaries.ts';
import { lockedPackages, NOT_INSTALLED } from './locked-packages.ts';
import { writeSbom } from './sbom.ts';

const run = promisify(execFile);

/** The same in every tarball of npm. */
const TIME_OF_FILES = new Date('1985-10-26T08:15:00Z');

export interface Release {
  /** Tarball of `aana-host`, which names the prebuilt packages as optional dependencies. */
  readonly main: string;
  /** Tarballs with what is compiled, one for each platform. */
  readonly prebuilt: readonly string[];
  /** Bill of materials: CycloneDX in JSON. */
  readonly sbom: string;
}

/**
 * Packs a release into `folder`: the package, what is compiled for each platform, and a bill of materials. Default:
 * the platform of this machine; others are cross-compiled. The checkout's `package.json` does not name the prebuilt
 * packages, because a lock file cannot have a package that is published later. It depends on the bundler and the other
 * tools, because a start of a checkout needs them.
 */
export async function packRelease(
  folder: string,
  cacheDir: string,
  platforms: readonly string[] = [platformName],
): Promise<Release> {
  const into = resolve(folder);
  await mkdir(into, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'aana-release-'));
  try {
    const prebuilt: string[] = [];
    const digests: Record<string, string> = {};
    for (const platform of platforms) {
      const name = prebuiltPackage(platform);
      const binaries = await buildBinaries(platform, join(work, platform), cacheDir);
      digests[name] = await writePrebuiltPackage(join(work, name), platform, binaries);
      prebuilt.push((await pack(join(work, name), into)).path);
    }

    const plain = await pack(packageRoot, work);
    await run('tar', ['-xpzf', plain.path, '-C', work]); // with npm's modes, whatever the umask is
    const manifestPath = join(work, 'package', 'package.json');
    const manifest = JSON.parse(await readFile(manifestPath, 'utf8')) as {
      dependencies: Readonly<Record<string, string>>;
      devDependencies: Readonly<Record<string, string>>;
      optionalDependencies: object;
      overrides: object;
    };
    const versions = Object.fromEntries(Object.keys(digests).map((name) => [name, packageVersion()]));
    const optionalDependencies = { ...versions, ...manifest.optionalDependencies };
    const dependencies = { ...manifest.dependencies };
    const devDependencies = { ...manifest.devDependencies };
    for (const name of NOT_INSTALLED) {
      devDependencies[name] = dependencies[name]!;
      delete dependencies[name];
    }
    const release: ReleaseManifest & ToolsManifest = {
      prebuilt: digests,
      buildTools: [...(await lockedPackages(BUILD_TOOLS)).values()],
    };
    delete devDependencies['binaryen']; // a folder of the checkout
    const { overrides: _, ...rest } = manifest; // npm reads those of a checkout only
    const published = { ...rest, dependencies, devDependencies, optionalDependencies, ...release };
    await writeFile(manifestPath, `${JSON.stringify(published, null, 2)}\n`);
    const sbom = join(into, `aana-host-${packageVersion()}.cdx.json`);
    await writeSbom(sbom);
    const main = join(into, basename(plain.path));
    await create(
      { file: main, cwd: work, gzip: { level: 9 }, portable: true, mtime: TIME_OF_FILES },
      plain.files.map((path) => `package/${path}`),
    );
    return { main, prebuilt, sbom };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Runs `npm pack` in `folder`. Returns the path of the tarball in `into`, and the paths of its files. */
async function pack(folder: string, into: string): Promise<{ path: string; files: string[] }> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', into], {
    cwd: folder,
    maxBuffer: 1e8,
  });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { path: join(into, filename), files: files.map(({ path }) => path) };
}
