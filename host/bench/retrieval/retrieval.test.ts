import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hitAt, ndcgAt } from './judgements.ts';
import { allPages, questions, sectionChunks } from './sections.ts';

const Retrieval = suite('the questions about the documentation');

Retrieval('are a hundred different ones, and each relevant section exists', async () => {
  const sections = new Set((await sectionChunks(allPages(), { maxTokens: 1_000_000 })).map(({ section }) => section));
  assert.is(new Set(questions.map(({ question }) => question)).size, 100);
  for (const { question, relevant } of questions) {
    assert.ok(relevant.length > 0 && new Set(relevant).size === relevant.length, question);
    assert.equal(
      relevant.filter((section) => !sections.has(section)),
      [],
      question,
    );
  }
});

Retrieval('are scored by the places of their relevant sections', () => {
  const ranking = ['a', 'b', 'c', 'd', 'e', 'f'];
  assert.is(hitAt(ranking, ['e', 'z'], 5), 1);
  assert.is(hitAt(ranking, ['f'], 5), 0);
  assert.is(ndcgAt(ranking, ['a', 'b'], 10), 1);
  assert.is(ndcgAt(ranking, ['z'], 10), 0);
  assert.is(ndcgAt(ranking, ['c'], 10), 1 / Math.log2(4));
  assert.is(ndcgAt(ranking, ['c'], 2), 0);
  const expected = (1 / Math.log2(3) + 1 / Math.log2(7)) / (1 + 1 / Math.log2(3));
  assert.ok(Math.abs(ndcgAt(ranking, ['b', 'f'], 10) - expected) < 1e-12);
});

Retrieval.run();
