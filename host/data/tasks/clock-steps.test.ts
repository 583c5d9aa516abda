// Tasks of a living host while the wall clock of the machine jumps, as after a correction by NTP.
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import { ended, makeHost, namesOf, queueSuite } from './fixtures/queue-suite.ts';

const Clock = queueSuite('tasks while the clock jumps');
const HOUR_MS = 3_600_000;
const realNow = Date.now;
let stepMs = 0;
Clock.before(() => {
  Date.now = () => realNow() + stepMs;
});
Clock.before.each(() => {
  stepMs = 0;
});
Clock.after(() => {
  Date.now = realNow;
});

Clock('run once on the host that has them, with another host beside it', async (context) => {
  const [begun, go] = [deferred(), deferred()];
  let runs = 0;
  const run = async (): Promise<string> => {
    runs += 1;
    begun.resolve();
    await go.promise;
    return 'done';
  };
  const host = makeHost(context, run, { heartbeat_timeout: 1 });
  const other = makeHost(context, run, { heartbeat_timeout: 1 });
  await host.queue.start();
  const id = await host.defer();
  await begun.promise;
  await other.queue.start();
  const renewals = async (): Promise<number> =>
    (await host.storage.read(({ tasks }) => tasks.held())).find((lease) => lease.id === id)?.lease_renewals ?? -1;
  for (const step of [HOUR_MS, -HOUR_MS, -HOUR_MS, HOUR_MS]) {
    stepMs += step;
    const until = (await renewals()) + 5; // longer than a lease
    while ((await renewals()) < until) {
      assert.is(runs, 1);
      await delay(20);
    }
  }
  go.resolve();
  const { status, num_retries: attempts } = await ended(host.queue, id);
  assert.equal([status, attempts, runs], ['completed', 1, 1]);
  assert.equal(await namesOf(host.queue, id), ['created', 'assigned', 'running', 'completed']);
});

Clock.run();
