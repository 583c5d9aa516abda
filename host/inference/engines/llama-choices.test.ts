// Several answers to one prompt, through a deployment with a tiny model in a replica process of its own.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../base/core/async/async-values.ts';
import type {
  ChatOutputWithDetails,
  GeneratedText,
  GeneratedTexts,
  GenerationDetails,
  TextChunk,
} from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { tinyTexts } from './fixtures/tiny-texts.ts';

const Choices = suite('several answers of a text generation deployment');
const tiny = tinyTexts(Choices, {
  model_kwargs: { n_ctx: 512, n_seq_max: 3 },
  default_sampling_params: { max_tokens: 8, temperature: 1 },
});

const prompt = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(3);
const dialog = { messages: [{ role: 'user', content: prompt }] };

async function generate(sampling: object, args: object = {}): Promise<GeneratedText> {
  return (await tiny.llm.call('generate', { prompt, sampling_params: sampling, ...args })) as GeneratedText;
}

Choices('are those of the seeds that follow, and compute their prompt once', async () => {
  const alone: string[] = [];
  for (const seed of [7, 8, 9, 10]) alone.push((await generate({ seed })).text);
  const begin = 'A new story. ';
  const { text, details, choices = [] } = await generate({ seed: 7, n: 4 }, { details: true });
  assert.equal(
    choices.map((choice) => choice.text),
    alone,
  );
  assert.is(text, alone[0]);
  assert.is(new Set(alone).size, 4);
  const { prompt_tokens: prompted = 0 } = details?.usage ?? {};
  assert.is(details?.usage.completion_tokens, 32);
  assert.is('choices' in (details ?? {}), false);
  assert.equal(
    choices.map((choice) => choice.details?.usage?.completion_tokens),
    [8, 8, 8, 8],
  );
  const fresh = await generate({ n: 3 }, { prompt: begin + prompt, details: true });
  const cached = fresh.choices?.map((choice) => choice.details?.usage?.cached_tokens ?? 0) ?? [];
  assert.ok((cached[0] ?? 0) < 10 && (cached[1] ?? 0) >= prompted - 1 && (cached[2] ?? 0) >= prompted - 1, `${cached}`);
  assert.ok((fresh.details?.usage.cached_tokens ?? 99) < 10);
});

Choices('tell the log-probabilities of the prompt once', async () => {
  const { details, choices = [] } = await generate({ n: 3, prompt_logprobs: 1 });
  assert.is(details?.prompt_logprobs?.length, details?.usage.prompt_tokens);
  assert.equal(
    choices.map((choice) => choice.details?.prompt_logprobs?.length),
    [details?.usage.prompt_tokens, undefined, undefined],
  );
});

Choices('of a chat are streamed with their number, their prefix and their details', async () => {
  const texts = ['', '', ''];
  const args = { dialog, assistant_prefix: 'Yes', sampling_params: { n: 3, seed: 3, logprobs: 0 } };
  const scores = [0, 0, 0];
  const end = (await drained(tiny.llm.stream('chat_stream', args), (batch) => {
    for (const { text, index = 0, logprobs } of batch as TextChunk[]) {
      texts[index] += text;
      scores[index] = (scores[index] ?? 0) + (logprobs?.length ?? 0);
    }
  })) as GenerationDetails;
  for (const text of texts) assert.match(text, /^Yes./);
  assert.equal(scores, [8, 8, 8]);
  assert.equal(
    end.choices?.map(({ finish_reason: reason }) => reason),
    ['length', 'length', 'length'],
  );
  const whole = (await tiny.llm.call('chat', args)) as ChatOutputWithDetails;
  assert.equal(
    whole.choices?.map(({ message }) => message.content),
    texts,
  );
  assert.is(whole.message.content, texts[0]);
  assert.equal(
    whole.choices?.map(({ details }) => details?.logprobs?.length),
    [8, 8, 8],
  );
});

Choices('have the form that the request demands', async () => {
  const forms = { structured_outputs: { choice: ['red', 'blue', 'green'] }, temperature: 5 };
  const { choices = [] } = await generate({ ...forms, n: 16, max_tokens: 20 });
  assert.is(choices.length, 16);
  for (const { text } of choices) assert.ok(['red', 'blue', 'green'].includes(text), text);
  assert.ok(new Set(choices.map(({ text }) => text)).size > 1);
});

Choices('are there for each prompt of a batch', async () => {
  const args = { prompts: ['Once', 'The dog'], sampling_params: { n: 2 }, details: true };
  const { texts, details, choices } = (await tiny.llm.call('generate_batch', args)) as GeneratedTexts;
  assert.equal(
    choices?.map((ofPrompt) => ofPrompt[0]?.text),
    texts,
  );
  assert.equal([choices?.[1]?.length, details?.length], [2, 2]);
});

Choices('end when the caller leaves', async () => {
  const controller = new AbortController();
  const args = { prompt, sampling_params: { n: 3, max_tokens: 300, ignore_eos: true } };
  const stream = tiny.llm.stream('generate_stream', args, { signal: controller.signal });
  await stream[Symbol.asyncIterator]().next();
  controller.abort(new Error('gone'));
  // The places of the cancelled answers are free for these at once.
  const { choices } = await generate({ n: 3 });
  assert.is(choices?.length, 3);
});

Choices('are refused where they make no sense', async () => {
  for (const [params, name, pattern] of [
    [{ n: 0 }, 'ValidationError', 'n'],
    [{ n: 17 }, 'ValidationError', 'n'],
    [{ n: 1.5 }, 'ValidationError', 'n'],
    [{ n: 2, stop_token_ids: [2_000_000_000] }, 'InvalidSamplingParams', 'stop_token_ids'],
  ] as const) {
    const error = await errorOf(generate(params));
    assert.is((error as { name?: string }).name, name);
    assert.ok(JSON.stringify([error.message, error]).includes(pattern), error.message);
  }
});

if (cannotRun === undefined) Choices.run();
else skip('several answers of a text generation deployment', cannotRun);
