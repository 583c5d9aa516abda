// Measures the sandbox of plugins alone, without HTTP, and prints one JSON object: the CPU time of the host and of its
// process for a no-op, a further host call and a chunk of output, the memory of runs that wait, and of an idle process.
// `npm run bench:sandbox -- [--rounds N] [--count N] [--parallel N] [--waiting N]`
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../base/config/index.ts';
import { delay } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { buildPlugin } from '../../endpoints/plugins/build/build-plugin.ts';
import {
  type CborValue,
  compileComponent,
  offeredTypes,
  type RunLimits,
  SandboxProcess,
} from '../../endpoints/plugins/sandbox/index.ts';
import { warm } from '../../endpoints/plugins/set/component.ts';
import { buildSandbox } from '../../setup/native-build/index.ts';
import { cpuSeconds } from '../../test/helpers/server.ts';
import { machineLoad, median, reportHead, round } from '../report.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '1000' },
    parallel: { type: 'string', default: '32' },
    waiting: { type: 'string', default: '1000' },
  },
});
const [rounds, count, parallel, waiting] = [flags.rounds, flags.count, flags.parallel, flags.waiting].map(Number) as [
  number,
  number,
  number,
  number,
];
const MANY_CALLS = 11;
const CHUNKS = 100;
/** Milliseconds after which a process without runs has given memory back. */
const REST_MS = 5_000;

const limits: RunLimits = {
  cpuMs: 30_000,
  stretchMs: 2_000,
  hostCalls: 100_000,
  handles: 256,
  creditBytes: 64 * 1024,
  outputBytes: 1e9,
};

const loadBefore = machineLoad();
const { cache_dir: cacheDir } = loadConfig();
const sandbox = await buildSandbox({ cacheDir, log: silentLogger });
const { component } = await buildPlugin(join(packageRoot, 'host/bench/fixtures/bench-plugin'), { log: silentLogger });
const compiled = await compileComponent(
  { sandbox, plugin: 'bench', component },
  join(cacheDir, 'bench', 'plugin-code'),
);

const offered = offeredTypes();

const startProcess = (slots: number): Promise<SandboxProcess> =>
  SandboxProcess.start({
    command: { file: sandbox.program, args: [] },
    ...{ plugin: 'bench', code: compiled.code, isFast: compiled.isFast },
    ...{ endpoint: 'aana:host/endpoint@0.1.0', output: 'aana:host/output#write', types: offered },
    limits: {
      ...{ threads: 1, slots, ...warm, memoryBytes: 128 * 1024 * 1024 },
      ...{ totalBytes: 64 * 1024 * 1024 * 1024, startMs: 60_000 },
    },
  });

/** Runs one endpoint to its end. Throws when it fails. */
async function runOnce(
  sandboxProcess: SandboxProcess,
  name: string,
  times: number,
  answer: (name: string) => CborValue | Promise<CborValue>,
): Promise<void> {
  const input = JSON.stringify({
    text: 'a sentence of ordinary length for the benchmark',
    count: times,
    options: { language: 'en', temperature: 0.5 },
  });
  const run = sandboxProcess.run({ export: 'run', args: [name, input], limits, answer });
  const outcome = await run.outcome;
  if (outcome.state !== 'returned') throw new Error(`${name} failed: ${JSON.stringify(outcome)}`);
  const value = outcome.value as { readonly err?: CborValue };
  if (value.err !== undefined) throw new Error(`${name} failed: ${JSON.stringify(value.err)}`);
}

const answers: Readonly<Record<string, CborValue>> = {
  'aana:host/deployments@0.1.0#call': { ok: '{"text":"hello"}' },
  'aana:host/invocation@0.1.0#is-cancelled': false,
  'aana:host/invocation@0.1.0#remaining-ms': 60_000,
};

function answerAtOnce(name: string): CborValue {
  const answer = answers[name];
  if (answer === undefined) throw new Error(`nothing answers ${name}`);
  return answer;
}

/** Kilobytes of a process, by name: `Private_Dirty`, `Pss`. */
async function memoryKb(pid: number): Promise<Readonly<Record<string, number>>> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Object.fromEntries([...text.matchAll(/^(\w+): +(\d+) kB$/gm)].map(([, name, kb]) => [name, Number(kb)]));
}

interface Cost {
  readonly host: number;
  readonly sandbox: number;
  readonly perSecond: number;
}

