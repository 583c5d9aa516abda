import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { componentize } from 'componentize-qjs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { type LoadedPlugin, PluginHost } from './plugin-host.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';

const fixture = join(packageRoot, 'host', 'endpoints', 'plugins', 'fixtures', 'conformance');

interface Context {
  dir: string;
  host: PluginHost;
}

const Loading = suite<Context>('loading plugins');
/** Shared by the tests, because the first load of a component compiles it. */
let cacheDir = '';
/** Code that is made in a sixth of the time, because it runs a few times. */
const isFast = true;
Loading.before(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'aana-host-cache-'));
});
Loading.after(() => rm(cacheDir, { recursive: true, force: true }));

Loading.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-host-'));
  context.host = new PluginHost({ sandbox: testSandbox, ports: new FakePorts(), cacheDir, isFast, log: silentLogger });
});
Loading.after.each(async ({ dir, host }) => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

async function pluginWith(dir: string, component: Uint8Array | undefined): Promise<string> {
  const plugin = join(dir, 'sample');
  await mkdir(join(plugin, 'dist'), { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
  if (component) await writeFile(join(plugin, 'dist', 'sample.wasm'), component);
  return plugin;
}

/** A component of another world than ours. */
async function componentOf(dir: string, wit: string, source: string): Promise<Uint8Array> {
  const witPath = join(dir, 'wit', 'world.wit');
  await mkdir(dirname(witPath), { recursive: true });
  await writeFile(witPath, wit);
  const { component } = await componentize({ witPath, jsSource: source, world: 'plugin', sync: true });
  return component;
}

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => assert.unreachable('it was loaded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  assert.is(error.name, 'PluginLoadError');
  return error.message;
}

const describing = (endpoints: string): string =>
  `export const endpoint = { describe: () => ${endpoints}, run: () => 'null' };`;
const info =
  "{ name: 'a', path: '/a', summary: '', description: '', inputSchema: '{}', outputSchema: '{}', streaming: false }";

Loading('a version that has ended is no longer in memory, also while its successors serve', async ({ host }) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await buildTestPlugin(fixture);
  let current = await host.load(fixture);
  const ended: WeakRef<LoadedPlugin>[] = [];
  for (let version = 0; version < 3; version += 1) {
    const next = await host.load(fixture, { replaces: current });
    await current.drain();
    ended.push(new WeakRef(current));
    current = next;
  }
  const left = (): number => ended.filter((version) => version.deref() !== undefined).length;
  for (let round = 0; round < 50 && left() > 0; round += 1) {
    await delay(10); // a WeakRef holds its object until the turn ends
    collect();
  }
  assert.is(left(), 0);
  assert.ok(current.endpoints.length > 0);
});

Loading('a second load of a component compiles nothing', async ({ host }) => {
  await buildTestPlugin(fixture);
  const plugin = await host.load(fixture);
  await plugin.close();
  const entries = async (): Promise<string[]> => (await readdir(join(cacheDir, 'plugins'))).toSorted();
  const before = await entries();
  const inodes = async (): Promise<number[]> =>
    Promise.all(before.map(async (name) => (await stat(join(cacheDir, 'plugins', name))).ino));
  const made = await inodes();
  assert.ok(before.some((name) => name.endsWith('.code')));
  await host.load(fixture);
  assert.equal([await entries(), await inodes()], [before, made]);
});

Loading('two plugins of one name are refused', async ({ host }) => {
  await buildTestPlugin(fixture);
  await host.load(fixture);
  assert.is(await reasonOf(host.load(fixture)), 'plugin conformance is loaded already');
});

Loading('a plugin that needs more memory than the limit is refused', async () => {
  await buildTestPlugin(fixture);
  const small = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir,
    isFast,
    log: silentLogger,
    limits: { memoryBytes: 65_536 },
  });
  assert.match(
    await reasonOf(small.load(fixture)),
    /^plugin conformance cannot be run: .* memory has a minimum byte size of \d+ which exceeds the limit/,
  );
  await small.close();
});

Loading('a folder without plugin.json is refused', async ({ dir, host }) => {
  assert.is(await reasonOf(host.load(dir)), `plugin ${dir} has no readable plugin.json`);
});

Loading('a missing component is refused', async ({ dir, host }) => {
  assert.match(
    await reasonOf(host.load(await pluginWith(dir, undefined))),
    /^plugin sample has no component at .*sample\.wasm; build it first$/,
  );
});

const damaged: readonly { what: string; bytes: Uint8Array; reason: RegExp }[] = [
  {
    what: 'a file that is not WebAssembly',
    bytes: Buffer.from('not a component'),
    reason: /^plugin sample has a component that cannot be used: it is not WebAssembly$/,
  },
  {
    what: 'a core module',
    bytes: Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0),
    reason: /it is a core module; a plugin of Extism says "runtime": "extism" in its plugin\.json$/,
  },
  {
    what: 'a component that is cut off',
    bytes: Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0, 1, 99, 0),
    reason: /^plugin sample has a component that cannot be used: .* is out of bounds/,
  },
  {
    what: 'a component that offers nothing',
    bytes: Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0),
    reason: /^plugin sample cannot run on this host: it does not export aana:host\/endpoint@0\.1\.0$/,
  },
];
for (const { what, bytes, reason } of damaged) {
  Loading(`${what} is refused`, async ({ dir, host }) => {
    assert.match(await reasonOf(host.load(await pluginWith(dir, bytes))), reason);
  });
}

