// Versions of real replica processes, which run `fixtures/sample.ts`, replace one another under load.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { AanaError, cancelledError } from '../../../base/core/errors.ts';
import { callWithRetry } from '../calls/retry.ts';
import { systemClock } from '../../../base/core/clock.ts';
import {
  collect,
  isAlive,
  pidOf,
  type SampleOptions,
  started,
  stopAll,
  until,
  versionOf,
} from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { ReplicaSet } from '../set/replica-set.ts';
import type { DevicePlaces, ReplicaVersion } from '../set/replica-version.ts';
import type { UpdateState } from './update-state.ts';

const Update = suite('a rolling update');

Update.after.each(stopAll);

const WATCH_MS = 100;

const numbered = (version: number, options: SampleOptions = {}): SampleOptions => ({
  ...options,
  spec: { version, ...(options.spec as object | undefined) },
});
const next = (options: SampleOptions = {}): ReplicaVersion => versionOf(numbered(2, options));

/** A limited number of places for all versions together, with the most that were taken at once. */
function placesOf(count: number): { places: DevicePlaces; most: () => number } {
  let [taken, most] = [0, 0];
  const take: DevicePlaces['take'] = () => {
    if (taken === count) return undefined;
    most = Math.max(most, (taken += 1));
    return { env: {}, release: () => (taken -= 1) };
  };
  return {
    places: {
      take,
      hold: () => () => {},
      noRoom: (wanted) => new AanaError('InsufficientResources', 'unavailable', `no room for ${wanted}`),
    },
    most: () => most,
  };
}

/** Calls the set continuously, like handles, and records the version of each answer. */
function load(set: ReplicaSet): { versions: number[]; stop(): Promise<void> } {
  const versions: number[] = [];
  let isOn = true;
  const caller = async (): Promise<void> => {
    while (isOn) {
      const options = { clock: systemClock, random: Math.random, retries: 3 };
      const { version } = (await callWithRetry(
        (number) => set.call('spec', {}, { admitted: number > 1 }),
        options,
      )) as { version: number };
      versions.push(version);
    }
  };
  const callers = Promise.all([caller(), caller(), caller()]);
  callers.catch(() => {}); // reported when the load is stopped
  return {
    versions,
    stop: async () => {
      isOn = false;
      await callers;
    },
  };
}

async function states(
  set: ReplicaSet,
  version: ReplicaVersion,
): Promise<{ states: UpdateState[]; result: Awaited<ReturnType<ReplicaSet['update']>> }> {
  const seen: UpdateState[] = [];
  const result = await set.update(version, { watchMs: WATCH_MS, onState: (state) => seen.push(state) });
  return { states: seen, result };
}

Update('starts new replicas beside the old ones and loses no call', async () => {
  const { places, most } = placesOf(3);
  const set = await started(numbered(1, { count: 2, places }));
  const before = [pidOf(set, 0), pidOf(set, 1)];
  const { versions, stop } = load(set);
  const { states: seen, result } = await states(set, next({ count: 2, places }));
  await stop();
  assert.equal(result, { outcome: 'updated', replaced: 2, reason: '', lastLines: [] });
  assert.equal(seen, [
    'starting',
    'settling',
    'watching',
    'retiring',
    'placing',
    'starting',
    'settling',
    'watching',
    'retiring',
    'placing',
    'done',
  ]);
  assert.equal([versions[0], versions.at(-1), most()], [1, 2, 3]);
  assert.not.ok(before.some(isAlive));
  assert.equal([set.status().status, set.status().replicas.length], ['RUNNING', 2]);
});

Update('lets a stream finish on the version on which it began', async () => {
  const set = await started(numbered(1));
  const stream = collect(set.stream('count', { to: 40, everyMs: 20 }));
  await set.call('echo', {});
  const { result } = await states(set, next());
  assert.is(result.outcome, 'updated');
  assert.is((await stream).length, 40);
  assert.is(((await set.call('spec', {})) as { version: number }).version, 2);
});

Update('drains an old replica first when there is no room beside it, while calls wait', async () => {
  const { places, most } = placesOf(1);
  const set = await started(numbered(1, { places }));
  const { versions, stop } = load(set);
  const { states: seen, result } = await states(set, next({ places }));
  await stop();
  assert.equal(
    [result.outcome, seen],
    ['updated', ['making-room', 'starting', 'settling', 'watching', 'retiring', 'placing', 'done']],
  );
  assert.equal([versions.at(-1), most()], [2, 1]);
});

