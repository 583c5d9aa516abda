import * as assert from 'uvu/assert';
import { suite } from 'uvu';
import { ratioOf } from './ratios.ts';

const test = suite('ratios of paired measurements');
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const ones = (count: number): number[] => Array<number>(count).fill(1);

test('each value is divided by the one of its own round', () => {
  assert.is(ratioOf([2, 30, 400], [1, 10, 100]).median, 3);
});

// Ranks: tables of the sign test, such as Conover, Practical Nonparametric Statistics, table A3.
for (const [count, low, high] of [
  [6, 1, 6],
  [9, 2, 8],
  [12, 3, 10],
  [20, 6, 15],
  [25, 8, 18],
] as const)
  test(`of ${count} pairs the interval goes from value ${low} to value ${high}`, () => {
    assert.equal(ratioOf(upTo(count), ones(count)).interval, [low, high]);
  });

test('five pairs are too few for an interval', () => {
  assert.equal(ratioOf(upTo(5), ones(5)), { median: 3, interval: null, pairs: 5 });
});

test.run();
