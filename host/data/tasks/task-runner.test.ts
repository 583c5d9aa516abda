import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError } from '../../base/core/errors.ts';
import { ANYBODY } from './fixtures/queue-config.ts';
import { ended, makeHost, namesOf, queueSuite } from './fixtures/queue-suite.ts';

const Queue = queueSuite('TaskRunner');

Queue('runs at most as many tasks at a time as there are workers', async (context) => {
  const both = deferred();
  let [running, most] = [0, 0];
  const { queue, defer } = makeHost(context, async () => {
    running += 1;
    most = Math.max(most, running);
    if (running === 2) both.resolve();
    await both.promise;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  });
  await queue.start();
  const ids = await Promise.all(Array.from({ length: 8 }, () => defer()));
  await Promise.all(ids.map((id) => ended(queue, id)));
  assert.is(most, 2);
});

Queue('limits the running tasks of one user, and runs tasks of another user beside them', async (context) => {
  const [go, both] = [deferred(), deferred()];
  const running: number[] = [];
  const { queue, defer } = makeHost(
    context,
    async ({ n }) => {
      running.push(n);
      if (running.length === 2) both.resolve();
      await go.promise;
    },
    { num_workers: 8, maximum_active_tasks_per_user: 1 },
  );
  const of = (userId: string, n: number): Promise<string> => defer({ n }, { userId });
  const ids = [await of('u', 1), await of('u', 2), await of('v', 3), await of('v', 4)];
  await queue.start();
  await both.promise;
  assert.equal(
    [running.toSorted(), await queue.as({ userId: 'u' }).count(), await queue.as({ userId: 'v' }).count()],
    [[1, 3], { created: 1, running: 1 }, { created: 1, running: 1 }],
  );
  go.resolve();
  for (const id of ids) assert.is((await ended(queue, id)).status, 'completed');
  assert.is(
    await queue
      .as({ userId: 'v' })
      .get(ids[0] ?? '')
      .catch((error: AanaError) => error.name),
    'NotFoundException',
  );
});

Queue('leaves tasks of unknown endpoints to other hosts', async (context) => {
  const { queue, storage, defer } = makeHost(context, async () => 'here');
  await storage.write(({ tasks }) =>
    tasks.enqueue({
      id: 'elsewhere',
      endpoint: '/elsewhere',
      data: '{}',
      files: [],
      priority: 9,
      user_id: null,
      timeout_ms: 1000,
      max_attempts: 3,
      idempotency_key: null,
      request_hash: '',
    }),
  );
  await queue.start();
  assert.is((await ended(queue, await defer())).result, '"here"');
  assert.is((await queue.as(ANYBODY).get('elsewhere')).status, 'created');
});

Queue('repeats after errors that may pass, and not after others', async (context) => {
  const runs = new Map<number, number>();
  const { queue, defer } = makeHost(context, async ({ n }) => {
    const run = (runs.get(n) ?? 0) + 1;
    runs.set(n, run);
    if (n === 1) throw new AanaError('VideoReadingException', 'bad-request', 'no video', { data: { video: 'x' } });
    if (run < 2) throw new AanaError('InferenceException', 'internal', 'the engine failed');
    return run;
  });
  await queue.start();
  const [final, passing] = await Promise.all([defer({ n: 1 }), defer({ n: 2 })]);
  const failed = await ended(queue, final);
  assert.equal(
    { ...JSON.parse(failed.result ?? ''), stacktrace: '' },
    { error: 'VideoReadingException', message: 'no video', data: { video: 'x' }, stacktrace: '' },
  );
  assert.equal([failed.status, failed.num_retries], ['failed', 1]);
  const done = await ended(queue, passing);
  assert.equal([done.status, done.result, done.num_retries], ['completed', '2', 2]);
  assert.equal(await namesOf(queue, passing), [
    'created',
    'assigned',
    'running',
    'not_finished',
    'assigned',
    'running',
    'completed',
  ]);
  assert.equal((await queue.as(ANYBODY).retry(final)).status, 'created');
  assert.is((await ended(queue, final)).status, 'failed');
  for (const id of [passing, 'none'])
    assert.instance(
      await queue
        .as(ANYBODY)
        .retry(id)
        .catch((error: unknown) => error),
      AanaError,
    );
});

