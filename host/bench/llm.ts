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
import { type Scenario, SCENARIOS } from './llm/scenarios.ts';
import { startAana, startLlamaServer, startNodeLlamaCpp, type StartSubject } from './llm/subjects.ts';
import { type Competitor, pairedRounds } from './paired-rounds.ts';
import { AsyncDisposableStack } from './plugins/sample.ts';
import { machineLoad, reportHead } from './report.ts';

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

async function measure(scenario: Scenario): Promise<object> {
  await using subjects = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  for (const [name, start] of servers) {
    const subject = await start({ ...scenario.server, modelPath: modelPath ?? '', threads: Number(flags.threads) });
    subjects.use(subject);
    competitors.push({ name, run: (round) => scenario.run(subject, round) });
  }
  const rounds = { rounds: Number(flags.rounds), calmMs: Number(flags.calm) * 1000 };
  return { scenario: scenario.name, ...scenario.server, servers: await pairedRounds(competitors, rounds) };
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
