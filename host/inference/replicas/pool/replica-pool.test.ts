import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { restartDelayMs } from '../slot/backoff.ts';
import { ReplicaPool } from './replica-pool.ts';
import { HeldModels } from './held-models.ts';
import type { Run } from './workload.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Pool = suite('the pool of replicas');

interface Member {
  readonly name: string;
  ongoing: number;
}

const member = (name: string, ongoing = 0): Member => ({ name, ongoing });
const take = (to: Member): string => {
  to.ongoing += 1;
  return to.name;
};
const pool = (maxQueued = 100, random?: () => number): ReplicaPool<Member> =>
  new ReplicaPool<Member>({ deployment: 'asr', maxOngoing: 1, maxQueued, ...(random && { random }) });

Pool('gives a call to a replica with room at once', async () => {
  const replicas = pool();
  replicas.add(member('a', 1));
  replicas.add(member('b', 0));
  assert.is((await replicas.dispatch(take)).value, 'b');
});

Pool('gives a user who has less than its share a place beyond the others, where replicas make room', async () => {
  for (const pausesForOthers of [true, false]) {
    const replicas = new ReplicaPool<Member>({ deployment: 'llm', maxOngoing: 4, maxQueued: 100, pausesForOthers });
    replicas.add(member('a'));
    const started: string[] = [];
    const runs: Run[] = [];
    const members: Member[] = [];
    const call = (userId: string): void => {
      const use = (to: Member, run: Run): void => {
        take(to);
        started.push(userId);
        runs.push(run);
        members.push(to);
      };
      void replicas.dispatch(use, { userId });
    };
    for (let index = 0; index < 9; index++) call('many');
    call('few');
    call('few');
    call('few');
    // Of four places, two are the share of each of two users.
    const few = pausesForOthers ? ['few', 'few'] : [];
    assert.equal(started, ['many', 'many', 'many', 'many', ...few]);
    call('third');
    const third = pausesForOthers ? ['third'] : [];
    assert.equal(started.slice(4), [...few, ...third]);
    for (const name of ['fourth', 'fifth', 'sixth']) call(name);
    // Four users have one place each, and all others wait.
    const fourth = pausesForOthers ? ['fourth'] : [];
    assert.equal(started.slice(4), [...few, ...third, ...fourth]);
    if (!pausesForOthers) continue;
    // The free place goes to the user without a place, although all calls of `many` came earlier.
    const index = started.indexOf('third');
    members[index]!.ongoing -= 1;
    replicas.settle(runs[index]!);
    assert.equal(started.at(-1), 'fifth');
  }
});

Pool('chooses the less busy one of two', async () => {
  const drawn = [0.1, 0.9, 0.9, 0.1];
  const replicas = new ReplicaPool<Member>({
    deployment: 'asr',
    maxOngoing: 9,
    maxQueued: 1,
    random: () => drawn.shift() ?? 0,
  });
  replicas.add(member('a', 4));
  replicas.add(member('b', 2));
  assert.is((await replicas.dispatch(take)).value, 'b');
  assert.is((await replicas.dispatch(take)).value, 'b');
});

Pool('starts waiting calls in order, one for each call that ends', async () => {
  const replicas = pool();
  const only = member('a');
  const order: number[] = [];
  const calls = [1, 2, 3].map(async (n) => {
    await replicas.dispatch(take);
    order.push(n);
  });
  assert.is(replicas.queued, 3);
  replicas.add(only);
  assert.is(replicas.queued, 2);
  only.ongoing = 0;
  replicas.release();
  assert.is(replicas.queued, 1);
  only.ongoing = 0;
  replicas.release();
  await Promise.all(calls);
  assert.equal(order, [1, 2, 3]);
});

Pool('divides calls by the weights of their users, also if calls take longer now than when they arrived', async () => {
  let now = 0;
  const clock: Clock = { ...systemClock, now: () => now };
  const replicas = new ReplicaPool<Member>({ deployment: 'asr', maxOngoing: 1, maxQueued: 100, clock });
  const only = member('a');
  replicas.add(only);
  const order: string[] = [];
  let running: Run | undefined;
  const call = async (userId: string, weight: number): Promise<void> => {
    await replicas.dispatch(
      (to, run) => {
        running = run;
        order.push(userId);
        return take(to);
      },
      { userId, weight, method: 'transcribe' },
    );
  };
  const end = (ms: number): void => {
    now += ms;
    const run = running!;
    only.ongoing = 0;
    replicas.observe(run, true);
    replicas.settle(run);
  };
  const calls = [call('small', 1)];
  end(10);
  for (let n = 0; n < 12; n += 1) calls.push(call('small', 1));
  for (let n = 0; n < 4; n += 1) end(400);
  for (let n = 0; n < 12; n += 1) calls.push(call('large', 3));
  for (let n = 0; n < 9; n += 1) end(400);
  assert.is(order.slice(-8).filter((user) => user === 'large').length, 6, order.join(' '));
  for (let n = 0; n < 11; n += 1) end(400);
  await Promise.all(calls);
});

Pool('refuses a call when the queue is full, naming the deployment and the limit', async () => {
  const replicas = pool(1);
  const first = replicas.dispatch(take);
  const error = await errorOf(replicas.dispatch(take));
  assert.is(error.name, 'DeploymentFull');
  assert.is(error.kind, 'unavailable');
  assert.match(error.message, 'deployment asr is full: 1 calls');
  replicas.add(member('a'));
  assert.is((await first).value, 'a');
});

Pool('lets a call that was admitted before wait although the queue is full', async () => {
  const replicas = pool(0);
  const again = replicas.dispatch(take, { admitted: true });
  replicas.add(member('a'));
  assert.is((await again).value, 'a');
});

