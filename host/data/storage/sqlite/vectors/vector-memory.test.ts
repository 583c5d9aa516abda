// Vectors in memory beside those in the file, over real SQLite: both find the same, whatever changes meanwhile.
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, silentLogger } from '../../../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../../fixtures/databases.ts';
import { migrate, Repositories, type VectorChunk, type VectorFilter } from '../../index.ts';
import type { KeptCollection } from '../../kept-vectors.ts';
import { until } from '../../../../test/helpers/server.ts';
import { SqliteDatabase } from '../sqlite-database.ts';
import { largest } from './largest.ts';
import { productsIn } from './products.ts';
import type { VectorMemoryOptions } from './vector-memory.ts';
import { layoutOf, newMemory } from './vector-table.ts';

const databases = sqliteDatabases();
const model = 'model';
const Kept = suite('vectors in memory');
Kept.after(() => databases.end());

type Options = Omit<VectorMemoryOptions, 'read' | 'log'> & Partial<Pick<VectorMemoryOptions, 'log'>>;

async function openNew(vectors: Options): Promise<{ path: string; database: SqliteDatabase }> {
  const path = (await databases.create()).datastore_config.path!;
  const database = await reopen(path, vectors);
  await migrate(database);
  return { path, database };
}

async function reopen(path: string, vectors?: Options): Promise<SqliteDatabase> {
  return SqliteDatabase.open({
    path,
    modulePath: await sqliteModule(),
    readers: 2,
    timeoutMs: 5000,
    ...(vectors && { vectors: { log: silentLogger, ...vectors } }),
  });
}

const vectorsOf = (connection: Repositories['connection']) => new Repositories(connection).vectorsOf(null);
const put = (database: SqliteDatabase, name: string, chunks: readonly VectorChunk[]): Promise<number> =>
  database.write((connection) => vectorsOf(connection).upsert(name, model, chunks));
const make = (database: SqliteDatabase, name: string, dimensions: number): Promise<unknown> =>
  database.write((connection) => vectorsOf(connection).ensure(name, { model, dimensions }));

/** Returns what a search finds, and whether the vectors in memory answered it. */
async function found(
  database: SqliteDatabase,
  name: string,
  vector: readonly number[],
  limit = 5,
  filter?: VectorFilter,
) {
  return database.read(async (connection) => {
    let isKept = false;
    const observed = Object.assign({}, connection, {
      keptVectors: {
        nearest: async (...asked: Parameters<NonNullable<typeof connection.keptVectors>['nearest']>) => {
          const near = await connection.keptVectors?.nearest(...asked);
          isKept ||= near !== undefined;
          return near;
        },
      },
    });
    const results = await vectorsOf(observed).search(name, { model, vector, limit, filter });
    return { isKept, ids: results.map(({ id }) => id), scores: results.map(({ score }) => score) };
  });
}

/** Searches until the vectors in memory answer. */
async function whenKept(...asked: Parameters<typeof found>) {
  let last!: Awaited<ReturnType<typeof found>>;
  await until(async () => (last = await found(...asked)).isKept);
  return last;
}

/** The bits of a block without vectors. */
const EMPTY = new Uint8Array(32);
const FILTER: VectorFilter = { type: 'in', key: 'part', value: [1, 2, 4] };
const number = fc.double({ min: -1, max: 1, noNaN: true });

