// Measures the cost of being able to end an endless loop alone, and prints one JSON object. It compares guests whose
// modules check whether they must end with the same guests without the check, by the CPU time of their thread in pairs
// of rounds. It also measures the alternative, a thread for each request. Needs a Node that suspends guests (24). `npm
// run bench:interrupts -- [--rounds N] [--only NAME]`
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { kernels } from './interrupts/kernels.ts';
import { cpuOf, MeasuredHosts, pluginWork } from './interrupts/plugins.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, only: { type: 'string', default: '' } },
});
const rounds = Number(flags.rounds);
const WARM_UP = 3;
const WAITING = 32;

interface Pair {
  plain(): Promise<number>;
  interruptible(): Promise<number>;
}

/** Measures pairs of rounds; plain and interruptible take turns at being first. */
async function measure(name: string, pair: Pair): Promise<object> {
  const plain: number[] = [];
  const interruptible: number[] = [];
  for (let number = -WARM_UP; number < rounds; number++) {
    const first = number % 2 === 0 ? await pair.plain() : undefined;
    const other = await pair.interruptible();
    const one = first ?? (await pair.plain());
    if (number < 0) continue;
    plain.push(one);
    interruptible.push(other);
  }
  const ratios = interruptible.map((ms, n) => ms / plain[n]!);
  return {
    name,
    plainMs: round(median(plain)),
    interruptibleMs: round(median(interruptible)),
    ratio: round(median(ratios)),
    ratioOfLeast: round(Math.min(...interruptible) / Math.min(...plain)),
    ratios: ratios.map((ratio) => round(ratio, 2)),
  };
}

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const loadBefore = machineLoad();
const notes: string[] = [];
const guests: object[] = [];
for (const { name, plain, interruptible } of await kernels(notes)) {
  if (name.includes(flags.only))
    guests.push(await measure(name, { plain: () => cpuMs(plain), interruptible: () => cpuMs(interruptible) }));
}
for (const work of pluginWork.filter(({ name }) => name.includes(flags.only))) {
  await using hosts = new MeasuredHosts();
  const { plain, interruptible } = await hosts.both(work.folder);
  guests.push(
    await measure(work.name, { plain: () => cpuOf(plain, work), interruptible: () => cpuOf(interruptible, work) }),
  );
}
await buildPlugin(join(packageRoot, 'host/endpoints/plugins/fixtures/conformance'), { log: silentLogger });
const waiting = (mode: string): unknown =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [fileURLToPath(new URL('./interrupts/threads.js', import.meta.url)), mode, String(WAITING)],
      { encoding: 'utf8' },
    ),
  );
const report = {
  ...reportHead('interrupts', loadBefore),
  rounds,
  guests,
  waiting: { requests: WAITING, oneThread: waiting('suspending'), threadEach: waiting('blocking') },
  notes,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
