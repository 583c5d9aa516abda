// The fakes for plugins' tests list entries in the order of the real stores.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { defineEndpoint, definePlugin, z } from '../../sdk/node.ts';
import { fakeStorage } from '../../sdk/testing/fake-storage.ts';
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

Fakes('storage takes and refuses the keys, times and numbers that the real one does', async () => {
  const databases = sqliteDatabases();
  const real = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  const store = new PluginStorage(real);
  const fake = fakeStorage(new Map(), () => 0);
  const one = Uint8Array.of(49); // MQ== in base64
  const outcome = async (work: () => unknown): Promise<unknown> => {
    try {
      return (await work()) ?? 'nothing';
    } catch (thrown) {
      return (thrown as { name: string }).name;
    }
  };
  const seen = new Set<unknown>();
  for (const key of ['', 'a', 'é'.repeat(60), `a${'é'.repeat(60)}`, 'x'.repeat(121), '\ud800', '\ufffd', '\0'])
    for (const expiresInMs of [undefined, 100_000, 0, 0.5, -1, Number.NaN, 3.2e12, Number.POSITIVE_INFINITY])
      for (const by of [1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
        const results: unknown[] = [];
        for (const work of [
          [() => store.get('p', key), () => fake.get(key)],
          [() => store.getText('p', key), () => fake.getText(key)],
          [() => store.delete('p', key), () => fake.delete(key)],
          [() => store.increment('p', key, by, { expiresInMs }), () => fake.increment(key, by, expiresInMs)],
          [
            () => store.compareAndSet('p', key, { expected: one, value: undefined, expiresInMs }),
            () => fake.compareAndSetBase64(key, 'MQ==', undefined, expiresInMs),
          ],
          [() => store.set('p', key, one, { expiresInMs }), () => fake.setText(key, '1', expiresInMs)],
          [() => store.list('p', { prefix: '', limit: 9 }), () => fake.list('', undefined, 9)],
          [() => store.delete('p', key), () => fake.delete(key)],
        ] as const) {
          const [expected, actual] = [await outcome(work[0]), await outcome(work[1])];
          results.push(expected);
          assert.equal(actual, expected, JSON.stringify({ key, expiresInMs, by, results }));
          seen.add(expected);
        }
      }
  await real.close();
  await databases.end();
  for (const name of ['InvalidKey', 'InvalidArguments']) assert.ok(seen.has(name), name);
});

const one = { input: z.strictObject({ of: z.string() }), output: z.any(), path: '/one', summary: 'One', name: 'one' };
const rejection = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => assert.unreachable('it succeeded'),
    (error: Error) => error,
  ) as Promise<Error>;

Fakes('a run that waits for a promise that nothing settles fails with the reason', async () => {
  const plugin = definePlugin([
    defineEndpoint({ ...one, run: ({ of }) => (of === 'never' ? new Promise<number>(() => {}) : of) }),
  ]);
  const runs = ['never', 'soon', 'never'].map((of) => runEndpoint(plugin, 'one', { of }));
  const [first, second, third] = await Promise.allSettled(runs);
  assert.is(second!.status, 'fulfilled');
  for (const never of [first, third])
    assert.match((never as PromiseRejectedResult).reason.message, 'waits for a promise that nothing settles');
  const late = defineEndpoint({ ...one, run: () => new Promise<number>((resolve) => setTimeout(resolve, 20, 7)) });
  assert.is((await runEndpoint(definePlugin([late]), 'one', { of: '' })).output, 7);
});

Fakes('a forgotten await is found also where runs overlap', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...one,
      uses: ['storage'],
      async run({ of }, ctx) {
        await ctx.storage.get('a');
        if (of === 'forgets') void ctx.storage.set('a', 1);
        if (of === 'fails') throw new Error('it fails');
        return of;
      },
    }),
  ]);
  const run = (...all: string[]): Promise<unknown[]> =>
    Promise.all(all.map(async (of) => (await runEndpoint(plugin, 'one', { of })).output));
  for (const all of [['forgets'], ['forgets', 'no'], ['no', 'forgets', 'no'], ['forgets', 'forgets']])
    assert.match((await rejection(run(...all))).message, '"await" is missing');
  assert.equal(await run('no', 'neither'), ['no', 'neither'], 'nothing is left of earlier runs');
  assert.match((await rejection(run('forgets', 'fails'))).message, 'it fails');
  assert.equal(await run('no'), ['no']);
});

Fakes.run();
