import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { distance, TestEmbedding, tinyBert, tinyQwen3, type VectorsEvent } from './fixtures/test-embedding.ts';
import { isBuilt, rejection, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { TINY_BERT, TINY_QWEN3 } from './fixtures/tiny-embedding.ts';

const Embedding = suite('embedding engine');

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Embedding(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const SENTENCES = ['the cat sat on the house', 'a big red dog', 'who is it', 'small', 'the bird and the dog ran in it'];
/**
 * Largest difference between the vectors of a text alone and in a batch, as a part of their length. ggml sums the
 * attention of less than 64 tokens in 16 bits, and that of more tokens in 32 bits where vectors of the processor fit
 * into a head. The heads of these models are too small for our kernels, which have one way of summing.
 */
const MARGIN = 1e-4;

test('a text has a vector, and the tokens that the model wants around it', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const { info } = bert.engine;
  assert.equal(
    [info.dimensions, info.maxTokens, info.pooling, info.description.includes('bert')],
    [TINY_BERT.dimensions, TINY_BERT.contextTokens, 'mean', true],
  );
  const { vectors, tokens } = await bert.embed(['the cat', '']);
  assert.equal(tokens, [4, 2]);
  assert.is(vectors[0]?.length, TINY_BERT.dimensions);
  assert.ok(distance(vectors[0], vectors[1]) > 0.05);
  assert.is(bert.progress.at(-1), 1);
});

for (const [name, model] of [
  ['a model that reads texts whole', tinyBert],
  ['a model that reads texts from left to right', tinyQwen3],
] as const) {
  test(`${name} gives a text the same vector alone and in a batch`, async () => {
    await using engine = await TestEmbedding.load({ modelPath: model(), batchTokens: 64 });
    const alone = await Promise.all(SENTENCES.map(async (text) => (await engine.embed([text])).vectors[0]));
    const steps = engine.engine.steps;
    const together = (await engine.embed([...SENTENCES, ...SENTENCES])).vectors;
    assert.ok(engine.engine.steps - steps < SENTENCES.length, `${engine.engine.steps - steps} computations`);
    for (const [at, vector] of together.entries())
      assert.ok(distance(vector, alone[at % SENTENCES.length]) < MARGIN, `text ${at}`);
    assert.ok(distance(alone[0], alone[1]) > 0.01);
  });
}

for (const pooling of ['mean', 'cls', 'last'] as const) {
  test(`the pooling ${pooling} of the options replaces the pooling of the file`, async () => {
    await using own = await TestEmbedding.load({ modelPath: tinyBert({ pooling }) });
    await using other = await TestEmbedding.load({ modelPath: tinyBert({ pooling: null }), pooling });
    assert.is(other.engine.info.pooling, pooling);
    assert.equal((await other.embed(SENTENCES)).vectors, (await own.embed(SENTENCES)).vectors);
  });
}

test('the poolings give different vectors', async () => {
  const vectors = [];
  for (const pooling of ['mean', 'cls', 'last'] as const) {
    await using bert = await TestEmbedding.load({ modelPath: tinyBert(), pooling });
    vectors.push((await bert.embed(['the cat sat'])).vectors[0]);
  }
  assert.ok(distance(vectors[0], vectors[1]) > 0.01 && distance(vectors[1], vectors[2]) > 0.01);
});

test('a text longer than a computation is read in parts with the same vector', async () => {
  const text = 'once upon a time there was a cat and the dog ran '.repeat(8);
  await using whole = await TestEmbedding.load({ modelPath: tinyQwen3(), batchTokens: 512 });
  await using parts = await TestEmbedding.load({ modelPath: tinyQwen3(), batchTokens: 16 });
  const [a, b] = [await whole.embed([text]), await parts.embed(['the cat', text, 'the dog'])];
  assert.ok((a.tokens[0] ?? 0) > 64 && a.tokens[0] === b.tokens[1]);
  assert.ok(distance(a.vectors[0], b.vectors[1]) < 1e-3, String(distance(a.vectors[0], b.vectors[1])));
  assert.ok(distance(b.vectors[0], b.vectors[2]) > 0.01);
});

test('a computation is never smaller than a text that must be computed whole', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert(), batchTokens: 8 });
  assert.is(bert.engine.info.batchTokens, TINY_BERT.contextTokens);
  assert.equal((await bert.embed(['the cat '.repeat(31)])).tokens, [TINY_BERT.contextTokens]);
});

test('a text that is too long is refused with both numbers, or cut at its start or end', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert(), maxTokens: 8 });
  const text = 'the cat sat on the big red house';
  const { code, fault, message, promptTokens, maxTokens } = await bert.refusal({ texts: ['cat', text] });
  assert.equal([code, fault, promptTokens, maxTokens], ['prompt-too-long', 'caller', 10, 8]);
  assert.is(message, 'the text at index 1 has 10 tokens, the limit is 8');
  const [end, start] = [await bert.embed([text], { truncate: 'end' }), await bert.embed([text], { truncate: 'start' })];
  assert.equal([end.tokens, start.tokens], [[8], [8]]);
  assert.equal(end.vectors, (await bert.embed(['the cat sat on the big'])).vectors);
  assert.equal(start.vectors, (await bert.embed(['sat on the big red house'])).vectors);
});

