// What requests share of the engine's cache, and what happens when its cells run out.
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectSame } from './fixtures/same-text.ts';
import { endOf, errorOf, isBuilt, prompt, sharedCells, TestEngine } from './fixtures/test-engine.ts';

const Cache = suite('the cache of the llama engine');
/** More tokens than a request waits for. */
const beginning = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(3);
const layouts = [
  { name: 'shared cells', changes: { totalCells: sharedCells } },
  { name: 'cells for each sequence', changes: { totalCells: 0 } },
];

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Cache(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

for (const { name, changes } of layouts) {
  test(`requests that begin alike compute the beginning once, also when they come together: ${name}`, async () => {
    await using llama = await TestEngine.load({ ...changes, maxSequences: 4, prefillTokensPerStep: 16 });
    const ids = ['cat', 'dog', 'bird', 'fish'].map((animal) =>
      llama.submit(`${beginning}The ${animal}`, { maxTokens: 6 }),
    );
    const ends = (await Promise.all(ids.map((id) => llama.finish(id)))).map(endOf);
    const n = await llama.count(beginning);
    for (const { reusedTokens } of ends.slice(1)) assert.ok(reusedTokens > n - 5, `${reusedTokens} of ${n}`);
    const { computedTokens, promptTokens, reusedTokens } = llama.engine.counts;
    assert.ok(computedTokens < n + 4 * 20, `${computedTokens} computed, ${n} are shared`);
    assert.is(
      promptTokens,
      ends.reduce((sum, end) => sum + end.promptTokens, 0),
    );
    assert.is(
      reusedTokens,
      ends.reduce((sum, end) => sum + end.reusedTokens, 0),
    );
  });

  test(`a shared beginning changes no text: ${name}`, async () => {
    const texts = ['cat ran', 'dog was', 'bird said'].map((end) => `${beginning}The ${end}`);
    const sampling = { logprobs: 2 };
    await using alone = await TestEngine.load({ ...changes, maxSequences: 1 });
    const ids: number[] = [];
    for (const text of texts) {
      endOf(await alone.generate('One day', { maxTokens: 2 })); // leaves nothing of the beginning
      ids.push(alone.submit(text, sampling));
      endOf(await alone.finish(ids.at(-1) ?? 0));
    }
    assert.ok(alone.engine.counts.reusedTokens < 20);
    await using llama = await TestEngine.load({ ...changes, maxSequences: 3 });
    for (let round = 0; round < 2; round++) {
      const together = texts.map((text) => llama.submit(text, sampling));
      for (const [i, id] of together.entries()) {
        endOf(await llama.finish(id));
        expectSame(llama, id, alone, ids[i] ?? 0);
      }
    }
    assert.ok(llama.engine.counts.reusedTokens > 4 * 50);
  });

  test(`a request that waits for the beginning of another one goes on when that is cancelled: ${name}`, async () => {
    await using llama = await TestEngine.load({ ...changes, maxSequences: 2, prefillTokensPerStep: 1 });
    const first = llama.submit(`${beginning}The cat`, { maxTokens: 200 });
    const second = llama.submit(`${beginning}The dog`, { maxTokens: 4 });
    while (llama.engine.steps < 10) await new Promise((go) => setTimeout(go, 1));
    llama.engine.cancel(first);
    assert.is(endOf(await llama.finish(first)).reason, 'cancelled');
    assert.is(endOf(await llama.finish(second)).completionTokens, 4);
  });

  test(`tenants share beginnings only with the same cache key, and are told of their own only: ${name}`, async () => {
    for (const cacheKey of ['all', undefined]) {
      const key = cacheKey !== undefined && { cacheKey };
      await using llama = await TestEngine.load({ ...changes, maxSequences: 4 });
      const told: number[] = [];
      for (const tenant of ['one', 'other', 'other'])
        told.push(endOf(await llama.generate(`${beginning}The cat`, { maxTokens: 2, tenant, ...key })).reusedTokens);
      assert.equal(told.slice(0, 2), [0, 0]);
      assert.ok((told[2] ?? 0) > 40, `${told}`);
      assert.is(llama.engine.counts.reusedTokens > (told[2] ?? 0), cacheKey !== undefined);
      const { reusedTokens: before } = llama.engine.counts;
      const ids = ['third', 'fourth'].map((tenant) =>
        llama.submit(beginning.slice(9), { maxTokens: 2, tenant, ...key }),
      );
      for (const id of ids) assert.is(endOf(await llama.finish(id)).reusedTokens, 0);
      assert.is(llama.engine.counts.reusedTokens > before + 40, cacheKey !== undefined);
    }
  });
}

test('as many requests run together as llama.cpp allows', async () => {
  const count = 256;
  const load = { contextTokens: 128 };
  const refused = TestEngine.load({ ...load, maxSequences: count + 1 });
  assert.match(await refused.then(String, ({ message }: Error) => message), 'maxSequences');
  await using llama = await TestEngine.load({ ...load, maxSequences: count });
  const ids = Array.from({ length: count }, (_, n) => llama.submit(`${n}`, { maxTokens: 80, ignoreEos: true }));
  for (const id of ids) llama.unread.add(id); // they stop before their ends and keep their places
  while (llama.engine.counts.running < count) await delay(1);
  for (const id of ids) {
    llama.unread.delete(id);
    llama.engine.acknowledge(id, llama.of(id).length);
  }
  for (const id of ids) assert.is(endOf(await llama.finish(id)).completionTokens, 80);
});

test('requests whose cells run out are computed again and lose nothing', async () => {
  const sampling = { maxTokens: 150, ignoreEos: true, logprobs: 2 };
  const texts = ['Once upon a time', 'The dog', 'A cat was', 'One day'];
  await using roomy = await TestEngine.load({ totalCells: sharedCells, maxSequences: 4 });
  const ids = texts.map((text) => roomy.submit(text, sampling));
  for (const id of ids) endOf(await roomy.finish(id));
  assert.is(roomy.engine.counts.preemptions, 0);
  await using tight = await TestEngine.load({ totalCells: 256, maxSequences: 4 });
  for (const text of texts) tight.submit(text, sampling); // with the same ids
  for (const id of ids) assert.is(endOf(await tight.finish(id)).completionTokens, 150);
  assert.ok(tight.engine.counts.preemptions > 0);
  for (const id of ids) expectSame(tight, id, roomy, id);
});

test('a slow reader gives its cells to others and continues later', async () => {
  const sampling = { maxTokens: 120, ignoreEos: true, logprobs: 2 };
  await using alone = await TestEngine.load();
  await alone.generate(prompt, sampling);
  await using llama = await TestEngine.load({ totalCells: 256, maxSequences: 3 });
  const slow = llama.submit(prompt, sampling);
  llama.unread.add(slow);
  await llama.until(() => llama.of(slow).length >= 64);
  const long = { maxTokens: 200, ignoreEos: true };
  const others = await Promise.all(['The dog', 'A cat'].map((text) => llama.generate(text, long)));
  for (const other of others) assert.is(endOf(other).completionTokens, 200);
  assert.ok(llama.engine.counts.preemptions > 0);
  llama.unread.delete(slow);
  llama.engine.acknowledge(slow, 64);
  assert.is(endOf(await llama.finish(slow)).completionTokens, 120);
  expectSame(llama, slow, alone, 1);
});

test('acknowledgements of a request that waits for its cells count', async () => {
  const sampling = { maxTokens: 150, ignoreEos: true };
  await using llama = await TestEngine.load({ totalCells: 256, maxSequences: 3, readerTimeoutMs: 30_000 });
  const ids = ['The dog', 'A cat', 'One day'].map((text) => llama.submit(text, sampling));
  for (const id of ids) llama.unread.add(id);
  const [, , youngest = 0] = ids;
  await llama.until(() => llama.of(youngest).length >= 60);
  const unread = new Map(ids.map((id) => [id, llama.of(id).length]));
  for (const id of ids) llama.unread.delete(id);
  // The youngest is acknowledged last, after the others have taken its cells.
  for (const id of ids.slice(0, 2)) llama.engine.acknowledge(id, unread.get(id) ?? 0);
  await llama.until(() => llama.engine.counts.preemptions > 0);
  llama.engine.acknowledge(youngest, unread.get(youngest) ?? 0);
  for (const id of ids) assert.is(endOf(await llama.finish(id)).completionTokens, 150);
});

test('a tenant with a larger weight gets a larger part of the engine', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const submit = (tenant: string, weight: number, n: number) =>
    llama.submit(`Story number ${n}`, { maxTokens: n === 0 ? 200 : 12, tenant, weight, ignoreEos: true });
  const first = submit('first', 1, 0); // runs until the others have come
  // Many, because the price of a pass over the weights is learnt from times, which other programs disturb.
  const light = Array.from({ length: 60 }, (_, n) => submit('light', 1, n + 1));
  const heavy = Array.from({ length: 60 }, (_, n) => submit('heavy', 3, n + 1));
  await Promise.all([first, ...light, ...heavy].map((id) => llama.finish(id)));
  const ends = llama.events.filter(({ type }) => type === 'end').map(({ id }) => id);
  const amongFirst = ends.slice(1, 61).filter((id) => heavy.includes(id)).length;
  assert.ok(amongFirst >= 40 && amongFirst <= 50, `${amongFirst} of 60 are of the tenant with weight 3`);
});

