import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SimulatedClock } from '../../test/simulation/simulated-clock.ts';
import { type Deferred, deferred } from './deferred.ts';
import { QueueConsumer, type QueueConsumerOptions, SHUTDOWN } from './queue-consumer.ts';

interface Item {
  readonly id: string;
  readonly at: number;
}

/** A queue in memory that records the calls of its consumer. */
class Queue {
  readonly clock = new SimulatedClock();
  readonly told: string[] = [];
  readonly errors: unknown[] = [];
  /** Items that run, with the promises that they wait for. */
  readonly work = new Map<string, Deferred<void>>();
  readonly consumer: QueueConsumer<Item>;
  /** Items that are not claimed yet. */
  waiting: Item[] = [];
  /** Called in each claim. */
  onClaim: () => void | Promise<void> = () => {};
  /** Called when the consumer reads when the next item is due. */
  onLook: () => void = () => {};

  constructor(change: Partial<QueueConsumerOptions<Item>> = {}) {
    this.consumer = new QueueConsumer<Item>({
      concurrency: 2,
      clock: this.clock,
      claim: async (room) => {
        await this.onClaim();
        const due = this.waiting.filter(({ at }) => at <= this.clock.now()).slice(0, room);
        this.waiting = this.waiting.filter((item) => !due.includes(item));
        this.#tell(`claim ${due.map(({ id }) => id).join('+') || 'nothing'}`);
        return due;
      },
      nextDueInMs: async () => {
        this.#tell('look');
        this.onLook();
        return Math.min(...this.waiting.map(({ at }) => at)) - this.clock.now();
      },
      run: async ({ id }, signal) => {
        const work = deferred();
        this.work.set(id, work);
        signal.throwIfAborted();
        signal.addEventListener('abort', () => work.reject(signal.reason));
        await work.promise;
      },
      listen: async () => () => this.#tell('unlisten'),
      onClaimError: (error) => this.errors.push(error),
      onRunError: (error, { id }) => this.errors.push([id, error]),
      ...change,
    });
  }

  add(id: string, at = 0): void {
    this.waiting.push({ id, at });
  }

  /** Lets `ms` pass. */
  pass(ms: number): Promise<unknown> {
    let isOver = false;
    this.clock.after(ms, () => (isOver = true));
    return this.clock.run(
      () => isOver,
      ms,
      () => {},
    );
  }

  /** Ends the work on an item. */
  async end(id: string): Promise<void> {
    this.work.get(id)?.resolve();
    this.work.delete(id);
    await this.pass(0);
  }

  /** Returns what the consumer did since the last call. */
  did(): string[] {
    return this.told.splice(0);
  }

  #tell(text: string): void {
    this.told.push(`${this.clock.now()} ${text}`);
  }
}

const Consumer = suite('QueueConsumer');

Consumer('claims due items when it starts, and runs a limited number of them at once', async () => {
  const queue = new Queue();
  for (const id of ['a', 'b', 'c']) queue.add(id);
  await queue.consumer.start();
  await queue.pass(0);
  assert.equal(queue.did(), ['0 claim a+b']);
  assert.equal(
    queue.consumer.running.map(({ id }) => id),
    ['a', 'b'],
  );
  await queue.pass(2500);
  assert.equal(queue.did(), []);
  await queue.end('a');
  assert.equal(queue.did(), ['2500 claim c']);
});

Consumer('claims nothing in a pause, and ends what a pause ends, also what was being claimed', async () => {
  const queue = new Queue();
  queue.add('a');
  await queue.consumer.start();
  await queue.pass(0);
  queue.did();
  queue.consumer.pause({ endsRunning: false });
  queue.add('b');
  queue.consumer.wake();
  await queue.pass(5000);
  assert.equal(queue.did(), []);
  assert.is(queue.consumer.running.length, 1, 'what runs goes on');
  queue.onClaim = () => queue.consumer.pause({ endsRunning: true });
  queue.consumer.resume();
  await queue.pass(0);
  assert.equal(queue.did(), ['5000 claim b']);
  assert.equal(queue.errors, [
    ['a', SHUTDOWN],
    ['b', SHUTDOWN],
  ]);
  queue.onClaim = () => {};
  queue.add('c');
  queue.consumer.resume();
  await queue.pass(0);
  assert.equal(queue.did(), ['5000 claim c', '5000 look']);
});

Consumer('claims when it is woken, and reads when an item has ended', async () => {
  const queue = new Queue();
  await queue.consumer.start();
  await queue.pass(10);
  assert.equal(queue.did(), ['0 claim nothing', '0 look']);
  queue.add('a');
  queue.consumer.wake();
  await queue.pass(10);
  assert.equal(queue.did(), ['10 claim a', '10 look']);
  await queue.end('a');
  assert.equal(queue.did(), ['20 look']);
});

Consumer('does not miss an item that comes while it claims', async () => {
  const queue = new Queue();
  const claiming = deferred();
  queue.onClaim = () => claiming.promise;
  await queue.consumer.start();
  await queue.pass(10);
  claiming.resolve();
  queue.onClaim = () => {};
  queue.consumer.wake();
  await queue.pass(0);
  assert.equal(queue.did(), ['10 claim nothing', '10 look', '10 claim nothing', '10 look']);
});

Consumer('claims an item at its due time, and an unannounced one within a second', async () => {
  const queue = new Queue();
  queue.add('a', 300);
  await queue.consumer.start();
  await queue.pass(400);
  assert.equal(queue.did(), ['0 claim nothing', '0 look', '300 look', '300 claim a', '300 look']);
  queue.add('b', 400);
  await queue.pass(1000);
  assert.equal(queue.did(), ['1300 look', '1300 claim b']);
});

