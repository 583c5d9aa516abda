// Measures the cost of plugins and prints one JSON object: a no-op endpoint as a component and in host code, host calls
// and a stream, beside the same endpoints written by hand (Koa, koa-body, zod) and beside `jco serve`. Servers and load
// run in separate processes. The rounds take the servers in turn, and ratios are medians of pairs. CPU time is that of
// the server with all its threads (getrusage) and of the plugin's process (utime and stime of /proc/PID/stat, in
// hundredths of a second), between the first and the last request of a round, over the requests; that of the load is
// not in it. `cpuMsPerRequest` and `hostCallCpuMicroseconds`, which is a tenth of what 11 calls take more than one,
// have both; `sandboxCpuMsPerRequest` is the part of the plugin's process. `uploads` compares a plugin that reads a
// file of 16 MiB and answers with it, with host code that does the same. `npm run bench:plugins -- [--node PATH]…
// [--rounds N] [--ms N] [--only NAME] [--connections N,N] [--no-jco] [--calm SECONDS]`
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { httpComponent, jcoProgram } from './plugins/jco-component.ts';
import { LoadProcess, startJco, startServer, type Subject } from './plugins/processes.ts';
import { uploadsBesideHostCode } from './plugins/uploads.ts';
import { AsyncDisposableStack, sample, type Sample } from './plugins/sample.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '5' },
    ms: { type: 'string', default: '1500' },
    connections: { type: 'string', default: '1,32,256' },
    only: { type: 'string' },
    'no-jco': { type: 'boolean', default: false },
    calm: { type: 'string', default: '0' },
  },
});
const rounds = Number(flags.rounds);
const ms = Number(flags.ms);
const calmMs = Number(flags.calm) * 1000;
const connectionCounts = flags.connections.split(',').map(Number);
const CHUNKS = 100;
const MANY_CALLS = 11;
const WAITING = 200;

type Server = 'aana' | 'koa' | 'jco';

interface Scenario {
  readonly name: string;
  readonly server: Server;
  readonly path: string;
  readonly count: number;
  /** Names of the scenarios that this one is compared with. */
  readonly beside?: readonly string[];
}

const scenarios: readonly Scenario[] = [
  { name: 'koa no-op', server: 'koa', path: '/bench/noop', count: 1 },
  { name: 'host-code no-op', server: 'aana', path: '/host/noop', count: 1, beside: ['koa no-op'] },
  {
    name: 'component no-op',
    server: 'aana',
    path: '/bench/noop',
    count: 1,
    beside: ['host-code no-op', 'koa no-op', 'jco serve no-op'],
  },
  { name: 'component, 1 host call', server: 'aana', path: '/bench/calls', count: 1, beside: ['koa no-op'] },
  { name: `component, ${MANY_CALLS} host calls`, server: 'aana', path: '/bench/calls', count: MANY_CALLS },
  { name: `koa ${CHUNKS}-chunk stream`, server: 'koa', path: '/bench/stream', count: CHUNKS },
  {
    name: `component ${CHUNKS}-chunk stream`,
    server: 'aana',
    path: '/bench/stream',
    count: CHUNKS,
    beside: [`koa ${CHUNKS}-chunk stream`],
  },
  { name: 'jco serve no-op', server: 'jco', path: '/', count: 1 },
];

const bodyOf = (count: number): string =>
  JSON.stringify({
    text: 'a sentence of ordinary length for the benchmark',
    count,
    options: { language: 'en', temperature: 0.5 },
  });

/** Returns how many invocations of one plugin wait for the host at the same time when 200 clients send requests. */
async function mostWaiting(load: LoadProcess, subject: Subject): Promise<number> {
  const answered = load.run({
    port: subject.port,
    path: '/bench/wait',
    body: bodyOf(1),
    connections: WAITING,
    ms: 0,
    once: true,
  });
  let most = 0;
  for (let unchanged = 0; unchanged < 10 && most < WAITING;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { waiting } = await subject.usage();
    unchanged = waiting > most || waiting === 0 ? 0 : unchanged + 1;
    most = Math.max(most, waiting);
  }
  const releasing = setInterval(() => subject.release(), 50); // queued requests begin to wait later
  const { failed, failure } = await answered;
  clearInterval(releasing);
  if (failed > 0) throw new Error(`of ${WAITING} waiting requests ${failed} failed: ${failure}`);
  return most;
}

