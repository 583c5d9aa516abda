// Methods that compute several calls together, in a real replica.
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { Random } from '../../../test/simulation/random.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { Deployment, method, streamingMethod, z } from '../class/author.ts';
import { BatchDeployment } from '../fixtures/batch-deployment.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import type { HandleOf } from '../handle/typed-handle.ts';

const Batched = suite('calls that are computed together');

type Batch = HandleOf<typeof BatchDeployment>;
type Fault = 'error' | 'throw' | 'output' | 'short' | undefined;

const open = new Set<DeploymentManager>();

async function started(
  options: { readonly max_ongoing_requests?: number; readonly max_queued_requests?: number } = {},
): Promise<Batch> {
  const models = { pull: async (id: string) => ({ path: id }) };
  const manager = new DeploymentManager({ log: silentLogger, models, env: process.env });
  open.add(manager);
  manager.register('batch', BatchDeployment.options(options));
  await manager.start();
  return manager.handle('batch') as Batch;
}

let shared: Batch;
Batched.before(async () => {
  shared = await started();
});
Batched.after(async () => {
  await Promise.all([...open].map((manager) => manager.shutdown({ graceMs: 0 })));
});

const ids = (count: number): number[] => Array.from({ length: count }, (_, id) => id);

Batched('computes calls of the same time in as few batches as their size allows', async () => {
  const results = await Promise.all(ids(8).map((id) => shared.double({ id })));
  assert.equal(
    results.map(({ twice }) => twice),
    ids(8).map((id) => id * 2),
  );
  assert.equal([...new Set(results.map(({ batch }) => batch.join()))], ['0,1,2,3', '4,5,6,7']);
  assert.equal((await shared.double({ id: 9 })).batch, [9], 'a single call does not wait for a full batch');
});

Batched('takes another size while the replica runs, and refuses wrong ones', async () => {
  const models = { pull: async (id: string) => ({ path: id }) };
  const manager = new DeploymentManager({ log: silentLogger, models, env: process.env });
  open.add(manager);
  const options = (user_config: object) => BatchDeployment.options({ user_config });
  manager.register('batch', options({ together: 2 }));
  await manager.start();
  const batch = manager.handle('batch') as Batch;
  const together = async (): Promise<number> => {
    const results = await Promise.all(ids(8).map((id) => batch.double({ id })));
    return Math.max(...results.map((one) => one.batch.length));
  };
  assert.is(await together(), 2);
  const begun = (await batch.seen({})).batches.length;
  await manager.update('batch', options({ together: 3 }), {});
  assert.is(await together(), 3);
  assert.ok((await batch.seen({})).batches.length > begun, 'the replica is the same');
  const most = 'maxBatchSize must be a whole number from 1 to 4, which the method declares';
  for (const [config, message] of [
    [{ together: 5 }, most],
    [{ together: 0 }, most],
    [{ together: 1.5 }, most],
    [{ together: 2, method: 'seen' }, 'no method of this name declares maxBatchSize'],
    [{ together: 2, method: 'toString' }, 'no method of this name declares maxBatchSize'],
  ] as const) {
    const error = await errorOf(manager.update('batch', options(config), {}));
    assert.ok(error.message.includes(message), error.message);
    assert.is(await together(), 3, 'it goes on as it was');
  }
});

Batched('fails a bad call alone, however it fails', async () => {
  for (const [fault, expected] of [
    ['error', 'InferenceException'],
    ['throw', 'InferenceException'],
    ['output', 'InvalidOutput'],
  ] as const) {
    const outcomes = await Promise.allSettled(ids(4).map((id) => shared.double(id === 2 ? { id, fault } : { id })));
    assert.equal(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.twice : outcome.reason.name)),
      [0, 2, expected, 6],
      fault,
    );
  }
});

