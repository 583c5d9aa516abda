// `npm run simulate [schedules] [first seed]`: runs schedules of crashes, hangs, slow starts and load with the real
// state machines. In each tenth, another host becomes the controller.
import { runSchedule } from './run-schedule.ts';

const [count, first] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 1)];
if (!Number.isInteger(count) || !Number.isInteger(first)) {
  process.stderr.write('usage: npm run simulate -- [schedules] [first seed]\n');
  process.exit(2);
}
Error.stackTraceLimit = 0; // most of the time would be spent on stack traces that nobody reads
const total: Record<string, number> = {};
const startedAt = performance.now();
let bad = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const { violations, statistics } = await runSchedule(seed, { isSuperseded: seed % 10 === 0 });
  for (const [key, value] of Object.entries(statistics)) total[key] = (total[key] ?? 0) + value;
  if (violations.length > 0) {
    bad += 1;
    process.stdout.write(`seed ${seed}:\n  ${violations.join('\n  ')}\n`);
  }
  if ((seed - first) % 10_000 === 9_999)
    process.stdout.write(
      `${seed - first + 1} schedules, ${bad} bad, ${Math.round((performance.now() - startedAt) / 1000)} s\n`,
    );
}
const {
  calls = 0,
  repeats = 0,
  spawns = 0,
  crashes = 0,
  hangs = 0,
  updates = 0,
  rollbacks = 0,
  scalings = 0,
  evictions = 0,
  refused = 0,
  refusals = 0,
  unavailable = 0,
  poisoned = 0,
  simulatedMs = 0,
} = total;
process.stdout.write(
  `${count} schedules (${(simulatedMs / 3_600_000).toFixed(0)} simulated hours): ${calls} calls, ${repeats} ` +
    `repeated, ${spawns} processes, ${crashes} crashes, ${hangs} hangs, ${refusals} starts refused, ${unavailable} ` +
    `calls without a replica, ${poisoned} replicas poisoned, ${updates} updates, ${rollbacks} rolled back, ` +
    `${scalings} scalings, ${evictions} evictions, ${refused} refused at the start; ${bad} bad, ` +
    `${Math.round((performance.now() - startedAt) / 1000)} s\n`,
);
process.exitCode = bad > 0 ? 1 : 0;
