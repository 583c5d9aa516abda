// Measures the cost of a request and prints one JSON object. It measures a no-op endpoint of an application in host
// code, in a plugin and over HTTPS, beside the same endpoint written by hand with Koa, koa-body and zod, and beside Ray
// Serve if its virtual environment is given. All servers get the same JSON and check it in the same way. Servers and
// load run in separate processes. The rounds take the servers in turn, every second round backwards, and ratios are
// medians of pairs from the same round. CPU time is that of the server and its children. First all servers run as fast
// as they can, then all at the same rate. `npm run bench:http -- [--ray VENV] [--rounds N] [--ms N] [--connections N]
// [--share X] [--calm SECONDS]`
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { CertificateFolder, hasOpenssl } from '../base/certificates/fixtures/certificates.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { startRay } from './http/ray.ts';
import { LoadProcess, startServer, type Subject } from './plugins/processes.ts';
import { AsyncDisposableStack, sample, type Sample } from './plugins/sample.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    ray: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    ms: { type: 'string', default: '3000' },
    connections: { type: 'string', default: '32' },
    /** The common rate of the second part, as a share of the slowest server's maximum. */
    share: { type: 'string', default: '0.5' },
    calm: { type: 'string', default: '0' },
  },
});
const rounds = Number(flags.rounds);
const ms = Number(flags.ms);
const connections = Number(flags.connections);
const calmMs = Number(flags.calm) * 1000;
/** Minimum duration of the first round. The compilers need this long to optimise the code. */
const WARM_UP_MS = 4000;
const RAY_HINT =
  'python3 -m venv ray-venv && ray-venv/bin/pip install "ray[serve]" uvloop httptools, then --ray ray-venv';
const body = JSON.stringify({
  text: 'a sentence of ordinary length for the benchmark',
  count: 1,
  options: { language: 'en', temperature: 0.5 },
});

interface Contender {
  readonly name: string;
  readonly subject: Subject;
  readonly path: string;
  readonly encrypted?: boolean;
}

const OURS = 'host code';
const BY_HAND = 'koa';
const RAY = ['ray serve, 1 replica', 'ray serve, 2 replicas'];

/**
 * Measures all servers in turn, every second round backwards. The first round is a warm-up and not counted. `everyMs`
 * is the interval between requests of each connection.
 */
async function measure(
  load: LoadProcess,
  contenders: readonly Contender[],
  everyMs?: number,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let number = -1; number < rounds; number++) {
    for (const { name, subject, path, encrypted = false } of number % 2 === 0 ? contenders : contenders.toReversed()) {
      const one = await sample(load, subject, calmMs, {
        port: subject.port,
        path,
        body,
        as: 'json',
        encrypted,
        connections,
        ms: number < 0 ? Math.max(ms, WARM_UP_MS) : ms,
        ...(everyMs !== undefined && { everyMs }),
      });
      if (number >= 0) samples.get(name)?.push(one);
    }
  }
  return samples;
}

const middle = (samples: readonly Sample[], pick: (one: Sample) => number): number => median(samples.map(pick));

function summary(samples: ReadonlyMap<string, readonly Sample[]>): unknown[] {
  return [...samples].map(([name, all]) => ({
    name,
    requestsPerSecond: Math.round(middle(all, (one) => one.perSecond)),
    cpuMsPerRequest: round(middle(all, (one) => one.cpuMs)),
    p50Ms: round(middle(all, (one) => one.p50)),
    p99Ms: round(middle(all, (one) => one.p99)),
    otherCores: round(middle(all, (one) => one.otherCores)),
    // Other work on the machine only slows a round down, so the best round is closest to the result of a quiet machine.
    best: {
      requestsPerSecond: Math.round(Math.max(...all.map((one) => one.perSecond))),
      cpuMsPerRequest: round(Math.min(...all.map((one) => one.cpuMs))),
      p99Ms: round(Math.min(...all.map((one) => one.p99))),
    },
  }));
}

/** Returns the median of the ratios of two servers, each from the same round. */
function paired(
  samples: ReadonlyMap<string, readonly Sample[]>,
  mine: string,
  theirs: string,
  ratio: (a: Sample, b: Sample) => number,
): number {
  const others = samples.get(theirs) ?? [];
  return round(median((samples.get(mine) ?? []).flatMap((one, n) => (others[n] ? [ratio(one, others[n])] : []))));
}

