import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describedFloors, judgedFloors } from './floors.ts';
import { judged } from './parity.ts';
import type { Completion } from './protocol.ts';

const Judged = suite('the verdicts of the benchmark of language models');

const long = (ratio: number, longLoss: number) => ({
  scenario: 'long prompt',
  servers: { 'aana-host': { longLoss }, 'llama-server': { oursByTheirs: { shortFirstTextP95Ms: ratio } } },
});

Judged('are those of the scenarios that were measured', () => {
  const floors = judgedFloors([long(0.04, 0.2)]);
  assert.equal(
    floors.map(({ figure, measured, isMet }) => [figure, measured, isMet]),
    [
      ['shortFirstTextP95Ms', 0.04, true],
      ['longLoss', 0.2, false],
    ],
  );
  assert.match(describedFloors(floors), /^met    long prompt: .*\nMISSED long prompt: longLoss 0\.2, at most 0\.15\n$/);
});

Judged('leave out a server that did not run or failed', () => {
  const failed = { scenario: '8 at a time', servers: { 'aana-host': {}, 'llama-server': { failed: 'Error' } } };
  assert.equal(judgedFloors([failed]), []);
});

const text = (content: string, margins: number[]): Completion => ({
  ...{ text: content, pieces: 1, firstMs: 1, ms: 1, completionTokens: 2, promptTokens: 1, reusedTokens: 0 },
  tokens: [...content].map((one, index) => ({ text: one, margin: margins[index] ?? Number.NaN })),
});

Judged('let texts part where two tokens are nearly as likely, and nowhere else', () => {
  const theirs = [text('ab', []), text('ab', [])];
  const near = judged([text('ab', [9, 9]), text('ac', [9, 0.2])], theirs, 0.3);
  assert.equal(near, { verdict: 'pass', equal: 1, different: [{ prompt: 1, token: 1, margin: 0.2 }] });
  assert.is(judged([text('ab', []), text('xb', [0.4, 9])], theirs, 0.3).verdict, 'fail');
  // The other text parts at a longer token that begins with ours.
  const longer = { ...text(' my', []), tokens: [{ text: ' my', margin: Number.NaN }] };
  assert.equal(judged([text(' x', [0.1, 9])], [longer], 0.3).different, [{ prompt: 0, token: 0, margin: 0.1 }]);
  // A text that only ends earlier parts at a token that it does not have.
  assert.is(judged([text('a', [9])], theirs, 0.3).verdict, 'fail');
});

Judged.run();
