import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../deferred.ts';
import { boundedEach } from './bounded-each.ts';

const Each = suite('boundedEach');
const never = new AbortController().signal;

Each('runs at most so many at a time, in order, and reads an item when its work begins', async () => {
  const read: number[] = [];
  const items = (function* () {
    for (let n = 0; n < 6; n += 1) {
      read.push(n);
      yield n;
    }
  })();
  const begun: number[] = [];
  const gates = Array.from({ length: 6 }, () => deferred());
  const all = boundedEach(items, 2, never, async (item) => {
    begun.push(item);
    await gates[item]!.promise;
  });
  await new Promise(setImmediate);
  assert.equal(
    [read, begun],
    [
      [0, 1],
      [0, 1],
    ],
  );
  gates[1]!.resolve();
  await new Promise(setImmediate);
  assert.equal(
    [read, begun],
    [
      [0, 1, 2],
      [0, 1, 2],
    ],
  );
  for (const gate of gates) gate.resolve();
  await all;
  assert.equal(begun, [0, 1, 2, 3, 4, 5]);
});

Each('ends with the first failure after the others have ended, and closes the source', async () => {
  let isClosed = false;
  const items = (async function* () {
    try {
      for (let n = 0; ; n += 1) yield n;
    } finally {
      isClosed = true;
    }
  })();
  const ended: number[] = [];
  const error = await boundedEach(items, 3, never, async (item, signal) => {
    if (item === 2) throw new Error('two');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    ended.push(item);
  }).catch((thrown: unknown) => thrown);
  assert.is((error as Error).message, 'two');
  assert.equal([ended, isClosed], [[0, 1], true]);
});

Each('ends with the reason of its signal', async () => {
  const stopping = new AbortController();
  const reason = new Error('stopped');
  const error = await boundedEach([1, 2, 3], 1, stopping.signal, async () => stopping.abort(reason)).catch(
    (thrown: unknown) => thrown,
  );
  assert.is(error, reason);
  await boundedEach([], 4, never, () => Promise.reject(new Error('no item')));
});

Each.run();