Queue('repeats after the configured errors', async (context) => {
  let runs = 0;
  const { queue, defer } = makeHost(
    context,
    async () => {
      runs += 1;
      throw new AanaError(runs === 1 ? 'QuotaError' : 'InferenceException', 'internal', 'not now');
    },
    {},
    ['QuotaError'],
  );
  await queue.start();
  const failed = await ended(queue, await defer());
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error, runs], ['failed', 'InferenceException', 2]);
});

Queue('ends an attempt whose time is up, and fails when none is left', async (context) => {
  const { queue, defer } = makeHost(
    context,
    (_input, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { max_retries: 1 },
  );
  await queue.start();
  const failed = await ended(queue, await defer({}, { executionTimeoutS: 0.05 }));
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error], ['failed', 'TimeoutError']);
});

Queue('ends attempts at streaming endpoints, too, and attempts that ignore their signal', async (context) => {
  const streaming = makeHost(
    context,
    async function* () {
      yield 1;
      await new Promise(() => {});
    },
    { max_retries: 1 },
  );
  await streaming.queue.start();
  const failed = await ended(streaming.queue, await streaming.defer({}, { executionTimeoutS: 0.05 }));
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error], ['failed', 'TimeoutError']);
  assert.equal(await namesOf(streaming.queue, failed.id), ['created', 'assigned', 'running', 'chunk', 'failed']);
});

Queue('puts running tasks back when it stops, and the next host finishes them', async (context) => {
  const started = deferred();
  const first = makeHost(context, (_input, { signal }) => {
    started.resolve();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  await first.queue.start();
  const id = await first.defer();
  await started.promise;
  await first.queue.stop(0);
  assert.equal(
    [(await first.queue.as(ANYBODY).get(id)).status, await first.queue.as(ANYBODY).count()],
    ['not_finished', { not_finished: 1 }],
  );
  const second = makeHost(context, async () => 'done');
  await second.queue.start();
  assert.equal(
    [(await ended(second.queue, id)).result, (await second.queue.as(ANYBODY).get(id)).num_retries],
    ['"done"', 2],
  );
});

Queue('runs the tasks of a lost host again', async (context) => {
  const { queue, storage, defer } = makeHost(context, async () => 'again', { heartbeat_timeout: 1 });
  const id = await defer();
  const [lease] = await storage.write(({ tasks }) =>
    tasks.claim({ owner: 'dead', endpoints: ['/run'], limit: 1, leaseMs: -1, activeOfUser: 25 }),
  );
  assert.is(lease?.id, id);
  await queue.start();
  assert.equal(
    [(await ended(queue, id)).result, await namesOf(queue, id)],
    ['"again"', ['created', 'assigned', 'running', 'not_finished', 'assigned', 'running', 'completed']],
  );
});

Queue('renews the lease of a task that takes longer than a lease', async (context) => {
  const { queue, defer } = makeHost(context, () => new Promise((resolve) => setTimeout(resolve, 2500, 'slow')), {
    heartbeat_timeout: 1,
  });
  const other = makeHost(context, async () => 'stolen', { heartbeat_timeout: 1 });
  await queue.start();
  const id = await defer();
  for await (const { event } of await queue.as(ANYBODY).watch(id, { after: 0, signal: new AbortController().signal }))
    if (event === 'running') break;
  await other.queue.start();
  assert.equal([(await ended(queue, id)).result, (await queue.as(ANYBODY).get(id)).num_retries], ['"slow"', 1]);
});

Queue.run();
