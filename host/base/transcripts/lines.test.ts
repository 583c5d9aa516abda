import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { brokenLines, charactersOf } from './lines.ts';

const Lines = suite('lines of subtitles');

function broken(text: string, width: number): string[] {
  const characters = charactersOf(text);
  return brokenLines(characters, width).map(({ from, to }) => characters.slice(from, to).join(''));
}

const CASES: readonly [title: string, text: string, width: number, lines: readonly string[]][] = [
  ['break at spaces', 'ask not what your country', 10, ['ask not', 'what your', 'country']],
  ['may be exactly as long as allowed', 'ask not', 7, ['ask not']],
  ['keep a sentence mark with its word', 'one two, three', 8, ['one two,', 'three']],
  ['cut a word that is longer than a line', 'a Donaudampfschiff b', 6, ['a', 'Donaud', 'ampfsc', 'hiff b']],
  ['can have one character each', 'ab c', 1, ['a', 'b', 'c']],
  ['break between characters of a script without spaces', '今日は良い天気です', 4, ['今日は良', 'い天気で', 'す']],
  ['begin with no closing mark', '今日は、良い「天」気', 3, ['今日', 'は、良', 'い', '「天」', '気']],
  ['do not break at a space that forbids it', '10\u00a0000 Euro', 7, ['10\u00a0000', 'Euro']],
  ['count a letter with its marks once', 'e\u0301a\u0308o\u0308 u', 3, ['e\u0301a\u0308o\u0308', 'u']],
  ['never cut an emoji or a flag', '👩‍👩‍👧👍🏽🇩🇪🇫🇷', 1, ['👩‍👩‍👧', '👍🏽', '🇩🇪', '🇫🇷']],
  ['of nothing are none', '', 5, []],
  ['of spaces are none', '   ', 2, []],
];
for (const [title, text, width, lines] of CASES) Lines(title, () => assert.equal(broken(text, width), lines));

Lines('have all characters of any text, and never more than allowed', () => {
  const alphabet = ['a', 'bc', ' ', ',', '「', '」', '天', '。', 'é', '👍🏽', '-'];
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 500; round++) {
    const text = Array.from({ length: next(40) }, () => alphabet[next(alphabet.length)]).join('');
    const width = 1 + next(9);
    const lines = broken(text, width);
    assert.is(lines.join('').replaceAll(' ', ''), text.replaceAll(' ', ''), JSON.stringify([text, width]));
    assert.ok(
      lines.every((line) => line === line.trim() && charactersOf(line).length <= width),
      JSON.stringify(lines),
    );
  }
});

Lines.run();
