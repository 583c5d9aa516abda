// Measures the cost of attacks for their neighbours and prints one JSON object. In pairs of rounds, it sends requests
// to another plugin and further requests to the attacked plugin, without and with each attack of the suite. CPU time is
// the time of the thread of the other plugin, from /proc (Linux). `npm run bench:attacks -- [--node PATH]… [--rounds N]
// [--ms N] [--only NAME] [--neighbour 'other plugin'|'same plugin'] [--threads N]`
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { delay } from '../base/core/abort.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { loadConfig } from '../base/config/index.ts';
import { attackRequests, type AttackRequest } from '../endpoints/plugins/fixtures/attack-suite.ts';
import { defaultLimits } from '../endpoints/plugins/rights/limits.ts';
import { cpuOfThreads } from './attacks/threads.ts';
import { LoadProcess, startServer, type Subject } from './plugins/processes.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '7' },
    ms: { type: 'string', default: '1500' },
    only: { type: 'string' },
    neighbour: { type: 'string' },
    /** Number of threads of the attacked plugin. */
    threads: { type: 'string', default: String(defaultLimits.maxThreads) },
  },
});
const rounds = Number(flags.rounds);
const ms = Number(flags.ms);
const NEIGHBOURS = 4;
/**
 * Interval of each neighbour's requests. It keeps the number of requests equal in all rounds, because a request costs
 * more when fewer run at a time.
 */
const EVERY_MS = 20;
const ATTACKERS = 2;
const HEAD_START_MS = 300;
const MOST_CPU = 1.1;

interface Sample {
  readonly failed: number;
  readonly failure: string | undefined;
  readonly requests: number;
  /** CPU time of the neighbour's thread for each request. */
  readonly cpuMs: number;
  /** The share of the time in which the host's main thread was on a CPU, for any work. */
  readonly hostThread: number;
  readonly p50: number;
  readonly p99: number;
}

const body = JSON.stringify({
  text: 'a sentence of ordinary length for the benchmark',
  count: 1,
  options: { language: 'en', temperature: 0.5 },
});
/** A client whose requests must not suffer. Each request calls the host once. */
interface Neighbour {
  readonly name: 'other plugin' | 'same plugin';
  readonly path: string;
  readonly body: string;
}

const neighbours: readonly Neighbour[] = [
  { name: 'other plugin', path: '/bench/calls', body },
  { name: 'same plugin', path: '/attacks/call', body: JSON.stringify({ text: 'echo', args: body }) },
];

const request = (
  port: number,
  { path, body: content }: Neighbour,
  duration: number,
): Parameters<LoadProcess['run']>[0] => ({
  port,
  path,
  body: content,
  connections: NEIGHBOURS,
  ms: duration,
  everyMs: EVERY_MS,
});

/** Returns the thread that works most for the neighbour's requests, apart from the host's main thread. */
async function neighbourThread(neighbour: Neighbour, subject: Subject, load: LoadProcess): Promise<number> {
  const before = await cpuOfThreads(subject.pid);
  await load.run(request(subject.port, neighbour, 2000));
  const after = await cpuOfThreads(subject.pid);
  const worked = [...after]
    .map(([thread, time]) => [thread, time - (before.get(thread) ?? 0)] as const)
    .filter(([thread]) => thread !== subject.pid);
  return worked.toSorted((a, b) => b[1] - a[1])[0]![0];
}

async function sample(neighbour: Neighbour, subject: Subject, thread: number, load: LoadProcess): Promise<Sample> {
  const before = await cpuOfThreads(subject.pid);
  const { requests, failed, failure, seconds, p50, p99 } = await load.run(request(subject.port, neighbour, ms));
  const after = await cpuOfThreads(subject.pid);
  const spent = (of: number): number => (after.get(of) ?? Number.NaN) - (before.get(of) ?? Number.NaN);
  return {
    requests,
    failed,
    failure,
    cpuMs: spent(thread) / requests,
    hostThread: spent(subject.pid) / 1000 / seconds,
    p50,
    p99,
  };
}

/**
 * Not an attack: processes that only compute, as many as there are attackers. They share only the machine with the
 * server, so their cost for the neighbours is the part that comes from the machine.
 */
const ELSEWHERE: AttackRequest = { what: '(separate processes that compute)', endpoint: '' };

