import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CLASSES, VoiceTracks } from './voice-tracks.ts';

/** Returns the log-probabilities of a window in which a digit is the class of a frame. */
function windowOf(classes: string): Float32Array {
  const values = new Float32Array(classes.length * CLASSES).fill(Math.log(0.01));
  for (const [frame, digit] of [...classes].entries()) values[frame * CLASSES + Number(digit)] = Math.log(0.94);
  return values;
}

const Tracks = suite('VoiceTracks');

Tracks('gives the runs of each voice, also of two at once', () => {
  const tracks = new VoiceTracks(10);
  tracks.add(0, windowOf('0114442220'));
  assert.equal(tracks.runs(), [
    { track: 0, start: 1, end: 6 },
    { track: 1, start: 3, end: 9 },
  ]);
  assert.equal(
    [1, 4].map((frame) => tracks.othersActive(frame, 0)),
    [0, 1],
  );
});

Tracks('joins windows whose voices have another order', () => {
  const tracks = new VoiceTracks(14);
  tracks.add(0, windowOf('1111111222'));
  tracks.add(4, windowOf('3331111022')); // voice 3 of this window is voice 1 of the first one
  const runs = tracks.runs().map(({ track, start, end }) => `${track}: ${start}-${end}`);
  assert.equal(runs.slice(0, 2), ['0: 0-7', '1: 7-11']);
  assert.is(runs.length, 3);
});

Tracks('drops frames after the end', () => {
  const tracks = new VoiceTracks(4);
  tracks.add(0, windowOf('1111111111'));
  assert.equal(tracks.runs(), [{ track: 0, start: 0, end: 4 }]);
});

Tracks('has no run where no window was added', () => {
  assert.equal(new VoiceTracks(0).runs(), []);
  assert.equal(new VoiceTracks(5).runs(), []);
});

Tracks.run();
