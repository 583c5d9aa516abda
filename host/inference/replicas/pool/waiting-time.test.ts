import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { waitingTime } from './waiting-time.ts';

const Waiting = suite('the time that a call waits');

const CASES: readonly [what: string, capacity: number, remaining: number[], work: number, expected: number][] = [
  ['is 0 while there is free capacity', 2, [100], 0, 0],
  ['is the rest of the call that ends first when nothing waits', 2, [300, 100], 0, 100],
  ['is the sum of all work before it with a capacity of one', 1, [30], 200, 230],
  ['is divided by the free capacity', 4, [], 400, 100],
  ['lets capacity that becomes free early do more of the work', 2, [0, 100], 300, 200],
  ['does not include a call that runs longer than the work takes', 2, [50, 10_000], 100, 150],
  ['counts running calls above the capacity', 1, [10, 20], 0, 10],
];
for (const [what, capacity, remaining, work, expected] of CASES)
  Waiting(what, () => assert.is(waitingTime(capacity, remaining, work), expected));

Waiting('is infinite without capacity', () => assert.is(waitingTime(0, [], 0), Number.POSITIVE_INFINITY));

Waiting.run();