test('a text of 4 MB is refused quickly, and cut like any other', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const text = 'the cat sat on it '.repeat(233_000);
  assert.match((await bert.refusal({ texts: [text] })).message, /has more than \d+ tokens, the limit is 64/);
  const { vectors } = await bert.embed([text], { truncate: 'end' });
  assert.equal(vectors, (await bert.embed([text.slice(0, 18 * 100)], { truncate: 'end' })).vectors);
  assert.equal((await bert.embed([text], { truncate: 'start' })).tokens, [64]);
  const blank = ' '.repeat(1_000_000);
  assert.equal((await bert.embed([`${blank}cat`])).vectors, (await bert.embed(['cat'])).vectors);
});

test('texts of control tokens, lone surrogates and NUL are text', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const { tokens } = await bert.embed(['[CLS]', '[SEP] [PAD]', '\uD800', 'a\0b', '\u{10FFFF}']);
  assert.ok((tokens[0] ?? 0) > 3 && (tokens[1] ?? 0) > 4, tokens.join());
  await using qwen = await TestEmbedding.load({ modelPath: tinyQwen3() });
  assert.ok(((await qwen.embed(['</s>'])).tokens[0] ?? 0) > 2);
});

test('a list of tokens is computed as it is, beside texts', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert(), maxTokens: 8 });
  const { vectors, tokens } = await bert.embed([[5, 6, 7], 'the cat', [5, 6, 7, 8]]);
  assert.equal([tokens[0], tokens[2]], [3, 4]);
  assert.ok(distance(vectors[0], (await bert.embed([[5, 6, 7]])).vectors[0]) < 1e-5);
  assert.ok(distance(vectors[1], (await bert.embed(['the cat'])).vectors[0]) < 1e-5);
  assert.ok(distance(vectors[0], vectors[2]) > 0.01);

  const long = Array.from({ length: 12 }, (_, at) => at);
  const [end, start] = [await bert.embed([long], { truncate: 'end' }), await bert.embed([long], { truncate: 'start' })];
  assert.equal(end.vectors, (await bert.embed([long.slice(0, 8)])).vectors);
  assert.equal(start.vectors, (await bert.embed([long.slice(4)])).vectors);
  assert.is((await bert.refusal({ texts: [long] })).code, 'prompt-too-long');
});

test('tokens that the model does not have, no tokens, and tokens for a reranker are refused', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const { vocabularySize } = bert.engine.info;
  for (const token of [-1, vocabularySize, 2 ** 31 - 1]) {
    const { fault, message } = await bert.refusal({ texts: ['the cat', [5, token]] });
    assert.is(fault, 'caller');
    assert.match(
      message,
      `the text at index 1 has the token ${token}, but the tokens of the model are 0 to ${vocabularySize - 1}`,
    );
  }
  assert.is((await bert.refusal({ texts: [[]] })).code, 'empty-prompt');
  await using ranker = await TestEmbedding.load({ modelPath: tinyBert({ pooling: 'rank' }), task: 'rank' });
  assert.is((await ranker.refusal({ query: 'the cat', texts: [[5]] })).fault, 'caller');
});

test('tokens are counted without a computation', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const event = await bert.submit({ texts: ['the cat', 'a'] }, {}, 'countTokens').event;
  assert.equal(bert.answer(event).tokens, [4, 3]);
  assert.is(bert.engine.steps, 0);
});

test('no texts have no vectors', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  assert.equal(await bert.embed([]), { vectors: [], tokens: [] });
});

test('a hundred requests at the same time have the answers of each alone', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const texts = Array.from({ length: 100 }, (_, at) =>
    SENTENCES.slice(at % 5)
      .join(' ')
      .slice(0, 20 + at),
  );
  const alone = [];
  for (const text of texts) alone.push((await bert.embed([text])).vectors[0]);
  const all = await Promise.all(texts.map((text, at) => bert.embed([text, text], { tenant: `t${at % 7}` })));
  for (const [at, { vectors }] of all.entries())
    for (const vector of vectors) assert.ok(distance(vector, alone[at]) < MARGIN, `request ${at}`);
});

test('a short request does not wait for a long one', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const order: string[] = [];
  const long = bert.submit({ texts: Array.from({ length: 2000 }, () => 'the cat sat on the house') });
  const short = bert.submit({ texts: ['a dog'] });
  await Promise.all([
    long.event.then(() => order.push('long')),
    short.event.then(() => order.push(`short after ${bert.engine.steps < 100 ? 'few' : 'many'}`)),
  ]);
  assert.equal(order, ['short after few', 'long']);
});

test('a cancelled request computes no more', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const { id, event } = bert.submit({ texts: Array.from({ length: 5000 }, () => 'the cat sat on the house') });
  while (bert.engine.steps === 0) await new Promise((go) => setImmediate(go));
  bert.engine.cancel(id);
  assert.is((await event).type, 'cancelled');
  await bert.embed(['a dog']);
  const { steps } = bert.engine;
  assert.ok(steps < 500, `${steps} computations`);
  bert.engine.cancel(id);
  bert.engine.cancel(12345);
});

