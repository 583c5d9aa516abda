// Measures the cost of metrics and prints one JSON object: the no-op endpoint of a component and of host code, without
// metrics, with metrics, and with metrics that are scraped once a second. The rounds take the servers in turn;
// `oursByTheirs` are the figures without metrics, divided by those of the same round with them. `npm run
// bench:telemetry -- [--rounds N] [--ms N] [--connections N] [--calm SECONDS]`
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
const SERVERS = [
  { name: 'off', metrics: false, isScraped: false },
  { name: 'on', metrics: true, isScraped: false },
  { name: 'scraped', metrics: true, isScraped: true },
] as const;
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

async function measure(path: string, env: NodeJS.ProcessEnv): Promise<Record<string, object>> {
  using load = new LoadProcess();
  await using stack = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  for (const { name, metrics, isScraped } of SERVERS) {
    const subject = stack.use(
      await startServer(process.execPath, '../http/app-server', { ...env, AANA_METRICS: String(metrics) }),
    );
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
const results = { component: await measure('/bench/noop', env), 'host code': await measure('/noop', env) };
const report = { ...reportHead('telemetry', loadBefore), rounds, millisecondsEach: ms, connections, results };
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
