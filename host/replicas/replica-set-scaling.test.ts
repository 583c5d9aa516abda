// Real replica processes that run `fixtures/sample.ts`: how many there are, and which are replaced.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failure, pidOf, recordingLogger, started, stopAll, until } from './fixtures/sample-sets.ts';
import { AanaError } from '../core/errors.ts';
import { Replica, type ReplicaOptions } from './replica.ts';
import type { Place, Places } from './replica-version.ts';

const Scaling = suite('a set of replicas under load');

Scaling.after.each(stopAll);

Scaling('replaces a replica most of whose calls fail in the engine, and loses no other call', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log, healthPeriodMs: 200, graceMs: 20_000 });
  const pid = pidOf(set);
  const running = set.call('wait', { ms: 1000 });
  const failures = await Promise.all([1, 2, 3].map(() => failure(set.call('failInference', {}))));
  assert.equal(
    failures.map(({ name }) => name),
    ['InferenceException', 'InferenceException', 'InferenceException'],
  );
  assert.is(await running, 1000);
  await until(() => pidOf(set) !== pid, 'it was replaced');
  assert.match(String(lines.find(({ message }) => message === 'replica replaced')?.['reason']), /calls failed in the engine: CUDA error 700/);
  assert.is.not(await set.call('pid', {}), pid);
});

Scaling('lets a replica finish its calls that is told to go twice', async () => {
  const replicas: Replica[] = [];
  const spawn = (options: ReplicaOptions): Replica => {
    const replica = new Replica(options);
    replicas.push(replica);
    return replica;
  };
  const set = await started({ spawn });
  const running = set.call('wait', { ms: 500 });
  await set.call('echo', {});
  const [replica] = replicas;
  await Promise.all([replica?.stop(20_000, 'its calls fail'), set.stop(20_000)]);
  assert.is(await running, 500);
});

Scaling('keeps a replica whose callers are at fault', async () => {
  const set = await started({ healthPeriodMs: 50 });
  const pid = pidOf(set);
  await Promise.all([1, 2, 3].map(() => failure(set.call('fail', {}))));
  await until(() => (set.status().replicas[0]?.steps ?? 0) > 2, 'health checks were made');
  assert.is(pidOf(set), pid);
});

const placesFrom = (take: () => Place | undefined): Places => ({ take, hold: () => () => {}, noRoom: () => new AanaError('InsufficientResources', 'unavailable', 'no room') });

const SCALING = { minReplicas: 0, maxReplicas: 3, targetOngoing: 1, upscaleDelayMs: 50, downscaleDelayMs: 300 };

Scaling('wakes at the first call, grows under load and sleeps again', async () => {
  let [places, most] = [0, 0];
  const take = (): Place => {
    most = Math.max(most, (places += 1));
    return { env: { SAMPLE_NAME: `place ${places}` }, release: () => (places -= 1) };
  };
  const set = await started({ autoscaling: SCALING, maxOngoing: 1, places: placesFrom(take) });
  assert.equal([set.status().status, set.status().replicas], ['RUNNING', []]);
  assert.is(await set.call('environment', { name: 'SAMPLE_NAME' }), 'place 1');
  const calls = Promise.all(Array.from({ length: 12 }, () => set.call('wait', { ms: 500 })));
  await until(() => set.status().replicas.filter(({ state }) => state === 'ready').length === 3, 'three replicas were ready');
  assert.is((await calls).length, 12);
  await until(() => set.status().replicas.length === 0, 'all were gone');
  assert.equal([set.status().status, places, most], ['RUNNING', 0, 3]);
  assert.equal(await set.call('echo', {}), {});
});

Scaling('refuses a call that would wake it when there is no room, and takes the next one', async () => {
  let room = false;
  const set = await started({ autoscaling: SCALING, places: placesFrom(() => (room ? { env: {}, release: () => {} } : undefined)) });
  assert.is((await failure(set.call('echo', {}))).name, 'InsufficientResources');
  room = true;
  assert.equal(await set.call('echo', {}), {});
});

Scaling.run();
