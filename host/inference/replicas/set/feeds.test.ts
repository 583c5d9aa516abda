// Calls of real replica processes whose argument is a stream of values.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { FEED_WINDOW } from '../../rpc/frames.ts';
import { collect, pidOf, recordingLogger, started, stopAll, until } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Feeds = suite('values that a caller sends into a running call');

Feeds.after.each(stopAll);

/** A source of numbers that counts how often it was asked, and knows whether it was closed. */
class Numbers implements AsyncIterableIterator<number> {
  asked = 0;
  isClosed = false;
  readonly #to: number;

  constructor(to: number) {
    this.#to = to;
  }

  async next(): Promise<IteratorResult<number, undefined>> {
    this.asked += 1;
    return this.asked <= this.#to ? { value: this.asked, done: false } : { value: undefined, done: true };
  }

  async return(): Promise<IteratorResult<number, undefined>> {
    this.isClosed = true;
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const feed = (values: AsyncIterable<unknown>) => ({ feed: { name: 'numbers', values } });

Feeds('are answered one by one while the caller makes more', async () => {
  const set = await started();
  const numbers = new AsyncQueue<number>();
  const sums = set.stream('sums', {}, feed(numbers));
  for (const [given, sum] of [
    [1, 1],
    [2, 3],
    [39, 42],
  ] as const) {
    numbers.push(given);
    assert.equal((await sums.next()).value, [sum]);
  }
  numbers.end();
  assert.equal(await sums.next(), { value: undefined, done: true });
});

Feeds('arrive in order and complete, in many calls at once', async () => {
  const set = await started();
  const all = await Promise.all([500, 1000, 1500].map((to) => collect(set.stream('sums', {}, feed(new Numbers(to))))));
  for (const sums of all) assert.is(sums.at(-1), (sums.length * (sums.length + 1)) / 2);
  assert.equal(
    all.map((sums) => sums.length),
    [500, 1000, 1500],
  );
});

Feeds('are asked for only as far as the method has room', async () => {
  const set = await started();
  const numbers = new Numbers(10_000);
  const reading = collect(set.stream('late', { calls: 2 }, feed(numbers)));
  await until(() => numbers.asked === FEED_WINDOW, 'the window is full');
  await set.call('echo', {}, {});
  assert.is(numbers.asked, FEED_WINDOW, 'no more while the method takes none');
  await set.call('echo', {}, {});
  assert.equal(await reading, [10_000]);
});

Feeds('wait for a reader that takes no results', async () => {
  const set = await started();
  const numbers = new Numbers(10_000);
  const sums = set.stream('sums', {}, feed(numbers));
  await sums.next();
  for (let turn = 0; turn < 20; turn += 1) await set.call('echo', {}, {});
  assert.ok(numbers.asked < 200, `${numbers.asked} values were asked for`);
  await sums.return(undefined);
  assert.ok(numbers.isClosed);
});

Feeds('end with the error of their source, which the caller gets', async () => {
  async function* broken(): AsyncGenerator<number> {
    yield 1;
    throw new AanaError('NoMoreNumbers', 'bad-request', 'the numbers are used up', { data: { used: 1 } });
  }
  const error = await errorOf(collect((await started()).stream('sums', {}, feed(broken()))));
  assert.equal([error.name, error.kind, error.data], ['NoMoreNumbers', 'bad-request', { used: 1 }]);
});

Feeds('end with an error when a value is no JSON or too large, and the replica goes on serving', async () => {
  const set = await started();
  const large = errorOf(collect(set.stream('sums', {}, feed(one('x'.repeat(65 * 2 ** 20))))));
  assert.is((await large).name, 'MessageTooLarge');
  assert.equal(await set.call('echo', { fine: true }, {}), { fine: true });
});

Feeds('are closed when the method ends without taking them all', async () => {
  const set = await started();
  const numbers = new Numbers(10_000);
  assert.equal(await collect(set.stream('first', {}, feed(numbers))), [1]);
  assert.ok(numbers.isClosed);
  assert.ok(numbers.asked <= 2 * FEED_WINDOW);
});

Feeds('are closed, and the method learns of it, when the caller cancels while no value comes', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log });
  const controller = new AbortController();
  const silent = new AsyncQueue<number>();
  const reading = collect(set.stream('starving', {}, { ...feed(silent), signal: controller.signal })).catch(
    (error: unknown) => error,
  );
  await set.call('echo', {}, {});
  const reason = new Error('enough');
  controller.abort(reason);
  assert.is(await reading, reason);
  assert.equal(await silent.next(), { value: undefined, done: true }, 'the source was closed');
  await until(() => lines.some(({ message }) => message === 'sample starved'), 'the method has ended');
  await until(() => set.status().replicas[0]?.ongoing === 0, 'the call is over in the replica');
});

Feeds('end with the loss of the replica, and an equal call is not refused afterwards', async () => {
  const set = await started();
  for (let time = 0; time < 3; time += 1) {
    const pid = pidOf(set);
    const numbers = new Numbers(10_000);
    const error = await errorOf(collect(set.stream('crashWhenFed', {}, feed(numbers))));
    assert.equal([error.name, error.kind], ['ReplicaLostError', 'unavailable']);
    assert.ok(numbers.isClosed);
    await until(() => set.status().replicas[0]?.pid !== pid, 'there is another process');
  }
  assert.equal(await collect(set.stream('crashWhenFed', {}, feed(new Numbers(0)))), []);
});

async function* one(value: unknown): AsyncGenerator<unknown> {
  yield value;
}

Feeds.run();
