import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { wordsOf } from './words.ts';

const Words = suite('words of texts');

/** What `wordsOf` returns for texts without very many marks. */
function plainWords(text: string): string[] {
  const unspaced =
    '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}' +
    '\\p{Script=Myanmar}';
  const parts = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
  return [...text.normalize('NFKC').toLowerCase().matchAll(parts)].flatMap(([part]) => {
    const characters = [...part];
    const isSpaced = !new RegExp(`^[${unspaced}]`, 'u').test(part);
    if (isSpaced || characters.length === 1) return [characters.slice(0, 64).join('')];
    return characters.slice(1).map((character, n) => `${characters[n]}${character}`);
  });
}

Words('are letters, digits and marks, and pairs of characters where there are no spaces', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'a',
      'É',
      'e\u0301',
      'ﬁ',
      '½',
      ' ',
      '-',
      '漢字',
      'か\u3099',
      'ｶﾞ',
      'กำ',
      '\uFDFA',
      '𠮷',
      '𝒳',
      '\ud800',
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.constantFrom('x', '😀', '𝒳', '\u0301').map((character) => character.repeat(29)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      // A letter after each run of marks keeps the runs short.
      const text = parts.map((one) => `${one}z`).join('');
      assert.equal(wordsOf(text), plainWords(text));
    }),
  );
  assert.equal(wordsOf('y'.repeat(1000)), ['y'.repeat(64)]);
});

Words('of texts that grow or take quadratic time when they are normalized are found in their beginning', () => {
  assert.ok(wordsOf('\uFDFA'.repeat(65_536)).join(' ').length <= 131_072);
  for (const marks of ['\u0301\u0316', '\uFF9E\u0316']) {
    const text = (count: number): string => `a${marks.repeat(count)} b`;
    assert.equal(wordsOf(text(1000)), plainWords(text(15)), JSON.stringify(marks));
  }
});

Words.run();