await buildPlugin(join(packageRoot, 'host/bench/fixtures/bench-plugin'), { log: silentLogger });
const loadBefore = machineLoad();
const notes: string[] = [];
const folder = await mkdtemp(join(tmpdir(), 'aana-bench-http-'));
const env = {
  ...process.env,
  AANA_CACHE_DIR: loadConfig().cache_dir,
  AANA_DATA_DIR: join(folder, 'data'),
  AANA_RUNTIME_DIR: join(folder, 'run'),
  TASK_QUEUE__ENABLED: 'false',
  AANA_LOG_LEVEL: 'warn',
  AANA_STRICT: 'true',
};
try {
  using load = new LoadProcess();
  await using stack = new AsyncDisposableStack();
  const node = process.execPath;
  const app = stack.use(await startServer(node, '../http/app-server', env));
  const koa = stack.use(await startServer(node, '../http/koa-server', env));
  const contenders: Contender[] = [
    { name: BY_HAND, subject: koa, path: '/' },
    { name: OURS, subject: app, path: '/noop' },
    { name: 'plugin', subject: app, path: '/bench/noop' },
  ];
  using certificates = new CertificateFolder();
  const certificate = hasOpenssl ? certificates.make('localhost') : undefined;
  if (certificate)
    contenders.push({
      name: `${OURS}, HTTPS`,
      subject: stack.use(
        await startServer(node, '../http/app-server', {
          ...env,
          AANA_TLS_CERT: certificate.cert,
          AANA_TLS_KEY: certificate.key,
        }),
      ),
      path: '/noop',
      encrypted: true,
    });
  else notes.push('HTTPS was left out: openssl is missing, which makes the certificate');
  let ray: unknown;
  if (flags.ray === undefined) notes.push(`Ray Serve was left out: --ray was not given. ${RAY_HINT}`);
  else if (!existsSync(join(flags.ray, 'bin/python')))
    notes.push(`Ray Serve was left out: ${join(flags.ray, 'bin/python')} does not exist. ${RAY_HINT}`);
  else {
    const subject = stack.use(await startRay(flags.ray, process.env));
    ray = subject.facts;
    for (const [n, name] of RAY.entries()) contenders.push({ name, subject, path: n === 0 ? '/one' : '/two' });
  }

  const fastest = await measure(load, contenders);
  const speed = (name: string): number => middle(fastest.get(name) ?? [], (one) => one.perSecond);
  const bestRay = RAY.filter((name) => fastest.has(name)).toSorted((a, b) => speed(b) - speed(a))[0];
  const compared = contenders.filter(({ name }) => !RAY.includes(name) || name === bestRay);
  const rate = Number(flags.share) * Math.min(...compared.map(({ name }) => speed(name)));
  const atRate = await measure(load, compared, (connections * 1000) / rate);
  const besides = (theirs: string): unknown => ({
    requestsPerSecond: paired(fastest, OURS, theirs, (a, b) => a.perSecond / b.perSecond),
    cpu: paired(fastest, OURS, theirs, (a, b) => b.cpuMs / a.cpuMs),
    p99AtTheSameRate: paired(atRate, OURS, theirs, (a, b) => a.p99 / b.p99),
    p50AtTheSameRate: paired(atRate, OURS, theirs, (a, b) => a.p50 / b.p50),
  });
  const report = {
    ...reportHead('http', loadBefore),
    ray,
    rounds,
    millisecondsEach: ms,
    connections,
    secondsForCalm: Number(flags.calm),
    asFastAsTheyCan: summary(fastest),
    atTheSameRate: { requestsPerSecond: Math.round(rate), results: summary(atRate) },
    [`${OURS} beside ${BY_HAND}`]: besides(BY_HAND),
    ...(certificate && { [`${OURS} beside HTTPS`]: besides(`${OURS}, HTTPS`) }),
    ...(bestRay !== undefined && { [`${OURS} beside ${bestRay}`]: besides(bestRay) }),
    notes,
  };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
