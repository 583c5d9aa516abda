import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { matchKnown } from './known-voices.ts';

const Known = suite('matchKnown');

const vector = (...values: number[]): Float32Array => Float32Array.from(values);

Known('finds the most similar known voice of each voice, also twice', () => {
  const known = [[vector(1, 0, 0)], [vector(0, 1, 0), vector(0, 0.6, 0.8)]];
  const voices = [[vector(0, 0.8, 0.6)], [vector(0.6, 0.8, 0)], [vector(0, 0, 1)], [vector(0, 1, 0)]];
  assert.equal(matchKnown(voices, known, 0.5), [1, 1, undefined, 1]);
});

Known('takes the mean similarity, and a threshold that is reached', () => {
  const voice = [vector(1, 0), vector(0, 1)];
  assert.equal(matchKnown([voice], [[vector(1, 0)]], 0.5), [0]);
  assert.equal(matchKnown([voice], [[vector(1, 0)]], 0.51), [undefined]);
});

Known('finds nothing without known voices', () => {
  assert.equal(matchKnown([[vector(1, 0)]], [], -1), [undefined]);
  assert.equal(matchKnown([], [[vector(1, 0)]], -1), []);
});

Known.run();
