// Real replica processes that have served and then refuse to start for a while.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pidOf, type SampleOptions, setOf, started, stopAll, until, versionOf } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Refused = suite('restarts that are refused');

let folder = '';

Refused.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-refused-'));
});
Refused.after.each(async () => {
  await stopAll();
  rmSync(folder, { recursive: true });
});

/** No replica starts while this file exists. */
const trouble = (): { file: string; begin(): void; end(): void } => {
  const file = join(folder, 'trouble');
  return { file, begin: () => writeFileSync(file, ''), end: () => rmSync(file) };
};

const sleeping = (more: SampleOptions = {}): SampleOptions => ({
  autoscaling: { minReplicas: 0, maxReplicas: 2, targetOngoing: 1, upscaleDelayMs: 0, downscaleDelayMs: 60_000 },
  ...more,
});

Refused('are tried again until one succeeds', async () => {
  const { file, begin, end } = trouble();
  const set = await started({ spec: { refuseWhile: file } });
  begin();
  process.kill(pidOf(set), 'SIGKILL');
  await until(() => (set.status().replicas[0]?.restarts ?? 0) >= 2, 'two restarts were refused');
  assert.equal([set.hasFailed, set.status().status], [false, 'UNHEALTHY']);
  assert.match(set.status().message, 'the GPU is out of memory');
  const waiting = set.call('echo', { n: 1 }).catch(() => 'refused meanwhile');
  end();
  await until(() => set.status().status === 'RUNNING', 'a restart was not refused');
  await waiting;
  assert.equal(await set.call('echo', { n: 2 }), { n: 2 });
});

Refused('make calls fail at once after three, with the reason and the time of the next start', async () => {
  const { file, begin, end } = trouble();
  const set = await started({ spec: { refuseWhile: file }, restartDelay: (failures) => (failures < 3 ? 10 : 3000) });
  begin();
  process.kill(pidOf(set), 'SIGKILL');
  await until(() => set.status().replicas[0]?.state === 'exited', 'the replica was gone');
  const waiting = errorOf(set.call('echo', {}));
  for (const error of [await waiting, await errorOf(set.call('echo', {}))]) {
    assert.equal([error.name, error.kind], ['DeploymentUnavailable', 'unavailable']);
    assert.match(
      error.message,
      /^deployment sample has no replica now, because .* the GPU is out of memory; try again in \d s$/,
    );
    const { deployment, retry_after_s: wait } = error.data as { deployment: string; retry_after_s: number };
    assert.is(deployment, 'sample');
    assert.ok(wait >= 1 && wait <= 3, `${wait} s`);
  }
  end();
  await until(() => set.status().status === 'RUNNING', 'a restart was not refused');
  assert.equal(await set.call('echo', { n: 2 }), { n: 2 });
});

Refused('do not affect calls while another replica serves', async () => {
  const { file, begin } = trouble();
  const set = await started({ count: 2, spec: { refuseWhile: file } });
  begin();
  process.kill(pidOf(set, 0), 'SIGKILL');
  await until(() => (set.status().replicas[0]?.restarts ?? 0) >= 4, 'four restarts were refused');
  assert.equal(await set.call('echo', { n: 1 }), { n: 1 });
});

Refused('do not fail a deployment that has served before and wakes', async () => {
  const { file, begin, end } = trouble();
  const options = sleeping({ spec: { refuseWhile: file } });
  const set = await started(options);
  await set.call('echo', {});
  for (const member of set.dispensable) await set.evict(member);
  begin();
  assert.is((await errorOf(set.call('echo', {}))).name, 'DeploymentUnavailable');
  assert.is(set.hasFailed, false);
  end();
  await until(() => set.status().status === 'RUNNING', 'it woke');
  assert.equal(await set.call('echo', { n: 1 }), { n: 1 });
});

Refused('do not fail a deployment that was scaled while its first replica started', async () => {
  const { file, begin, end } = trouble();
  const options = sleeping({ spec: { refuseWhile: file } });
  const set = await started(options);
  const first = set.call('echo', {});
  await set.scale(versionOf({ ...options, maxQueued: 7 }));
  await first;
  for (const member of set.dispensable) await set.evict(member);
  begin();
  assert.is((await errorOf(set.call('echo', {}))).name, 'DeploymentUnavailable');
  end();
});

Refused('do not fail a deployment that was scaled while it slept', async () => {
  const { file, begin, end } = trouble();
  const options = sleeping({ spec: { refuseWhile: file } });
  const set = await started(options);
  begin();
  const awake = versionOf({
    ...options,
    autoscaling: { minReplicas: 1, maxReplicas: 2, targetOngoing: 1, upscaleDelayMs: 0, downscaleDelayMs: 60_000 },
  });
  assert.match((await errorOf(set.scale(awake))).message, 'the GPU is out of memory');
  assert.equal([set.hasFailed, set.status().replicas], [false, []]);
  end();
  await set.scale(awake);
  assert.equal(await set.call('echo', { n: 1 }), { n: 1 });
});

Refused('are final for a version that never was ready', async () => {
  const { file, begin, end } = trouble();
  begin();
  const set = setOf(sleeping({ spec: { refuseWhile: file } }));
  await set.start();
  assert.is((await errorOf(set.call('echo', {}))).name, 'FailedDeployment');
  end();
  assert.is((await errorOf(set.call('echo', {}))).name, 'FailedDeployment');
  assert.is((await set.update(versionOf(sleeping({ spec: {} })), { watchMs: 20 })).outcome, 'updated');
  assert.equal(await set.call('echo', { n: 1 }), { n: 1 });
});

Refused('of a new version end its update', async () => {
  const { file, begin } = trouble();
  const set = await started({ count: 2, spec: { version: 1 } });
  const { outcome, reason } = await set.update(versionOf({ count: 2, spec: { version: 2, refuseWhile: file } }), {
    watchMs: 20,
    onState: (state) => {
      if (state === 'retiring') begin(); // the first new one serves
    },
  });
  assert.equal([outcome, reason], ['rolled-back', 'the GPU is out of memory']);
  assert.equal(await set.call('spec', {}), { version: 1 });
  assert.is(set.status().status, 'RUNNING');
});

Refused.run();
