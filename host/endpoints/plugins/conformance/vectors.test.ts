// Collections of vectors of plugins: the same steps over real databases and over the double for plugins' tests.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runEndpoint } from 'aana-host/plugin/testing';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { hasVectorPostgres } from '../../../test/helpers/database/vector-postgres.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { placeGuest, testHost } from '../fixtures/guest-suite.ts';
import { pluginVectors } from '../fixtures/plugin-vectors.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';

type Step = { readonly step: string } & Readonly<Record<string, unknown>>;
/** Runs steps as one user. Without a user, it is one that has no collections. */
type RunSteps = (steps: readonly Step[], user?: string) => Promise<unknown[]>;
interface Subject {
  readonly title: string;
  readonly run: RunSteps;
}

const fixture = join(packageRoot, 'host/endpoints/plugins/fixtures/vectors');
const folder = await mkdtemp(join(tmpdir(), 'aana-vectors-'));
const { component } = await buildTestPlugin(fixture, folder);
const closings: (() => Promise<void>)[] = [];
let users = 0;

/** The component over a database. */
async function overDatabase(
  databases: ReturnType<typeof sqliteDatabases>,
): Promise<Subject & { plugin(name: string): Promise<RunSteps> }> {
  const storage = new Storage({ config: await databases.create(), log, sqliteModule });
  const ports = new FakePorts();
  const host = testHost({ ports });
  closings.push(async () => {
    await host.close();
    await storage.close();
    await databases.end();
  });
  const plugin = async (name: string): Promise<RunSteps> => {
    const manifest = { name, version: '1.0.0', capabilities: ['vectors'] };
    const loaded = await host.load(await placeGuest({ folder: join(folder, databases.title), component }, manifest));
    return async (steps, user = `user ${++users}`) => {
      ports.vectors = pluginVectors(storage, user);
      return (await runPlugin(loaded, 'steps', { steps })) as unknown[];
    };
  };
  return { title: databases.title, run: await plugin('vectors'), plugin };
}

const module = (await import(pathToFileURL(join(fixture, 'src/index.mjs')).href)) as {
  endpoint: Parameters<typeof runEndpoint>[0];
};
const double: Subject = {
  title: 'the double',
  run: async (steps) =>
    (await runEndpoint(module.endpoint, 'steps', { steps }, { vectors: new Map() })).output as unknown[],
};
const sqlite = await overDatabase(sqliteDatabases());
const postgres = hasVectorPostgres
  ? await unlessOffline(() => postgresDatabases({ hasVectors: true }))
  : 'its package is for Linux on x64';
if (typeof postgres === 'string') skip('vectors of plugins in PostgreSQL', postgres);
const real = [sqlite, ...(typeof postgres === 'string' ? [] : [await overDatabase(postgres)])];

const made: Step = { step: 'ensure', name: 'tea' };
const green = {
  id: 'green',
  document: 'teas',
  text: 'Green tea: 75 °C, grün.',
  vector: [3, 1, 0],
  metadata: { minutes: 2 },
};
const black = {
  id: 'black',
  document: 'teas',
  text: 'Black tea needs boiling water.',
  vector: [1, 1, 0],
  metadata: { minutes: 4 },
};
const cold = { id: 'cold', text: 'Cold brew stands over night.', vector: [0, 1, 1] };
const filled: readonly Step[] = [made, { step: 'upsert', name: 'tea', chunks: [green, black, cold] }];
/** What steps answer after the collection was filled. */
const after = async ({ run }: Subject, ...steps: Step[]): Promise<unknown[]> =>
  (await run([...filled, ...steps])).slice(filled.length);
const idsOf = (found: unknown): string[] => (found as { id: string }[]).map(({ id }) => id);

