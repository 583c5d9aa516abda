// Measures OpenAI's API beside llama-server's own, on the same file with the same libraries, and prints one JSON
// object: the first token and the tokens in a second of streamed chat completions at 1, 8 and 32 at a time, and
// requests in a second of `/v1/models` and of answers of one token.
// `npm run bench:openai -- <model.gguf> [--llama-server PATH] [--rounds N] [--threads N] [--tokens N] [--requests N]
// [--ms N] [--only NAME,…] [--calm SECONDS]`. llama-server is found where `native/bench/llama-server/build.mjs` puts
// it.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { llamaServerPath } from '../test/helpers/llama-server.ts';
import { startAana, startLlamaServer, type StartSubject } from './llm/subjects.ts';
import { answerOneToken, listModels, streamAnswers } from './openai/requests.ts';
import { type Competitor, type Figures, pairedRounds } from './paired-rounds.ts';
import { AsyncDisposableStack } from './plugins/sample.ts';
import { machineLoad, reportHead } from './report.ts';
import type { ServerProcess } from './server-process.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'llama-server': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    tokens: { type: 'string', default: '32' },
    requests: { type: 'string', default: '4' },
    ms: { type: 'string', default: '3000' },
    only: { type: 'string' },
    calm: { type: 'string', default: '0' },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined) throw new Error('missing model; usage: npm run bench:openai -- path/to/model.gguf');

const tokens = Number(flags.tokens);
const repeated = { connections: 8, ms: Number(flags.ms) };
const CONTEXT_TOKENS = 512;

interface Scenario {
  readonly name: string;
  /** Answers that are generated at the same time. */
  readonly slots: number;
  readonly run: (server: ServerProcess, round: number) => Promise<Figures>;
}

const SCENARIOS: readonly Scenario[] = [
  ...[1, 8, 32].map((atOnce) => ({
    name: `streams-${atOnce}`,
    slots: atOnce,
    run: (server: ServerProcess, round: number) =>
      streamAnswers(server, { atOnce, tokens, requests: Math.max(Number(flags.requests), atOnce) }, round),
  })),
  { name: 'models', slots: 1, run: (server) => listModels(server, repeated) },
  { name: 'one-token', slots: 8, run: (server, round) => answerOneToken(server, repeated, round) },
];

const path = flags['llama-server'] ?? llamaServerPath(loadConfig({ cwd: '/', env: process.env }).cache_dir);
const servers: [name: string, start: StartSubject][] = [['aana-host', startAana({})]];
if (existsSync(path)) servers.push(['llama-server', startLlamaServer(path)]);
else process.stderr.write(`there is no llama-server at ${path}; native/bench/llama-server/build.mjs builds it\n`);

async function measure({ name, slots, run }: Scenario, model: string): Promise<object> {
  await using subjects = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  const options = { slots, contextTokens: CONTEXT_TOKENS, modelPath: model, threads: Number(flags.threads) };
  for (const [server, start] of servers) {
    const subject = await start(options);
    subjects.use(subject);
    competitors.push({ name: server, run: (round) => run(subject, round) });
  }
  const rounds = { rounds: Number(flags.rounds), calmMs: Number(flags.calm) * 1000 };
  return { scenario: name, slots, servers: await pairedRounds(competitors, rounds) };
}

const loadBefore = machineLoad();
const wanted = flags.only?.split(',');
const scenarios: object[] = [];
for (const scenario of SCENARIOS)
  if (wanted === undefined || wanted.includes(scenario.name)) scenarios.push(await measure(scenario, modelPath));
const report = {
  ...reportHead('openai', loadBefore),
  model: basename(modelPath),
  ...{ threads: Number(flags.threads), rounds: Number(flags.rounds), tokens, repeated },
  scenarios,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