test('a request whose prompt cannot be read before its deadline computes nothing', async () => {
  await using llama = await TestEngine.load({ contextTokens: 512 });
  const story = (n: number) => `Story ${n} ${'the little dog ran to the big house '.repeat(40)}`;
  endOf(await llama.generate(story(1), { maxTokens: 1 }));
  const { computedTokens } = llama.engine.counts;
  const { code, fault } = errorOf(await llama.generate(`The ${story(2)}`, { deadlineMs: 1 }));
  assert.equal([code, fault], ['deadline-exceeded', 'overload']);
  assert.is(llama.engine.counts.computedTokens, computedTokens);
});

test('what the engine does and has is counted', async () => {
  await using llama = await TestEngine.load({ contextTokens: 256, maxSequences: 2 });
  const ids = [1, 2, 3].map((n) => llama.submit(`Story ${n}`, { maxTokens: 120, ignoreEos: true }));
  for (const id of ids) llama.unread.add(id); // the first two stop and keep their places
  while (llama.engine.counts.running !== 2 || llama.engine.counts.waiting !== 1) await delay(1);
  for (const id of ids) {
    llama.unread.delete(id);
    llama.engine.acknowledge(id, llama.of(id).length);
  }
  const ends = (await Promise.all(ids.map((id) => llama.finish(id)))).map(endOf);
  await llama.until(() => llama.engine.counts.running === 0);
  const { generatedTokens, prefillSeconds, decodeSeconds, cells, usedCells, waiting } = llama.engine.counts;
  assert.is(
    generatedTokens,
    ends.reduce((sum, end) => sum + end.completionTokens, 0),
  );
  assert.ok(prefillSeconds > 0 && decodeSeconds > 0);
  assert.equal([waiting, cells], [0, 512]);
  assert.ok(usedCells > 2 * 120 && usedCells < 2 * 140, `${usedCells}`);
});

test('invalid weights are refused', async () => {
  await using llama = await TestEngine.load();
  for (const weight of [0, -1, Number.NaN, 2000, 'much' as unknown as number])
    assert.throws(() => llama.submit(prompt, { weight }), 'weight');
});

Cache.run();
