import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { waitingTime } from './waiting-time.ts';

const Waiting = suite('the time that a call waits');

const CASES: readonly [what: string, slots: number, remaining: number[], work: number, expected: number][] = [
  ['is none while a slot is free', 2, [100], 0, 0],
  ['is that of the call that ends first, when nothing waits', 2, [300, 100], 0, 100],
  ['is all there is before, with one slot', 1, [30], 200, 230],
  ['is shared by slots that are free', 4, [], 400, 100],
  ['lets slots that become free early do more of the work', 2, [0, 100], 300, 200],
  ['does not wait for a slot that is busy for longer than the work takes', 2, [50, 10_000], 100, 150],
  ['counts calls that run over the number of slots', 1, [10, 20], 0, 10],
];
for (const [what, slots, remaining, work, expected] of CASES)
  Waiting(what, () => assert.is(waitingTime(slots, remaining, work), expected));

Waiting('never ends without slots', () => assert.is(waitingTime(0, [], 0), Number.POSITIVE_INFINITY));

Waiting.run();
