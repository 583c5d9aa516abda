// Calls that end their replica, on real replica processes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { type AanaError, cancelledError } from '../../../base/core/errors.ts';
import { fingerprint } from './fingerprint.ts';
import { callWithRetry, DEFAULT_RETRIES, streamWithRetry } from './retry.ts';
import { collect, pidOf, started, stopAll, until, versionOf } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { ReplicaSet } from '../set/replica-set.ts';

const Poison = suite('poisonous calls');

Poison.after.each(stopAll);

const POLICY = { clock: systemClock, random: Math.random, retries: DEFAULT_RETRIES };

/** Calls like a handle, with retries. */
const call = (set: ReplicaSet, method: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<unknown> =>
  callWithRetry((_, admitted) => set.call(method, args, { admitted, signal }), { ...POLICY, signal });
const restarts = (set: ReplicaSet): number => set.status().replicas.reduce((sum, replica) => sum + replica.restarts, 0);
const ongoing = (set: ReplicaSet): number => set.status().replicas.reduce((sum, replica) => sum + replica.ongoing, 0);
const isWhole = (set: ReplicaSet): boolean => set.status().replicas.every(({ state }) => state === 'ready');

Poison('end two replicas, then are refused for every caller', async () => {
  const set = await started({ count: 4 });
  const error = await errorOf(call(set, 'crash', { signal: 'SIGSEGV' }));
  assert.equal([error.name, error.kind], ['PoisonousCallError', 'bad-request']);
  const { method, replicas } = error.data as { method: string; replicas: string[] };
  assert.equal([method, replicas.length], ['crash', 2]);
  assert.match(error.message, `${replicas.join(' and ')} were lost while they worked on it`);
  await until(() => isWhole(set), 'the replicas were replaced');
  for (let asked = 0; asked < 4; asked += 1)
    assert.is((await errorOf(call(set, 'crash', { signal: 'SIGSEGV' }))).name, 'PoisonousCallError');
  assert.is(restarts(set), 2);
});

Poison('are refused as streams, too, even when their callers do not retry', async () => {
  const set = await started({ count: 3 });
  const stream = (): Promise<unknown[]> => collect(set.stream('countThenCrash', { to: 3 }));
  assert.equal(
    [(await errorOf(stream())).name, (await errorOf(stream())).name, (await errorOf(stream())).name],
    ['ReplicaLostError', 'PoisonousCallError', 'PoisonousCallError'],
  );
  await until(() => isWhole(set), 'the replicas were replaced');
  assert.is(restarts(set), 2);
});

Poison('are recognised although their callers have left', async () => {
  const set = await started();
  for (let round = 1; round <= 2; round += 1) {
    const controller = new AbortController();
    const left = call(set, 'crashLater', { ms: 200 }, controller.signal).catch(() => {});
    await set.call('echo', { round });
    controller.abort();
    await left;
    await until(() => restarts(set) === round && isWhole(set), 'the replica was replaced');
  }
  assert.is((await errorOf(call(set, 'crashLater', { ms: 200 }))).name, 'PoisonousCallError');
});

Poison('cost no other call that ran on the same replica', async () => {
  const set = await started({ count: 3, maxOngoing: 8 });
  const others = Array.from({ length: 9 }, (_, n) => call(set, 'wait', { ms: 300 + n }));
  const error = await errorOf(call(set, 'crashLater', { ms: 50 }));
  assert.is(error.name, 'PoisonousCallError');
  assert.equal(
    await Promise.all(others),
    Array.from({ length: 9 }, (_, n) => 300 + n),
  );
});

Poison('bring no suspicion on a call of which equal ones ran on both replicas', async () => {
  const set = await started({ count: 2, maxOngoing: 8 });
  const others = Array.from({ length: 6 }, () => call(set, 'wait', { ms: 700 }));
  await until(() => ongoing(set) === 6, 'the calls run');
  const poison = errorOf(call(set, 'crashLater', { ms: 50 }));
  const answers = await Promise.all(others.map((other) => other.catch((error: AanaError) => error.name)));
  // One that was lost with both replicas is not repeated again.
  assert.ok(
    answers.every((answer) => answer === 700 || answer === 'ReplicaLostError'),
    String(answers),
  );
  assert.is((await poison).name, 'PoisonousCallError');
});

Poison('are tried one at a time once they are suspects', async () => {
  const set = await started({ count: 3 });
  assert.is((await errorOf(set.call('crash', {}))).name, 'ReplicaLostError');
  const names = await Promise.all(Array.from({ length: 6 }, async () => (await errorOf(set.call('crash', {}))).name));
  assert.equal(
    names,
    Array.from({ length: 6 }, () => 'PoisonousCallError'),
  );
  await until(() => isWhole(set), 'the replicas were replaced');
  assert.is(restarts(set), 2);
});

Poison('are refused while they wait for a replica, when two were lost', async () => {
  const set = await started({ maxOngoing: 1 });
  const errors = await Promise.all(Array.from({ length: 6 }, () => errorOf(set.call('crashLater', { ms: 20 }))));
  assert.equal(
    errors.map(({ name }) => name),
    ['ReplicaLostError', ...Array.from({ length: 5 }, () => 'PoisonousCallError')],
  );
  await until(() => isWhole(set), 'the replica was replaced');
  assert.is(restarts(set), 2);
});

Poison('are cleared when a replica survives them after one was killed', async () => {
  const set = await started();
  for (let round = 1; round <= 3; round += 1) {
    const running = call(set, 'wait', { ms: 200 });
    await set.call('echo', { round });
    process.kill(pidOf(set), 'SIGKILL');
    assert.is(await running, 200);
  }
});

Poison('delay no other suspect once they have outlived the previous loss', async () => {
  const set = await started();
  const controller = new AbortController();
  const long = [1, 2].map((n) => errorOf(set.call('wait', { ms: 600_000 + n }, { signal: controller.signal })));
  await until(() => ongoing(set) === 2, 'the calls run');
  await set.call('echo', {}); // the replica has begun the calls before it
  process.kill(pidOf(set), 'SIGKILL');
  await Promise.all(long);
  const again = [1, 2].map((n) => errorOf(set.call('wait', { ms: 600_000 + n }, { signal: controller.signal })));
  await until(() => ongoing(set) === 2, 'all of them run again beside each other');
  controller.abort(cancelledError('enough'));
  await Promise.all(again);
});

/** A clock that runs ten times as fast. */
const quick: Clock = { now: () => performance.now() * 10, delay: (ms, signal) => systemClock.delay(ms / 10, signal) };

Poison('are tried alone while a suspect that survived its trial ends on the same replica', async () => {
  const set = await started({ clock: quick });
  const callers = [1, 2, 3].map(() => new AbortController());
  const ask = (n: number): Promise<unknown> =>
    set.call('wait', { ms: 600_000 + n }, { signal: callers[n]!.signal }).catch(() => {});
  const lost = [0, 1, 2].map(ask);
  await until(() => ongoing(set) === 3, 'the calls run');
  await set.call('echo', {}); // the replica has begun the calls before it
  process.kill(pidOf(set), 'SIGKILL');
  await Promise.all(lost);
  const first = ask(0);
  await until(() => ongoing(set) === 1, 'the first is tried');
  const others = [ask(1), ask(2)];
  await until(() => ongoing(set) === 2, 'it has outlived its trial, and the second is tried');
  callers[0]!.abort(cancelledError('enough'));
  await first;
  await until(() => ongoing(set) === 1, 'the first has ended');
  await set.call('echo', {});
  assert.is(ongoing(set), 1, 'the third waits for the trial of the second');
  for (const caller of callers) caller.abort(cancelledError('enough'));
  await Promise.all(others);
});

Poison('are told apart from long calls on the same replica', async () => {
  const set = await started();
  const controller = new AbortController();
  const signal = controller.signal;
  const outcome = (running: Promise<unknown>): Promise<unknown> =>
    running.catch((error: unknown) => (error === signal.reason ? 'ran on' : (error as Error).name));
  const first = outcome(call(set, 'wait', { ms: 600_000 }, signal));
  await until(() => ongoing(set) === 1, 'the long call runs');
  assert.is((await errorOf(call(set, 'crashLater', { ms: 50 }))).name, 'PoisonousCallError');
  const again = outcome(set.call('wait', { ms: 600_000 }, { signal }));
  await until(() => isWhole(set) && ongoing(set) >= 1, 'the same long call runs again');
  controller.abort(cancelledError('enough'));
  assert.is(await again, 'ran on');
  assert.ok(
    ['ran on', 'ReplicaLostError'].includes(String(await first)),
    'it was lost twice at most, and is not suspected',
  );
});

Poison(
  'wait in the queue while another call with the same arguments is tried, and are refused when it is full',
  async () => {
    const set = await started({ maxQueued: 2 });
    const controller = new AbortController();
    const ask = (userId: string, signal = controller.signal): Promise<AanaError> =>
      errorOf(set.call('wait', { ms: 600_000 }, { signal, userId }));
    const lost = ask('a');
    await until(() => ongoing(set) === 1, 'the call runs');
    await set.call('echo', {}); // the replica has begun the calls before it
    process.kill(pidOf(set), 'SIGKILL');
    assert.is((await lost).name, 'ReplicaLostError');
    const first = new AbortController();
    const tried = ask('a', first.signal);
    await until(() => ongoing(set) === 1, 'it is tried');
    const held = [ask('a'), ask('a')];
    await until(() => set.status().queued === 2, 'others wait for the end of the trial');
    const full = await ask('a');
    assert.equal(
      [full.name, full.kind, (full.data as { max_queued_requests: number }).max_queued_requests],
      ['DeploymentFull', 'unavailable', 2],
    );
    const other = ask('b');
    assert.is((await held[1]!).name, 'DeploymentFull', 'the user with the most calls makes room for another one');
    assert.equal(await set.call('echo', { n: 1 }), { n: 1 }, 'what is no suspect is served');
    assert.equal([set.status().queued, ongoing(set)], [2, 1]);
    first.abort(cancelledError('enough'));
    assert.is((await tried).name, 'CancelledError');
    await until(() => set.status().queued === 1 && ongoing(set) === 1, 'the next one is tried');
    controller.abort(cancelledError('enough'));
    assert.equal([(await held[0]!).name, (await other).name], ['CancelledError', 'CancelledError']);
  },
);

Poison('may be called again on another version', async () => {
  const set = await started({ count: 2 });
  await errorOf(call(set, 'crash', {}));
  await set.update(versionOf({ spec: { version: 2 } }), { watchMs: 20 });
  assert.is((await errorOf(set.call('crash', {}))).name, 'ReplicaLostError');
});

Poison('are recognised by the contents of their files, at any path', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-fingerprint-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  try {
    const of = (path: string, more: object = {}): Promise<string> =>
      fingerprint('transcribe', { audio: { channels: [{ path, samples: 4 }] }, ...more });
    const one = await of(file('a', 'same'));
    assert.is(await of(file('b', 'same')), one);
    assert.is.not(await of(file('c', 'else')), one);
    assert.is.not(await of(file('b', 'same'), { params: null }), one);
    assert.is.not(await of(join(folder, 'absent')), await of(join(folder, 'absent too')));
    assert.is(
      await fingerprint('a', { x: { sha256: 'f00', id: 1 } }),
      await fingerprint('a', { x: { sha256: 'f00', id: 2 } }),
    );
    assert.is(
      await fingerprint('a', { x: 1, y: [2, '3'] }),
      await fingerprint('a', { y: [2, '3'], x: 1, z: undefined }),
    );
    assert.is.not(await fingerprint('a', { x: '1' }), await fingerprint('a', { x: 1 }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Poison('end a stream that a handle repeats after two replicas', async () => {
  const set = await started({ count: 3 });
  const error = await errorOf(
    collect(streamWithRetry((_, admitted) => set.stream('countThenCrash', { to: 0 }, { admitted }), POLICY)),
  );
  assert.is(error.name, 'PoisonousCallError');
});

Poison.run();
