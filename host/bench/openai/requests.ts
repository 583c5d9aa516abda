import { boundedEach } from '../../base/core/async/bounded-each.ts';
import { median } from '../report.ts';
import type { Figures } from '../paired-rounds.ts';
import type { ServerProcess } from '../server-process.ts';

/** Answers that are streamed at the same time. */
export interface StreamLoad {
  readonly atOnce: number;
  readonly requests: number;
  /** Tokens of each answer. */
  readonly tokens: number;
}

/** Requests that are repeated for a time. */
export interface RepeatLoad {
  readonly connections: number;
  readonly ms: number;
}

interface StreamedChunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

/** A prompt that no earlier request of the run had, so that no server has it in its cache. */
const promptOf = (round: number, index: number): string =>
  `${round}.${index} Write a story about a town by a river, its people, and the year in which the bridge was built.`;

const chatRequest = (content: string, maxTokens: number, stream: boolean): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'model',
    messages: [{ role: 'user', content }],
    ...{ max_tokens: maxTokens, temperature: 0, ignore_eos: true },
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  }),
});

/**
 * Streams chat completions. Returns the median time to the first text of an answer, the tokens of all answers in a
 * second, and the CPU time of the server for one token.
 */
export async function streamAnswers(server: ServerProcess, load: StreamLoad, round: number): Promise<Figures> {
  const firsts: number[] = [];
  let tokens = 0;
  const [startedAt, cpuBefore] = [performance.now(), await server.cpuMs()];
  const prompts = Array.from({ length: load.requests }, (_, index) => promptOf(round, index));
  await boundedEach(prompts, load.atOnce, new AbortController().signal, async (prompt) => {
    const answer = await streamAnswer(server.port, prompt, load.tokens);
    firsts.push(answer.firstMs);
    tokens += answer.tokens;
  });
  const cpuMs = (await server.cpuMs()) - cpuBefore;
  const seconds = (performance.now() - startedAt) / 1000;
  return { firstTokenMs: median(firsts), tokensPerSecond: tokens / seconds, cpuMsPerToken: cpuMs / tokens };
}

async function streamAnswer(
  port: number,
  prompt: string,
  maxTokens: number,
): Promise<{ readonly firstMs: number; readonly tokens: number }> {
  const startedAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, chatRequest(prompt, maxTokens, true));
  if (!response.ok || !response.body) throw new Error(`${response.status}: ${(await response.text()).slice(0, 500)}`);
  let firstMs = Number.NaN;
  let tokens = 0;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const { choices, usage } = JSON.parse(line.slice(6)) as StreamedChunk;
      if (choices?.[0]?.delta?.content && Number.isNaN(firstMs)) firstMs = performance.now() - startedAt;
      tokens = usage?.completion_tokens ?? tokens;
    }
  }
  if (Number.isNaN(firstMs) || tokens === 0) throw new Error('the answer has no text or no usage');
  return { firstMs, tokens };
}

/** Requests the list of models. Returns the requests in a second and the CPU time of the server for one. */
export function listModels(server: ServerProcess, load: RepeatLoad): Promise<Figures> {
  return repeat(server, load, () => fetch(`http://127.0.0.1:${server.port}/v1/models`));
}

/** Requests answers of one token. Returns the same as {@link listModels}. */
export function answerOneToken(server: ServerProcess, load: RepeatLoad, round: number): Promise<Figures> {
  const url = `http://127.0.0.1:${server.port}/v1/chat/completions`;
  return repeat(server, load, (index) => fetch(url, chatRequest(promptOf(round, index), 1, false)));
}

async function repeat(
  server: ServerProcess,
  { connections, ms }: RepeatLoad,
  request: (index: number) => Promise<Response>,
): Promise<Figures> {
  let count = 0;
  const [startedAt, cpuBefore] = [performance.now(), await server.cpuMs()];
  const work = async (): Promise<void> => {
    while (performance.now() - startedAt < ms) {
      const response = await request(count++);
      const text = await response.text();
      if (!response.ok) throw new Error(`${response.status}: ${text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const seconds = (performance.now() - startedAt) / 1000;
  return { requestsPerSecond: count / seconds, cpuMsPerRequest: ((await server.cpuMs()) - cpuBefore) / count };
}
