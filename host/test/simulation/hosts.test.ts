import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runHosts } from './run-hosts.ts';

const Hosts = suite('the simulation of several hosts');

const SCHEDULES = 500;

Hosts(`finds no lost call, no replica with too many calls and no leaked place in ${SCHEDULES} schedules`, async () => {
  const bad: string[] = [];
  const total = { calls: 0, answers: 0, full: 0, kills: 0, shared: 0, left: 0 };
  const stackTraceLimit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0; // most of the time would be spent on stack traces that nobody reads
  for (let seed = 1; seed <= SCHEDULES; seed += 1) {
    const { violations, statistics } = await runHosts(seed);
    bad.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += statistics[key];
  }
  Error.stackTraceLimit = stackTraceLimit;
  assert.equal(bad.slice(0, 10), []);
  const { calls, answers, shared, ...faults } = total;
  const isTame =
    answers < calls / 2 || shared < calls / 2 || Object.values(faults).some((count) => count < SCHEDULES / 10);
  assert.not.ok(isTame, `the schedules had too few faults to show anything: ${JSON.stringify(total)}`);
});

Hosts('runs the same schedule for the same seed', async () => {
  assert.equal(await runHosts(7), await runHosts(7));
});

Hosts.run();
