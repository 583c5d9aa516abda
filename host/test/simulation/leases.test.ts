import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sqliteModule } from '../../data/storage/fixtures/databases.ts';
import { runLeases } from './run-leases.ts';

const Leases = suite('the simulation of leases');

const SCHEDULES = 12;

Leases(
  `finds no task that is lost, ends twice or is written without its lease in ${SCHEDULES} schedules of pauses, ` +
    `deaths and clock jumps`,
  async () => {
    const module = await sqliteModule();
    const bad: string[] = [];
    const total = { tasks: 0, attempts: 0, late: 0, jumps: 0, adopted: 0, repeated: 0 };
    for (let seed = 1; seed <= SCHEDULES; seed += 1) {
      const { violations, statistics } = await runLeases(seed, module);
      bad.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += statistics[key];
    }
    assert.equal(bad.slice(0, 10), []);
    assert.ok(
      total.attempts > total.tasks &&
        total.late > SCHEDULES &&
        total.jumps > SCHEDULES &&
        total.adopted > SCHEDULES &&
        total.repeated > SCHEDULES,
      `the schedules had too few faults to show anything: ${JSON.stringify(total)}`,
    );
  },
);

Leases('runs the same schedule for the same seed', async () => {
  const module = await sqliteModule();
  assert.equal(await runLeases(7, module), await runLeases(7, module));
});

Leases.run();