for (const subject of [...real, double]) {
  const Vectors = suite(`vectors of plugins over ${subject.title}`);

  Vectors('finds by a vector, by words, by both, and only what satisfies a filter', async () => {
    const search = (question: object): Step => ({ step: 'search', name: 'tea', ...question });
    const vector = [1, 0, 0];
    const [near, words, both, filtered, first] = (await after(
      subject,
      search({ vector }),
      search({ text: 'is GRÜN cold?' }),
      search({ vector, text: 'boiling' }),
      search({ vector, filter: { type: 'ne', key: 'minutes', value: 2 } }),
      search({ vector, limit: 1 }),
    )) as { id: string; score: number }[][];
    assert.equal(idsOf(near), ['green', 'black', 'cold']);
    for (const [n, score] of [3 / Math.sqrt(10), Math.SQRT1_2, 0].entries())
      assert.ok(Math.abs(near![n]!.score - score) < 1e-6, `${near![n]!.score}`);
    assert.equal(idsOf(words).toSorted(), ['cold', 'green']);
    assert.equal(idsOf(both)[0], 'black');
    assert.equal(idsOf(filtered), ['black', 'cold']);
    const { vector: _, ...stored } = green;
    assert.equal(
      first!.map(({ score: __, ...chunk }) => chunk),
      [stored],
    );
  });

  Vectors('replaces, lists and deletes', async () => {
    const { vector: _, ...other } = { ...green, document: 'x', text: 'Other.', metadata: { 'a"': true } };
    const answers = await after(
      subject,
      { step: 'upsert', name: 'tea', chunks: [{ ...other, vector: [0, 0, 5] }] },
      { step: 'chunks', name: 'tea', document: 'x' },
      { step: 'list' },
      { step: 'deleteDocument', name: 'tea', document: 'teas' },
      { step: 'delete', name: 'tea', ids: ['cold', 'none', 'green'] },
      { step: 'chunks', name: 'tea' },
      { step: 'list' },
      { step: 'drop', name: 'tea' },
      { step: 'drop', name: 'tea' },
    );
    const facts = { name: 'tea', model: 'm', dimensions: 3 };
    assert.equal(answers, [
      null,
      [other],
      [{ ...facts, chunks: 3, isEmpty: false }],
      ...[1, 2, []],
      [{ ...facts, chunks: 0, isEmpty: true }],
      ...[true, false],
    ]);
  });

  Vectors('refuses what is wrong by name, and then has changed nothing', async () => {
    const chunk = { id: 'a', text: 'A', vector: [1, 2, 3] };
    const upsert = (...chunks: object[]): Step => ({ step: 'upsert', name: 'tea', chunks });
    const search = (question: object): Step => ({ step: 'search', name: 'tea', ...question });
    const wrong: readonly (readonly [error: string, ...steps: readonly Step[]])[] = [
      [
        'ValidationError',
        ...['', 'x'.repeat(256), '\0'].map((name): Step => ({ step: 'ensure', name })),
        ...[0, 8193, 1.5, -1, 2 ** 32].map((dimensions): Step => ({ step: 'ensure', name: 'n', dimensions })),
        ...[{ vector: [1] }, { vector: [0, 0, 0] }, { vector: [1, 2, 1e39] }, { vector: [1, 2, 'x'] }].map((change) =>
          upsert({ ...chunk, ...change }),
        ),
        upsert(chunk, { ...chunk, id: 'b', vector: [1, 2] }),
        upsert(chunk, chunk),
        upsert({ ...chunk, id: '' }),
        upsert({ ...chunk, document: '' }),
        upsert({ ...chunk, text: 'x'.repeat(65_537) }),
        ...['text', 'id', 'document'].map((member) => upsert({ ...chunk, [member]: 'x\0' })),
        upsert({ ...chunk, metadata: { a: '\ud800' } }),
        ...[null, [1], { a: null }, { a: {} }, { '': 1 }, { a: 'x'.repeat(513) }].map((metadata) =>
          upsert({ ...chunk, metadata }),
        ),
        upsert({ ...chunk, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, n])) }),
        search({}),
        ...[0, 101, 1.5, -1].map((limit) => search({ text: 'a', limit })),
        search({ vector: [1] }),
        search({ text: 'x'.repeat(65_537) }),
        ...[
          { type: 'is', key: 'a', value: 1 },
          { type: 'eq', key: '', value: 1 },
          { type: 'eq', key: 'a', value: {} },
          { type: 'gt', key: 'a', value: true },
          { type: 'in', key: 'a', value: 1 },
          { type: 'and', filters: [] },
          { type: 'not' },
        ].map((filter) => search({ text: 'a', filter })),
        { step: 'delete', name: 'tea', ids: [''] },
        { step: 'delete', name: 'tea', ids: Array.from({ length: 2001 }, (_, n) => `${n}`) },
        { step: 'deleteDocument', name: 'tea', document: '' },
        { step: 'chunks', name: 'tea', document: '' },
        { step: 'drop', name: '' },
      ],
      [
        'NotFoundException',
        { ...upsert(chunk), name: 'none' },
        { step: 'search', name: 'none', text: 'a' },
        { step: 'chunks', name: 'none' },
        { step: 'delete', name: 'none', ids: [] },
      ],
      [
        'VectorModelMismatch',
        { ...made, model: 'other' },
        { ...made, dimensions: 4 },
        { ...upsert(chunk), model: 'other' },
        { ...search({ vector: [1, 2, 3] }), model: 'other' },
      ],
      [
        'ArgumentsTooLarge',
        upsert(...Array.from({ length: 501 }, (_, n) => ({ ...chunk, id: `${n}` }))),
        upsert(...Array.from({ length: 17 }, (_, n) => ({ ...chunk, id: `${n}`, text: 'x'.repeat(65_000) }))),
      ],
    ];
    for (const [error, ...steps] of wrong) {
      const answers = await after(subject, ...steps, { step: 'list' }, { step: 'chunks', name: 'tea' });
      for (const [n, step] of steps.entries()) assert.is(answers[n], error, JSON.stringify(step).slice(0, 300));
      assert.is((answers.at(-2) as unknown[]).length, 1);
      assert.equal(idsOf(answers.at(-1)), ['black', 'cold', 'green']);
    }
  });

  Vectors('has at most 100 collections', async () => {
    const steps = Array.from({ length: 101 }, (_, n): Step => ({ step: 'ensure', name: `c${n}`, dimensions: 1 }));
    const answers = await subject.run([...steps, steps[0]!, { step: 'drop', name: 'c1' }, steps[100]!]);
    assert.equal(answers.slice(99), [null, 'StorageFull', null, true, null]);
  });

  Vectors('gives long texts in pages, and says them all', async () => {
    const chunks = Array.from({ length: 40 }, (_, n) => ({
      id: `${n + 10}`,
      text: 'x'.repeat(26_000),
      vector: [1, 1, 1],
    }));
    const more = chunks.map((chunk) => ({ ...chunk, id: `1${chunk.id}` }));
    const [, , , all] = await subject.run([
      made,
      ...[chunks, more].map((each): Step => ({ step: 'upsert', name: 'tea', chunks: each })),
      { step: 'chunks', name: 'tea' },
    ]);
    assert.equal(idsOf(all), [...chunks, ...more].map(({ id }) => id).toSorted());
  });

  Vectors.run();
}

