// Measures the language model's server beside llama-server, llama-batched-bench and node-llama-cpp, on the same file
// with the same libraries, and prints one JSON object: throughput of unequal requests at 1, 8 and 32 at a time, batches
// of equal ones, short requests beside a long prompt, a shared prefix, 64 conversations, a client that leaves, the cost
// of a JSON schema. `floors` compares the figures with what this project demands; the same is written to the standard
// error. `npm run bench:llm -- <model.gguf> [--llama-server PATH] [--batched-bench PATH] [--node-llama-cpp FOLDER]
// [--rounds N] [--threads N] [--only NAME,…] [--size PART] [--calm SECONDS] [--parity N] [--adapter-parity N] [--margin
// NATS] [--model-kwargs JSON]`. `--size 0.5` halves the requests of the scenarios for throughput, and the
// conversations. With `--parity`, it also compares the greedy texts of N prompts with llama-server's: alone and 8 at a
// time, without guessed tokens, with those of n-grams and of a draft model. With `--adapter-parity`, it compares those
// of N prompts with an adapter with those of the merged model. `--only ,` leaves out all scenarios. `--model-kwargs`
// are further ones of our deployment, such as `{"quantization_config":{"weight_type":"auto"}}`.
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { batchedBench } from './llm/batched-bench.ts';
import { compareAdapter } from './llm/adapter-parity.ts';
import { complete } from './llm/completions.ts';
import { describedFloors, judgedFloors, type ScenarioResult } from './llm/floors.ts';
import { textOf } from './llm/prompts.ts';
import { type BatchShape, type Scenario, SCENARIOS } from './llm/scenarios.ts';
import { compareServers } from './llm/server-parity.ts';
import { startAana, startLlamaServer, startNodeLlamaCpp, type StartSubject, type Subject } from './llm/subjects.ts';
import { type Competitor, type Figures, pairedRounds } from './paired-rounds.ts';
import { AsyncDisposableStack } from './plugins/sample.ts';
import { machineLoad, reportHead } from './report.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'llama-server': { type: 'string' },
    'batched-bench': { type: 'string' },
    'node-llama-cpp': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    only: { type: 'string' },
    size: { type: 'string', default: '1' },
    parity: { type: 'string', default: '0' },
    'adapter-parity': { type: 'string', default: '0' },
    margin: { type: 'string', default: '0.4' },
    calm: { type: 'string', default: '0' },
    'model-kwargs': { type: 'string', default: '{}' },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined) throw new Error('missing model; usage: npm run bench:llm -- path/to/model.gguf');
const model = { modelPath, threads: Number(flags.threads) };
const modelKwargs = JSON.parse(flags['model-kwargs']) as Readonly<Record<string, unknown>>;

/** Returns the servers that take part. Batches run beside llama-batched-bench alone. */
function startsFor({ isThroughput, batch }: Scenario): StartSubject[] {
  const { 'llama-server': llamaServer, 'node-llama-cpp': nodeLlamaCpp } = flags;
  return [
    startAana(modelKwargs),
    ...(llamaServer !== undefined && !batch ? [startLlamaServer(llamaServer)] : []),
    // Its server is ours, so only what the library computes counts.
    ...(nodeLlamaCpp !== undefined && isThroughput ? [startNodeLlamaCpp(nodeLlamaCpp)] : []),
  ];
}

async function measure(scenario: Scenario): Promise<ScenarioResult> {
  await using subjects = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  for (const start of startsFor(scenario)) {
    const subject = await start({ ...scenario.server, ...model });
    subjects.use(subject);
    const run = (round: number): Promise<Figures> =>
      round === 0 ? warmUp(subject) : scenario.run(subject, round, Number(flags.size));
    competitors.push({ name: subject.name, run });
    const { 'batched-bench': path } = flags;
    if (scenario.batch && path !== undefined) competitors.push(await batchedCompetitor(path, scenario.batch, subject));
  }
  const rounds = { rounds: Number(flags.rounds), calmMs: Number(flags.calm) * 1000 };
  return { scenario: scenario.name, ...scenario.server, servers: await pairedRounds(competitors, rounds) };
}

async function warmUp({ port }: Subject): Promise<Figures> {
  await Promise.all([1, 2, 3, 4].map((seed) => complete(port, { prompt: textOf(10, seed), n_predict: 8 })));
  return {};
}

/** Its prompts have as many tokens as ours, whose number our server tells. */
async function batchedCompetitor(path: string, batch: BatchShape, { port }: Subject): Promise<Competitor> {
  const prompts = await Promise.all(
    [1, 2, 3, 4].map((seed) => complete(port, { prompt: textOf(batch.promptWords, 1000 + seed), n_predict: 1 })),
  );
  const promptTokens = Math.round(prompts.reduce((sum, each) => sum + each.promptTokens, 0) / prompts.length);
  return {
    name: 'llama-batched-bench',
    run: async (round) => (round === 0 ? {} : batchedBench(path, batch, promptTokens, model)),
  };
}

const loadBefore = machineLoad();
const wanted = flags.only?.split(',');
const scenarios: ScenarioResult[] = [];
for (const scenario of SCENARIOS) {
  const isPossible = !scenario.batch || flags['batched-bench'] !== undefined;
  if (isPossible && (wanted === undefined || wanted.includes(scenario.name))) scenarios.push(await measure(scenario));
}
const parity =
  Number(flags.parity) > 0 && flags['llama-server'] !== undefined
    ? await compareServers({
        ...{ ...model, modelKwargs, llamaServer: flags['llama-server'] },
        ...{ prompts: Number(flags.parity), margin: Number(flags.margin) },
      })
    : undefined;
const adapterPrompts = Number(flags['adapter-parity']);
const adapterParity =
  adapterPrompts > 0
    ? await compareAdapter({ ...model, modelKwargs, prompts: adapterPrompts, margin: Number(flags.margin) })
    : undefined;
const floors = judgedFloors(scenarios);
const report = {
  ...reportHead('llm', loadBefore),
  model: basename(modelPath),
  threads: Number(flags.threads),
  rounds: Number(flags.rounds),
  size: Number(flags.size),
  modelKwargs,
  scenarios,
  floors,
  ...(parity && { parity }),
  ...(adapterParity && { adapterParity }),
};
process.stderr.write(describedFloors(floors));
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
