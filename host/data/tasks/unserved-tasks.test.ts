// Tasks whose endpoint cannot be served now, because a deployment is away.
import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError } from '../../base/core/errors.ts';
import { ANYBODY } from './fixtures/queue-config.ts';
import { ended, makeHost, queueSuite } from './fixtures/queue-suite.ts';

const Unserved = queueSuite('tasks that cannot be served now');

const away = (): AanaError =>
  new AanaError('FailedDeployment', 'unavailable', 'deployment asr failed: it is gone', {
    data: { deployment: 'asr' },
  });

Unserved('wait without a limit of attempts, and complete when the deployment is back', async (context) => {
  let isAway = true;
  let runs = 0;
  const triedOften = deferred();
  const { queue, defer } = makeHost(
    context,
    async ({ n }) => {
      runs += 1;
      if (runs === 6) triedOften.resolve();
      if (isAway) throw away();
      return n;
    },
    { max_retries: 1 },
  );
  const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => defer({ n })));
  await queue.start();
  await triedOften.promise;
  assert.equal((await queue.as(ANYBODY).count()).failed, undefined);
  isAway = false;
  for (const [n, id] of ids.entries()) {
    const { status, result, num_retries: attempts } = await ended(queue, id);
    assert.equal([status, result, attempts], ['completed', String(n), 1]);
  }
  assert.ok(runs < 60, `the host tried ${runs} times although it had paused the endpoint`);
});

Unserved('fail with the error that names the deployment after the time of the setting', async (context) => {
  const { queue, defer } = makeHost(
    context,
    async () => {
      throw away();
    },
    { unserved_timeout: 1 },
  );
  await queue.start();
  const id = await defer();
  const { status, result } = await ended(queue, id);
  const { error, message, data } = JSON.parse(result ?? '');
  assert.equal([status, error, data], ['failed', 'FailedDeployment', { deployment: 'asr' }]);
  assert.match(message, 'deployment asr failed');
  assert.ok((await queue.as(ANYBODY).attempts(id)).length >= 2);
});

Unserved('are left to a host that can serve them', async (context) => {
  const sick = makeHost(context, async () => {
    throw away();
  }, { max_retries: 1 }); // prettier-ignore
  const well = makeHost(context, async ({ n }) => n, { max_retries: 1 });
  const ids = await Promise.all(Array.from({ length: 100 }, (_, n) => sick.defer({ n })));
  await sick.queue.start();
  await well.queue.start();
  for (const [n, id] of ids.entries()) {
    const { status, result } = await ended(well.queue, id);
    assert.equal([status, result], ['completed', String(n)]);
  }
});

Unserved('count attempts that something worked on, as before', async (context) => {
  let runs = 0;
  const { queue, defer } = makeHost(
    context,
    async () => {
      runs += 1;
      if (runs % 2 === 1) throw away();
      throw new AanaError('ReplicaLostError', 'unavailable', 'the replica died', { fault: 'replica-lost' });
    },
    { max_retries: 2 },
  );
  await queue.start();
  const { status, num_retries: attempts, error } = await ended(queue, await defer());
  assert.equal([status, attempts, error, runs], ['failed', 2, 'ReplicaLostError', 4]);
});

Unserved.run();
