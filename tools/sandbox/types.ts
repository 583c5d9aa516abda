import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { componentEmbed, componentNew } from '@bytecodealliance/jco-transpile/wasm-tools';
import { packageRoot } from '../../host/base/core/package-root.ts';
import {
  describeComponent,
  type OfferedTypes,
  type SandboxProgram,
} from '../../host/endpoints/plugins/sandbox/index.ts';
import { versionless } from '../../host/endpoints/plugins/sandbox/component-types.ts';

const wasiVersion = '0.2.12';
const wasiPackages = ['io', 'clocks', 'random', 'filesystem', 'sockets', 'cli'];
const world = 'everything';

/** Returns the types of the world and of WASI, as the sandbox describes a component that imports all of them. */
export async function typesOfWorld(sandbox: SandboxProgram): Promise<OfferedTypes> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-types-'));
  try {
    const component = join(folder, 'everything.wasm');
    await writeFile(component, await everything());
    const { imports, exports } = await describeComponent({ sandbox, plugin: world, component });
    const texts = (interfaces: typeof imports): OfferedTypes['imports'] =>
      Object.fromEntries(interfaces.map(({ name, members }) => [versionless(name), Object.fromEntries(members ?? [])]));
    return { imports: texts(imports), exports: texts(exports) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a component that imports each interface of the world and of WASI's command line. */
export async function everything(): Promise<Uint8Array> {
  const { resolve } = createRequire(import.meta.url);
  const builtin = join(dirname(dirname(resolve('@bytecodealliance/jco'))), 'lib', 'wit', 'builtin', wasiVersion);
  const packages = await Promise.all(
    wasiPackages.map((name) => readFile(join(builtin, `wasi-${name}`, 'package.wit'), 'utf8')),
  );
  const nested = packages.map((text) => text.replace(/^package ([^;]+);/m, 'package $1 {') + '}\n');
  const own = await readFile(join(packageRoot, 'wit', 'world.wit'), 'utf8');
  const witSource = [
    own,
    `world ${world} { include plugin; include wasi:cli/imports@${wasiVersion}; }`,
    ...nested,
  ].join('\n');
  return componentNew(await componentEmbed({ witSource, world, dummy: true }));
}
