// Calls that take longer than the grace of their replica, on real replica processes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../base/core/clock.ts';
import { callWithRetry } from '../calls/retry.ts';
import { collect, pidOf, type SampleOptions, started, stopAll, until, versionOf } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { DevicePlaces } from './replica-version.ts';

const Draining = suite('calls that outlast a grace');

Draining.after.each(stopAll);

/** A grace much shorter than the calls. */
const SHORT: SampleOptions = { graceMs: 20, drainMs: 60_000 };
const LONG_MS = 1500;

/** A single place for all versions together. */
const onePlace = (): DevicePlaces => {
  let isTaken = false;
  return {
    take: () => {
      if (isTaken) return undefined;
      isTaken = true;
      return { env: {}, release: () => (isTaken = false) };
    },
    hold: () => () => {},
    noRoom: () => assert.unreachable('there was no room') as never,
  };
};

/** Calls like a handle, with retries. */
const repeated = (
  set: ReplicaSet,
  method: string,
  args: Record<string, unknown>,
  log: string[] = [],
): Promise<unknown> =>
  callWithRetry((number) => set.call(method, args, { admitted: number > 1 }), {
    clock: systemClock,
    random: Math.random,
    retries: 1,
    onRetry: ({ message }) => log.push(message),
  });

Draining('finish on their replica when it is no longer needed, and delay nobody', async () => {
  const set = await started({ count: 2, maxOngoing: 1, ...SHORT });
  const calls = [set.call('wait', { ms: LONG_MS }), set.call('wait', { ms: LONG_MS })];
  await set.scale(versionOf({ count: 1, maxOngoing: 1, ...SHORT }));
  assert.equal(
    set
      .status()
      .replicas.map(({ state }) => state)
      .sort(),
    ['draining', 'ready'],
  );
  assert.equal(await Promise.all(calls), [LONG_MS, LONG_MS]);
  await until(() => set.status().replicas.length === 1, 'the surplus one was gone');
});

Draining('finish on the version on which they began while an update continues', async () => {
  const set = await started({ spec: { version: 1 }, ...SHORT });
  const stream = collect(set.stream('count', { to: 40, everyMs: 50 }));
  await set.call('echo', {});
  const { outcome } = await set.update(versionOf({ spec: { version: 2 }, ...SHORT }), { watchMs: 20 });
  assert.is(outcome, 'updated');
  assert.equal(await set.call('spec', {}), { version: 2 });
  assert.is((await stream).length, 40);
  await until(() => set.status().replicas.length === 1, 'the old one was gone');
});

Draining('start again on the new version when it needs the place of the old one', async () => {
  const places = onePlace();
  const set = await started({ spec: { version: 1 }, places, ...SHORT });
  const log: string[] = [];
  const call = repeated(set, 'wait', { ms: LONG_MS }, log);
  await set.call('echo', {});
  assert.is(
    (await set.update(versionOf({ spec: { version: 2 }, places, ...SHORT }), { watchMs: 20 })).outcome,
    'updated',
  );
  assert.is(await call, LONG_MS);
  assert.equal([log.length, log[0]?.includes('was ended before it had finished this request')], [1, true]);
});

Draining('fail with the loss of the replica, not as cancelled, when the drain time is over', async () => {
  const set = await started({ graceMs: 20, drainMs: 20 });
  const [call, stream] = [
    errorOf(set.call('wait', { ms: 60_000 })),
    errorOf(collect(set.stream('count', { to: 60_000, everyMs: 1 }))),
  ];
  await set.call('echo', {});
  await set.stop(20);
  for (const error of [await call, await stream]) {
    assert.equal(
      [error.name, error.kind, error.data],
      ['ReplicaLostError', 'unavailable', { deployment: 'sample', replica: 'sample#1', signal: null, planned: true }],
    );
  }
});

Draining('do not delay the end of the deployment for longer than its grace', async () => {
  const set = await started({ count: 2, maxOngoing: 1, ...SHORT });
  const calls = [errorOf(set.call('ignoreCancel', { ms: 60_000 })), errorOf(set.call('ignoreCancel', { ms: 60_000 }))];
  await set.scale(versionOf({ count: 1, maxOngoing: 1, ...SHORT }));
  await set.stop(20);
  for (const call of calls) assert.is((await call).name, 'ReplicaLostError');
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  Draining(`go on when ${signal} is sent to all processes of the application`, async () => {
    const set = await started();
    const call = set.call('wait', { ms: 500 });
    await set.call('echo', {});
    process.kill(pidOf(set), signal);
    assert.is(await call, 500);
    assert.is(set.status().replicas[0]?.restarts, 0);
  });
}

Draining.run();
