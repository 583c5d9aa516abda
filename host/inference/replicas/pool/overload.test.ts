import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { ReplicaPool } from './replica-pool.ts';
import type { Run } from './workload.ts';

const Overload = suite('a pool with more calls than it can serve in time');

const SERVICE_MS = 500;
const DEADLINE_MS = 4000;
const SLOTS = 4;

/** A clock that the test advances. Events happen in the order of their times. */
class Timeline {
  time = 0;
  readonly #events: { readonly at: number; run(): void }[] = [];

  readonly clock = { now: () => this.time, delay: () => Promise.reject(new Error('nothing waits here')) };

  at(time: number, run: () => void): void {
    const index = this.#events.findIndex((event) => event.at > time);
    this.#events.splice(index < 0 ? this.#events.length : index, 0, { at: time, run });
  }

  async runUntil(end: number): Promise<void> {
    for (let next = this.#events[0]; next && next.at <= end; next = this.#events[0]) {
      this.#events.shift();
      this.time = next.at;
      next.run();
      for (let turn = 0; turn < 6; turn += 1) await Promise.resolve();
    }
    this.time = end;
  }
}

interface Member {
  readonly name: string;
  ongoing: number;
}

/** Clients that send calls to one replica, which runs four calls at the same time. */
class World {
  readonly timeline = new Timeline();
  readonly member: Member = { name: 'only', ongoing: 0 };
  readonly pool = new ReplicaPool<Member>({
    deployment: 'asr',
    maxOngoing: SLOTS,
    maxQueued: 1000,
    clock: this.timeline.clock,
  });
  inTime = 0;
  begun = 0;
  returned = 0;
  returnedServed = 0;

  constructor() {
    this.pool.add(this.member);
  }

  /** Sends a call. `onRefused` is called with the time that its client is told to wait. */
  send(
    client: string,
    {
      userId = null,
      serviceMs = SERVICE_MS,
      onRefused = () => {},
      onServed = () => {},
    }: { userId?: string | null; serviceMs?: number; onRefused?: (waitMs: number) => void; onServed?: () => void } = {},
  ): void {
    const { timeline, pool, member } = this;
    const sentAt = timeline.time;
    const use = (to: Member, run: Run): void => {
      to.ongoing += 1;
      this.begun += 1;
      timeline.at(timeline.time + serviceMs, () => {
        if (timeline.time <= sentAt + DEADLINE_MS) this.inTime += 1;
        onServed();
        member.ongoing -= 1;
        pool.observe(run, true);
        pool.settle(run);
      });
    };
    // The deadline is relative to the simulated clock, which begins at 0. The pool reads only the time left.
    pool
      .dispatch(use, { method: 'transcribe', userId, client, deadlineAt: performance.now() + DEADLINE_MS })
      .catch((error: unknown) => {
        assert.instance(error, AanaError);
        const { name, data } = error as AanaError;
        assert.is(name, 'DeploymentOverloaded');
        onRefused((data as { retry_after_s: number }).retry_after_s * 1000);
      });
  }
}

const EVERY_MS = SERVICE_MS / SLOTS;
const SECONDS = 120;
/** Most calls per second that the replica can serve. */
const MOST = (SECONDS * 1000) / EVERY_MS;

for (const load of [1, 2, 3, 5]) {
  Overload(
    `answers at ${load} times of what it can nearly as many in time as it could, and begins none in vain`,
    async () => {
      const world = new World();
      for (let n = 0; n < MOST * load; n += 1) world.timeline.at((n * EVERY_MS) / load, () => world.send(`c${n}`));
      await world.timeline.runUntil(SECONDS * 1000 + DEADLINE_MS);
      assert.ok(world.inTime >= 0.97 * MOST, `${world.inTime} of ${MOST}`);
      assert.ok(world.inTime >= 0.99 * world.begun, `${world.inTime} of ${world.begun} begun`);
    },
  );
}

Overload('serves nine of ten clients who come back when told to, while new clients keep arriving', async () => {
  const world = new World();
  for (let n = 0; n < MOST * 3; n += 1) {
    const client = `c${n}`;
    world.timeline.at((n * EVERY_MS) / 3, () =>
      world.send(client, {
        onRefused: (waitMs) => {
          if (world.timeline.time + waitMs > SECONDS * 1000) return;
          world.timeline.at(world.timeline.time + waitMs, () => {
            world.returned += 1;
            world.send(client, { onServed: () => (world.returnedServed += 1) });
          });
        },
      }),
    );
  }
  await world.timeline.runUntil(SECONDS * 1000 + DEADLINE_MS);
  assert.ok(world.returned > 100, `${world.returned} came back`);
  assert.ok(world.returnedServed >= 0.9 * world.returned, `${world.returnedServed} of ${world.returned}`);
  assert.ok(world.inTime >= 0.95 * MOST, `${world.inTime} of ${MOST}`);
});

Overload('delays no user because of another who sends ten times as many calls', async () => {
  const world = new World();
  let refused = 0;
  let served = 0;
  for (let n = 0; n < MOST * 4; n += 1)
    world.timeline.at((n * EVERY_MS) / 4, () => world.send('greedy', { userId: 'greedy' }));
  for (let n = 0; n < MOST / 4; n += 1)
    world.timeline.at(n * EVERY_MS * 4, () =>
      world.send('modest', { userId: 'modest', onServed: () => (served += 1), onRefused: () => (refused += 1) }),
    );
  await world.timeline.runUntil(SECONDS * 1000 + DEADLINE_MS);
  assert.ok(refused <= 0.02 * served, `${refused} refused, ${served} served`);
});

Overload('recovers its estimate after a call that took far longer', async () => {
  const world = new World();
  world.send('slow', { serviceMs: 60_000 });
  for (let n = 0; n < 400; n += 1) world.timeline.at(61_000 + n * EVERY_MS, () => world.send(`c${n}`));
  await world.timeline.runUntil(120_000);
  assert.ok(world.inTime > 380, `${world.inTime} of 400`);
});

Overload('keeps a place for a call that follows other work', async () => {
  const world = new World();
  world.send('first');
  await world.timeline.runUntil(1000);
  const deadlineAt = performance.now() + DEADLINE_MS;
  const places = Array.from({ length: 28 }, (_, n) => world.pool.reserve({ client: `c${n}`, deadlineAt }));
  const error = ((): unknown => {
    try {
      for (let n = 0; n < 8; n += 1) places.push(world.pool.reserve({ client: `d${n}`, deadlineAt }));
      return undefined;
    } catch (thrown) {
      return thrown;
    }
  })();
  assert.is((error as AanaError | undefined)?.name, 'DeploymentOverloaded', 'the time is given away');
  for (const place of places) place.release();
  world.pool.reserve({ client: 'e', deadlineAt }).release();
});

Overload.run();
