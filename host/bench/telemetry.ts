// Measures the cost of metrics and traces and prints one JSON object: the no-op endpoint of a component and of host
// code. `metrics` compares servers without metrics, with metrics, and with metrics that are scraped once a second;
// `traces` compares a server with metrics and without traces with servers that keep slow and failed requests, export one
// of a hundred, and export all to a collector that never answers. The rounds take the servers in turn; `oursByTheirs`
// are the figures of the first server, divided by those of the same round of the other one. `npm run bench:telemetry --
// [--part metrics|traces] [--rounds N] [--ms N] [--connections N] [--calm SECONDS]`
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../config/index.ts';
import { silentLogger } from '../core/log/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { buildPlugin } from '../plugins/build/build-plugin.ts';
import { type Competitor, type Figures, pairedRounds } from './paired-rounds.ts';
import { LoadProcess, startServer, type Subject } from './plugins/processes.ts';
import { AsyncDisposableStack, sample } from './plugins/sample.ts';
import { machineLoad, reportHead } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    part: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    ms: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '32' },
    calm: { type: 'string', default: '0' },
  },
});
const rounds = Number(flags.rounds);
const ms = Number(flags.ms);
const connections = Number(flags.connections);
const calmMs = Number(flags.calm) * 1000;
const SCRAPE_EVERY_MS = 1000;
/** The compilers need this long to optimise the code. */
const WARM_UP_MS = 4000;

interface MeasuredServer {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isScraped?: true;
}

/** Starts a collector. Returns its address. */
async function collector(answers: boolean): Promise<string> {
  const server = createServer((request, response) => {
    if (answers) request.resume().on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const UNTRACED = { AANA_TRACES_KEPT: '0' };
const PARTS: Readonly<Record<string, readonly MeasuredServer[]>> = {
  metrics: [
    { name: 'off', env: { ...UNTRACED, AANA_METRICS: 'false' } },
    { name: 'on', env: UNTRACED },
    { name: 'scraped', env: UNTRACED, isScraped: true },
  ],
  traces: [
    { name: 'off', env: UNTRACED },
    { name: 'kept', env: {} },
    {
      name: 'one of a hundred',
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: await collector(true),
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.01',
      },
    },
    { name: 'hanging collector', env: { OTEL_EXPORTER_OTLP_ENDPOINT: await collector(false) } },
  ],
};
const body = JSON.stringify({
  text: 'a sentence of ordinary length for the benchmark',
  count: 1,
  options: { language: 'en', temperature: 0.5 },
});

/** Runs work while the metrics of a server are read regularly. */
async function scraped<T>({ port }: Subject, work: () => Promise<T>): Promise<T> {
  const scrape = async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const timer = setInterval(() => void scrape(), SCRAPE_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

async function measure(
  servers: readonly MeasuredServer[],
  path: string,
  common: NodeJS.ProcessEnv,
): Promise<Record<string, object>> {
  using load = new LoadProcess();
  await using stack = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  for (const { name, env, isScraped } of servers) {
    const subject = stack.use(await startServer(process.execPath, '../http/app-server', { ...common, ...env }));
    const one = async (round: number): Promise<Figures> => {
      const job = {
        port: subject.port,
        path,
        body,
        as: 'json',
        connections,
        ms: round === 0 ? WARM_UP_MS : ms,
      } as const;
      const { cpuMs, perSecond, p50 } = await sample(load, subject, 0, job);
      return { cpuMs, perSecond, p50 };
    };
    competitors.push({ name, run: (round) => (isScraped ? scraped(subject, () => one(round)) : one(round)) });
  }
  return await pairedRounds(competitors, { rounds, calmMs });
}

await buildPlugin(join(packageRoot, 'host/bench/fixtures/bench-plugin'), { log: silentLogger });
const loadBefore = machineLoad();
const env = { ...process.env, AANA_CACHE_DIR: loadConfig().cache_dir, TASK_QUEUE__ENABLED: 'false' };
const results: Record<string, object> = {};
for (const [part, servers] of Object.entries(PARTS))
  if (flags.part === undefined || flags.part === part)
    results[part] = {
      component: await measure(servers, '/bench/noop', env),
      'host code': await measure(servers, '/noop', env),
    };
const report = { ...reportHead('telemetry', loadBefore), rounds, millisecondsEach: ms, connections, results };
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