Pool('gives calls with the same affinity to the same replica, even if they waited', async () => {
  const replicas = new ReplicaPool<Member>({ deployment: 'llm', maxOngoing: 9, maxQueued: 9 });
  const waiting = replicas.dispatch(() => 'first', { affinity: 'a' });
  for (const name of ['a', 'b', 'c', 'd']) replicas.add(member(name));
  await waiting;
  const names = await Promise.all(
    Array.from(
      { length: 20 },
      async () => (await replicas.dispatch(({ name }) => name, { affinity: 'You are' })).value,
    ),
  );
  assert.is(new Set(names).size, 1);
});

Pool('can refuse all waiting calls and continue', async () => {
  const replicas = pool();
  const waiting = errorOf(replicas.dispatch(take));
  replicas.refuseWaiting(() => new AanaError('NoRoom', 'unavailable', 'no room'));
  assert.is((await waiting).name, 'NoRoom');
  replicas.add(member('a'));
  assert.is((await replicas.dispatch(take)).value, 'a');
});

Pool('forgets a waiting call that is cancelled', async () => {
  const replicas = pool(1);
  const controller = new AbortController();
  const reason = new Error('client went away');
  const waiting = replicas.dispatch(take, { signal: controller.signal }).catch((error: unknown) => error);
  controller.abort(reason);
  assert.is(await waiting, reason);
  assert.is(replicas.queued, 0);
});

Pool('gives nothing to a replica that was removed', async () => {
  const replicas = pool();
  const [gone, stays] = [member('gone'), member('stays')];
  replicas.add(gone);
  replicas.add(stays);
  replicas.remove(gone);
  assert.is((await replicas.dispatch(take)).value, 'stays');
});

Pool('rejects a waiting call with the error of its start', async () => {
  const replicas = pool();
  const waiting = errorOf(
    replicas.dispatch(() => {
      throw new AanaError('Broken', 'internal', 'broken');
    }),
  );
  replicas.add(member('a'));
  assert.is((await waiting).name, 'Broken');
});

Pool('refuses new calls when closed, and on request waiting ones', async () => {
  const replicas = pool();
  const first = errorOf(replicas.dispatch(take));
  const closed = (): AanaError => new AanaError('Closed', 'unavailable', 'closed');
  replicas.close(closed, { waiting: false });
  assert.is((await errorOf(replicas.dispatch(take))).name, 'Closed');
  assert.is(replicas.queued, 1);
  replicas.close(closed, { waiting: true });
  assert.is((await first).name, 'Closed');
});

Pool('waits longer before each restart, between 0.1 s and 10 s, and up to a minute when starts are refused', () => {
  assert.equal(
    [1, 2, 3, 6, 7, 50].map((failures) => restartDelayMs(failures, false, () => 0)),
    [200, 400, 800, 6400, 10_000, 10_000],
  );
  assert.is(
    restartDelayMs(1, false, () => 1),
    100,
  );
});

Pool('refuses calls at once while no replica is expected soon', async () => {
  const unavailable = new AanaError('DeploymentUnavailable', 'unavailable', '');
  let reason: AanaError | undefined = unavailable;
  const replicas = new ReplicaPool<Member>({
    deployment: 'asr',
    maxOngoing: 1,
    maxQueued: 100,
    unavailable: () => reason,
  });
  assert.is(await errorOf(replicas.dispatch(take)), unavailable);
  reason = undefined;
  const waiting = replicas.dispatch(take);
  replicas.add(member('a'));
  assert.is((await waiting).value, 'a');
});

Pool(
  'gives a free place to a call whose model the replica has, but lets no call with another one wait long',
  async () => {
    let now = 0;
    const clock: Clock = { ...systemClock, now: () => now };
    /** Returns the models of the calls in the order in which replica `a`, which has `one` and `two`, took them. */
    const order = async (calls: readonly (readonly [model: string, leftMs?: number])[], msEach: number) => {
      const replicas = new ReplicaPool<Member & { models: HeldModels }>({
        ...{ deployment: 'many', maxOngoing: 1, maxQueued: 100, clock },
      });
      const [a, b] = ['a', 'b'].map((name) => ({ name, ongoing: 0, models: new HeldModels() }));
      a!.models.told(['one', 'two']);
      b!.models.told(['three']);
      replicas.add(a!);
      replicas.add(b!);
      const taken: string[] = [];
      let running: Run | undefined;
      const call = (multiplexedModelId: string, leftMs?: number): Promise<unknown> => {
        const deadlineAt = leftMs === undefined ? undefined : performance.now() + leftMs;
        const use = (to: Member, run: Run): void => {
          to.ongoing += 1;
          if (to === a) running = run;
          taken.push(multiplexedModelId);
        };
        return replicas.dispatch(use, { multiplexedModelId, deadlineAt });
      };
      await Promise.all([call('three'), call('one')]);
      taken.length = 0;
      const waiting = calls.map(([model, leftMs]) => call(model, leftMs));
      while (taken.length < calls.length) {
        now += msEach;
        a!.ongoing = 0;
        replicas.settle(running!);
      }
      await Promise.all(waiting);
      return taken;
    };
    const calls = [['three'], ['one'], ['two'], ['one']] as const;
    assert.equal(await order(calls, 1), ['one', 'two', 'one', 'three']);
    assert.equal(await order(calls, 400), ['one', 'two', 'three', 'one'], 'it has waited for a second');
    assert.equal(await order([['new'], ['one']], 1), ['new', 'one'], 'no replica has it');
    assert.equal(await order([['three', 1500], ['one']], 1), ['three', 'one'], 'it has little time');
  },
);

Pool.run();