test('a request ends at its deadline', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const texts = Array.from({ length: 20_000 }, () => 'the cat sat on the house');
  const late = await bert.refusal({ texts }, { deadlineMs: 30 });
  assert.is(late.code, 'deadline-exceeded');
  assert.is((await bert.refusal({ texts: ['a'] }, { deadlineMs: 0 })).fault, 'overload');
  assert.equal((await bert.embed(['a'])).tokens, [3]);
});

test('closing ends the requests that run', async () => {
  const bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const { event } = bert.submit({ texts: Array.from({ length: 20_000 }, () => 'the cat sat on the house') });
  await Promise.all([bert.engine.close(), bert.engine.close()]);
  assert.ok(['cancelled', 'error'].includes((await event).type));
  assert.throws(() => bert.engine.submit(9, { texts: ['a'] }, {}), /the engine is closed/);
});

test('wrong arguments are refused by name, and the engine goes on', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert() });
  const wrong: readonly (readonly [unknown, unknown, RegExp])[] = [
    [{ texts: 'a' }, {}, /texts is not an array/],
    [{ texts: [1] }, {}, /texts has an item that is not a string/],
    [{ texts: ['a'], query: 1 }, {}, /query is not a string/],
    [{ texts: ['a'] }, { truncate: 'left' }, /truncate must be none, start or end/],
    [{ texts: ['a'] }, { priority: 'x' }, /priority is not a number/],
    [undefined, {}, /the texts is not an object/],
  ];
  for (const [input, options, pattern] of wrong)
    assert.throws(() => bert.engine.submit(1, input as never, options as never), pattern);
  assert.equal((await bert.embed(['a'])).tokens, [3]);
});

test('a model that computes no numbers fails the request, and only it', async () => {
  await using bert = await TestEmbedding.load({ modelPath: tinyBert({ isBroken: true }) });
  const { code, fault, message } = await bert.refusal({ texts: ['the cat'] });
  assert.equal([code, fault, message], ['failed', 'deployment', 'the model computed a value that is not a number']);
});

test('a model for another task is refused with what to use', async () => {
  const load = async (modelPath: string, task: 'embed' | 'rank' = 'embed') =>
    (await rejection(TestEmbedding.load({ modelPath, task }))).message;
  assert.match(await load(tinyModel), 'is not a model for embeddings: its file states no pooling');
  assert.match(await load(tinyBert({ pooling: 'rank' })), 'is a reranker: use it with a LlamaRerankDeployment');
  assert.match(await load(tinyBert(), 'rank'), 'is not a reranker: its file does not state the pooling "rank"');
  assert.match(await load(tinyBert({ pooling: 'rank', hasHead: false }), 'rank'), 'it has no classification head');
  assert.match(await load('/nowhere.gguf'), 'model file /nowhere.gguf does not exist');
  const text = async (modelPath: string) => (await rejection(TestEngine.load({ modelPath }))).message;
  assert.match(await text(tinyBert()), 'is a model for embeddings: use it with a LlamaEmbeddingDeployment');
  assert.match(await text(tinyQwen3()), 'is a model for embeddings: use it with a LlamaEmbeddingDeployment');
  assert.match(await text(tinyBert({ pooling: 'rank' })), 'is a reranker: use it with a LlamaRerankDeployment');
  assert.match(await text(tinyBert({ pooling: null })), 'is not a model that generates text');
  assert.is(TINY_QWEN3.contextTokens, 512);
});

test('requests, texts, tokens and waits are counted', async () => {
  await using embedding = await TestEmbedding.load({ modelPath: tinyBert() });
  const before = embedding.engine.counts;
  assert.equal(before, { steps: 0, texts: 0, tokens: 0, waiting: 0, running: 0 });
  const { event } = embedding.submit({ texts: ['the cat', 'a big dog', 'who is it'] });
  const { tokens, queueMs } = (await event) as VectorsEvent;
  const { steps, texts, tokens: computed, waiting, running } = embedding.engine.counts;
  assert.equal([texts, computed, waiting, running], [3, tokens.reduce((sum, each) => sum + each, 0), 0, 0]);
  assert.is(steps, embedding.engine.steps);
  assert.ok(queueMs >= 0);
});

test('a tenant with more weight is served more often', async () => {
  await using embedding = await TestEmbedding.load({ modelPath: tinyBert(), batchTokens: 64 });
  const texts = Array.from({ length: 64 }, () => 'the cat sat on the house '.repeat(9));
  const order: string[] = [];
  const request = async (tenant: string, weight: number): Promise<void> => {
    await embedding.submit({ texts }, { tenant, weight }).event;
    order.push(tenant);
  };
  // Each request is as large; the heavy tenant's three end before the second one of the light tenant.
  const light = Array.from({ length: 3 }, () => request('light', 1));
  const heavy = Array.from({ length: 3 }, () => request('heavy', 10));
  await Promise.all([...light, ...heavy]);
  assert.equal(order.slice(0, 3), ['heavy', 'heavy', 'heavy'], order.join(' '));
});

Embedding.run();
