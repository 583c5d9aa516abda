import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsyncQueue } from './async-queue.ts';

async function collect<T>(queue: AsyncQueue<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of queue) items.push(item);
  return items;
}

const Queue = suite('AsyncQueue');

Queue('delivers items in order, pushed before and after the consumer came', async () => {
  const queue = new AsyncQueue<number>();
  queue.push(1);
  const collected = collect(queue);
  await Promise.resolve();
  queue.push(2);
  queue.push(3);
  queue.end();
  assert.equal(await collected, [1, 2, 3]);
});

Queue('delivers the pushed items, then throws the reason of a failure', async () => {
  const queue = new AsyncQueue<number>();
  const reason = new Error('lost');
  queue.push(1);
  queue.fail(reason);
  assert.equal(await queue.next(), { value: 1, done: false });
  assert.is(await queue.next().catch((error: unknown) => error), reason);
  assert.equal(await queue.next(), { value: undefined, done: true });
});

Queue('rejects a waiting consumer when it fails', async () => {
  const queue = new AsyncQueue<number>();
  const reason = new Error('lost');
  const waiting = queue.next().catch((error: unknown) => error);
  queue.fail(reason);
  assert.is(await waiting, reason);
});

Queue('tells the producer once when the consumer leaves early', async () => {
  let left = 0;
  const queue = new AsyncQueue<number>(() => left++);
  queue.push(1);
  queue.push(2);
  for await (const item of queue) if (item === 1) break;
  await queue.return();
  assert.is(left, 1);
  queue.push(3);
  assert.is(queue.size, 0);
});

Queue('does not call onReturn when the queue had ended', async () => {
  let left = 0;
  const queue = new AsyncQueue<number>(() => left++);
  queue.end();
  await queue.return();
  assert.is(left, 0);
});

Queue.run();