Update('changes the number of replicas at the same time', async () => {
  const set = await started(numbered(1, { count: 3 }));
  assert.is((await states(set, next({ count: 1 }))).result.replaced, 1);
  assert.is(set.status().replicas.length, 1);
  assert.is((await states(set, versionOf(numbered(3, { count: 2 })))).result.replaced, 2);
  assert.is(set.status().replicas.length, 2);
});

const BAD: readonly (readonly [what: string, spec: object, reason: RegExp, lastLine: string | undefined])[] = [
  ['refuses to start', { start: 'reject' }, /^the file model\.bin is truncated$/, undefined],
  [
    'ends before it is ready',
    { start: 'exit' },
    /new replicas were lost 2 times; the last time it exited with code 7/,
    'sample: out of memory',
  ],
  ['cannot answer a first call', { start: 'cold' }, /no kernel image/, undefined],
  [
    'dies again and again once it is ready',
    { start: 'mayfly' },
    /new replicas were lost 2 times/,
    'sample: it was a short life',
  ],
];
for (const [what, spec, reason, lastLine] of BAD) {
  for (const room of what === 'refuses to start' ? [3, 2] : [3]) {
    Update(
      `comes back when the new version ${what}, ${room === 3 ? 'beside' : 'in the place of'} old replicas`,
      async () => {
        const { places } = placesOf(room);
        const set = await started(numbered(1, { count: 2, places }));
        const { versions, stop } = load(set);
        const { states: seen, result } = await states(set, next({ count: 2, places, spec }));
        await stop();
        assert.equal([result.outcome, seen.at(-2), seen.at(-1)], ['rolled-back', 'restoring', 'rolled-back']);
        assert.match(result.reason, reason);
        if (lastLine !== undefined) assert.ok(result.lastLines.includes(lastLine), JSON.stringify(result.lastLines));
        assert.is(versions.at(-1), 1);
        assert.equal(
          [set.status().status, set.status().replicas.map(({ state }) => state)],
          ['RUNNING', ['ready', 'ready']],
        );
        assert.is(((await set.call('spec', {})) as { version: number }).version, 1);
      },
    );
  }
}

/** Calls a method continuously, whether calls fail or not. */
async function during<T>(work: Promise<T>, set: ReplicaSet, method: string, everyMs: number): Promise<T> {
  let isOver = false;
  const caller = async (): Promise<void> => {
    while (!isOver) {
      await set.call(method, {}).catch(() => {});
      await delay(everyMs);
    }
  };
  const callers = Promise.all([caller(), caller()]);
  const result = await work.finally(() => (isOver = true));
  await callers;
  return result;
}

for (const [traffic, everyMs, room] of [
  ['much', 2, 3],
  ['little', 40, 3],
  ['much', 2, 1],
] as const) {
  Update(
    `comes back when the new version fails each call, with ${traffic} traffic, ` +
      `${room === 1 ? 'in the place of' : 'beside'} the old one`,
    async () => {
      const { places } = placesOf(room);
      const set = await started(numbered(1, { places }));
      const { outcome, reason } = await during(
        set.update(next({ places, spec: { throws: true } }), { watchMs: WATCH_MS }),
        set,
        'echo',
        everyMs,
      );
      assert.is(outcome, 'rolled-back');
      assert.match(reason, /^\d+ of \d+ calls of the new version failed by its own fault; the last time TypeError$/);
      assert.equal(
        [await set.call('echo', { n: 1 }), set.status().status, set.status().replicas.length],
        [{ n: 1 }, 'RUNNING', 1],
      );
    },
  );
}

Update('is not judged by mistakes of callers', async () => {
  const set = await started(numbered(1));
  assert.is((await during(set.update(next(), { watchMs: WATCH_MS }), set, 'fail', 2)).outcome, 'updated');
});

Update('continues when the old version failed as often', async () => {
  const set = await started(numbered(1, { spec: { throws: true } }));
  for (let call = 0; call < 5; call += 1) await errorOf(set.call('echo', {}));
  assert.is(
    (await during(set.update(next({ spec: { throws: true } }), { watchMs: WATCH_MS }), set, 'echo', 2)).outcome,
    'updated',
  );
});