Batched('fails all calls when the number of results is wrong', async () => {
  const errors = await Promise.all(
    ids(3).map((id) => errorOf(shared.double(id === 1 ? { id, fault: 'short' } : { id }))),
  );
  for (const { name, message } of errors)
    assert.equal([name, message], ['InvalidOutput', 'BatchDeployment.double returned 2 results for 3 inputs']);
});

Batched('streams several calls together, each to its own end', async () => {
  const one = async (id: number, count: number, fault?: Fault): Promise<unknown[]> => {
    const values: unknown[] = [];
    try {
      for await (const value of shared.count(fault ? { id, count, fault } : { id, count })) values.push(value);
    } catch (error) {
      values.push((error as Error).name);
    }
    return values;
  };
  const values = (id: number, count: number): number[] => ids(count).map((n) => 2 * (id * 1_000_000 + n));
  const before = (await shared.seen()).batches.length;
  assert.equal(await Promise.all([one(1, 3), one(2, 500), one(3, 5, 'error'), one(4, 2, 'output')]), [
    values(1, 3),
    values(2, 500),
    [...values(3, 1), 'InferenceException'],
    [...values(4, 1), 'InvalidOutput'],
  ]);
  assert.is((await shared.seen()).batches.length, before + 1);
  assert.equal(await Promise.all([one(1, 2), one(2, 2, 'throw')]), [values(1, 2), ['InferenceException']]);
});

Batched('does not stop for a slow reader while another one reads, and stops when all are slow', async () => {
  const handle = await started();
  const many = 100_000;
  const slow = handle.count({ id: 1, count: many });
  await Promise.all([slow.next(), readAll(handle.count({ id: 2, count: 5000 }), 5000)]);
  const error = await errorOf(readAll(slow, many));
  assert.equal([error.name, error.kind], ['SlowReader', 'bad-request']);
  // Alone, the slow reader loses nothing.
  const alone = handle.count({ id: 3, count: 5000 });
  await alone.next();
  await handle.double({ id: 1 });
  assert.is(await readAll(alone, 4999), 4999);
});

async function readAll(values: AsyncIterable<number>, most: number): Promise<number> {
  let count = 0;
  for await (const _ of values) if ((count += 1) === most) break;
  return count;
}

Batched('lets a call leave its batch, before it begins and while it runs', async () => {
  const handle = await started();
  const leaving = ids(9).map(() => new AbortController());
  const held = ids(6).map((id) =>
    handle.hold({ id }, { signal: leaving[id]!.signal }).catch((error: unknown) => error),
  );
  await until(async () => (await handle.seen()).batches.length === 1, 'the first batch runs');
  const reason = new Error('enough');
  for (const id of [1, 4]) leaving[id]!.abort(reason); // one of the running batch, one that waits
  assert.equal([await held[1], await held[4]], [reason, reason]);
  await until(async () => (await handle.seen()).left.includes(1), 'the method knows that a caller has left');
  await handle.release();
  assert.equal(await Promise.all([held[0], held[2], held[3]]), [0, 2, 3]);
  await until(async () => (await handle.seen()).batches.length === 2, 'the second batch runs');
  assert.equal((await handle.seen()).batches, [[0, 1, 2, 3], [5]]);
  leaving[5]!.abort(reason);
  assert.is(await held[5], reason);
  await until(async () => (await handle.seen()).ended === 1, 'a batch that everyone has left ends');
  for await (const _ of handle.count({ id: 7, count: 1e6 })) break;
  await until(async () => (await handle.seen()).ended === 2, 'so does a stream');
});

