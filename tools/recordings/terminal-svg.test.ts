import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { terminalSvg } from './terminal-svg.ts';

const Terminal = suite('the picture of a terminal');

/** Delay, row and text of each piece. */
const shown = (svg: string): (readonly [number, number, string])[] =>
  [...svg.matchAll(/<text x="[^"]*" y="([\d.]+)" .*?animation-delay: (\d+)ms">(.*?)<\/text>/g)].map(
    ([, y, delay, text]) => [Number(delay), (Number(y) - 35) / 20, text ?? ''] as const,
  );

Terminal('shows each piece when the program wrote it', () => {
  const svg = terminalSvg(
    'a run',
    [
      { at: 0, text: '$ run\n' },
      { at: 40, text: 'one ' },
      { at: 90, text: 'two\n\nthree' },
    ],
    500,
  );
  assert.equal(shown(svg), [
    [0, 0, '$ run'],
    [40, 1, 'one '],
    [90, 1, 'two'],
    [90, 3, 'three'],
  ]);
});

Terminal('shortens long pauses and no others', () => {
  const pieces = [0, 100, 9100, 9300].map((at) => ({ at, text: 'x\n' }));
  assert.equal(
    shown(terminalSvg('a run', pieces, 2000)).map(([at]) => at),
    [0, 100, 2100, 2300],
  );
});

Terminal('wraps long lines between words', () => {
  const words = Array.from({ length: 30 }, () => 'word').join(' ');
  const rows = shown(terminalSvg('a run', [{ at: 0, text: words }], 500));
  assert.equal(
    rows.map(([, row, text]) => [row, text.trim().split(' ').length]),
    [
      [0, 20],
      [1, 10],
    ],
  );
});

Terminal('keeps markup of the output as text', () => {
  assert.match(terminalSvg('a run', [{ at: 0, text: '<a> & b' }], 500), '&lt;a&gt; &amp; b</text>');
});

Terminal.run();