const names = fc.constantFrom('a', 'b', 'é', '😀', '\uffff');
const vectors = fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: -2, max: 2 })));
const metadata = fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom<unknown>(1, -0.5, 'a', 'é', true, ''), {
  noNullPrototype: true,
});
const value = fc.constantFrom<unknown>(1, 'a', '😀', true, -0.5);
const comparison = fc.oneof(
  fc.record({ type: fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte'), key: fc.constantFrom('k', 'l'), value }),
  fc.record({ type: fc.constantFrom('in', 'nin'), key: fc.constant('k'), value: fc.array(value, { maxLength: 2 }) }),
);
const filter = fc.oneof(
  comparison,
  comparison.map((one) => ({ type: 'not', filter: one })),
  fc.record({ type: fc.constantFrom('and', 'or'), filters: fc.array(comparison, { minLength: 1, maxLength: 2 }) }),
);
const chunk = fc.record(
  {
    id: names,
    document: names,
    text: fc.constantFrom('', 'One two', 'two, Ärger!', '三', 'two\ud83d'),
    metadata,
    vector: vectors,
  },
  { requiredKeys: ['id', 'text', 'vector'] },
);
const name = fc.constantFrom('a', 'a', 'a', 'b');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ step: fc.constant('ensure'), name, dimensions: fc.constantFrom(3, 3, 3, 2) }),
  { weight: 4, arbitrary: fc.record({ step: fc.constant('upsert'), name, chunks: fc.array(chunk, { maxLength: 4 }) }) },
  fc.record({ step: fc.constant('drop'), name }),
  fc.record({ step: fc.constant('list') }),
  fc.record({ step: fc.constant('delete'), name, ids: fc.array(names, { maxLength: 2 }) }),
  fc.record({ step: fc.constant('deleteDocument'), name, document: names }),
  fc.record({ step: fc.constant('chunks'), name, document: names }, { requiredKeys: ['step', 'name'] }),
  {
    weight: 4,
    arbitrary: fc.record(
      {
        ...{ step: fc.constant('search'), name, vector: vectors, filter, limit: fc.constant(100) },
        text: fc.constantFrom('TWO?', 'ärger one', '!'),
      },
      { requiredKeys: ['step', 'name', 'limit'] },
    ),
  },
);

