import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newControl } from '../invocation/protocol.ts';
import { begins, isClientGone, Slots } from './slots.ts';

/** Two slots with the invocations 10 and 11. */
function filled(): { control: Int32Array; slots: Slots } {
  const control = new Int32Array(newControl().buffer);
  const slots = new Slots(control, 2);
  assert.equal([slots.take(10), slots.take(11)], [0, 1]);
  return { control, slots };
}

const SlotsTest = suite('the slots of a thread');

SlotsTest(
  'an invocation that was taken back does not begin, and its slot is free when the thread has seen that',
  () => {
    const { control, slots } = filled();
    assert.ok(slots.takeBack(10));
    assert.equal([slots.used, slots.free, slots.notBegun, slots.ids], [1, 0, 1, [11]]);
    assert.not(begins(control, 0));
    slots.releaseGone(0);
    assert.equal([slots.used, slots.free, slots.isEmpty], [1, 1, false]);
  },
);

SlotsTest('an invocation that has begun is not taken back', () => {
  const { control, slots } = filled();
  assert.ok(begins(control, 1));
  assert.not(slots.takeBack(11));
  assert.equal([slots.used, slots.notBegun, slots.ids], [2, 1, [10, 11]]);
});

SlotsTest('nothing is taken back twice, or after its end', () => {
  const { slots } = filled();
  assert.equal([slots.takeBack(10), slots.takeBack(10), slots.release(10)], [true, false, false]);
  assert.equal([slots.release(11), slots.takeBack(11), slots.release(11)], [true, false, false]);
});

SlotsTest(
  'an invocation that was taken back can come to the same thread again, before the thread has seen that',
  () => {
    const control = new Int32Array(newControl().buffer);
    const slots = new Slots(control, 2);
    slots.take(10);
    slots.takeBack(10);
    assert.is(slots.take(10), 1);
    assert.equal([begins(control, 0), begins(control, 1)], [false, true]);
    slots.releaseGone(0);
    assert.equal([slots.ids, slots.idIn(0), slots.idIn(1), slots.free], [[10], undefined, 10, 1]);
    assert.ok(slots.release(10));
    assert.ok(slots.isEmpty);
  },
);

SlotsTest('a slot begins as new with its next invocation', () => {
  const { control, slots } = filled();
  slots.takeBack(10);
  slots.releaseGone(0);
  assert.is(slots.take(12), 0);
  assert.equal([isClientGone(control, 0), begins(control, 0)], [false, true]);
});

SlotsTest('that a client has gone is seen before and after the beginning, and hinders neither', () => {
  const { control, slots } = filled();
  slots.markClientGone(10);
  assert.equal([isClientGone(control, 0), begins(control, 0), isClientGone(control, 0)], [true, true, true]);
  slots.markClientGone(11);
  assert.ok(slots.takeBack(11));
});

SlotsTest.run();
