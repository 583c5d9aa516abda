// Measures how long a user waits for the first token of a short answer while six answers of another user never end, and
// prints one JSON object. The users differ by their addresses. `npm run bench:endless-answers -- [--threads N]
// [--sequences N] [--requests N]`
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { parseArgs } from 'node:util';
import { delay } from '../../base/core/abort.ts';
import { llamaOptions, startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { machineLoad, median, quantile, reportHead, round } from '../report.ts';

const { values: flags } = parseArgs({
  options: {
    threads: { type: 'string', default: '1' },
    /** The option `n_seq_max` of the deployment. Default: that of a deployment. */
    sequences: { type: 'string' },
    requests: { type: 'string', default: '25' },
  },
});
const MODEL = 'smollm2-135m-instruct';
const ENDLESS = 6;
const [GREEDY, OTHER] = ['127.0.0.2', '127.0.0.1'];
/** Time in which all endless answers begin. */
const HEAD_START_MS = 3000;

const loadBefore = machineLoad();
await using at = await startOpenAiApp({
  prepare: (app) => {
    const sequences = flags.sequences === undefined ? {} : { n_seq_max: Number(flags.sequences) };
    app.registerDeployment(
      'llm',
      llamaOptions(MODEL, { model_kwargs: { n_threads: Number(flags.threads), ...sequences } }),
    );
  },
});

/** Sends a request from an address, and returns its answer when the head has come. */
async function send(localAddress: string, body: object): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json' };
  const sent = request(`${at.url}/v1/completions`, { method: 'POST', localAddress, headers, agent: false });
  sent.end(JSON.stringify({ model: 'llm', stream: true, ...body }));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${await text(answer)}`);
  return answer;
}

async function text(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

let endlessTokens = 0;
const endless = await Promise.all(
  Array.from({ length: ENDLESS }, (_, n) =>
    send(GREEDY, { prompt: `Story ${n}: once`, ignore_eos: true, max_tokens: 1_000_000, temperature: 0 }),
  ),
);
for (const answer of endless) answer.on('data', () => endlessTokens++).on('error', () => {});
await delay(HEAD_START_MS);
if (endlessTokens < ENDLESS) throw new Error('the endless answers have not begun');

const waits: number[] = [];
for (let n = 0; n < Number(flags.requests); n++) {
  const start = performance.now();
  const answer = await send(OTHER, { prompt: `Question ${n}: what is ${n} plus one?`, max_tokens: 8 });
  for await (const part of answer) {
    if (!(part as Buffer).includes('data: {')) continue;
    waits.push(performance.now() - start);
    break;
  }
}
for (const answer of endless) answer.destroy();
const report = {
  ...reportHead('endless answers', loadBefore),
  threads: Number(flags.threads),
  sequences: flags.sequences ?? 'default',
  firstTokenMs: {
    median: round(median(waits), 0),
    p95: round(quantile(waits, 0.95), 0),
    longest: round(Math.max(...waits), 0),
  },
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
