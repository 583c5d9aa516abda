// Number and replacement of real replica processes, which run `fixtures/sample.ts`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { pidOf, recordingLogger, started, stopAll, until } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { Replica } from '../process/replica.ts';
import type { ReplicaOptions } from '../process/running-replica.ts';
import type { DevicePlace, DevicePlaces } from './replica-version.ts';

const Scaling = suite('a set of replicas under load');

Scaling.after.each(stopAll);

Scaling('replaces a replica when most of its calls fail in the engine, and loses no other call', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log, healthPeriodMs: 200, graceMs: 20_000 });
  const pid = pidOf(set);
  const running = set.call('wait', { ms: 1000 });
  const failures = await Promise.all([1, 2, 3, 4, 5].map(() => errorOf(set.call('failInference', {}))));
  for (const { name } of failures) assert.is(name, 'InferenceException');
  assert.is(await running, 1000);
  await until(() => pidOf(set) !== pid, 'it was replaced');
  assert.match(
    String(lines.find(({ message }) => message === 'replica replaced')?.['reason']),
    /5 of its last 5 calls failed by its own fault: CUDA error 700/,
  );
  assert.is.not(await set.call('pid', {}), pid);
});

Scaling('replaces no replica because of a single call, mistakes of callers or cancelled calls', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log, healthPeriodMs: 20 });
  await errorOf(set.call('failInference', {}));
  for (let call = 0; call < 20; call += 1) {
    await errorOf(set.call('fail', {}));
    const controller = new AbortController();
    const left = set.call('untilCancelled', {}, { signal: controller.signal }).catch((error: unknown) => error);
    await delay(1).then(() => controller.abort(new Error('the client went away')));
    assert.instance(await left, Error);
  }
  const steps = set.status().replicas[0]?.steps ?? 0;
  await until(() => (set.status().replicas[0]?.steps ?? 0) > steps + 3, 'some more health checks were answered');
  assert.not.ok(lines.some(({ message }) => message === 'replica replaced'));
  assert.is(set.status().replicas[0]?.restarts, 0);
});

Scaling('replaces one at a time when calls fail on all replicas', async () => {
  const set = await started({ count: 3, healthPeriodMs: 50, restartDelay: () => 300 });
  let fewest = 3;
  while (set.status().replicas.reduce((sum, { restarts }) => sum + restarts, 0) < 2) {
    await Promise.all(Array.from({ length: 6 }, () => set.call('failInference', {}).catch(() => {})));
    fewest = Math.min(fewest, set.status().replicas.filter(({ state }) => state === 'ready').length);
  }
  assert.is(fewest, 2);
});

Scaling('lets a replica finish its calls when it is told to end twice', async () => {
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
  await Promise.all([1, 2, 3].map(() => errorOf(set.call('fail', {}))));
  await until(() => (set.status().replicas[0]?.steps ?? 0) > 2, 'health checks were made');
  assert.is(pidOf(set), pid);
});

const placesFrom = (take: () => DevicePlace | undefined): DevicePlaces => ({
  take,
  hold: () => () => {},
  noRoom: () => new AanaError('InsufficientResources', 'unavailable', 'no room'),
});

const SCALING = { minReplicas: 0, maxReplicas: 3, targetOngoing: 1, upscaleDelayMs: 50, downscaleDelayMs: 300 };

Scaling('wakes at the first call, grows under load and sleeps again', async () => {
  let [places, most] = [0, 0];
  const take = (): DevicePlace => {
    most = Math.max(most, (places += 1));
    return { env: { SAMPLE_NAME: `place ${places}` }, release: () => (places -= 1) };
  };
  const set = await started({ autoscaling: SCALING, maxOngoing: 1, places: placesFrom(take) });
  assert.equal([set.status().status, set.status().replicas], ['RUNNING', []]);
  assert.is(await set.call('environment', { name: 'SAMPLE_NAME' }), 'place 1');
  let isEnough = false;
  const callOften = async (): Promise<void> => {
    do await set.call('wait', { ms: 500 });
    while (!isEnough);
  };
  const calls = Promise.all(Array.from({ length: 12 }, callOften));
  await until(
    () => set.status().replicas.filter(({ state }) => state === 'ready').length === 3,
    'three replicas were ready',
  );
  isEnough = true;
  await calls;
  await until(() => set.status().replicas.length === 0, 'all were gone');
  assert.equal([set.status().status, places, most], ['RUNNING', 0, 3]);
  assert.equal(await set.call('echo', {}), {});
});

Scaling('refuses a call that would wake it when there is no room, and serves a later one', async () => {
  let room = false;
  const set = await started({
    autoscaling: SCALING,
    places: placesFrom(() => (room ? { env: {}, release: () => {} } : undefined)),
  });
  assert.is((await errorOf(set.call('echo', {}))).name, 'InsufficientResources');
  room = true;
  assert.equal(await set.call('echo', {}), {});
});

Scaling.run();