Consumer('claims again at once after a part of its places was filled and more items are due', async () => {
  const queue = new Queue();
  queue.add('a');
  queue.onLook = () => queue.add('b');
  await queue.consumer.start();
  await queue.pass(0);
  assert.equal(queue.did(), ['0 claim a', '0 look', '0 claim b']);
});

Consumer('claims once a second while the due items are not for it', async () => {
  const queue = new Queue({ nextDueInMs: async () => -5 });
  await queue.consumer.start();
  await queue.pass(2500);
  assert.equal(queue.did(), ['0 claim nothing', '1000 claim nothing', '2000 claim nothing']);
});

Consumer('claims again a second after a claim that failed', async () => {
  const queue = new Queue();
  const error = new Error('the database is away');
  queue.onClaim = () => {
    if (queue.clock.now() < 2000) throw error;
  };
  queue.add('a');
  await queue.consumer.start();
  await queue.pass(2500);
  assert.equal(
    [queue.errors, queue.did()],
    [
      [error, error],
      ['2000 claim a', '2000 look'],
    ],
  );
});

Consumer('reports an item that failed, and gives its place to another one', async () => {
  const queue = new Queue({ concurrency: 1 });
  for (const id of ['a', 'b']) queue.add(id);
  await queue.consumer.start();
  await queue.pass(0);
  const error = new Error('not stored');
  queue.work.get('a')?.reject(error);
  await queue.pass(0);
  assert.equal([queue.errors, queue.did()], [[['a', error]], ['0 claim a', '0 claim b']]);
});

Consumer('renews the leases of items that run until the last one has ended', async () => {
  const renewed: string[] = [];
  const queue = new Queue({
    leases: {
      everyMs: 100,
      renew: async (items) => void renewed.push(`${queue.clock.now()} ${items.map(({ id }) => id).join('+')}`),
      onError: () => {},
    },
  });
  await queue.consumer.start();
  await queue.pass(150);
  for (const id of ['a', 'b']) queue.add(id);
  queue.consumer.wake();
  await queue.pass(100);
  await queue.consumer.renew();
  const stopped = queue.consumer.stop(10_000);
  await queue.end('a');
  await queue.pass(100);
  await queue.end('b');
  await stopped;
  await queue.pass(1000);
  assert.equal(renewed, ['200 a+b', '250 a+b', '300 b']);
});

Consumer('begins no renewal during another one, and reports one that failed', async () => {
  const error = new Error('the database is away');
  const renewals: Deferred<void>[] = [];
  const failures: unknown[] = [];
  const queue = new Queue({
    leases: {
      everyMs: 100,
      renew: () => (renewals[renewals.length] = deferred()).promise,
      onError: (failure) => failures.push(failure),
    },
  });
  queue.add('a');
  await queue.consumer.start();
  await queue.pass(350);
  assert.is(renewals.length, 1);
  renewals[0]?.reject(error);
  await queue.pass(100);
  assert.equal([renewals.length, failures], [2, [error]]);
});

Consumer('aborts one item for a reason, and no other', async () => {
  const queue = new Queue();
  for (const id of ['a', 'b']) queue.add(id);
  await queue.consumer.start();
  await queue.pass(0);
  const [first] = queue.consumer.running;
  if (!first) throw new Error('nothing runs');
  const reason = new Error('cancelled');
  queue.consumer.abort(first, reason);
  await queue.pass(0);
  queue.consumer.abort(first, reason);
  assert.equal([queue.errors, queue.consumer.running.map(({ id }) => id)], [[['a', reason]], ['b']]);
});

Consumer('claims nothing after its stop, and waits for the items that run', async () => {
  const queue = new Queue();
  queue.add('a');
  await queue.consumer.start();
  await queue.pass(0);
  let isStopped = false;
  const stopped = Promise.all([queue.consumer.stop(1000), queue.consumer.stop(1000)]).then(() => (isStopped = true));
  queue.add('b');
  queue.consumer.wake();
  await queue.pass(500);
  assert.is(isStopped, false);
  await queue.end('a');
  await stopped;
  assert.equal(queue.did(), ['0 claim a', '0 look', '0 unlisten']);
  assert.equal([queue.errors, queue.consumer.graceOver.aborted, queue.clock.pending], [[], false, 0]);
});

Consumer('aborts the items that still run when the grace period is over', async () => {
  const queue = new Queue();
  for (const id of ['a', 'b']) queue.add(id);
  await queue.consumer.start();
  await queue.pass(0);
  const stopped = queue.consumer.stop(1000);
  await queue.end('a');
  await queue.pass(999);
  assert.equal([queue.errors, queue.consumer.graceOver.aborted], [[], false]);
  await queue.pass(1);
  await stopped;
  assert.equal([queue.errors, queue.consumer.graceOver.aborted], [[['b', SHUTDOWN]], true]);
});

Consumer('claims nothing when it is stopped before it has begun to listen', async () => {
  const listening = deferred();
  let unlistened = 0;
  const queue = new Queue({ listen: () => listening.promise.then(() => () => void (unlistened += 1)) });
  queue.add('a');
  const started = queue.consumer.start();
  await queue.consumer.stop(0);
  listening.resolve();
  await started;
  await queue.pass(2000);
  assert.equal([queue.did(), unlistened], [[], 1]);
});

Consumer.run();
