import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../base/core/deferred.ts';
import { Random } from '../../../test/simulation/random.ts';
import { SimulatedClock } from '../../../test/simulation/simulated-clock.ts';
import { type ConnectionPlaces, SharedPlaces } from './shared-places.ts';

const Places = suite('the places of a replica for all of its connections');

interface Connection extends ConnectionPlaces {
  running: number;
  told: number[];
}

function connect(places: SharedPlaces): Connection {
  const told: number[] = [];
  return Object.assign(
    places.connect((others) => told.push(others)),
    { running: 0, told },
  );
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const later = async (clock: SimulatedClock): Promise<void> =>
  void (await clock.run(
    () => false,
    1000,
    () => {},
  ));

Places('of one connection cost no messages', async () => {
  const places = new SharedPlaces(2, new SimulatedClock());
  const only = connect(places);
  assert.equal([only.begin(false), only.begin(false), only.begin(false)], [true, true, false]);
  only.end();
  await turn();
  assert.equal(only.told, [0], 'what it is told at first');
});

Places('are not told to a connection that does not read, until it reads again', async () => {
  const places = new SharedPlaces(9, new SimulatedClock());
  const busy = connect(places);
  const reads = deferred();
  let isStopped = true;
  const told: number[] = [];
  const drained = (): Promise<void> | undefined => (isStopped ? reads.promise : undefined);
  places.connect((others) => told.push(others), drained);
  for (let round = 0; round < 100; round += 1) {
    assert.ok(busy.begin(false));
    await turn();
    if (round < 99) busy.end();
  }
  assert.equal(told, [0]);
  isStopped = false;
  reads.resolve();
  await turn();
  await turn();
  assert.equal(told, [0, 1]);
});

Places('go in turns to connections whose calls were refused', async () => {
  const places = new SharedPlaces(1, new SimulatedClock());
  const all = [connect(places), connect(places), connect(places)];
  const [first, second, third] = all as [Connection, Connection, Connection];
  assert.ok(first.begin(false));
  assert.not.ok(second.begin(false));
  assert.equal(second.told, [0, 1], 'it learns before its refusal that there is no place');
  assert.not.ok(third.begin(false));
  first.end();
  assert.not.ok(first.begin(false), 'the place is kept for the second');
  assert.not.ok(third.begin(false));
  assert.ok(second.begin(false));
  second.end();
  assert.not.ok(second.begin(false));
  assert.ok(third.begin(false));
  third.end();
  assert.ok(first.begin(false));
});

Places('that are kept for a connection become free when it ends or no longer wants them', async () => {
  const clock = new SimulatedClock();
  const places = new SharedPlaces(1, clock);
  const [first, second, third] = [connect(places), connect(places), connect(places)];
  assert.ok(first.begin(false));
  for (const other of [second, third]) assert.not.ok(other.begin(false));
  first.end();
  second.close();
  assert.not.ok(first.begin(false), 'the place is kept for the third');
  await later(clock);
  await later(clock); // then for the first, which has wanted it meanwhile
  assert.ok(third.begin(false));
});

Places('are never more than the bound, and each connection knows the others after a turn', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = new Random(seed);
    const clock = new SimulatedClock();
    let bound = random.int(1, 4);
    const places = new SharedPlaces(bound, clock);
    const all = Array.from({ length: random.int(2, 4) }, () => connect(places));
    const running = (): number => all.reduce((sum, one) => sum + one.running, 0);
    for (let step = 0; step < 60; step += 1) {
      const one = all[random.int(0, all.length - 1)] as Connection;
      if (one.running > 0 && random.chance(0.45)) {
        one.end();
        one.running -= 1;
      } else {
        const before = running();
        const isTaken = one.begin(false);
        if (isTaken) one.running += 1;
        assert.ok(!isTaken || before < bound, `seed ${seed}: ${before} of ${bound} ran`);
      }
      if (random.chance(0.05)) places.setBounds((bound = random.int(1, 4)));
    }
    for (const one of all) for (; one.running > 0; one.running -= 1) one.end();
    await later(clock);
    await later(clock);
    await turn();
    assert.is(clock.pending, 0, `seed ${seed}`);
    assert.equal(
      all.map(({ told }) => told.at(-1)),
      all.map(() => 0),
      `seed ${seed}: a place is kept`,
    );
  }
});

Places.run();