Loading('a component that imports what the host does not offer is refused by the name of it', async ({ dir, host }) => {
  const component = await componentOf(
    dir,
    'package evil:thing@1.0.0;\ninterface files { read-all: func() -> string; }\nworld plugin { import files; ' +
      'export go: func() -> string; }',
    'import { readAll } from "evil:thing/files@1.0.0"; export function go() { return readAll(); }',
  );
  assert.is(
    await reasonOf(host.load(await pluginWith(dir, component))),
    'plugin sample cannot run on this host: it imports evil:thing/files@1.0.0, which the host does not offer',
  );
});

const invocation = { requestId: 'r', deadlineMs: 30_000, signal: new AbortController().signal, files: new Map() };

Loading('a component that uses a capability it does not ask for is refused', async ({ dir, host }) => {
  const { component } = await buildTestPlugin(fixture);
  assert.match(
    await reasonOf(host.load(await pluginWith(dir, await readFile(component)))),
    /^plugin sample imports aana:host\/media, which its plugin\.json does not ask for/,
  );
});

Loading('a plugin without a capability gets a sentence when it uses it all the same', async ({ dir, host }) => {
  const plugin = await pluginWith(dir, undefined);
  await mkdir(join(plugin, 'src'));
  await writeFile(
    join(plugin, 'src', 'index.ts'),
    `import { call } from 'aana:host/deployments@0.1.0';\nexport const endpoint = { describe: () => [${info}], run: ` +
      `() => call('model', 'echo', '{}', []) };`,
  );
  await buildTestPlugin(plugin);
  const loaded = await host.load(plugin);
  const error = await loaded
    .run({ endpoint: 'a', input: '{}', ...invocation })
    .catch((reason: unknown) => reason as AanaError);
  assert.equal([(error as AanaError).name, (error as AanaError).kind], ['CapabilityDenied', 'denied']);
  assert.match((error as AanaError).message, /add "deployments" to "capabilities"/);
});

Loading('a deployment that is not granted cannot be called, by name', async () => {
  await buildTestPlugin(fixture);
  const host = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir,
    isFast,
    log: silentLogger,
    grants: { conformance: { deployments: ['other'] } },
  });
  const loaded = await host.load(fixture);
  const error = (await loaded
    .run({ endpoint: 'call', input: '{}', ...invocation })
    .catch((reason: unknown) => reason)) as AanaError;
  assert.equal([error.name, error.kind, error.data], ['DeploymentDenied', 'denied', { deployment: 'model' }]);
  await host.close();
});

Loading(
  'a component file by itself is a plugin called after it, which asks for all that it imports',
  async ({ dir, host }) => {
    const { component } = await buildTestPlugin(fixture);
    const file = join(dir, 'My Plugin.wasm');
    await cp(component, file);
    const { name, version, run } = await host.load(file);
    assert.equal([name, version], ['my-plugin', '0.0.0']);
    assert.is(await run({ endpoint: 'call', input: '{"args":{"n":1}}', ...invocation }), '{"n":1}');
  },
);

Loading('a component for another version of the world is refused', async ({ dir, host }) => {
  const component = await componentOf(
    dir,
    'package aana:host@0.2.0;\ninterface random { bytes: func(length: u32) -> list<u8>; }\nworld plugin { import ' +
      'random; export go: func() -> u32; }',
    'import { bytes } from "aana:host/random@0.2.0"; export function go() { return bytes(1).length; }',
  );
  assert.match(await reasonOf(host.load(await pluginWith(dir, component))), /imports aana:host\/random@0\.2\.0, which/);
});

const descriptions: readonly { what: string; endpoints: string; reason: RegExp }[] = [
  {
    what: 'that throws',
    endpoints: "(() => { throw new Error('not today'); })()",
    reason: /^plugin sample cannot describe its endpoints: not today/,
  },
  { what: 'without an endpoint', endpoints: '[]', reason: /describes its endpoints incorrectly \(has no endpoint\)$/ },
  {
    what: 'whose schema is not JSON',
    endpoints: `[{ ...${info}, inputSchema: 'x' }]`,
    reason: /incorrectly \(a inputSchema is not a JSON Schema object\)$/,
  },
  {
    what: 'whose path is none',
    endpoints: `[{ ...${info}, path: 'a' }]`,
    reason: /incorrectly \(a path must be a path/,
  },
  {
    what: 'with two endpoints of one path',
    endpoints: `[${info}, { ...${info}, name: 'b' }]`,
    reason: /has two endpoints with the path "\/a"$/,
  },
];
for (const { what, endpoints, reason } of descriptions) {
  Loading(`a description ${what} is refused`, async ({ dir, host }) => {
    const plugin = await pluginWith(dir, undefined);
    await mkdir(join(plugin, 'src'));
    await writeFile(join(plugin, 'src', 'index.ts'), describing(endpoints));
    await buildTestPlugin(plugin);
    assert.match(await reasonOf(host.load(plugin)), reason);
  });
}

Loading.run();
