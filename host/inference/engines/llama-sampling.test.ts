// Sampling parameters through a deployment with a tiny model, in a replica process of its own.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tinyToken } from '../../../native/lib/fixtures/tiny-llama.ts';
import { AanaError } from '../../base/core/errors.ts';
import type {
  ChatOutputWithDetails,
  GeneratedText,
  GeneratedTexts,
  SamplingParams,
  TextChunk,
  TokenLogprob,
} from '../../base/schemas/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { tinyTexts } from './fixtures/tiny-texts.ts';

const Sampling = suite('sampling parameters of a deployment');
const tiny = tinyTexts(Sampling, {
  model_kwargs: { n_ctx: 256 },
  default_sampling_params: { max_tokens: 12, min_tokens: 0 },
});

const CAT = String(tinyToken('▁cat'));
const END = String(tinyToken('</s>'));

async function generate(params: SamplingParams): Promise<string> {
  const args = { prompt: 'Once upon a time', sampling_params: params };
  return ((await tiny.llm.call('generate', args)) as { text: string }).text;
}

async function failure(params: Record<string, unknown>): Promise<AanaError> {
  const error = await generate(params as SamplingParams).then(
    (text) => new Error(`it answered ${text}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AanaError) return error;
  throw error;
}

Sampling('reach the engine', async () => {
  const plain = await generate({});
  const [first = '', second = ''] = plain.trim().split(/[ .,]+/);
  assert.is(await generate({ logit_bias: { [CAT]: 100 } }), ' cat'.repeat(12));
  assert.not.match(await generate({ bad_words: [first] }), first);
  assert.is(await generate({ stop_token_ids: [tinyToken(`▁${second}`)] }), plain.slice(0, plain.indexOf(` ${second}`)));
  assert.is(await generate({ logit_bias: { [CAT]: 100 }, min_tokens: 5, stop: ['cat'] }), ' cat'.repeat(5) + ' ');
  assert.is(await generate({ logit_bias: { [END]: 100 } }), '');
  assert.is(await generate({ logit_bias: { [END]: 100, [CAT]: 50 }, ignore_eos: true }), ' cat'.repeat(12));
  assert.is.not(await generate({ dry_multiplier: 20, logit_bias: { [CAT]: 40 } }), ' cat'.repeat(12));
});

Sampling('repeat a drawn text for the same seed, and draw others without one', async () => {
  const drawn: SamplingParams = {
    temperature: 1.2,
    top_k: 80,
    typical_p: 0.95,
    xtc_probability: 0.2,
    presence_penalty: 0.2,
    frequency_penalty: 0.1,
  };
  assert.is(await generate({ ...drawn, seed: 5 }), await generate({ ...drawn, seed: 5 }));
  const texts = await Promise.all([1, 2, 3, 4].map(() => generate({ ...drawn, mirostat: 2 })));
  assert.ok(new Set(texts).size > 1, texts.join('\n'));
});

Sampling('are refused by name when they are out of range', async () => {
  const wrong: Record<string, unknown> = {
    typical_p: 0,
    presence_penalty: 3,
    frequency_penalty: -2.5,
    dry_multiplier: -1,
    dry_base: 0.5,
    dry_allowed_length: 0,
    dry_penalty_last_n: -2,
    dry_sequence_breakers: [''],
    xtc_probability: 1.1,
    xtc_threshold: -0.1,
    mirostat: 3,
    mirostat_tau: -1,
    mirostat_eta: 2,
    logit_bias: { cat: 1 },
    bad_words: 'cat',
    ignore_eos: 1,
    min_tokens: -1,
    stop: ['\uD800'],
    stop_token_ids: [1.5],
    top_a: 1,
    logprobs: 21,
    prompt_logprobs: -1,
    reproducible: 'yes',
  };
  const long = { bad_words: ['a'.repeat(201)], dry_sequence_breakers: ['a'.repeat(41)] };
  for (const [name, value] of [...Object.entries(wrong), ...Object.entries(long)]) {
    const error = await failure({ [name]: value });
    assert.is(error.kind, 'invalid-input', name);
    assert.match(error.message, `sampling_params.${name}`);
  }
});

Sampling('tell log-probabilities of the prompt in the form of vLLM', async () => {
  const story = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(8);
  const args = { prompt: story, sampling_params: { prompt_logprobs: 2, max_tokens: 2 } };
  const { details } = (await tiny.llm.call('generate', args)) as GeneratedText;
  const { prompt_token_ids: ids = [], prompt_logprobs: [first, ...rest] = [] } = details ?? {};
  assert.is(ids.length, details?.usage.prompt_tokens);
  assert.is(first, null);
  assert.is(rest.length, ids.length - 1);
  const words = rest.map((place, n) => {
    const own = place?.[String(ids[n + 1])];
    const ranks = Object.values(place ?? {}).map(({ rank }) => rank);
    assert.ok(
      [2, 3].includes(ranks.length) && ranks.includes(1) && ranks.includes(2) && ranks.includes(own?.rank ?? 0),
    );
    assert.ok((own?.logprob ?? 1) <= 0);
    return own?.decoded_token;
  });
  assert.is(words.join('').trim(), story.trim());
  const pieces: TextChunk[] = [];
  for await (const chunks of tiny.llm.stream('generate_stream', args)) pieces.push(...(chunks as TextChunk[]));
  const streamed = pieces.flatMap(({ prompt_logprobs: scores = [] }) => scores);
  const numbers = (scores: typeof streamed): unknown => scores.map((place) => place && Object.keys(place).length > 0);
  assert.equal(numbers(streamed), numbers([first ?? null, ...rest]));
  assert.equal(
    pieces.flatMap(({ prompt_token_ids: some = [] }) => some),
    ids,
  );
  const dialog = { messages: [{ role: 'user', content: 'Once upon a time' }] };
  const chat = (await tiny.llm.call('chat', {
    dialog,
    sampling_params: args.sampling_params,
  })) as ChatOutputWithDetails;
  assert.is(chat.details?.prompt_logprobs?.length, chat.details?.usage.prompt_tokens);
});

Sampling('tell log-probabilities, in details and in the pieces of a stream', async () => {
  const args = { prompt: 'Once upon a time', sampling_params: { logprobs: 2, max_tokens: 6 } };
  const { text, details } = (await tiny.llm.call('generate', args)) as GeneratedText;
  const logprobs = details?.logprobs ?? [];
  assert.is(logprobs.map(({ token }) => token).join(''), text);
  assert.equal(
    logprobs.map(({ top_logprobs: top }) => top.length),
    [2, 2, 2, 2, 2, 2],
  );
  const streamed: TokenLogprob[] = [];
  for await (const chunks of tiny.llm.stream('generate_stream', args))
    for (const chunk of chunks) streamed.push(...((chunk as TextChunk).logprobs ?? []));
  assert.equal(streamed, logprobs);
  const batch = (await tiny.llm.call('generate_batch', {
    prompts: ['One', 'Two'],
    sampling_params: args.sampling_params,
  })) as GeneratedTexts;
  assert.equal(
    batch.details?.map((one) => one.logprobs?.length),
    [6, 6],
  );
  const impossible = { logprobs: 0, max_tokens: 1, logit_bias: { [CAT]: 100 } };
  const banned = (await tiny.llm.call('generate', { ...args, sampling_params: impossible })) as GeneratedText;
  assert.ok((banned.details?.logprobs?.[0]?.logprob ?? 0) > -100, 'a bias does not change it');
  assert.is('details' in ((await tiny.llm.call('generate', { prompt: 'One' })) as object), false);
});

Sampling('that do not fit the model, or each other, are the mistake of the caller', async () => {
  for (const [params, pattern] of [
    [{ stop_token_ids: [2_000_000_000] }, 'stop_token_ids has token 2000000000; the model'],
    [{ logit_bias: { '2000000000': 1 } }, 'logit_bias has token 2000000000'],
    [{ bad_words: [' '] }, 'bad_words[0] is empty'],
    [{ min_tokens: 13 }, 'min_tokens: it is 13, which is more than max_tokens, 12'],
  ] as const) {
    const { name, kind, fault, message } = await failure(params);
    assert.equal([name, kind, fault], ['InvalidSamplingParams', 'bad-request', 'caller']);
    assert.ok(message.includes(pattern), message);
  }
});

if (cannotRun === undefined) Sampling.run();
else skip('sampling parameters of a deployment', cannotRun);
