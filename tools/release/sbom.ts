import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../host/base/core/package-root.ts';
import {
  LLAMA_VERSION,
  SQLITE_SOURCE,
  WASMTIME_VERSION,
  WHISPER_PACKAGE_VERSION,
  WHISPER_VERSION,
} from '../../host/setup/native-build/pins.ts';

const GENERATOR = '@cyclonedx/cyclonedx-npm@6.0.1';

/** A component of the bill of materials. Only the fields that are made here. Source: CycloneDX 1.6. */
interface Component {
  readonly type: 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** An SPDX expression. */
  readonly licenses: readonly [{ readonly expression: string }];
  readonly purl: string;
}

interface Bom {
  readonly components: readonly { readonly purl?: string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
}

const component = (name: string, version: string, purl: string, license: string, description: string): Component => ({
  type: 'library',
  'bom-ref': `native|${name}@${version}`,
  name,
  version,
  description,
  licenses: [{ expression: license }],
  purl,
});

/** What is compiled or copied into the addon and the other binaries, which npm does not know. */
const NATIVE: readonly Component[] = [
  component(
    'llama.cpp',
    LLAMA_VERSION,
    `pkg:npm/node-llama-cpp@${LLAMA_VERSION}`,
    'MIT',
    'llama.cpp with ggml and mtmd, as the npm package node-llama-cpp of this version has them',
  ),
  component(
    'whisper.cpp',
    WHISPER_VERSION,
    `pkg:npm/%40fugood/whisper.node@${WHISPER_PACKAGE_VERSION}`,
    'MIT',
    'whisper.cpp, as the npm package @fugood/whisper.node has it',
  ),
  component(
    'SQLite',
    SQLITE_SOURCE.version,
    `pkg:npm/sqlite3@${SQLITE_SOURCE.version}`,
    'blessing',
    'SQLite with its binding, as the npm package sqlite3 of this version has them',
  ),
  component(
    'Wasmtime',
    WASMTIME_VERSION,
    `pkg:pypi/wasmtime@${WASMTIME_VERSION}`,
    'Apache-2.0 WITH LLVM-exception',
    'the library that runs plugins, as the wheels wasmtime of this version have it',
  ),
];

/**
 * Writes the bill of materials of a release to `path`: CycloneDX 1.6 in JSON, with the packages that
 * `package-lock.json` has for use, installed, fetched at the first build or bundled, and the sources of the addon.
 * Models are downloaded later and are not in it.
 */
export async function writeSbom(path: string): Promise<void> {
  // npm reports a peer range of jco as an error, although the pinned version is the one that works.
  const args = [
    '--package-lock-only',
    '--omit',
    'dev',
    '--ignore-npm-errors',
    '--output-reproducible',
    '--flatten-components',
  ];
  const folder = await mkdtemp(join(tmpdir(), 'aana-sbom-'));
  try {
    await copyFile(join(packageRoot, 'package.json'), join(folder, 'package.json'));
    const lock = await readFile(join(packageRoot, 'package-lock.json'), 'utf8');
    // The addresses have a placeholder for the registry.
    await writeFile(join(folder, 'package-lock.json'), lock.replaceAll(/^ *"resolved": "https:.*\n/gm, ''));
    await promisify(execFile)(
      'npx',
      [
        ...['--yes', `--package=${GENERATOR}`, '--', 'cyclonedx-npm', ...args],
        ...['--spec-version', '1.6', '--output-format', 'JSON', '--output-file', path, join(folder, 'package.json')],
      ],
      { maxBuffer: 1e8 },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const bom = JSON.parse(await readFile(path, 'utf8')) as Bom;
  const root = bom.metadata.component['bom-ref'];
  const natives = NATIVE.map((one) => one['bom-ref']);
  const dependencies = bom.dependencies.map((one) =>
    one.ref === root ? { ...one, dependsOn: [...(one.dependsOn ?? []), ...natives] } : one,
  );
  const whole = {
    ...bom,
    components: [...bom.components, ...NATIVE],
    dependencies: [...dependencies, ...natives.map((ref) => ({ ref }))],
  };
  await writeFile(path, `${JSON.stringify(whole, null, 2)}\n`);
}
