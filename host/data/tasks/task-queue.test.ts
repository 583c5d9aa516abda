import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError } from '../../base/core/errors.ts';
import { hostEndpoint } from '../../endpoints/registry/index.ts';
import { ANYBODY } from './fixtures/queue-config.ts';
import { ended, makeHost, NO_FILES, queueSuite } from './fixtures/queue-suite.ts';

const Queue = queueSuite('TaskQueue');

Queue('runs stored requests, and stores their results', async (context) => {
  const { queue, defer } = makeHost(context, async ({ n }) => ({ doubled: n * 2 }));
  await queue.start();
  const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => defer({ n })));
  const results = await Promise.all(ids.map((id) => ended(queue, id)));
  assert.equal(
    results.map(({ status, result }) => `${status} ${result}`),
    [2, 4, 6, 8, 10].map((doubled) => `completed {"doubled":${doubled}}`),
  );
});

Queue('stores no request that does not match the schema', async (context) => {
  const { queue, defer } = makeHost(context, async () => null);
  for (const bad of [defer({ n: 'one' }), defer({ file: 'video' })])
    assert.instance(await bad.catch((error: unknown) => error), AanaError);
  assert.equal(await queue.as(ANYBODY).count(), {});
  assert.equal(await readdir(join(context.dir, 'tasks')).catch(() => []), []);
});

Queue(
  'takes the time of an attempt from the request, else from the endpoint, else from the configuration',
  async (context) => {
    const { queue, storage, defer } = makeHost(context, async () => null, { execution_timeout: 77 });
    const endpoint = hostEndpoint({
      name: 'slow',
      path: '/slow',
      summary: 'Runs',
      input: z.strictObject({}),
      output: z.any(),
      executionTimeoutS: 5,
      run: async () => null,
    });
    await Promise.all([
      defer({}, { executionTimeoutS: 3 }),
      defer(),
      queue.as(ANYBODY).enqueue(endpoint, { input: {}, files: NO_FILES }),
      queue.as(ANYBODY).enqueue(endpoint, { input: {}, files: NO_FILES, executionTimeoutS: 7200 }),
    ]);
    const claimed = await storage.write(({ tasks }) =>
      tasks.claim({ owner: 'me', endpoints: ['/run', '/slow'], limit: 9, leaseMs: 1000, activeOfUser: 25 }),
    );
    assert.equal(
      claimed.map(({ timeout_ms: ms }) => ms).sort((a, b) => a - b),
      [3000, 5000, 77_000, 7_200_000],
    );
  },
);

Queue('cancels a waiting task, and aborts the signal of a running one', async (context) => {
  const [started, reason] = [deferred(), deferred<unknown>()];
  const { queue, defer } = makeHost(
    context,
    (_input, { signal }) => {
      started.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reason.resolve(signal.reason);
          reject(signal.reason);
        });
      });
    },
    { num_workers: 1 },
  );
  await queue.start();
  const running = await defer();
  await started.promise;
  const waiting = await defer();
  assert.is((await queue.as(ANYBODY).cancel(waiting)).status, 'cancelled');
  assert.is((await queue.as(ANYBODY).cancel(running)).status, 'cancelled');
  assert.is(((await reason.promise) as AanaError).kind, 'cancelled');
  assert.is((await queue.as(ANYBODY).cancel(running)).status, 'cancelled');
  await queue.stop(10_000);
  assert.equal(await queue.as(ANYBODY).count(), { cancelled: 2 });
});

Queue.run();