Batched('lets users take turns', async () => {
  const handle = await started({ max_ongoing_requests: 100 });
  const first = handle.hold({ id: 0 });
  await until(async () => (await handle.seen()).batches.length === 1, 'a batch runs');
  const many = ids(12).map((id) => handle.hold({ id: 100 + id }, { userId: 'many' }));
  const few = ids(2).map((id) => handle.hold({ id: 200 + id }, { userId: 'few' }));
  const urgent = handle.hold({ id: 199 }, { userId: 'few', priority: 1 });
  await handle.seen(); // the calls have arrived by now
  let isDone = false;
  const all = Promise.all([first, ...many, ...few, urgent]).then(() => (isDone = true));
  while (!isDone) {
    await handle.release();
    await sleep(0);
  }
  await all;
  const [, second = [], third = []] = (await handle.seen()).batches;
  assert.equal([second.filter((id) => id >= 199), third.filter((id) => id >= 199)], [[199, 200], [201]]);
});

Batched('gives each answer to its call, whatever comes, leaves and fails', async () => {
  const handle = await started({ max_ongoing_requests: 32, max_queued_requests: 1000 });
  const random = new Random(7);
  const faults: readonly Fault[] = ['error', 'throw', 'output'];
  const before = (await handle.seen()).batches.length;
  const outcomes = ids(400).map(async (id) => {
    await sleep(random.between(0, 300));
    const fault = random.chance(0.15) ? faults[id % faults.length] : undefined;
    const leaving = new AbortController();
    if (random.chance(0.2)) setTimeout(() => leaving.abort(new Error('left')), random.between(0, 20));
    const args = fault ? { id, fault } : { id };
    const options = { signal: leaving.signal, userId: `user ${id % 5}`, priority: id % 3 };
    try {
      if (id % 4 !== 0) assert.is((await handle.double(args, options)).twice, id * 2);
      else {
        let next = 0;
        for await (const value of handle.count(args, options)) assert.is(value, 2 * (id * 1_000_000 + next++));
        assert.is(next, 3);
      }
      assert.is(fault, undefined);
    } catch (error) {
      if (leaving.signal.aborted && (error as Error).message === 'left') return;
      assert.is((error as Error).name, fault === 'output' ? 'InvalidOutput' : 'InferenceException', String(error));
      assert.ok(fault === 'output' || (error as Error).message.endsWith(`bad ${id}`), String(error));
    }
  });
  await Promise.all(outcomes);
  const sizes = (await handle.seen()).batches.slice(before).map(({ length }) => length);
  assert.ok(Math.max(...sizes) === 4 && Math.min(...sizes) >= 1);
});

Batched('is declared with values that make sense', async () => {
  const messageOf = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  assert.is(
    messageOf(() => BatchDeployment.options({ max_ongoing_requests: 3 })),
    'BatchDeployment.options: max_ongoing_requests: must be at least 4, the maxBatchSize of double',
  );
  const input = z.strictObject({});
  const common = { description: 'x', input, output: z.null() };
  const declared = (one: object, statics: object = {}): string => {
    class Declared extends Deployment {
      static readonly module: string = import.meta.url;
      static readonly config = z.strictObject({});
      static readonly methods = { one } as never;
      async one(): Promise<never[]> {
        return [];
      }
    }
    return messageOf(() => (Object.assign(Declared, statics) as typeof BatchDeployment).options());
  };
  for (const maxBatchSize of [0, -1, 1.5, 1001, Number.NaN, '4' as never])
    assert.match(
      declared(method({ ...common, maxBatchSize })),
      'maxBatchSize of one must be a whole number from 1 to 1000',
    );
  for (const batchWaitTimeoutS of [-1, 61, Number.NaN, '1' as never])
    assert.match(
      declared(method({ ...common, maxBatchSize: 2, batchWaitTimeoutS })),
      'batchWaitTimeoutS of one must be',
    );
  assert.match(declared(method({ ...common, batchWaitTimeoutS: 1 })), 'no effect without maxBatchSize');
  assert.match(declared(streamingMethod({ ...common, maxBatchSize: 2, end: z.null() })), 'neither end nor feed');
  assert.match(
    declared(method({ ...common, maxBatchSize: 9 }), { maxOngoingRequests: 8 }),
    'maxOngoingRequests must be at least 9, the maxBatchSize of one',
  );
});

Batched.run();