/** Milliseconds of CPU time for one run, of both sides. */
async function measure(sandboxProcess: SandboxProcess, name: string, times: number): Promise<Cost> {
  const pid = sandboxProcess.pid!;
  const before = { host: process.cpuUsage(), sandbox: await cpuSeconds(pid), at: performance.now() };
  let left = count;
  const workers = Array.from({ length: parallel }, async () => {
    while (left-- > 0) await runOnce(sandboxProcess, name, times, answerAtOnce);
  });
  await Promise.all(workers);
  const seconds = (performance.now() - before.at) / 1000;
  const host = process.cpuUsage(before.host);
  return {
    host: (host.user + host.system) / 1000 / count,
    sandbox: (((await cpuSeconds(pid)) - before.sandbox) * 1000) / count,
    perSecond: count / seconds,
  };
}

/** Kilobytes of each of many runs that wait for the host at the same time. */
async function waitingKb(): Promise<number> {
  await using sandboxProcess = await startProcess(waiting);
  const before = (await memoryKb(sandboxProcess.pid!))['Pss'] ?? Number.NaN;
  const held: (() => void)[] = [];
  const all = deferred();
  const hold = (name: string): CborValue | Promise<CborValue> =>
    name.endsWith('#call')
      ? new Promise((resolve) => {
          if (held.push(() => resolve({ ok: '{}' })) === waiting) all.resolve();
        })
      : answerAtOnce(name);
  const runs = Array.from({ length: waiting }, () => runOnce(sandboxProcess, 'wait', 1, hold));
  await Promise.race([all.promise, Promise.all(runs)]);
  const during = (await memoryKb(sandboxProcess.pid!))['Pss'] ?? Number.NaN;
  for (const answer of held) answer();
  await Promise.all(runs);
  return (during - before) / waiting;
}

const startedAt = performance.now();
await using sandboxProcess = await startProcess(64);
const startMs = performance.now() - startedAt;
const idle = await memoryKb(sandboxProcess.pid!);
const samples: Record<'noop' | 'one' | 'many' | 'stream', Cost[]> = { noop: [], one: [], many: [], stream: [] };
for (let n = 0; n < rounds; n++) {
  samples.noop.push(await measure(sandboxProcess, 'noop', 1));
  samples.one.push(await measure(sandboxProcess, 'calls', 1));
  samples.many.push(await measure(sandboxProcess, 'calls', MANY_CALLS));
  samples.stream.push(await measure(sandboxProcess, 'stream', CHUNKS));
}
const afterRuns = await memoryKb(sandboxProcess.pid!);
await delay(REST_MS);
const rested = await memoryKb(sandboxProcess.pid!);

const of = (costs: readonly Cost[], value: (cost: Cost) => number): number => round(median(costs.map(value)));
const both = ({ host, sandbox: own }: Cost): number => host + own;
/** The difference of two kinds of runs in each round, divided by what one has more. */
const further = (more: readonly Cost[], less: readonly Cost[], by: number): number =>
  round(median(more.map((cost, n) => ((both(cost) - both(less[n]!)) / by) * 1000)), 1);

process.stdout.write(
  `${JSON.stringify(
    {
      ...reportHead('sandbox', loadBefore),
      settings: { rounds, count, parallel, waiting },
      confinement: sandboxProcess.facts.confinement,
      noop: {
        hostCpuMs: of(samples.noop, ({ host }) => host),
        sandboxCpuMs: of(samples.noop, ({ sandbox: own }) => own),
        bothCpuMs: of(samples.noop, both),
        perSecond: round(median(samples.noop.map(({ perSecond }) => perSecond)), 0),
      },
      furtherHostCallMicroseconds: further(samples.many, samples.one, MANY_CALLS - 1),
      chunkMicroseconds: further(samples.stream, samples.noop, CHUNKS),
      waitingRunKb: round(await waitingKb(), 0),
      startMs: round(startMs, 0),
      idleProcessKb: { private: (idle['Private_Dirty'] ?? 0) + (idle['Private_Clean'] ?? 0), pss: idle['Pss'] },
      processAfterRunsKb: { privateDirty: afterRuns['Private_Dirty'], pss: afterRuns['Pss'] },
      processAfterRestKb: { privateDirty: rested['Private_Dirty'], pss: rested['Pss'] },
    },
    null,
    2,
  )}\n`,
);
