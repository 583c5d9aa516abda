import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BANDS, centredRows, filterBank, frameCount } from './filter-bank.ts';

const SIGNAL = Float32Array.from(
  { length: 8000 },
  (_, at) => 0.3 * Math.sin(0.05 * at) + 0.1 * Math.sin(0.9 * at) + 0.001 * Math.cos(at ** 1.5),
);

const FilterBank = suite('filterBank');

// The values are those of an implementation of Kaldi's features in numpy.
for (const [row, expected] of [
  [0, [-5.898, -4.1677, -10.4323, -11.2387, -9.1397, -6.8528, -6.6338]],
  [20, [-5.7612, -4.2079, -10.9535, -10.2141, -8.4376, -7.5469, -14.3637]],
  [47, [-5.3035, -4.2157, -11.5107, -9.2746, -8.5166, -10.8525, -15.9424]],
] as const)
  FilterBank(`gives Kaldi's features of frame ${row}`, () => {
    const features = filterBank(SIGNAL);
    assert.is(features.length, 48 * BANDS);
    for (const [at, band] of [0, 1, 10, 25, 40, 60, 79].entries())
      assert.ok(Math.abs((features[row * BANDS + band] ?? NaN) - (expected[at] ?? NaN)) < 0.001, `band ${band}`);
  });

FilterBank('has no frame of fewer than 25 ms', () => {
  assert.equal([0, 399, 400, 559, 560].map(frameCount), [0, 0, 1, 1, 2]);
  assert.is(filterBank(new Float32Array(399)).length, 0);
});

FilterBank('is finite for silence and for very loud samples', () => {
  for (const value of [0, 1e30]) assert.ok(filterBank(new Float32Array(800).fill(value)).every(Number.isFinite));
});

FilterBank('keeps rows and subtracts their mean', () => {
  const features = Float32Array.from({ length: 3 * BANDS }, (_, at) => Math.floor(at / BANDS) ** 2);
  const kept = centredRows(features, [0, 2]);
  assert.is(kept.length, 2 * BANDS);
  assert.equal([kept[0], kept[BANDS]], [-2, 2]);
});

FilterBank.run();
