// Words and times of sources, and the quotations of answers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UnusableStructure } from '../refusal.ts';
import { QuoteSource, type Source } from './quote-source.ts';
import { Quotes } from './quotes.ts';

const Sources = suite('quotations');

const wordsOf = (source: Source): string[] => [...new QuoteSource(source).words()];
const quotes = (sources: readonly Source[], { minWords = 2, inJson = true } = {}): Quotes =>
  new Quotes(sources, { minWords, inJson });

Sources('words stand between white space, which counts as one space', () => {
  assert.equal(wordsOf(' One,\n\n two\t\u00a0(three) \u0000—  don’t. '), ['One,', ' two', ' (three)', ' —', ' don’t.']);
  assert.equal(wordsOf(''), []);
  assert.equal(wordsOf(' \n\u0007'), []);
});

Sources('a character is a word in scripts without spaces, with the marks and punctuation behind it', () => {
  assert.equal(wordsOf('「今天，好」。 GPT4很 好'), ['「', '今', '天，', '好」。', ' GPT4', '很', ' 好']);
  assert.equal(wordsOf('がんばれ!'), ['が', 'ん', 'ば', 'れ!']);
  assert.equal(wordsOf('ดีมาก'), ['ดี', 'ม', 'า', 'ก']);
});

Sources('parts are joined with white space, except in scripts that have none', () => {
  const at = (text: string, start: number) => ({ text, start, end: start + 1 });
  assert.equal(
    wordsOf([at('Slide one', 0), at('Slide two', 1), at(' Three', 2)]).join(''),
    'Slide one Slide two Three',
  );
  assert.equal(wordsOf([at('今', 0), at('天，', 1), at('好', 2), at('GPT', 3)]).join(''), '今天，好 GPT');
});

Sources('a quotation has the times of the parts in which it begins and ends', () => {
  const parts = [
    { text: ' We are', start: 0, end: 1.5 },
    { text: ' here', start: 1.5, end: 2 },
    { text: ' again. We are here', start: 3, end: 5 },
  ];
  const source = new QuoteSource(parts);
  assert.equal(source.find('are here again.', 3), { start: 0, end: 5 });
  assert.equal(source.find('We are here', 3), { start: 0, end: 2 });
  assert.equal(source.find('here again. We', 3), { start: 1.5, end: 5 });
});

Sources('only whole words, and enough of them, are a quotation', () => {
  const source = new QuoteSource('There we are; here we are here');
  for (const text of ['here we', 'we are', 're we are', 'are', 'we ar', '', 'we  are here', ' we are here'])
    assert.is(source.find(text, 2) !== undefined, ['here we', 'we are'].includes(text) && text !== '', text);
  assert.is(source.find('we are here', 4), undefined);
});

Sources('the strings of an answer that stand in a source are its quotations, also of a cut answer', () => {
  const sources = ['He said "no way\\" and left', [{ text: 'no one left it', start: 2, end: 4 }]];
  const answer = JSON.stringify({
    claim: 'x',
    'no one left': 1,
    quotes: ['said "no way\\"', 'no one left', 'no one le'],
  });
  const [first, second] = [
    { text: 'said "no way\\"', source: 0 },
    { text: 'no one left', start: 2, end: 4, source: 1 },
  ];
  assert.equal(quotes(sources).in(answer), [first, second]);
  assert.equal(quotes(sources).in(answer.slice(0, answer.indexOf('"no one left",') + 8)), [first]);
  assert.equal(quotes(sources, { inJson: false }).in('no one left'), [second]);
  assert.equal(quotes(sources, { inJson: false }).in('no one lef'), []);
});

Sources('the engine gets words as they are written in the answer', () => {
  const sources = ['a "b\\c" é', '', 'd e'];
  assert.equal(quotes(sources).quotable(), { texts: ['a\n \\"b\\\\c\\"\n é\n', '', 'd\n e\n'], minWords: 2 });
  assert.equal(quotes(sources, { inJson: false }).quotable().texts[0], 'a\n "b\\c"\n é\n');
});

Sources('sources without enough words are refused, and those that are too long', () => {
  for (const [sources, reason] of [
    [['', 'one', 'two'], 'quote_of: no source has 2 words, which a quotation needs at least'],
    [['a '.repeat(1_000_001)], 'quote_of: the sources have 2000002 characters; at most 2000000 can be'],
  ] as const) {
    try {
      quotes(sources);
      assert.unreachable(reason);
    } catch (error) {
      assert.instance(error, UnusableStructure);
      assert.is((error as Error).message, reason);
    }
  }
});

Sources.run();
