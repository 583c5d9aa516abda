// Measures the cost of calls of a deployment and prints one JSON object. It calls a method that does nothing, a method
// with a kilobyte each way, a stream, and a method that computes for 5 ms, for each call alone or for 32 together,
// through a handle to one replica. It also measures the start time and the
// memory of the host and of that replica. `npm run bench:deployments -- [--rounds N] [--ms N] [--in-flight N,N]
// [--starts N]`. With `--transports` it compares the connections of other processes instead: TLS beside a Unix socket,
// between the same two processes, in paired rounds.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ClusterFolder } from '../base/certificates/fixtures/cluster-files.ts';
import { descendants, freePort } from '../test/helpers/server.ts';
import type { CallJob, CallResult, FromHost } from './deployments/protocol.ts';
import { type Competitor, pairedRounds } from './paired-rounds.ts';
import { machineLoad, median, reportHead, round } from './report.ts';
import { memoryMb } from './server-process.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    ms: { type: 'string', default: '1500' },
    'in-flight': { type: 'string', default: '1,32,256' },
    starts: { type: 'string', default: '5' },
    transports: { type: 'boolean', default: false },
  },
});
const WORKS: readonly CallJob['work'][] = ['noop', 'echo', 'stream', 'alone', 'together'];
const HOST = fileURLToPath(new URL('./deployments/host.js', import.meta.url));
const TICKS_PER_SECOND = 100;

interface Host extends AsyncDisposable {
  readonly pid: number;
  readonly startMs: number;
  readonly run: (job: CallJob) => Promise<CallResult>;
}

async function startHost(env: NodeJS.ProcessEnv = {}): Promise<Host> {
  const startedAt = performance.now();
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  const child = spawn(process.execPath, [HOST], { stdio: [...stdio], env: { ...process.env, ...env } });
  await told(child, 'ready');
  return {
    pid: child.pid ?? 0,
    startMs: performance.now() - startedAt,
    run: async (job) => {
      const result = told(child, 'result');
      child.send(job);
      return (await result).result;
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

function told<T extends FromHost['type']>(child: ChildProcess, type: T): Promise<FromHost & { readonly type: T }> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`the host exited with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message: FromHost) => {
      child.off('exit', onExit);
      if (message.type === type) resolve(message as FromHost & { type: T });
      else reject(new Error(`expected ${type} from the host, got ${message.type}`));
    });
  });
}

/** Returns the CPU microseconds of a process so far (Linux). */
async function cpuMicroseconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

async function measureStart(): Promise<{ startMs: number; hostMb: number; replicaMb: number }> {
  await using host = await startHost();
  await new Promise((resolve) => setTimeout(resolve, 1000)); // idle
  const [replica] = await descendants(host.pid);
  const [hostMb, replicaMb] = [await memoryMb(host.pid), await memoryMb(replica?.pid ?? 0)];
  return { startMs: host.startMs, hostMb: round(hostMb, 1), replicaMb: round(replicaMb, 1) };
}

async function measureCalls(): Promise<unknown[]> {
  await using host = await startHost();
  const [replica] = await descendants(host.pid);
  const replicaPid = replica?.pid ?? 0;
  const results: unknown[] = [];
  for (const work of WORKS) {
    for (const inFlight of flags['in-flight'].split(',').map(Number)) {
      const samples: (CallResult & { readonly replicaCpu: number })[] = [];
      for (let number = -1; number < Number(flags.rounds); number += 1) {
        const before = await cpuMicroseconds(replicaPid);
        const result = await host.run({ work, over: 'own', inFlight, ms: Number(flags.ms) });
        // The first round is the warm-up.
        if (number >= 0) samples.push({ ...result, replicaCpu: (await cpuMicroseconds(replicaPid)) - before });
      }
      const middle = (pick: (one: (typeof samples)[number]) => number, digits?: number): number =>
        round(median(samples.map(pick)), digits);
      results.push({
        work,
        inFlight,
        callsPerSecond: middle(({ calls, seconds }) => calls / seconds, 0),
        p50Ms: middle(({ p50Ms }) => p50Ms),
        p99Ms: middle(({ p99Ms }) => p99Ms),
        hostCpuMicroseconds: middle(({ hostCpuMicroseconds, calls }) => hostCpuMicroseconds / calls, 1),
        replicaCpuMicroseconds: middle(({ replicaCpu, calls }) => replicaCpu / calls, 1),
      });
    }
  }
  return results;
}

/** Compares TLS with a Unix socket, in paired rounds. */
async function measureTransports(): Promise<object> {
  using folder = await ClusterFolder.make();
  const { cert, key, ca, name } = await folder.member('machine');
  const listen = `127.0.0.1:${await freePort()}`;
  const settings = { CERT: cert, KEY: key, CA: ca, NAME: name, LISTEN: listen };
  await using host = await startHost({
    ...Object.fromEntries(Object.entries(settings).map(([setting, value]) => [`AANA_CLUSTER_${setting}`, value])),
    ...{ AANA_RUNTIME_DIR: folder.file('run'), AANA_DATA_DIR: folder.file('data') },
  });
  const compared: Record<string, object> = {};
  for (const work of ['noop', 'echo', 'stream', 'tokens'] as const) {
    const competitor = (over: 'tls' | 'unix'): Competitor => ({
      name: over,
      run: async () => {
        const { calls, seconds, ...figures } = await host.run({ work, over, inFlight: 1, ms: Number(flags.ms) });
        const { p50Ms, p99Ms, hostCpuMicroseconds } = figures;
        return { callsPerSecond: calls / seconds, p50Ms, p99Ms, hostCpuMicroseconds: hostCpuMicroseconds / calls };
      },
    });
    compared[work] = await pairedRounds([competitor('tls'), competitor('unix')], {
      ...{ rounds: Number(flags.rounds), calmMs: 0 },
    });
  }
  return compared;
}

const loadBefore = machineLoad();
if (flags.transports) {
  const transports = await measureTransports();
  const report = { ...reportHead('deployments', loadBefore), rounds: Number(flags.rounds), transports };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exit();
}
const starts = [];
for (let number = 0; number < Number(flags.starts); number += 1) starts.push(await measureStart());
const report = {
  ...reportHead('deployments', loadBefore),
  rounds: Number(flags.rounds),
  millisecondsEach: Number(flags.ms),
  idle: {
    startToReadyMs: Math.round(median(starts.map(({ startMs }) => startMs))),
    hostMb: median(starts.map(({ hostMb }) => hostMb)),
    replicaMb: median(starts.map(({ replicaMb }) => replicaMb)),
  },
  calls: await measureCalls(),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