/** An answer without the order of equal scores, and without scores of words, in which the databases differ. */
function comparable({ text }: Step, answer: unknown): unknown {
  if (!Array.isArray(answer) || !answer.every((one) => typeof (one as { score?: unknown }).score === 'number'))
    return answer;
  return (answer as { id: string; score: number }[])
    .map(({ score, ...found }) => ({ ...found, score: text === undefined ? Math.round(score * 1e5) / 1e5 + 0 : 'any' }))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

const Both = suite('vectors of plugins over the double and over databases');
Both('the same steps have the same answers', async () => {
  const chunks = [{ k: 'a' }, { k: 1, l: true }, {}, { k: '😀', l: -0.5 }].map((given, n) => ({
    ...{ id: `${n}`, text: n % 2 ? 'One two' : 'Ärger', metadata: given, vector: [1, n, 2] },
  }));
  const opened: Step[] = [
    { step: 'ensure', name: 'a' },
    { step: 'upsert', name: 'a', chunks },
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (given) => {
      const steps = [...opened, ...given];
      const [expected, ...answers] = await Promise.all([double, ...real].map(({ run }) => run(steps)));
      for (const each of answers)
        for (const [n, one] of steps.entries())
          assert.equal(comparable(one, each[n]), comparable(one, expected![n]), JSON.stringify(steps.slice(0, n + 1)));
    }),
    { numRuns: 60 },
  );
});

Both('users, plugins and the application do not see the collections of others', async () => {
  for (const { plugin } of real) {
    const [one, other] = [await plugin('one'), await plugin('other')];
    const list: Step = { step: 'list' };
    await one([{ step: 'ensure', name: 'mine', model: 'of one' }], 'ann');
    await other([{ step: 'ensure', name: 'mine', model: 'of other' }], 'ann');
    const seen = [];
    for (const [as, user] of [
      [one, 'ann'],
      [one, 'bob'],
      [other, 'ann'],
    ] as const)
      seen.push((await as([list], user))[0]);
    assert.equal(
      seen.map((all) => (all as { model: string }[]).map(({ model }) => model)),
      [['of one'], [], ['of other']],
    );
  }
});

Both.after(async () => {
  for (const close of closings) await close();
  await rm(folder, { recursive: true, force: true });
});
Both.run();
