// What a search in vectors adds to the computing time of a guest, over a real database.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { pluginVectors } from '../fixtures/plugin-vectors.ts';
import { computingCost } from './scope/computing-cost.ts';
import type { CapabilityScope } from './scope/scope.ts';
import { vectorsCalls } from './vectors.ts';

const databases = sqliteDatabases();
const Vectors = suite('the computing time of searches in vectors');
Vectors.after(() => databases.end());

Vectors('grows with all numbers of the collection, if it is searched by a vector', async () => {
  await using storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  let charged = 0;
  const scope = {
    user: { vectors: pluginVectors(storage) },
    plugin: 'sample',
    charge: (ms: number) => (charged += ms),
  } as unknown as CapabilityScope;
  const dimensions = 8;
  const base64 = (count: number): string =>
    Buffer.from(new Float32Array(count * dimensions).fill(1).buffer).toString('base64');
  await vectorsCalls['vectors.ensure'](scope, 'notes', 'm', dimensions);
  const costOf = async (query: { readonly vector?: string; readonly text?: string }): Promise<number> => {
    charged = 0;
    const whole = { vector: undefined, model: 'm', text: undefined, filter: undefined, limit: 3, ...query };
    await vectorsCalls['vectors.search'](scope, 'notes', whole);
    return charged;
  };
  for (let count = 0; count <= 200; count += 100) {
    const chunks = Array.from({ length: count }, (_, n) => ({
      id: String(n),
      document: undefined,
      text: 'a',
      metadata: '{}',
    }));
    await vectorsCalls['vectors.upsert'](scope, 'notes', 'm', chunks, base64(count));
    const search = computingCost.search(count * dimensions);
    assert.is(await costOf({ vector: base64(1) }), search);
    assert.is(await costOf({ vector: base64(1), text: 'a' }), computingCost.words(1) + search);
    assert.is(await costOf({ text: 'a' }), computingCost.words(1));
  }
  assert.ok(computingCost.search(2 ** 28) > 100); // a gibibyte of vectors
});

Vectors.run();
