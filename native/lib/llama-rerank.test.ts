import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TestEmbedding, tinyBert, tinyQwen3 } from './fixtures/test-embedding.ts';
import { isBuilt, rejection } from './fixtures/test-engine.ts';
import { TINY_RERANK_TEMPLATE } from './fixtures/tiny-embedding.ts';

const Rerank = suite('rerank engine');

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Rerank(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const DOCUMENTS = ['the cat sat on the house', 'a big red dog', '', 'who is it', 'the bird and the dog ran in it'];
const bert = (): string => tinyBert({ pooling: 'rank' });
const qwen3 = (): string => tinyQwen3({ pooling: 'rank' });

test('a cross-encoder scores documents, which are read behind the query', async () => {
  await using engine = await TestEmbedding.load({ task: 'rank', modelPath: bert() });
  const { info } = engine.engine;
  assert.equal([info.pooling, info.dimensions, info.hasProbabilities], ['rank', 1, false]);
  const scores = await engine.rank('the cat', DOCUMENTS);
  assert.is(new Set(scores).size, DOCUMENTS.length);
  for (const [at, document] of DOCUMENTS.entries())
    assert.ok(Math.abs(((await engine.rank('the cat', [document]))[0] ?? NaN) - (scores[at] ?? NaN)) < 1e-5);
  const { tokens } = engine.answer(await engine.submit({ query: 'the cat', texts: ['a dog'] }).event);
  assert.equal(tokens, ['[CLS] the cat [SEP] a dog [SEP]'.split(' ').length]);
  assert.ok(Math.abs(((await engine.rank('a dog', [DOCUMENTS[0] ?? '']))[0] ?? NaN) - (scores[0] ?? NaN)) > 1e-4);
});

test('a model with a template answers with the probability of yes', async () => {
  await using engine = await TestEmbedding.load({ task: 'rank', modelPath: qwen3() });
  assert.equal([engine.engine.info.dimensions, engine.engine.info.hasProbabilities], [2, true]);
  const scores = await engine.rank('the cat', DOCUMENTS);
  assert.ok(scores.every((score) => score > 0 && score < 1) && new Set(scores).size === DOCUMENTS.length);
  const template = TINY_RERANK_TEMPLATE.replace('Who', 'It');
  await using other = await TestEmbedding.load({ task: 'rank', modelPath: qwen3(), rankTemplate: template });
  assert.is.not((await other.rank('the cat', DOCUMENTS))[0], scores[0]);
});

test('control tokens come from the template alone', async () => {
  await using engine = await TestEmbedding.load({ task: 'rank', modelPath: qwen3() });
  const count = async (query: string, text: string): Promise<number | undefined> =>
    engine.answer(await engine.submit({ query, texts: [text] }, {}, 'countTokens').event).tokens[0];
  const plain = (await count('the cat', 'a dog')) ?? NaN;
  // Three more tokens at least, as a control token would be one.
  assert.ok(((await count('the cat', 'a dog</s>')) ?? NaN) >= plain + 3);
  assert.ok(((await count('</s>', '{query}{document}')) ?? NaN) >= plain + 3);
});

for (const [name, model] of [
  ['of a cross-encoder', bert],
  ['in a template', qwen3],
] as const) {
  test(`a long document ${name} is refused with both numbers, or cut beside the query`, async () => {
    await using engine = await TestEmbedding.load({ task: 'rank', modelPath: model(), maxTokens: 40 });
    const long = 'the cat sat on the house and '.repeat(20);
    const input = { query: 'the dog', texts: ['a', long] };
    const { code, fault, message, maxTokens } = await engine.refusal(input);
    assert.equal([code, fault, maxTokens], ['prompt-too-long', 'caller', 40]);
    assert.match(
      message,
      /^the document at index 1 has (more than )?\d+ tokens together with the query, the limit is 40$/,
    );
    for (const truncate of ['start', 'end'] as const) {
      const { tokens } = engine.answer(await engine.submit(input, { truncate }).event);
      assert.ok((tokens[1] ?? 0) > 30 && (tokens[1] ?? 99) <= 40, `${truncate}: ${tokens.join()}`);
    }
    const refused = await engine.refusal({ query: long, texts: ['a'] }, { truncate: 'end' });
    assert.match(refused.message, /^the query has (more than )?\d+ tokens, the limit is 40$/);
    const huge = 'the cat sat on the house and '.repeat(140_000);
    assert.match((await engine.refusal({ query: 'a', texts: [huge] })).message, 'has more than');
  });
}

test('a template without its places is refused', async () => {
  const options = { task: 'rank', modelPath: qwen3(), rankTemplate: 'is {query} good?' } as const;
  assert.match((await rejection(TestEmbedding.load(options))).message, 'must contain {query} and {document}');
});

Rerank.run();
