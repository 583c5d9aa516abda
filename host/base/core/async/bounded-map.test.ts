import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { boundedMap } from './bounded-map.ts';

const Bounded = suite('a bounded map');
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

Bounded('gives the results in the order of the items, and runs at most so many at a time', async () => {
  let running = 0;
  let most = 0;
  const results = await boundedMap([5, 1, 4, 0, 3, 2], 2, new AbortController().signal, async (turns) => {
    most = Math.max(most, ++running);
    for (let n = 0; n < turns; n += 1) await turn();
    running -= 1;
    return turns * 10;
  });
  assert.equal([results, most], [[50, 10, 40, 0, 30, 20], 2]);
});

Bounded('begins none after one has failed, and tells the others', async () => {
  const begun: number[] = [];
  const told: unknown[] = [];
  const failure = new Error('the second fails');
  const error = await boundedMap([0, 1, 2, 3], 2, new AbortController().signal, async (item, signal) => {
    begun.push(item);
    await turn();
    if (item === 1) throw failure;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    told.push(signal.reason);
  }).catch((thrown: unknown) => thrown);
  assert.is(error, failure);
  await turn();
  await turn();
  assert.equal([begun, told], [[0, 1], [failure]]);
});

Bounded('begins none after its signal was aborted, and of nothing gives nothing', async () => {
  const gone = AbortSignal.abort(new Error('gone'));
  const error = await boundedMap([1], 2, gone, async () => assert.unreachable()).catch(
    (thrown: Error) => thrown.message,
  );
  assert.is(error, 'gone');
  assert.equal(await boundedMap([], 2, new AbortController().signal, async () => assert.unreachable()), []);
});

Bounded.run();
