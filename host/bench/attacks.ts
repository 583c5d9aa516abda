// Measures the cost of attacks for their neighbours and prints one JSON object. Each round sends a neighbour's requests
// three times, in changing order: alone, beside separate processes that only compute, as many as there are attackers,
// and beside the attack. So the difference of the last two is what the attack costs beyond its part of the machine. The
// neighbour is in another plugin, or in the attacked one. CPU time is that of the other plugin's process, from /proc
// (Linux). `npm run bench:attacks -- [--node PATH]… [--rounds N] [--ms N] [--only NAME]
// [--neighbour 'other plugin'|'same plugin'] [--threads N] [--calm SECONDS]`
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { delay } from '../base/core/abort.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { loadConfig } from '../base/config/index.ts';
import { attackRequests, type AttackRequest } from '../endpoints/plugins/fixtures/attack-suite.ts';
import { defaultLimits } from '../endpoints/plugins/rights/limits.ts';
import { descendants } from '../test/helpers/server.ts';
import { cpuOfThreads } from './attacks/threads.ts';
import { calm } from './plugins/calm.ts';
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
    calm: { type: 'string', default: '0' },
  },
});
const rounds = Number(flags.rounds);
const ms = Number(flags.ms);
const calmMs = Number(flags.calm) * 1000;
const NEIGHBOURS = 4;
/**
 * Interval of each neighbour's requests. It keeps the number of requests equal in all rounds, because a request costs
 * more when fewer run at a time.
 */
const EVERY_MS = 20;
const ATTACKERS = 2;
const HEAD_START_MS = 300;

interface Sample {
  readonly failed: number;
  readonly failure: string | undefined;
  readonly requests: number;
  /** CPU time of the neighbour's process for each request. */
  readonly cpuMs: number;
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

/** Returns the CPU milliseconds of a process. */
async function cpuOf(pid: number): Promise<number> {
  return [...(await cpuOfThreads(pid)).values()].reduce((sum, one) => sum + one, 0);
}

/** Returns the pid of the plugin's process that works most for the neighbour's requests. */
async function neighbourProcess(neighbour: Neighbour, subject: Subject, load: LoadProcess): Promise<number> {
  const pids = (await descendants(subject.pid)).map(({ pid }) => pid);
  const before = await Promise.all(pids.map(cpuOf));
  await load.run(request(subject.port, neighbour, 2000));
  const after = await Promise.all(pids.map(cpuOf));
  const worked = pids.map((pid, n) => ({ pid, cpuMs: after[n]! - before[n]! }));
  return worked.toSorted((a, b) => b.cpuMs - a.cpuMs)[0]!.pid;
}

async function sample(neighbour: Neighbour, subject: Subject, pid: number, load: LoadProcess): Promise<Sample> {
  const before = await cpuOf(pid);
  const { requests, failed, failure, p50, p99 } = await load.run(request(subject.port, neighbour, ms));
  return { requests, failed, failure, cpuMs: ((await cpuOf(pid)) - before) / requests, p50, p99 };
}

/** What runs beside the neighbour: nothing, processes that only compute, or the attack. */
const SITUATIONS = ['alone', 'besideProcesses', 'besideAttack'] as const;
type Situation = (typeof SITUATIONS)[number];

/** Starts what the situation has beside the neighbour. Returns what ends it, and then gives the number of attacks. */
function begin(
  situation: Situation,
  attack: AttackRequest,
  subject: Subject,
  attackers: LoadProcess,
): () => Promise<number> {
  if (situation === 'alone') return () => Promise.resolve(0);
  if (situation === 'besideProcesses') {
    const computing = Array.from({ length: ATTACKERS }, () =>
      spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
    );
    return async () => {
      await Promise.all(
        computing.map((each) => {
          const exited = once(each, 'exit');
          each.kill('SIGKILL');
          return exited;
        }),
      );
      return 0;
    };
  }
  const attacking = attackers.run({
    port: subject.port,
    path: `/attacks/${attack.endpoint}`,
    body: JSON.stringify(attack.input ?? {}),
    connections: ATTACKERS,
    ms: HEAD_START_MS + ms,
  });
  return async () => (await attacking).requests;
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
    const pid = await neighbourProcess(neighbour, subject, load);
    results.push(...(await measureBeside(neighbour, subject, pid, load, attackers)));
  }
  return { node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(), results };
}

/** Measures the cost of each attack for one neighbour. */
async function measureBeside(
  neighbour: Neighbour,
  subject: Subject,
  pid: number,
  load: LoadProcess,
  attackers: LoadProcess,
): Promise<object[]> {
  const results: object[] = [];
  for (const attack of attackRequests.filter(({ what }) => flags.only === undefined || what.includes(flags.only))) {
    const samples: Record<Situation, Sample[]> = { alone: [], besideProcesses: [], besideAttack: [] };
    let attacks = 0;
    for (let number = -1; number < rounds; number++) {
      for (const step of SITUATIONS.keys()) {
        const situation = SITUATIONS[(step + number + 1) % SITUATIONS.length]!;
        await calm(calmMs);
        const end = begin(situation, attack, subject, attackers);
        await delay(HEAD_START_MS);
        const one = await sample(neighbour, subject, pid, load);
        const ended = await end();
        if (number < 0) continue; // warm-up
        samples[situation].push(one);
        attacks += ended;
      }
    }
    const { alone, besideProcesses, besideAttack } = samples;
    const middle = (pick: (attacked: Sample, computed: Sample) => number): number =>
      round(median(besideAttack.map((one, n) => pick(one, besideProcesses[n]!))));
    const told = (of: readonly Sample[]): object => ({
      cpuMsPerRequest: round(median(of.map((one) => one.cpuMs))),
      p50Ms: round(median(of.map((one) => one.p50))),
      p99Ms: round(median(of.map((one) => one.p99))),
    });
    const all = [...alone, ...besideProcesses, ...besideAttack];
    const failed = all.reduce((sum, one) => sum + one.failed, 0);
    results.push({
      attack: attack.what,
      neighbour: neighbour.name,
      attacks,
      neighbourRequests: all.reduce((sum, one) => sum + one.requests, 0),
      failed,
      ...(failed > 0 && { failure: all.find((one) => one.failure)?.failure }),
      // The attacked plugin's process also computes for the attacks, so its CPU time says nothing of the neighbour.
      ...(neighbour.name === 'other plugin' && {
        cpuOverProcesses: middle((attacked, computed) => attacked.cpuMs / computed.cpuMs),
      }),
      p99OverProcesses: middle((attacked, computed) => attacked.p99 / computed.p99),
      p99MoreThanProcessesMs: middle((attacked, computed) => attacked.p99 - computed.p99),
      alone: told(alone),
      besideProcesses: told(besideProcesses),
      besideAttack: told(besideAttack),
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
