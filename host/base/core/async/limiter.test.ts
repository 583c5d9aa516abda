import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../deferred.ts';
import { Limiter } from './limiter.ts';

const Limits = suite('Limiter');

Limits('runs at most as many at once as its size, and the rest in order of arrival', async () => {
  const limiter = new Limiter(2);
  const gates = Array.from({ length: 4 }, () => deferred<void>());
  const started: number[] = [];
  const all = gates.map((gate, index) =>
    limiter.run(async () => {
      started.push(index);
      await gate.promise;
    }),
  );
  await new Promise(setImmediate);
  assert.equal(started, [0, 1]);
  gates[1]?.resolve();
  await all[1];
  await new Promise(setImmediate);
  assert.equal(started, [0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(all);
  assert.equal(started, [0, 1, 2, 3]);
});

Limits('frees the place when the work throws', async () => {
  const limiter = new Limiter(1);
  await limiter.run(() => Promise.reject(new Error('broken'))).catch(() => {});
  assert.is(await limiter.run(async () => 'ran'), 'ran');
});

Limits('does not run work that was aborted while it waited, and runs the next', async () => {
  const limiter = new Limiter(1);
  const gate = deferred<void>();
  const first = limiter.run(() => gate.promise);
  const controller = new AbortController();
  let ran = false;
  const second = limiter.run(async () => (ran = true), controller.signal).catch((error: unknown) => error);
  const third = limiter.run(async () => 'third');
  const reason = new Error('client went away');
  controller.abort(reason);
  assert.is(await second, reason);
  gate.resolve();
  await first;
  assert.is(await third, 'third');
  assert.is(ran, false);
});

Limits('gives places in turns to users, and each of them its own work by priority', async () => {
  const limiter = new Limiter(1);
  const gate = deferred<void>();
  const started: string[] = [];
  const run = (name: string, userId: string, priority = 0): Promise<unknown> =>
    limiter.run(async () => started.push(name), undefined, { userId, priority, cost: 1 });
  const first = limiter.run(() => gate.promise);
  const all = [run('a1', 'a'), run('a2', 'a'), run('a3', 'a', 5), run('b1', 'b')];
  gate.resolve();
  await Promise.all([first, ...all]);
  assert.equal(started, ['a3', 'b1', 'a1', 'a2']);
});

Limits('lets waiting work have the place of long work, which goes on after it', async () => {
  const limiter = new Limiter(1);
  const started = deferred<void>();
  const asked = deferred<void>();
  const order: string[] = [];
  const long = limiter.run(async (place) => {
    assert.is(place.isWanted, false);
    started.resolve();
    await asked.promise;
    assert.is(place.isWanted, true);
    await place.pass();
    order.push('long');
    await place.pass(); // nobody waits
  });
  await started.promise;
  const short = limiter.run(async () => order.push('short'));
  asked.resolve();
  await Promise.all([long, short]);
  assert.equal(order, ['short', 'long']);
});

Limits('has no place less or more when long work is aborted while others have its place', async () => {
  const limiter = new Limiter(1);
  const gate = deferred<void>();
  const asked = deferred<void>();
  const leaving = new AbortController();
  const long = limiter.run(async (place) => {
    await asked.promise;
    await place.pass();
  }, leaving.signal);
  const short = limiter.run(() => gate.promise);
  asked.resolve();
  await new Promise(setImmediate);
  leaving.abort(new Error('gone'));
  assert.is(await long.catch((error: Error) => error.message), 'gone');
  let isNextIn = false;
  const next = limiter.run(async () => void (isNextIn = true));
  await new Promise(setImmediate);
  assert.is(isNextIn, false);
  gate.resolve();
  await Promise.all([short, next]);
});

Limits.run();
