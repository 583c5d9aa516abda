// Real replica processes that get another configuration while they run.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pidOf, started, stopAll, until, versionOf } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { ReplicaSet } from '../set/replica-set.ts';

const Reconfigure = suite('another configuration of a set of replicas');

Reconfigure.after.each(stopAll);

/** Returns the distinct versions that answer calls to the set. */
async function versions(set: ReplicaSet): Promise<unknown[]> {
  const specs = await Promise.all(Array.from({ length: 30 }, () => set.call('spec', {})));
  return [...new Set(specs.map((spec) => (spec as { version?: number }).version))];
}
const spec = (version: number, rest: object = {}): { spec: object } => ({ spec: { version, ...rest } });
const pids = (set: ReplicaSet): unknown[] => set.status().replicas.map(({ pid }) => pid);

Reconfigure('reaches all replicas, and those that start later', async () => {
  const set = await started({ ...spec(1), count: 2 });
  const before = pids(set);
  await set.reconfigure(versionOf({ ...spec(2), count: 2 }));
  assert.equal([pids(set), await versions(set)], [before, [2]]);
  await set.scale(versionOf({ ...set.version, count: 3 }));
  process.kill(pidOf(set), 'SIGKILL');
  await until(
    () => set.status().replicas.filter(({ state, restarts }) => state === 'ready' && restarts === 1).length === 1,
    'it was restarted',
  );
  assert.equal(await versions(set), [2]);
});

Reconfigure('does not disturb running calls', async () => {
  const set = await started(spec(1));
  const running = set.call('wait', { ms: 300 });
  await set.reconfigure(versionOf(spec(2)));
  assert.is(await running, 300);
});

Reconfigure('fails when a replica makes no progress; its successor has the old configuration', async () => {
  const set = await started({ ...spec(1), count: 2 });
  const before = pids(set);
  const hanging = versionOf({ ...spec(2, { reconfigure: 'hang' }), count: 2, startTimeoutMs: 2000 });
  const error = await errorOf(set.reconfigure(hanging));
  assert.equal([error.name, error.fault], ['ReconfigureTimeout', 'deployment']);
  assert.match(
    error.message,
    /^replica sample#\d did not take its new configuration, because it made no progress for 2 s \(start_timeout_s\)$/,
  );
  await until(
    () => set.status().replicas.every(({ state, pid }) => state === 'ready' && !before.includes(pid)),
    'they were replaced',
  );
  assert.equal(await versions(set), [1]);
});

Reconfigure('may take longer than the start timeout while it makes progress', async () => {
  const set = await started(spec(1));
  await set.reconfigure(versionOf({ ...spec(2, { reconfigure: 'slow' }), startTimeoutMs: 5000 }));
  assert.equal(
    [await versions(set), set.status().replicas[0]?.loading, set.status().replicas[0]?.restarts],
    [[2], undefined, 0],
  );
});

Reconfigure('is undone everywhere when one replica refuses it', async () => {
  const set = await started({ ...spec(1), count: 2 });
  const before = pids(set);
  const error = await errorOf(set.reconfigure(versionOf({ ...spec(2, { reconfigure: 'refuse' }), count: 2 })));
  assert.is(error.message, 'the sample does not like that');
  assert.equal([pids(set), await versions(set)], [before, [1]]);
});

Reconfigure('is undone when a replica dies of it', async () => {
  const set = await started({ ...spec(1), count: 2, restartDelay: () => 20 });
  const error = await errorOf(set.reconfigure(versionOf({ ...spec(2, { reconfigure: 'die' }), count: 2 })));
  assert.is(error.name, 'ReplicaLostError');
  await until(() => set.status().status === 'RUNNING', 'the replicas were back');
  assert.equal(await versions(set), [1]);
});

Reconfigure('applies to a sleeping deployment when it wakes', async () => {
  const autoscaling = { minReplicas: 0, maxReplicas: 1, targetOngoing: 1, upscaleDelayMs: 0, downscaleDelayMs: 60_000 };
  const set = await started({ ...spec(1), autoscaling });
  await set.reconfigure(versionOf({ ...spec(2), autoscaling }));
  assert.equal(await versions(set), [2]);
});

Reconfigure('is refused by an implementation without reconfigure', async () => {
  const set = await started({ implementation: new URL('../fixtures/fixed.js', import.meta.url) });
  assert.is((await errorOf(set.reconfigure(versionOf(spec(2))))).name, 'NotReconfigurable');
});

Reconfigure.run();