Kept('are multiplied as plain code multiplies them, and the largest products are found', () => {
  const cases = fc.integer({ min: 1, max: 70 }).chain((dimensions) => {
    const vector = fc.array(number, { minLength: dimensions, maxLength: dimensions });
    return fc.tuple(vector, fc.array(vector, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 50 }));
  });
  fc.assert(
    fc.property(cases, ([query, rows, limit]) => {
      const layout = layoutOf({ dimensions: query.length, rows: rows.length });
      const memory = newMemory(layout);
      const write = (at: number, values: readonly number[]): void =>
        new Float32Array(memory.buffer, at, values.length).set(values);
      write(0, query);
      for (const [n, row] of rows.entries()) write(layout.first + n * layout.rowBytes, row);
      productsIn(memory)(0, layout.first, layout.bytes, layout.rowBytes, layout.products);
      const products = new Float32Array(memory.buffer, layout.products, rows.length);
      const wanted = rows.map((row) => row.reduce((sum, value, at) => sum + value * query[at]!, 0));
      for (const [n, product] of products.entries()) assert.ok(Math.abs(product - wanted[n]!) < 1e-4);
      const sorted = [...products.keys()].toSorted((one, other) => products[other]! - products[one]! || one - other);
      assert.equal(largest(products, limit), sorted.slice(0, limit));
    }),
    { numRuns: 200 },
  );
});

Kept('find what the file has, after any changes of this and of other processes', async () => {
  const { path, database } = await openNew({ maxBytes: 2 ** 30, leastBytes: 0 });
  await using own = database;
  await using other = await reopen(path);
  await make(own, 'notes', 20);
  const vector = fc.array(number, { minLength: 20, maxLength: 20 }).filter((values) => Math.hypot(...values) > 0.01);
  const ids = fc.uniqueArray(fc.integer({ min: 0, max: 600 }).map(String), { minLength: 1, maxLength: 300 });
  const change = fc.record({ isRemoval: fc.boolean(), isOther: fc.boolean(), ids, seed: fc.integer() });
  await fc.assert(
    fc.asyncProperty(change, vector, async ({ isRemoval, isOther, ids: names, seed }, query) => {
      const writer = isOther ? other : own;
      const chunks = names.map((id, n) => ({
        id,
        text: id,
        vector: query.map((value, at) => value + Math.sin(seed + n * 31 + at)),
        metadata: { part: n % 7 },
      }));
      const changed = isRemoval
        ? await writer.write((connection) => vectorsOf(connection).remove('notes', { ids: names }))
        : await put(writer, 'notes', chunks);
      const first = await found(own, 'notes', query, 20);
      assert.ok(!first.isKept || changed === 0, 'what is in memory is older than the change');
      for (const filter of [undefined, FILTER]) {
        const theirs = await found(other, 'notes', query, 20, filter);
        assert.ok(!theirs.isKept);
        const ours = await (first.ids.length > 0 ? whenKept : found)(own, 'notes', query, 20, filter);
        assert.is(ours.ids.length, theirs.ids.length);
        for (const [n, score] of ours.scores.entries())
          assert.ok(Math.abs(score - theirs.scores[n]!) < 1e-4 && Math.abs(score) <= 1);
      }
    }),
    { numRuns: 40 },
  );
});

Kept('serve a transaction never, so that it sees its own changes', async () => {
  const { database } = await openNew({ maxBytes: 2 ** 30, leastBytes: 0 });
  await using own = database;
  await make(own, 'notes', 2);
  await put(own, 'notes', [{ id: 'a', text: 'a', vector: [1, 0] }]);
  await whenKept(own, 'notes', [0, 1]);
  await own.write(async (connection) => {
    const vectors = vectorsOf(connection);
    await vectors.upsert('notes', model, [{ id: 'b', text: 'b', vector: [0, 1] }]);
    const [first] = await vectors.search('notes', { model, vector: [0, 1] });
    assert.is(first!.id, 'b');
  });
});

