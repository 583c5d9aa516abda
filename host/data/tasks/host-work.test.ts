import * as assert from 'uvu/assert';
import * as z from 'zod';
import { deferred } from '../../base/core/deferred.ts';
import { hostEndpoint } from '../../endpoints/registry/index.ts';
import { until } from '../../test/helpers/server.ts';
import { ANYBODY } from './fixtures/queue-config.ts';
import { ended, makeHost, NO_FILES, queueSuite } from './fixtures/queue-suite.ts';

const Work = queueSuite('work of the host in the queue');

Work(
  'has workers of its own, and goes on with another attempt after the drain and stop of its host',
  async (context) => {
    let attempts = 0;
    const endpoint = hostEndpoint({
      name: 'long',
      path: '/v1/long',
      summary: 'Takes long',
      input: z.strictObject({}),
      output: z.int(),
      run: async (_input, { signal }) => {
        attempts += 1;
        if (attempts > 1) return attempts;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        return 0;
      },
    });
    const options = { hostWork: [{ endpoint, workers: 1, continues: true }] };
    const first = makeHost(context, async () => 'done', { num_workers: 1 }, undefined, options);
    const stored: string[] = [];
    const id = await first.queue.as(ANYBODY).enqueue(endpoint, {
      input: {},
      files: NO_FILES,
      maxAttempts: 1,
      alongside: async (_, taskId) => void stored.push(taskId),
    });
    assert.equal(stored, [id]);
    await first.queue.start();
    assert.is((await ended(first.queue, await first.defer())).result, '"done"');
    first.queue.drain(true);
    await until(async () => first.queue.running === 0);
    assert.is((await first.queue.as(ANYBODY).get(id)).status, 'not_finished');
    await first.queue.stop(60_000); // does not wait for the work
    assert.is((await first.queue.as(ANYBODY).get(id)).status, 'not_finished');

    const other = makeHost(context, async () => 'done', {}, undefined);
    await other.queue.start();
    await ended(other.queue, await other.defer());
    assert.is((await other.queue.as(ANYBODY).get(id)).status, 'not_finished', 'a host without the work leaves it');

    const next = makeHost(context, async () => 'done', {}, undefined, options);
    await next.queue.start();
    assert.is((await ended(next.queue, id)).result, '2');
  },
);

Work('that cannot continue has the grace period of the stop', async (context) => {
  const [begun, go] = [deferred(), deferred()];
  const endpoint = hostEndpoint({
    name: 'answer',
    path: '/v1/answer',
    summary: 'Answers',
    input: z.strictObject({}),
    output: z.string(),
    run: async () => {
      begun.resolve();
      await go.promise;
      return 'whole';
    },
  });
  const options = { hostWork: [{ endpoint, workers: 1, continues: false }] };
  const { queue } = makeHost(context, async () => 'done', {}, undefined, options);
  await queue.start();
  const id = await queue.as(ANYBODY).enqueue(endpoint, { input: {}, files: NO_FILES });
  await begun.promise;
  const stopped = queue.stop(60_000);
  go.resolve();
  await stopped;
  assert.equal(
    [(await queue.as(ANYBODY).get(id)).status, (await queue.as(ANYBODY).get(id)).result],
    ['completed', '"whole"'],
  );
});

Work.run();
