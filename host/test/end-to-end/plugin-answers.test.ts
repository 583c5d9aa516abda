// A component with the typed records of llm and asr, with a real server and real models.
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Completion, CompletionEnd, Piece } from '../../../wit/generated/world/llm.ts';
import type { DetailedTranscription } from '../../../wit/generated/world/asr.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { testPng } from '../../apis/openai/fixtures/images.ts';
import { speakingVideo } from '../helpers/media/media.ts';
import { post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../helpers/server.ts';

const Answers = suite('answers of models in typed records');
let server: RunningServer;

Answers.before(async () => {
  const asr_deployment = {
    type: 'WhisperDeployment',
    user_config: { model_size: 'base', compute_type: 'int8', threads: 1 },
  };
  server = await serve({
    plugins: [join(packageRoot, 'host/endpoints/plugins/fixtures/answers')],
    config: { deployments: { ...TEST_DEPLOYMENTS, asr_deployment } },
  });
});
Answers.after(async () => void (await server?.stop()));

async function ask<T>(endpoint: string, input: object, data?: Uint8Array): Promise<T> {
  const response = await post(`${server.url}/answers/${endpoint}`, input, data && { video: { data } });
  const text = await response.text();
  assert.is(response.status, 200, text);
  return JSON.parse(text) as T;
}

const turn = (text: string): object => ({ author: 'user', content: [{ tag: 'text', val: text }], toolCalls: [] });
const turns = [turn('Name a colour.')];
const params = { stop: [], temperature: 0, maxTokens: 24 };
const schema = { type: 'object', properties: { colour: { enum: ['red', 'blue'] } }, required: ['colour'] };
const form = { tag: 'json-schema', val: JSON.stringify({ ...schema, additionalProperties: false }) };

Answers('a schema binds the answer, whole and in pieces, with log-probabilities and usage', async () => {
  const request = { turns, form, sampling: { params, logprobs: 2 } };
  const { choices, outcome } = await ask<Completion>('complete', { request });
  const [{ content, logprobs, ending }] = choices as unknown as [Completion['choices'][0]];
  assert.ok(['red', 'blue'].includes((JSON.parse(content) as { colour: string }).colour), content);
  assert.is(ending.finishReason, 'stop');
  assert.is(logprobs.map(({ token }) => token.token).join(''), content);
  assert.ok(logprobs.every(({ token, likeliest }) => token.logprob <= 0 && likeliest.length === 2));
  assert.ok(outcome.usage!.promptTokens > 5);
  assert.ok(outcome.usage!.completionTokens >= logprobs.length);
  assert.ok(outcome.timings!.completionMs >= 0);
  const { pieces, end } = await ask<{ pieces: Piece[]; end: CompletionEnd }>('complete', { request, stream: true });
  assert.is(pieces.map(({ text }) => text).join(''), content);
  assert.is(pieces.flatMap((piece) => piece.logprobs).length, logprobs.length);
  assert.equal(
    end.endings.map(({ finishReason }) => finishReason),
    ['stop'],
  );
  assert.is(end.outcome.usage!.completionTokens, outcome.usage!.completionTokens);
});

Answers('several answers, parameters of further names, and the scores of the prompt come too', async () => {
  const sampling = {
    params: { ...params, temperature: 0.9, seed: 3, maxTokens: 6 },
    n: 2,
    more: '{"xtc_probability":0}',
  };
  const { choices } = await ask<Completion>('complete', { request: { turns, sampling } });
  assert.is(choices.length, 2);
  assert.is(choices[1]!.ending.finishReason, 'length');
  const scored = { params: { ...params, maxTokens: 1 }, promptLogprobs: 0 };
  const { outcome } = await ask<Completion>('complete', { request: { turns, sampling: scored } });
  const { prompt_logprobs: scores } = JSON.parse(outcome.promptScores!) as { prompt_logprobs: unknown[] };
  assert.is(scores.length, outcome.usage!.promptTokens);
});

Answers('a tool is called with arguments of its schema, and the model goes on with the result', async () => {
  const { calls, ending, sums, answer } = await ask<{
    calls: { name: string }[];
    ending: { finishReason: string };
    sums: number[];
    answer: Completion;
  }>('tools', {});
  assert.is(ending.finishReason, 'tool-calls');
  assert.ok(calls.length > 0 && calls.every(({ name }) => name === 'add'));
  assert.ok(sums.every((sum) => [42, 43, 52, 53].includes(sum)));
  assert.equal(answer.choices[0]!.toolCalls, []);
  assert.ok(answer.choices[0]!.content.length > 0);
});

Answers('what a guest cannot have or writes wrongly is refused by name, and the host goes on', async () => {
  const tool = (parameters: string): object => ({ name: 'look', parameters });
  const deep = (levels: number): string => `${'{"items":'.repeat(levels)}{}${'}'.repeat(levels)}`;
  const sampling = { params };
  const picture = [...(await testPng(1))];
  const seen = {
    author: 'user',
    content: [
      { tag: 'image', val: 0 },
      { tag: 'text', val: 'What is it?' },
    ],
    toolCalls: [],
  };
  for (const [request, status, name, message, images] of [
    [{ turns: [seen], sampling }, 400, 'ImagesNotSupported', /takes no images/, [picture]],
    [{ turns: [seen], sampling }, 422, 'InvalidArguments', /turns\[0\]\.content\[0\] names image 0, but 0/],
    [{ turns, sampling }, 400, 'ImageReadingException', /image/, [[1, 2, 3]]],
    [{ turns, sampling, tools: [tool('{')] }, 422, 'InvalidArguments', /tools\[0\]\.parameters is not JSON/],
    [{ turns, sampling, tools: [tool('[]')] }, 422, 'InvalidArguments', /tools\[0\]\.parameters is not a JSON object/],
    [{ turns, sampling, tools: [tool(deep(60))] }, 422, 'ValidationError', /at most 32 levels/],
    [{ turns, sampling, tools: [tool(deep(3000))] }, 413, 'ArgumentsTooLarge', /deeper than/],
    [{ turns, sampling, form: { tag: 'json-schema', val: 'no' } }, 422, 'InvalidArguments', /form is not JSON/],
    [{ turns, sampling, form: { tag: 'regex', val: '(' } }, 0, '', /./],
    [{ turns, sampling: { params, n: 4_000_000_000 } }, 422, 'ValidationError', /sampling_params\.n/],
    [{ turns, sampling: { params, logprobs: 21 } }, 422, 'ValidationError', /sampling_params\.logprobs/],
    [{ turns, sampling: { params, more: '{"seed":1}' } }, 422, 'InvalidArguments', /sampling\.more has seed/],
    [{ turns, sampling: { params, more: '{"unknown":1}' } }, 422, 'ValidationError', /unknown/],
    [{ turns, sampling, more: '{"details":false}' }, 422, 'InvalidArguments', /more has details/],
    [{ turns, sampling, adapter: 'absent' }, 0, '', /absent/],
    [{ turns: [], sampling }, 422, 'ValidationError', /messages/],
  ] as readonly (readonly [object, number, string, RegExp, number[][]?])[]) {
    const response = await post(`${server.url}/answers/complete`, { request, images });
    const text = await response.text();
    if (status > 0) assert.is(response.status, status, text);
    assert.ok(response.status >= 400 && response.status < 500, text);
    const error = JSON.parse(text) as { error: string; message: string };
    if (name !== '') assert.is(error.error, name, text);
    assert.match(error.message, message);
  }
  const { choices } = await ask<Completion>('complete', { request: { turns, sampling } });
  assert.ok(choices[0]!.content.length > 0);
});

Answers('speech comes with languages, words and tokens, whole and in a stream', async () => {
  const video = { content: 'video' };
  const data = await speakingVideo();
  const options = {
    params: { wordTimestamps: true, initialPrompt: 'Kennedy:', task: 'translate' },
    allLanguageProbs: true,
    logprobs: true,
    more: '{"vad_parameters":{"threshold":0.5}}',
  };
  const one = await ask<DetailedTranscription>('transcribe', { video, options }, data);
  assert.is(one.info.language, 'en');
  assert.is(one.allLanguageProbs[0]!.language, 'en');
  assert.ok(one.allLanguageProbs.length > 90);
  assert.match(one.text, /country/i);
  for (const { segment, tokens } of one.segments) {
    assert.is(
      tokens
        .map(({ token }) => token)
        .join('')
        .trim(),
      segment.text.trim(),
    );
    assert.ok(tokens.every(({ logprob }) => logprob <= 0));
    assert.ok(segment.words.length > 0);
    const starts = segment.words.map(({ timeInterval }) => timeInterval.start);
    assert.equal(
      starts,
      [...starts].sort((a, b) => a - b),
    );
  }
  const parts = await ask<DetailedTranscription[]>('transcribe', { video, options, stream: true }, data);
  assert.is(parts.flatMap(({ segments }) => segments).length, one.segments.length);
  for (const [more, message] of [
    ['{"vad_parameters":', /more is not JSON/],
    ['{"hotwords":"a"}', /more has hotwords/],
    ['{"no_such":1}', /no_such/],
  ] as const) {
    const response = await post(`${server.url}/answers/transcribe`, { video, options: { more } }, { video: { data } });
    const text = await response.text();
    assert.is(response.status, 422, text);
    assert.match((JSON.parse(text) as { message: string }).message, message);
  }
});

Answers.run();
