// `npm run campaign:replicas [strikes] [updates]`: real processes die, change and end under load. Prints the outcomes
// of the calls.
import { type Fault, FAULTS, strike } from './faults.ts';
import { longCalls, poisonousCalls, refusedRestarts } from './hard-calls.ts';
import { endHost, ENDS, MOMENTS } from './host-ends.ts';
import type { LoadResult } from './load.ts';
import { updateUnderLoad } from './updates.ts';

const [strikes, updates] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 20)];
if (!Number.isInteger(strikes) || !Number.isInteger(updates)) {
  process.stderr.write('usage: npm run campaign:replicas -- [strikes] [updates]\n');
  process.exit(2);
}

let bad = 0;
function report({ answered, cut, failed }: LoadResult): string {
  const failures = [...failed].map(([what, count]) => `${count} × ${what}`);
  bad += failures.length;
  return `${answered} answered, ${cut} streams cut, failed: ${failures.join(', ') || 0}`;
}

for (const fault of Object.keys(FAULTS) as Fault[]) {
  const { struck, bystander, replaced } = await strike(fault, strikes);
  bad += bystander.cut;
  process.stdout.write(
    `${strikes} × ${fault}: ${replaced} processes replaced; struck: ${report(struck)}; beside it: ` +
      `${report(bystander)}\n`,
  );
}
const { load, updated, rolledBack, wrong, processes } = await updateUnderLoad(updates);
bad += wrong.length + load.cut;
process.stdout.write(
  `${updates} good and ${updates} bad updates: ${updated} updated, ${rolledBack} rolled back, ${wrong.length} ` +
    `wrong, ${processes} processes left; ${report(load)}\n`,
);
for (const what of wrong) process.stdout.write(`  ${what}\n`);
for (const [what, run] of [
  [`calls longer than the grace period under ${updates} updates and scalings`, longCalls],
  [`${updates} restarts that were refused for a while`, refusedRestarts],
  [`${updates} poisonous calls, each made four times`, poisonousCalls],
] as const) {
  const { load: beside, wrong: mistakes } = await run(updates);
  bad += mistakes.length;
  process.stdout.write(`${what}: ${mistakes.length} wrong; ${report(beside)}\n`);
  for (const mistake of mistakes) process.stdout.write(`  ${mistake}\n`);
}
let [hosts, replicas] = [0, 0];
for (const moment of MOMENTS) {
  for (const end of ENDS) {
    replicas += await endHost(moment, end);
    hosts += 1;
  }
}
process.stdout.write(
  `${hosts} hosts ended (${ENDS.join(', ')}; ${MOMENTS.join(', ')}): none of ${replicas} replicas survived\n`,
);
process.exitCode = bad > 0 ? 1 : 0;
