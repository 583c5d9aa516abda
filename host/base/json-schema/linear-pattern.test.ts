import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Budget, TooComplex } from './budget.ts';
import { LinearPattern } from './linear-pattern.ts';

const test = (pattern: string, text: string): boolean => new LinearPattern(pattern).test(text, new Budget());

const Pattern = suite('a linear pattern');

Pattern('matches a megabyte at once for which RegExp would take years', () => {
  for (const pattern of ['^(a+)+$', '^(a|a)*$', '(a*)*b', '^(?:a?){50}a{50}b$'])
    assert.is(test(pattern, `${'a'.repeat(200_000)}!`), false, pattern);
});

const TEXTS = [
  '',
  'a',
  'ab',
  'aab',
  'b',
  'A',
  'z',
  'Q',
  '0',
  '8',
  '_',
  '-',
  '.',
  '/',
  '{',
  '}',
  '{,3}',
  'a{,3}',
  ']',
  '[',
  '\\',
  '^',
  '$',
  '|',
  ' ',
  '\t',
  '\n',
  '\r',
  '\v',
  '\u00a0',
  '\ufeff',
  '\u2028',
  '\u200b',
  '\0',
  '\u0001',
  '\b',
  'é',
  'ß',
  'İ',
  'k',
  '\u212a',
  '😀',
  '2026-01-31',
  'x.y@z.org',
  '/x/',
];

for (const pattern of [
  ...[
    '^a+$',
    '^.$',
    '^[^a]$',
    '^\\s*$',
    '^\\S$',
    '[\\s]',
    '[^\\s]',
    '[\\S]',
    '^[\\w.-]+@[\\w-]+\\.org$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '\\u00e9',
    '\\xdf',
    '\\cA',
    '^\\/x\\/$',
    '\\u{1F600}',
    '\\uD83D\\uDE00',
  ],
  ...[
    '^[]',
    '^[^]$',
    'a{,3}',
    '^a{2}b',
    '^a{1,2}b',
    '^a{1,}b',
    '^\\0$',
    '[\\b]',
    '\\bab\\b',
    '\\Bb',
    '^(?:a|b)*?$',
    '(?<n>a)b',
    '^[[]$',
    '^[\\]]$',
    '^[\\\\]$',
    '^[{}]$',
    '^[.]$',
    '^[(?]',
    '^[(]',
    '(a)(b)',
    '\\.',
    '\\-',
    '[a\\-z]',
    '^\\$$',
    '^[$^|]$',
    '\\p{L}',
    '^\\P{L}$',
    '[\\p{Lu}]',
    '^[\\d_]$',
    '^[^\\d]$',
    'a|b',
    '^$',
    '$',
    '^',
    '\\v',
    '\\f',
  ],
]) {
  Pattern(`${pattern} matches what RegExp matches`, () => {
    for (const text of TEXTS) {
      assert.is(test(pattern, text), reference(pattern).test(text), JSON.stringify(text));
      assert.is(test(`(?:${pattern})`, text), reference(pattern).test(text), `${JSON.stringify(text)}, without RegExp`);
    }
  });
}

Pattern('letters with a meaning in RE2 are ordinary letters', () => {
  for (const letter of ['A', 'z', 'Q', 'E', 'C', 'a', 'e']) {
    for (const text of TEXTS)
      assert.is(test(`\\${letter}`, text), new RegExp(`\\${letter}`).test(text), `${letter} ${JSON.stringify(text)}`);
  }
});

Pattern('matches the same texts as RegExp for patterns of all parts', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '\\d',
    '\\w',
    '\\s',
    '\\S',
    '[ab]',
    '[^a]',
    '[\\s\\d]',
    '[^\\S]',
    '\\u0061',
    '\\x62',
    '\\n',
    '\\.',
    '\\/',
    '😀',
    '[a-c0-3]',
    '\\b',
    '-',
  );
  const quantified = fc
    .tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,2}', '*?'))
    .map(([one, many]) => (one === '\\b' ? one : `${one}${many}`));
  const sequence = fc.array(quantified, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
  const pattern = fc
    .tuple(fc.constantFrom('', '^'), sequence, fc.constantFrom('', '|'), sequence, fc.constantFrom('', '$'))
    .map(([start, one, or, other, end]) => `${start}(?:${one}${or}${other})${end}`);
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', '1', ' ', '\n', '.', '/', '😀', '-', '\u00a0', '_'), { maxLength: 6 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      assert.is(test(source, subject), reference(source).test(subject), `${source} ${JSON.stringify(subject)}`);
    }),
    { numRuns: 2000 },
  );
});

for (const [pattern, reason] of [
  ['^(?=a)b', /a lookahead \(\(\?=…\)\)/],
  ['a(?!b)', /a lookahead/],
  ['(?<=a)b', /a lookbehind/],
  ['(?<!a)b', /a lookbehind/],
  ['(a)\\1', /a back reference/],
  ['(?<n>a)\\k<n>', /a back reference/],
  ['a{1001}', /invalid repeat count/],
  ['(?:a{100}){100}', /invalid repeat count/],
  ['(?:[a-z][0-9][a-z][0-9]){1000}', /too large/],
  ['a'.repeat(5000), /more than 4096 characters/],
  ['(', /Unterminated group/],
  ['\\p{NoSuchThing}', /invalid character class range/],
] as const) {
  Pattern(`${pattern.slice(0, 20)} is refused with the reason`, () => {
    assert.throws(() => new LinearPattern(pattern), reason);
  });
}

Pattern('spends steps for the characters that it reads', () => {
  assert.throws(
    () => new LinearPattern('^(?:[a-z]{1,500}[0-9])$').test('a'.repeat(4e6), new Budget()),
    (error: unknown) => error instanceof TooComplex,
  );
});

/** Returns the RegExp with the flag `u` if possible. Without it, letters may be escaped needlessly. */
function reference(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

Pattern.run();