async function measure(node: string): Promise<unknown> {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  const config = loadConfig();
  const env = { ...process.env, AANA_CACHE_DIR: config.cache_dir };
  const chosen = scenarios.filter(
    ({ name, server }) =>
      (flags.only === undefined || name.includes(flags.only)) && !(server === 'jco' && flags['no-jco']),
  );
  const uses = (server: Server): boolean => chosen.some((scenario) => scenario.server === server);

  using load = new LoadProcess();
  await using stack = new AsyncDisposableStack();
  const subjects: Partial<Record<Server, Subject>> = {};
  const notes: string[] = [];
  if (uses('aana')) subjects.aana = stack.use(await startServer(node, 'aana-server', env));
  if (uses('koa')) subjects.koa = stack.use(await startServer(node, 'koa-server', env));
  if (uses('jco')) {
    try {
      subjects.jco = stack.use(await startJco(node, jcoProgram, await httpComponent(config.cache_dir), env));
    } catch (error) {
      notes.push(`jco serve was left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const there = chosen.filter(({ server }) => subjects[server]);
  const results: unknown[] = [];
  const callCosts: number[] = [];
  for (const connections of connectionCounts) {
    const samples = new Map<string, Sample[]>(there.map(({ name }) => [name, []]));
    for (let number = -1; number < rounds; number++) {
      // The first round is a warm-up. Every second round goes backwards.
      for (const { name, server, path, count } of number % 2 === 0 ? there : there.toReversed()) {
        const subject = subjects[server]!;
        try {
          const one = await sample(load, subject, calmMs, {
            port: subject.port,
            path,
            body: bodyOf(count),
            connections,
            ms,
          });
          if (number >= 0) samples.get(name)!.push(one);
        } catch (error) {
          if (server !== 'jco') throw error;
          notes.push(
            `${name}, ${connections} connections: ` +
              `${error instanceof Error ? error.message.split('\n')[0] : String(error)}`,
          );
        }
      }
    }
    const of = (name: string): readonly Sample[] => samples.get(name) ?? [];
    const paired = (mine: string, theirs: string, ratio: (a: Sample, b: Sample) => number): number | undefined => {
      const pairs = of(mine).flatMap((one, n) => (of(theirs)[n] ? [ratio(one, of(theirs)[n]!)] : []));
      return pairs.length > 0 ? round(median(pairs)) : undefined;
    };
    for (const { name, beside = [] } of there) {
      if (of(name).length === 0) continue;
      const middle = (pick: (one: Sample) => number): number => round(median(of(name).map(pick)));
      // Other work on the machine only slows a round down, so the best rounds are closest to the result of a quiet
      // machine.
      const leastCpu = (whose: string): number => Math.min(...of(whose).map((one) => one.cpuMs));
      const most = (whose: string): number => Math.max(...of(whose).map((one) => one.perSecond));
      results.push({
        name,
        connections,
        cpuMsPerRequest: middle((one) => one.cpuMs),
        sandboxCpuMsPerRequest: middle((one) => one.sandboxCpuMs),
        requestsPerSecond: Math.round(middle((one) => one.perSecond)),
        p50Ms: middle((one) => one.p50),
        p99Ms: middle((one) => one.p99),
        otherCores: middle((one) => one.otherCores),
        best: { cpuMsPerRequest: round(leastCpu(name)), requestsPerSecond: Math.round(most(name)) },
        ...Object.fromEntries(
          beside
            .filter((other) => of(other).length > 0)
            .map((other) => [
              `beside ${other}`,
              {
                cpu: paired(name, other, (a, b) => b.cpuMs / a.cpuMs),
                requestsPerSecond: paired(name, other, (a, b) => a.perSecond / b.perSecond),
                best: {
                  cpu: round(leastCpu(other) / leastCpu(name)),
                  requestsPerSecond: round(most(name) / most(other)),
                },
              },
            ]),
        ),
      });
    }
    const [one, many] = ['component, 1 host call', `component, ${MANY_CALLS} host calls`].map(of);
    callCosts.push(
      ...(one ?? []).flatMap((single, n) =>
        many?.[n] ? [((many[n].cpuMs - single.cpuMs) * 1000) / (MANY_CALLS - 1)] : [],
      ),
    );
  }
  const aana = subjects.aana;
  return {
    node: version,
    results,
    hostCallCpuMicroseconds: callCosts.length > 0 ? round(median(callCosts), 1) : undefined,
    ...(aana && {
      uploads: await uploadsBesideHostCode(aana, rounds, calmMs),
      waitingInvocations: await mostWaiting(load, aana),
      residentMb: Math.round((await aana.usage()).rssBytes / 2 ** 20),
    }),
    notes,
  };
}

await buildPlugin(join(packageRoot, 'host/bench/fixtures/bench-plugin'), { log: silentLogger });
const loadBefore = machineLoad();
const runs: unknown[] = [];
for (const node of [process.execPath, ...flags.node]) runs.push(await measure(node));
const report = {
  ...reportHead('plugins', loadBefore),
  rounds,
  millisecondsEach: ms,
  secondsForCalm: Number(flags.calm),
  runs,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