Kept('stay within their bytes, and those that were used last stay', async () => {
  const chunks = Array.from({ length: 600 }, (_, n) => ({ id: `${n}`, text: 't', vector: [Math.cos(n), Math.sin(n)] }));
  const { bytes } = layoutOf({ dimensions: 2, rows: chunks.length });
  const { database } = await openNew({ maxBytes: 2 * bytes, leastBytes: bytes });
  await using own = database;
  for (const name of ['one', 'two', 'three', 'large', 'small']) {
    await make(own, name, 2);
    await put(own, name, name === 'small' ? chunks.slice(0, 10) : chunks);
  }
  for (let n = 0; n < 3; n += 1)
    await put(
      own,
      'large',
      Array.from({ length: 2000 }, (_, at) => ({ ...chunks[0]!, id: `${n}-${at}` })),
    );
  await whenKept(own, 'one', [1, 0]);
  await whenKept(own, 'two', [1, 0]);
  assert.ok((await found(own, 'one', [1, 0])).isKept, 'both have room');
  await whenKept(own, 'three', [1, 0]);
  assert.ok((await found(own, 'one', [1, 0])).isKept, 'it was used after the second one');
  for (let turn = 0; turn < 5; turn += 1)
    for (const name of ['large', 'small']) assert.ok(!(await found(own, name, [1, 0])).isKept, name);
  const two: KeptCollection = { id: 2, version: 1, dimensions: 2, chunks: chunks.length };
  assert.is(
    await own.read(async (connection) =>
      connection.keptVectors?.nearest(two, { vector: new Float32Array(2), limit: 1 }),
    ),
    undefined,
  );
});

Kept('of earlier versions take no memory', async () => {
  const dimensions = 1024;
  const { database } = await openNew({ maxBytes: 2 ** 25 });
  await using own = database;
  await make(own, 'notes', dimensions);
  const vector = Array.from({ length: dimensions }, (_, n) => Math.sin(n));
  await put(
    own,
    'notes',
    Array.from({ length: 2000 }, (_, n) => ({ id: `${n}`, text: 't', vector: vector.map((value) => value + n) })),
  );
  const change = async (id: string): Promise<void> => {
    await put(own, 'notes', [{ id, text: 't', vector }]);
    await whenKept(own, 'notes', vector);
  };
  for (let n = 0; n < 5; n += 1) await change(`first ${n}`);
  const before = process.memoryUsage.rss();
  for (let n = 0; n < 40; n += 1) await change(`${n}`);
  const grown = process.memoryUsage.rss() - before;
  assert.ok(grown < 10 * 4 * dimensions * 2000, `${grown} bytes for 40 versions of ${4 * dimensions * 2000}`);
});

Kept('are searched in the file, and the log says why, where the tables of sqlite-vec look different', async () => {
  const logged: string[] = [];
  const log = createLogger({ level: 'warn', format: 'json', write: (line) => logged.push(line) });
  const { path, database } = await openNew({ maxBytes: 2 ** 30, leastBytes: 0, log });
  await using own = database;
  await using other = await reopen(path);
  await make(own, 'notes', 2);
  await put(own, 'notes', [
    { id: 'a', text: 'a', vector: [1, 0] },
    { id: 'b', text: 'b', vector: [0, 1] },
  ]);
  await other.write((connection) => connection.query('update vector_embeddings_1_chunks set validity = $1', [EMPTY]));
  await until(async () => {
    await found(own, 'notes', [1, 0]);
    return logged.length > 0;
  });
  assert.match(logged[0]!, /vectors cannot be kept in memory.*0 of 2 vectors/);
  for (let n = 0; n < 10; n += 1) await found(own, 'notes', [1, 0]);
  assert.is(logged.length, 1);
});

Kept('are right after changes by a version of aana-host that knows no versions of collections', async () => {
  const { path, database } = await openNew({ maxBytes: 2 ** 30, leastBytes: 0 });
  await using own = database;
  await using older = await reopen(path);
  await make(own, 'notes', 2);
  await put(own, 'notes', [
    { id: 'a', text: 'a', vector: [1, 0] },
    { id: 'b', text: 'b', vector: [0, 1] },
  ]);
  await whenKept(own, 'notes', [1, 0]);
  await older.write(async (connection) => {
    await connection.loadVectors();
    for (const statement of [
      "delete from vector_embeddings_1 where rowid = (select id from vector_chunks where name = 'a')",
      "delete from vector_chunks where name = 'a'",
      'update vector_collections set chunks = chunks - 1 where id = 1',
    ])
      await connection.query(statement);
  });
  assert.equal((await whenKept(own, 'notes', [1, 0])).ids, ['b']);
});

Kept.run();
