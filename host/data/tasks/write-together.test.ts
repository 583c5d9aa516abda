import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../storage/fixtures/databases.ts';
import { Storage } from '../storage/index.ts';
import { WriteTogether } from './write-together.ts';

interface Context {
  storage: Storage;
  together: WriteTogether;
  /** The number of begun transactions. */
  transactions: number;
}

const databases = sqliteDatabases();
const Together = suite<Context>('writes that share a transaction');
Together.before.each(async (context) => {
  const storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  await storage.migrate();
  context.storage = storage;
  context.transactions = 0;
  context.together = new WriteTogether({
    write: (work) => {
      context.transactions += 1;
      return storage.write(work);
    },
  });
});
Together.after.each(({ storage }) => storage.close());
Together.after(() => databases.end());

Together('are writes that arrive during another write', async (context) => {
  const numbers = Array.from({ length: 40 }, (_, index) => index);
  const results = await Promise.all(numbers.map((n) => context.together.write(async ({ pluginValues }) => {
    await pluginValues.set('p', `key ${n}`, new Uint8Array([n]));
    return n;
  }))); // prettier-ignore
  assert.equal(results, numbers);
  assert.is(context.transactions, 2); // the first one, and all others
  assert.is(
    (await context.storage.read(({ pluginValues }) => pluginValues.list('p', { prefix: '', limit: 100 }))).length,
    40,
  );
});

Together('fail alone, and leave nothing behind', async ({ together, storage }) => {
  const set = (key: string, fails: boolean): Promise<string> =>
    together.write(async ({ pluginValues }) => {
      await pluginValues.set('p', key, new Uint8Array());
      if (fails) throw new Error(`no ${key}`);
      return key;
    });
  const settled = await Promise.allSettled([
    set('a', false),
    set('b', false),
    set('c', true),
    set('d', false),
    set('e', true),
  ]);
  assert.equal(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
    ['a', 'b', 'Error: no c', 'd', 'Error: no e'],
  );
  assert.equal(await storage.read(({ pluginValues }) => pluginValues.list('p', { prefix: '', limit: 9 })), [
    'a',
    'b',
    'd',
  ]);
  assert.is(await set('f', false), 'f');
});

Together.run();
