import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { diarizationErrorRate, type SpokenTurn } from './diarization-errors.ts';

const turn = (start: number, end: number, speaker: string): SpokenTurn => ({ start, end, speaker });
const REFERENCE = [turn(0, 10, 'ann'), turn(10, 20, 'bob')];

const Errors = suite('the diarization error rate');

for (const [what, hypothesis, expected] of [
  ['is 0 for the same turns under other names', [turn(0, 10, '1'), turn(10, 20, '0')], 0],
  ['counts missed speech', [turn(0, 10, '0')], 0.5],
  ['counts confused speakers', [turn(0, 20, '0')], 0.5],
  ['counts speech of nobody', [...REFERENCE, turn(20, 30, '0')], 0.5],
  ['counts a second speaker at the same time', [...REFERENCE, turn(5, 10, 'x')], 0.25],
  ['is 1 if nothing was heard', [], 1],
] as const)
  Errors(what, () => assert.is(diarizationErrorRate(REFERENCE, hypothesis, 0), expected));

Errors('leaves out the times beside the boundaries of the reference', () => {
  const late = [turn(0.2, 10.2, '0'), turn(10.2, 19.8, '1')];
  assert.ok(diarizationErrorRate(REFERENCE, late, 0) > 0.02);
  assert.is(diarizationErrorRate(REFERENCE, late, 0.25), 0);
});

Errors('counts each speaker of overlapping speech', () => {
  const both = [turn(0, 10, 'ann'), turn(0, 10, 'bob')];
  assert.is(diarizationErrorRate(both, [turn(0, 10, '0')], 0), 0.5);
  assert.is(diarizationErrorRate(both, [turn(0, 10, '0'), turn(0, 10, '1')], 0), 0);
});

Errors.run();