/** Measures a round during which the attack runs all the time. */
async function sampleBeside(
  attack: AttackRequest,
  neighbour: Neighbour,
  subject: Subject,
  thread: number,
  load: LoadProcess,
  attackers: LoadProcess,
): Promise<{ sample: Sample; attacks: number }> {
  if (attack === ELSEWHERE) {
    const computing = Array.from({ length: ATTACKERS }, () =>
      spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
    );
    await delay(HEAD_START_MS);
    const beside = await sample(neighbour, subject, thread, load);
    for (const each of computing) each.kill('SIGKILL');
    return { sample: beside, attacks: 0 };
  }
  const attacking = attackers.run({
    port: subject.port,
    path: `/attacks/${attack.endpoint}`,
    body: JSON.stringify(attack.input ?? {}),
    connections: ATTACKERS,
    ms: HEAD_START_MS + ms,
  });
  await delay(HEAD_START_MS);
  const beside = await sample(neighbour, subject, thread, load);
  return { sample: beside, attacks: (await attacking).requests };
}

async function measure(node: string): Promise<unknown> {
  await using subject = await startServer(node, '../attacks/server', {
    ...process.env,
    AANA_CACHE_DIR: loadConfig().cache_dir,
    BENCH_THREADS: flags.threads,
  });
  using load = new LoadProcess();
  using attackers = new LoadProcess();
  const results: unknown[] = [];
  for (const neighbour of neighbours.filter(({ name }) => flags.neighbour === undefined || name === flags.neighbour)) {
    const thread = await neighbourThread(neighbour, subject, load);
    results.push(...(await measureBeside(neighbour, subject, thread, load, attackers)));
  }
  return { node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(), results };
}

/** Measures the cost of each attack for one neighbour. */
async function measureBeside(
  neighbour: Neighbour,
  subject: Subject,
  thread: number,
  load: LoadProcess,
  attackers: LoadProcess,
): Promise<object[]> {
  const results: object[] = [];
  for (const attack of [ELSEWHERE, ...attackRequests].filter(
    ({ what }) => flags.only === undefined || what.includes(flags.only),
  )) {
    const without: Sample[] = [];
    const beside: Sample[] = [];
    let attacks = 0;
    for (let number = -1; number < rounds; number++) {
      const quiet = async (): Promise<Sample> => sample(neighbour, subject, thread, load);
      const first = number % 2 === 0 ? undefined : await quiet();
      const attacked = await sampleBeside(attack, neighbour, subject, thread, load, attackers);
      const one = first ?? (await quiet());
      if (number < 0) continue; // warm-up
      without.push(one);
      beside.push(attacked.sample);
      attacks += attacked.attacks;
    }
    const middle = (samples: readonly Sample[], pick: (one: Sample) => number): number =>
      round(median(samples.map(pick)));
    const told = (samples: readonly Sample[]): object => ({
      cpuMsPerRequest: middle(samples, (one) => one.cpuMs),
      p50Ms: middle(samples, (one) => one.p50),
      p99Ms: middle(samples, (one) => one.p99),
      hostThread: middle(samples, (one) => one.hostThread),
    });
    const ratios = beside.map((one, n) => one.cpuMs / without[n]!.cpuMs);
    const failed = [...without, ...beside].reduce((sum, one) => sum + one.failed, 0);
    results.push({
      attack: attack.what,
      neighbour: neighbour.name,
      attacks,
      neighbourRequests: beside.reduce((sum, one) => sum + one.requests, 0),
      failed,
      ...(failed > 0 && { failure: [...without, ...beside].find((one) => one.failure)?.failure }),
      // The attacked plugin's thread also computes for the attacks, so its ratios mean nothing.
      ...(neighbour.name === 'other plugin' && {
        cpuBesideWithout: round(median(ratios)),
        cpuRatios: ratios.map((ratio) => round(ratio, 2)),
        isWithin: failed === 0 && median(ratios) <= MOST_CPU,
      }),
      p50BesideWithout: round(median(beside.map((one, n) => one.p50 / without[n]!.p50))),
      p99BesideWithout: round(median(beside.map((one, n) => one.p99 / without[n]!.p99))),
      without: told(without),
      beside: told(beside),
    });
  }
  return results;
}

for (const folder of ['host/bench/fixtures/bench-plugin', 'host/endpoints/plugins/fixtures/attacks'])
  await buildPlugin(join(packageRoot, folder), { log: silentLogger });
const loadBefore = machineLoad();
const runs: unknown[] = [];
for (const node of [process.execPath, ...flags.node]) runs.push(await measure(node));
const report = {
  ...reportHead('attacks', loadBefore),
  neighbours: NEIGHBOURS,
  attackers: ATTACKERS,
  threadsOfTheAttacked: Number(flags.threads),
  rounds,
  millisecondsEach: ms,
  runs,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
