import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exclusiveTurns, joinTurns, speakerNames, type Turn } from './speaker-turns.ts';

const turn = (start: number, end: number, speaker: number): Turn => ({ start, end, speaker });
const LIMITS = { minDurationOff: 0.5, minDurationOn: 0 };

const Turns = suite('turns of speakers');

Turns('are joined over short pauses of their speaker, whoever speaks meanwhile', () => {
  const turns = [turn(3, 4, 1), turn(0, 2, 0), turn(2.4, 5, 0), turn(5.6, 6, 0)];
  assert.equal(joinTurns(turns, LIMITS), [turn(0, 5, 0), turn(3, 4, 1), turn(5.6, 6, 0)]);
});

Turns('that are short are left out after they were joined', () => {
  const turns = [turn(0, 0.3, 0), turn(0.4, 0.7, 0), turn(2, 2.3, 1)];
  assert.equal(joinTurns(turns, { ...LIMITS, minDurationOn: 0.5 }), [turn(0, 0.7, 0)]);
});

Turns('become exclusive: the later one begins where the earlier one ends', () => {
  const turns = [turn(0, 4, 0), turn(3, 6, 1), turn(6, 7, 1), turn(6.5, 6.8, 0), turn(8, 9, 0)];
  assert.equal(exclusiveTurns(turns), [turn(0, 4, 0), turn(4, 7, 1), turn(8, 9, 0)]);
});

Turns('name the speakers in the order in which they begin', () => {
  assert.equal(
    [...speakerNames([turn(0, 1, 7), turn(1, 2, 3), turn(2, 3, 7)])],
    [
      [7, 'SPEAKER_00'],
      [3, 'SPEAKER_01'],
    ],
  );
});

Turns('name known speakers, whose names no other speaker gets', () => {
  assert.equal(
    [...speakerNames([turn(0, 1, 2), turn(1, 2, 1), turn(2, 3, 3)], ['Ada', 'SPEAKER_01'])],
    [
      [0, 'Ada'],
      [1, 'SPEAKER_01'],
      [2, 'SPEAKER_00'],
      [3, 'SPEAKER_02'],
    ],
  );
});

Turns.run();
