// Measures the language model's server beside llama-server and node-llama-cpp, on the same file with the same
// libraries, and prints one JSON object: throughput of unequal requests at 1, 8 and 32 at a time, short requests beside a
// long prompt, a shared prefix, a client that leaves, the cost of a JSON schema.
// `npm run bench:llm -- <model.gguf> [--llama-server PATH] [--node-llama-cpp FOLDER] [--rounds N] [--threads N]
// [--only NAME,…] [--calm SECONDS] [--parity N] [--model-kwargs JSON]`. With `--parity`, it also compares the greedy texts
// of N prompts with llama-server's, alone and 8 at a time. `--model-kwargs` are further ones of our deployment, such as
// `{"quantization_config":{"weight_type":"auto"}}`.
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { divergences } from './llm/parity.ts';
import { type Figures, type Scenario, SCENARIOS } from './llm/scenarios.ts';
import { type LlmSubject, startAana, startLlamaServer, startNodeLlamaCpp, type StartSubject } from './llm/subjects.ts';
import { calm } from './plugins/calm.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'llama-server': { type: 'string' },
    'node-llama-cpp': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    only: { type: 'string' },
    parity: { type: 'string', default: '0' },
    calm: { type: 'string', default: '0' },
    'model-kwargs': { type: 'string', default: '{}' },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined) throw new Error('missing model; usage: npm run bench:llm -- path/to/model.gguf');

const modelKwargs = JSON.parse(flags['model-kwargs']) as Readonly<Record<string, unknown>>;
const servers: [name: string, start: StartSubject][] = [['aana-host', startAana(modelKwargs)]];
if (flags['llama-server'] !== undefined) servers.push(['llama-server', startLlamaServer(flags['llama-server'])]);
if (flags['node-llama-cpp'] !== undefined) servers.push(['node-llama-cpp', startNodeLlamaCpp(flags['node-llama-cpp'])]);

/** Figures of a server in each round, or why it has none. */
type Results = Map<string, Figures[] | string>;

async function measure(scenario: Scenario): Promise<object> {
  const subjects: { readonly name: string; readonly subject: LlmSubject }[] = [];
  const results: Results = new Map();
  const threads = Number(flags.threads);
  try {
    for (const [name, start] of servers)
      subjects.push({ name, subject: await start({ ...scenario.server, modelPath: modelPath ?? '', threads }) });
    // Round -1 warms up and does not count.
    for (let number = -1; number < Number(flags.rounds); number += 1)
      for (const { name, subject } of number % 2 === 0 ? subjects : subjects.toReversed()) {
        const before = results.get(name) ?? [];
        if (typeof before === 'string') continue;
        await calm(Number(flags.calm) * 1000);
        const figures = await scenario.run(subject, number + 1).catch((error: unknown) => String(error));
        results.set(name, typeof figures === 'string' ? figures : number < 0 ? [] : [...before, figures]);
      }
  } finally {
    for (const { subject } of subjects) await subject[Symbol.asyncDispose]();
  }
  const ours = results.get('aana-host') ?? [];
  const described = [...results].map(([name, figures]) => [
    name,
    typeof figures === 'string' ? { failed: figures } : { ...medians(figures), ...ratios(name, ours, figures) },
  ]);
  return { scenario: scenario.name, ...scenario.server, servers: Object.fromEntries(described) };
}

function medians(figures: readonly Figures[]): Record<string, number> {
  const names = Object.keys(figures[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, round(median(figures.map((one) => one[name] ?? Number.NaN)))]));
}

/** Returns the medians of the ratios of the same round, ours by theirs. */
function ratios(name: string, ours: readonly Figures[] | string, theirs: readonly Figures[]): object {
  if (name === 'aana-host' || typeof ours === 'string') return {};
  const names = Object.keys(theirs[0] ?? {});
  const ratio = (figure: string): number =>
    round(median(theirs.map((one, index) => (ours[index]?.[figure] ?? Number.NaN) / (one[figure] ?? Number.NaN))));
  return { oursByTheirs: Object.fromEntries(names.map((figure) => [figure, ratio(figure)])) };
}

async function compare(count: number, path: string): Promise<object> {
  const options = { slots: 8, contextTokens: 512, modelPath: modelPath ?? '', threads: Number(flags.threads) };
  await using ours = await startAana(modelKwargs)(options);
  await using other = await startLlamaServer(path)(options);
  return {
    prompts: count,
    differentAlone: await divergences(ours, other, count, 1),
    differentInBatches: await divergences(ours, other, count, 8),
  };
}

const loadBefore = machineLoad();
const wanted = flags.only?.split(',');
const scenarios: object[] = [];
for (const scenario of SCENARIOS)
  if (wanted === undefined || wanted.includes(scenario.name)) scenarios.push(await measure(scenario));
const parity =
  Number(flags.parity) > 0 && flags['llama-server'] !== undefined
    ? await compare(Number(flags.parity), flags['llama-server'])
    : undefined;
const report = {
  ...reportHead('llm', loadBefore),
  model: basename(modelPath),
  threads: Number(flags.threads),
  rounds: Number(flags.rounds),
  modelKwargs,
  scenarios,
  ...(parity && { parity }),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
