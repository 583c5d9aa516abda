// The fakes for plugins' tests list entries in the order of the real stores.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { defineEndpoint, definePlugin, z } from '../../sdk/node.ts';
import { runEndpoint } from '../../sdk/testing/testing.ts';
import { sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { PluginStorage, Storage } from '../../../data/storage/index.ts';

const Fakes = suite('fakes of the SDK');

Fakes('storage and repositories give keys and ids in the order of the real ones: that of their bytes', async () => {
  const names = ['', '😀', '\u{10ffff}', '\uffff', '\ue000', 'ﬀ', 'é', 'z', 'Z', 'a', 'aa', 'a\u0001'].map(
    (name) => `k${name}`,
  );
  const databases = sqliteDatabases();
  const real = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  const store = new PluginStorage(real);
  for (const name of names) await store.set('p', name, Uint8Array.of(48));
  for (const name of names) await real.write(({ videos }) => videos.save({ media_id: name }));
  const stored = await store.list('p', { prefix: '', limit: 100 });
  const kept = (await real.read(({ videos }) => videos.list({ limit: 100 }))).map(({ media_id: id }) => id);
  const laterThanFace = await store.list('p', { prefix: '', after: 'k😀', limit: 100 });
  await real.close();
  await databases.end();

  const plugin = definePlugin([
    defineEndpoint({
      ...{ name: 'list', path: '/list', summary: 'Lists', input: z.strictObject({}), output: z.any() },
      uses: ['storage', 'repositories', 'repositories-write'],
      async run(_, { storage, repositories: { videos } }) {
        for (const name of names) await storage.set(name, 0);
        for (const name of names) await videos.save({ media_id: name });
        const keys: string[] = [];
        for await (const key of storage.keys('')) keys.push(key);
        const idsAfter = async (after?: string): Promise<string[]> => {
          const ids: string[] = [];
          for await (const { media_id: id } of videos.list(after)) ids.push(id);
          return ids;
        };
        return {
          keys,
          ids: await idsAfter(),
          later: keys.slice(-laterThanFace.length),
          after: await idsAfter('k😀'),
        };
      },
    }),
  ]);
  assert.equal(
    stored,
    [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
  assert.equal(kept, stored);
  assert.equal((await runEndpoint(plugin, 'list', {})).output, {
    keys: stored,
    ids: stored,
    later: laterThanFace,
    after: laterThanFace,
  });
});

Fakes.run();
