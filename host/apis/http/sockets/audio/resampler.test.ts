// The resampler beside the tones that it should keep or remove.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Resampler } from './resampler.ts';

const Resampling = suite('Resampler');

const RATES = [8000, 11_025, 12_000, 22_050, 24_000, 32_000, 44_100, 47_999, 48_000] as const;

const tone = (hz: number, rate: number, seconds: number): Float32Array =>
  new Float32Array(rate * seconds).map((_, at) => 0.5 * Math.sin((2 * Math.PI * hz * at) / rate));

/** Resamples to 16 kHz, in pieces of `length` samples. */
function resampled(input: Float32Array, rate: number, length = 1000): Float32Array {
  const resampler = new Resampler(rate, 16_000);
  const output: number[] = [];
  for (let at = 0; at < input.length; at += length) output.push(...resampler.push(input.subarray(at, at + length)));
  output.push(...resampler.end());
  return Float32Array.from(output);
}

/** Returns the largest difference, without the edges of the signal. */
function difference(a: Float32Array, b: Float32Array): number {
  let most = 0;
  for (let at = 400; at < Math.min(a.length, b.length) - 400; at += 1) most = Math.max(most, Math.abs(a[at]! - b[at]!));
  return most;
}

for (const rate of RATES) {
  Resampling(`keeps a tone of 1 kHz at ${rate} Hz, at its time and loudness`, () => {
    const output = resampled(tone(1000, rate, 1), rate);
    assert.is(output.length, 16_000);
    assert.ok(difference(output, tone(1000, 16_000, 1)) < 0.001, String(difference(output, tone(1000, 16_000, 1))));
  });

  if (rate > 17_000)
    Resampling(`removes tones above 8 kHz at ${rate} Hz, instead of folding them into others`, () => {
      for (const hz of [8100, (rate + 16_000) / 4, rate / 2 - 100]) {
        const loudest = difference(resampled(tone(hz, rate, 1), rate), new Float32Array(16_000));
        assert.ok(loudest < 0.5 * 10 ** (-60 / 20), `${hz} Hz: ${loudest}`);
      }
    });
}

Resampling('gives the same samples for pieces of every length', () => {
  const input = new Float32Array(4800).map((_, at) => Math.sin(at * at * 1e-5));
  const whole = resampled(input, 48_000, input.length);
  for (const length of [1, 7, 480, 1021]) assert.equal(resampled(input, 48_000, length), whole);
});

Resampling('gives nothing for nothing, and a sample for each that begins', () => {
  assert.is(resampled(new Float32Array(0), 48_000).length, 0);
  for (const [count, expected] of [
    [1, 1],
    [3, 1],
    [4, 2],
  ] as const)
    // prettier-ignore
    assert.is(resampled(new Float32Array(count), 48_000).length, expected);
});

Resampling.run();
