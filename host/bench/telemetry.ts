// Measures what telemetry costs a request and prints one JSON object: the no-op endpoint of a component and of host
// code, without telemetry and with several configurations of it. Each round starts a new process for each configuration
// and measures its CPU time for a request. Every second round is backwards, because what is measured later in a round
// can be slower, and two rounds count as one value. The result is the median of the ratios to the process without
// telemetry, and its interval. `off again` is a second process without telemetry, so its interval tells which
// differences can be seen. `npm run bench:telemetry -- [--rounds N] [--requests N] [--warm-up N] [--connections N]
// [--calm SECONDS] [--endpoint component|host] [--only NAME]...`; the names of the configurations are in
// telemetry/servers.ts.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildPlugin } from '../endpoints/plugins/build/build-plugin.ts';
import { machineLoad, median, reportHead, round } from './report.ts';
import { type Endpoint, freshRound, type Round } from './telemetry/fresh-round.ts';
import { type Ratio, ratioOf } from './telemetry/ratios.ts';
import { configurations } from './telemetry/servers.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '16' },
    requests: { type: 'string', default: '20000' },
    'warm-up': { type: 'string', default: '4000' },
    connections: { type: 'string', default: '32' },
    calm: { type: 'string', default: '0' },
    endpoint: { type: 'string', default: '' },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const rounds = Number(flags.rounds);
const requests = Number(flags.requests);
const connections = Number(flags.connections);
/** A request of host code takes a fifth of the time of a component's request. */
const HOST_CODE_FACTOR = 5;
const warmUp = Number(flags['warm-up']);

const endpoints: readonly Endpoint[] = [
  { name: 'component', path: '/bench/noop', warmUp, requests },
  {
    name: 'host code',
    path: '/noop',
    warmUp: warmUp * HOST_CODE_FACTOR,
    requests: requests * HOST_CODE_FACTOR,
  },
].filter(({ name }) => name.startsWith(flags.endpoint));
const all = await configurations();
const unknown = flags.only.find((name) => !all.some((one) => one.name === name));
if (unknown !== undefined)
  throw new Error(`no configuration ${unknown}; there are: ${all.map(({ name }) => name).join('; ')}`);
const [base, ...rest] = all;
if (base === undefined || endpoints.length === 0) throw new Error('there is nothing to measure');
if (rounds < 2 || rounds % 2 === 1)
  throw new Error('--rounds is an even number, because two rounds count as one value');
const others = flags.only.length > 0 ? rest.filter(({ name }) => flags.only.includes(name)) : rest;

const body = JSON.stringify({
  text: 'a sentence of ordinary length for the benchmark',
  count: 1,
  options: { language: 'en', temperature: 0.5 },
});
const tell = (line: string): unknown => process.stderr.write(`${line}\n`);
const percent = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;

/** Returns a line for people. */
function lineOf(endpoint: string, name: string, cpuMs: number, ratio: Ratio | undefined): string {
  const cost = ratio && `, costs ${percent(ratio.median)}`;
  const between = ratio?.interval ? ` (${ratio.interval.map(percent).join(' to ')})` : '';
  return `${endpoint}, ${name}: ${cpuMs} ms${cost ?? ''}${between}`;
}

/** Returns the mean of each round and the next one, which is in the other order. */
const ofBothOrders = (each: readonly number[]): number[] =>
  each.flatMap((value, at) => (at % 2 === 1 ? [(value + (each[at - 1] ?? Number.NaN)) / 2] : []));

await buildPlugin(join(packageRoot, 'host/bench/fixtures/bench-plugin'), { log: silentLogger });
const loadBefore = machineLoad();
const env = { ...process.env, AANA_CACHE_DIR: loadConfig().cache_dir, TASK_QUEUE__ENABLED: 'false' };
const done: Round[] = [];
for (let number = 0; number < rounds; number += 1) {
  const one = await freshRound({
    configurations: [base, ...others],
    endpoints,
    env,
    job: { body, connections },
    calmMs: Number(flags.calm) * 1000,
    isReversed: number % 2 === 1,
  });
  done.push(one);
  tell(`round ${number + 1} of ${rounds}: ${JSON.stringify(one.cpuMs)}`);
}

const results: Record<string, Record<string, object>> = {};
for (const endpoint of endpoints) {
  const measured = ({ name }: { readonly name: string }): number[] =>
    ofBothOrders(done.map(({ cpuMs }) => cpuMs[endpoint.name]?.[name] ?? Number.NaN));
  const rows: Record<string, object> = {};
  for (const configuration of [base, ...others]) {
    const each = measured(configuration);
    const cpuMs = round(median(each), 4);
    const timesOff = configuration === base ? undefined : ratioOf(each, measured(base));
    tell(lineOf(endpoint.name, configuration.name, cpuMs, timesOff));
    rows[configuration.name] = {
      cpuMs,
      ...(timesOff && { timesOff }),
      cpuMsOfTwoRounds: each.map((ms) => round(ms, 4)),
    };
  }
  results[endpoint.name] = rows;
}
const report = {
  ...reportHead('telemetry', loadBefore),
  ...{ rounds, requests, warmUp, connections },
  otherCores: round(median(done.map(({ otherCores }) => otherCores)), 2),
  results,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
