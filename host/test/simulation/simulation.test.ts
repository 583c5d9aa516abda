// The short form of `npm run simulate`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runSchedule } from './run-schedule.ts';

const Simulation = suite('the simulation of deployments');

const SCHEDULES = 800;

Simulation(`finds no lost call, no oversubscribed device and no stuck state in ${SCHEDULES} schedules`, async () => {
  const bad: string[] = [];
  const total = { crashes: 0, repeats: 0, refusals: 0, unavailable: 0, poisoned: 0, rollbacks: 0 };
  const stackTraceLimit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0; // most of the time would be spent on stack traces that nobody reads
  for (let seed = 1; seed <= SCHEDULES; seed += 1) {
    const { violations, statistics } = await runSchedule(seed);
    bad.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += statistics[key];
  }
  Error.stackTraceLimit = stackTraceLimit;
  assert.equal(bad.slice(0, 10), []);
  const { crashes, repeats, ...others } = total;
  const isTame =
    crashes < SCHEDULES || repeats < SCHEDULES || Object.values(others).some((count) => count < SCHEDULES / 10);
  assert.not.ok(isTame, `the schedules had too few faults to show anything: ${JSON.stringify(total)}`);
});

Simulation('starts no replica after another host has become the controller, and answers each call', async () => {
  const bad: string[] = [];
  let calls = 0;
  const stackTraceLimit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  // In 3,799 a call waits until another deployment makes room.
  for (const seed of [...Array.from({ length: SCHEDULES / 2 }, (_, index) => index + 1), 3799]) {
    const { violations, statistics } = await runSchedule(seed, { isSuperseded: true });
    bad.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
    calls += statistics.calls;
  }
  Error.stackTraceLimit = stackTraceLimit;
  assert.equal([bad.slice(0, 10), bad.length], [[], 0]);
  assert.ok(calls > SCHEDULES, `${calls} calls show nothing`);
});

/**
 * Seeds that once found an error.
 *
 * In 17,934 and 40,141 a scaling fails after one of its replicas was the first ready replica of its version. The
 * deployment was given up later although it had served.
 * In 14,243 an update counted the calls of the old version twice, found enough failures among them, and kept a version
 * that fails each call.
 * In 50,219 replicas die of a poison after the host has ended them. The checker counted them as losses.
 * In 71,821 the old version serves during an update that is rolled back, and restarts at its end. The deployment stayed
 * failed because no replica served at that moment.
 * In 92,775 a stream takes longer than the grace period, and in 97,588 a version that fails each call follows another
 * such version. The checker knew neither case.
 */
const ONCE_BAD = [14_243, 17_934, 40_141, 50_219, 71_821, 92_775, 97_588];

Simulation('finds nothing in schedules with earlier errors', async () => {
  for (const seed of ONCE_BAD) assert.equal((await runSchedule(seed)).violations, [], String(seed));
});

Simulation('runs the same schedule for the same seed', async () => {
  assert.equal(await runSchedule(7), await runSchedule(7));
  assert.not.equal((await runSchedule(7)).statistics, (await runSchedule(8)).statistics);
});

Simulation.run();
