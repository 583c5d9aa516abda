// Packages of npm in the real sandbox, as an author uses them, beside the same code in Node.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

const fixture = join(packageRoot, 'host', 'endpoints', 'plugins', 'fixtures', 'packages');
const { uses } = (await import(pathToFileURL(join(fixture, 'src', 'uses.mjs')).href)) as {
  readonly uses: Readonly<Record<string, () => unknown>>;
};

const Packages = suite('packages of npm in the sandbox');
let dir = '';
let host: PluginHost | undefined;
let plugin: LoadedPlugin;
Packages.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-packages-'));
  await cp(join(fixture, 'plugin.json'), join(dir, 'plugin.json'));
  // Built where the packages are.
  await buildTestPlugin(fixture, join(dir, 'dist'));
  host = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir: testCacheDir(),
    log: silentLogger,
  });
  plugin = await host.load(dir);
});
Packages.after(async () => {
  await host?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});

for (const [name, use] of Object.entries(uses))
  Packages(`${name} gives what it gives in Node`, async () => {
    const inNode: unknown = JSON.parse(JSON.stringify(await use()));
    assert.equal(await runPlugin(plugin, 'use', { name }), inNode);
  });

Packages('a global that there is not fails where a package uses it, and says what there is', async () => {
  assert.match(
    String(await runPlugin(plugin, 'download')),
    /^ReferenceError: XMLHttpRequest is not defined: a plugin has no XMLHttpRequest; a plugin has no network/,
  );
});

Packages.run();
