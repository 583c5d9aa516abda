// A plugin's storage over a real database: in two hosts, each with a process of its own, and as JavaScript sees it.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { PluginStorage, Storage } from '../../../data/storage/index.ts';
import { skip } from '../../../test/skip.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

const source = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';

const define = (name, run) =>
  defineEndpoint({
    ...{ name, path: '/' + name, summary: name, uses: ['storage'], run },
    input: z.strictObject({ by: z.optional(z.int()) }), output: z.any(),
  });

const count = define('count', async ({ by }, { storage }) => {
  await storage.increment('sum', by);
  for (;;) {
    const seen = await storage.get('seen');
    if (await storage.compareAndSet('seen', seen, { runs: (seen?.runs ?? 0) + 1, ofAll: 'é' })) return null;
  }
});

const failure = async (call) => {
  try {
    return await call();
  } catch ({ name, kind }) {
    return [name, kind];
  }
};

const all = define('all', async (_, { storage }) => {
  const bytes = Uint8Array.of(255, 0);
  await storage.setBytes('bytes', bytes, { expiresInMs: 60_000 });
  await storage.set('t/1', { text: '€' }, { expiresInMs: 60_000 });
  await storage.set('t/2', [1]);
  return {
    first: await storage.increment('n'),
    second: await storage.increment('n', -2.5, { expiresInMs: 60_000 }),
    refused: [
      await failure(() => storage.increment('t/2')),
      await failure(() => storage.increment('n', NaN)),
      await failure(() => storage.get('bytes')),
      await failure(() => storage.set('x', 1, { expiresInMs: 0 })),
    ],
    created: [await storage.compareAndSet('c', undefined, 1), await storage.compareAndSet('c', undefined, 2)],
    removed: [await storage.compareAndSetBytes('c', bytes, bytes), await storage.compareAndSet('c', 1, undefined)],
    entries: [...storage.entries('t/')].map(({ key, value, size, expiresInMs }) => [key, value, size, expiresInMs > 0]),
    facts: [...storage.facts()].map(({ key, size, expiresInMs }) => [key, size, expiresInMs > 0]),
    bytes: [...await storage.getBytes('bytes')],
  };
});

const large = define('large', async (_, { storage }) => {
  for (let n = 0; n < 5; n += 1) await storage.set('large/' + n, 'x'.repeat(400_000));
  return [...storage.entries('large/')].map(({ key, value }) => [key, value.length]);
});

export const endpoint = definePlugin([count, all, large]);
`;

const folder = await mkdtemp(join(tmpdir(), 'aana-storage-'));
await mkdir(join(folder, 'sample', 'src'), { recursive: true });
await writeFile(
  join(folder, 'sample', 'plugin.json'),
  '{ "name": "sample", "version": "1.0.0", "capabilities": ["storage"] }',
);
await writeFile(join(folder, 'sample', 'src', 'index.ts'), source);
await buildTestPlugin(join(folder, 'sample'));

const postgres = await postgresDatabases();
if (typeof postgres === 'string') skip('storage of plugins in PostgreSQL', postgres);

for (const databases of [sqliteDatabases(), ...(typeof postgres === 'string' ? [] : [postgres])]) {
  const Stored = suite(`storage of plugins in ${databases.title}`);
  const hosts: { plugin: LoadedPlugin; storage: Storage; close: () => Promise<void> }[] = [];

  Stored.before(async () => {
    const config = await databases.create();
    for (const name of ['one', 'two']) {
      const own = join(folder, `${databases.title}-${name}`);
      await cp(join(folder, 'sample'), join(own, 'sample'), { recursive: true });
      const storage = new Storage({ config, log, sqliteModule });
      const ports = Object.assign(new FakePorts(), { storage: new PluginStorage(storage) });
      const host = new PluginHost({
        ...{ sandbox: testSandbox, ports, cacheDir: testCacheDir(), log },
        isFast: true,
        grants: {},
      });
      const plugin = await host.load(join(own, 'sample'));
      hosts.push({ plugin, storage, close: () => host.close().then(() => storage.close()) });
    }
  });
  Stored.after(async () => {
    for (const { close } of hosts) await close();
    await databases.end();
  });

  Stored('no change is lost when two hosts run the plugin at once', async () => {
    const runs = Array.from({ length: 40 }, (_, at) => at);
    await Promise.all(runs.map((by) => runPlugin(hosts[by % 2]!.plugin, 'count', { by })));
    const read = await hosts[0]!.storage.read(async ({ pluginValues }) => [
      await pluginValues.getText('sample', 'sum'),
      await pluginValues.getText('sample', 'seen'),
    ]);
    assert.equal(read, [`${(39 * 40) / 2}`, '{"runs":40,"ofAll":"é"}']);
    await hosts[1]!.storage.write(async ({ pluginValues }) => {
      for (const key of ['sum', 'seen']) await pluginValues.delete('sample', key);
    });
  });

  Stored('every function works through the SDK', async () => {
    assert.equal(await runPlugin(hosts[0]!.plugin, 'all', {}), {
      ...{ first: 1, second: -1.5 },
      refused: [
        ['StoredValueMismatch', 'conflict'],
        ['InvalidArguments', 'invalid-input'],
        ['StoredValueMismatch', 'conflict'],
        ['InvalidArguments', 'invalid-input'],
      ],
      ...{ created: [true, false], removed: [false, true] },
      entries: [
        ['t/1', { text: '€' }, 14, true],
        ['t/2', [1], 3, false],
      ],
      facts: [
        ['bytes', 2, true],
        ['n', 4, false],
        ['t/1', 14, true],
        ['t/2', 3, false],
      ],
      bytes: [255, 0],
    });
  });

  Stored('entries come in pages, however large they are', async () => {
    const expected = [0, 1, 2, 3, 4].map((n) => [`large/${n}`, 400_000]);
    assert.equal(await runPlugin(hosts[1]!.plugin, 'large', {}), expected);
  });

  Stored.run();
}

const Folder = suite('the folder of the plugin');
Folder('is removed', () => rm(folder, { recursive: true, force: true }));
Folder.run();