const BEFORE: readonly (readonly [what: string, methods: readonly string[]])[] = [
  ['too few calls of the old version failed to say anything', ['failInference', 'failInference', 'failInference']],
  ['calls of the old version failed less often', ['failInference', 'failInference', 'failInference', 'spec', 'spec']],
];
for (const [what, methods] of BEFORE) {
  Update(`comes back when the new version fails each call, and ${what}`, async () => {
    const set = await started(numbered(1, { maxOngoing: 1, graceMs: 0 }));
    for (const method of methods) await set.call(method, {}).catch(() => {});
    const controller = new AbortController();
    // All other calls go to the new version.
    const long = set.call('wait', { ms: 600_000 }, { signal: controller.signal }).catch(() => {});
    const update = set
      .update(next({ maxOngoing: 1, spec: { throws: true } }), { watchMs: WATCH_MS })
      .finally(() => controller.abort(cancelledError('enough')));
    const { outcome } = await during(update, set, 'echo', 2);
    await long;
    assert.is(outcome, 'rolled-back');
  });
}

Update('tolerates one loss of a new replica', async () => {
  const set = await started(numbered(1));
  const updated = set.update(next(), {
    watchMs: 2000,
    onState: (state) => {
      if (state === 'watching') process.kill(pidOf(set, 1), 'SIGKILL');
    },
  });
  assert.is((await updated).outcome, 'updated');
  assert.is(set.status().replicas[0]?.restarts, 1);
});

Update('rolls back when it is cancelled', async () => {
  const set = await started(numbered(1));
  const pid = pidOf(set);
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const updated = set.update(next({ spec: { start: 'hang' } }), {
    watchMs: WATCH_MS,
    signal: controller.signal,
    onState: () => controller.abort(reason),
  });
  assert.is(await updated.catch((error: unknown) => error), reason);
  assert.equal([pidOf(set), set.status().replicas.length], [pid, 1]);
});

Update('ends with the deployment and leaves no process behind', async () => {
  const set = await started(numbered(1, { count: 2 }));
  const updated = set.update(next({ count: 2, spec: { start: 'hang' } }), { watchMs: WATCH_MS });
  await until(() => set.status().replicas.length === 3, 'the new replica was there');
  const pids = set.status().replicas.map(({ pid }) => pid ?? 0);
  await set.stop(1000);
  assert.is((await updated).outcome, 'stopped');
  assert.not.ok(pids.some(isAlive));
});

const ASLEEP = { minReplicas: 0, maxReplicas: 2, targetOngoing: 1, upscaleDelayMs: 50, downscaleDelayMs: 60_000 };

Update('revives a deployment whose replicas were all given up', async () => {
  const set = await started(numbered(1, { autoscaling: ASLEEP, spec: { start: 'reject' } }));
  assert.is((await errorOf(set.call('echo', {}))).name, 'FailedDeployment');
  assert.is(set.status().status, 'DEPLOY_FAILED');
  assert.is((await states(set, next({ autoscaling: ASLEEP }))).result.outcome, 'updated');
  assert.is(((await set.call('spec', {})) as { version: number }).version, 2);
});

Update('tries the new version of a sleeping deployment', async () => {
  const set = await started(numbered(1, { autoscaling: ASLEEP }));
  assert.is(
    (await states(set, next({ autoscaling: ASLEEP, spec: { start: 'reject' } }))).result.outcome,
    'rolled-back',
  );
  assert.equal([set.status().status, set.status().replicas], ['RUNNING', []]);
  assert.is((await states(set, next({ autoscaling: ASLEEP }))).result.outcome, 'updated');
  assert.is(((await set.call('spec', {})) as { version: number }).version, 2);
});

Update('adopts the new version of a sleeping deployment without a trial when there is no room', async () => {
  const { places } = placesOf(0);
  const set = await started(numbered(1, { autoscaling: ASLEEP, places }));
  assert.equal((await states(set, next({ autoscaling: ASLEEP, places }))).states, ['done']);
  assert.is((await errorOf(set.call('spec', {}))).name, 'InsufficientResources');
});

Update.run();
