// Words and times of sources, and the quotations of answers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { randomNumbers } from '../fixtures/random-schema.ts';
import { UnusableStructure } from '../refusal.ts';
import { structuredGrammar } from '../structured-outputs.ts';
import { firstPassages } from './first-passages.ts';
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
  for (const nothing of ['', ' ', '\u0000'])
    assert.equal(wordsOf([at(nothing, 0), at('one', 1), at(nothing, 2), at('two', 3)]), ['one', ' two']);
  assert.equal(wordsOf([at('今', 0), at('', 1), at('天', 2), at(' ', 3), at('好', 4)]), ['今', '天', ' 好']);
});

Sources('a quotation has the times of the parts in which it begins and ends', () => {
  const parts = [
    { text: ' We are', start: 0, end: 1.5 },
    { text: ' here', start: 1.5, end: 2 },
    { text: ' again. We are here', start: 3, end: 5 },
  ];
  const told = quotes(['We are', parts], { minWords: 3 });
  const answer = JSON.stringify(['are here again.', 'We are here', 'here again. We', 'We are here']);
  assert.equal(told.in(answer), [
    { text: 'are here again.', start: 0, end: 5, source: 1 },
    { text: 'We are here', start: 0, end: 2, source: 1 },
    { text: 'here again. We', start: 1.5, end: 5, source: 1 },
    { text: 'We are here', start: 0, end: 2, source: 1 },
  ]);
});

Sources('only whole words, and enough of them, are a quotation', () => {
  const source = 'There we are; here we are here';
  const wrong = ['re we are', 'are', 'we ar', '', 'we  are here', ' we are here', 'we are here ', 'here we are;'];
  for (const text of ['here we', 'we are', ...wrong])
    assert.is(quotes([source], { inJson: false }).in(text).length === 1, !wrong.includes(text), text);
  assert.equal(quotes([source], { inJson: false, minWords: 4 }).in('we are here'), []);
});

Sources('are found as a search from every word finds them', () => {
  const random = randomNumbers(7);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  const randomText = (words: number): string =>
    Array.from({ length: words }, () => pick(['a', 'b', 'aa', '今', '天，', ' '])).join(pick([' ', ' ', '  ', '']));
  let found = 0;
  for (let round = 0; round < 300; round++) {
    const sources = [randomText(6), randomText(30)];
    const texts = Array.from({ length: 6 }, () => {
      const words = wordsOf(pick(sources));
      const from = random(words.length + 1);
      return random(3) === 0
        ? randomText(3)
        : words
            .slice(from, from + 2 + random(5))
            .join('')
            .trimStart();
    });
    const wanted = texts.flatMap((text) => {
      const words = wordsOf(text);
      if (words.length < 2 || words.join('') !== text) return [];
      const source = sources.findIndex((one) =>
        wordsOf(one).some(
          (_, from, all) =>
            all
              .slice(from, from + words.length)
              .join('')
              .trimStart() === text,
        ),
      );
      return source < 0 ? [] : [{ text, source }];
    });
    if (sources.every((source) => wordsOf(source).length < 2)) continue;
    assert.equal(quotes(sources).in(JSON.stringify(texts)), wanted, JSON.stringify({ sources, texts }));
    found += wanted.length;
  }
  assert.ok(found > 300, String(found));
});

Sources('are found in one reading, whatever answers and sources repeat', () => {
  let read = 0;
  function* words(count: number, last: string): Generator<string> {
    for (let n = 0; n < count; n++) yield (read++, n + 1 < count ? ' a' : last);
  }
  const passages = Array.from({ length: 300 }, (_, n) => [...words(n + 5, n % 3 === 0 ? ' b' : ' a')]);
  read = 0;
  const ends = firstPassages(passages, [words(4, ' b'), words(100_000, ' b')]);
  assert.is(read, 100_004);
  for (const [n, end] of ends.entries())
    assert.equal(end, { text: 1, end: 2 * (n % 3 === 0 ? 100_000 : n + 5) }, String(n));
  assert.equal(firstPassages([[' a', ' b', ' c']], [words(100_000, ' b')]), [undefined]);
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

Sources('the keywords of a schema that do not go with quotations are named', () => {
  const quote = { type: 'string', format: 'quote' };
  const quote_of = ['one two three four five'];
  for (const [more, keyword] of [
    [{ enum: ['made up'] }, 'format'],
    [{ const: 'made up' }, 'format'],
    [{ minLength: 1000 }, 'minLength'],
    [{ pattern: '^x' }, 'pattern'],
  ] as const) {
    const json = { type: 'array', prefixItems: [quote, { ...quote, ...more }] };
    assert.equal(structuredGrammar({ json, quote_of }).unbound, [`#/prefixItems/1/${keyword}`]);
    assert.throws(
      () => structuredGrammar({ json, quote_of, strict: true }),
      new RegExp(`"${keyword}" is not supported`),
    );
  }
});

Sources.run();
