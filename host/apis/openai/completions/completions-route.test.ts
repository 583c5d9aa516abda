// The official client against real models over a real socket.
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import type { Quotation } from '../../../base/schemas/index.ts';
import { quotationProblem } from '../../../test/campaign/quotes/check-quotations.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Completions = suite('completions with the official client');
let at: OpenAiApp;
let client: OpenAI;

Completions.before(async () => {
  const path = await testModel('smollm2-135m-instruct');
  at = await startOpenAiApp({
    prepare: (app) => app.registerDeployment('smol', llamaOptions(path)),
  });
  client = at.client;
});
Completions.after(async () => at?.[Symbol.asyncDispose]());

const PARIS = { model: 'smol', prompt: 'The capital of France is', temperature: 0, max_tokens: 4 } as const;

Completions('a text goes on, with at most 16 tokens', async () => {
  const answer = await client.completions.create({ model: 'smol', prompt: PARIS.prompt, temperature: 0 });
  assert.match(answer.id, /^cmpl-[0-9a-f]{32}$/);
  assert.is(answer.object, 'text_completion');
  const [choice] = answer.choices;
  assert.match(choice!.text, /^ Paris/);
  assert.equal([choice!.index, choice!.finish_reason, choice!.logprobs], [0, 'length', null]);
  assert.is(answer.usage!.completion_tokens, 16);
});

Completions('lists of texts and tokens have an answer for each prompt and each n', async () => {
  const { choices, usage } = await client.completions.create({
    ...PARIS,
    prompt: [PARIS.prompt, 'The capital of Italy is'],
    n: 2,
    temperature: 0.1,
    seed: 1,
  });
  assert.equal(
    choices.map(({ index }) => index),
    [0, 1, 2, 3],
  );
  assert.match(choices[0]!.text, 'Paris');
  assert.match(choices[2]!.text, 'Rome');
  assert.is(usage!.completion_tokens, 16);

  const { tokens } = await tokenize({ prompt: PARIS.prompt });
  for (const prompt of [tokens, [tokens]]) {
    const ofTokens = await client.completions.create({ ...PARIS, prompt });
    assert.match(ofTokens.choices[0]!.text, 'Paris');
    assert.is(ofTokens.usage!.prompt_tokens, tokens.length);
  }
});

Completions('answers that quote have their quotations, whole and streamed', async () => {
  const segments = [
    { text: ' The capital of France is the city of Paris,', start: 0, end: 3.5 },
    { text: ' and that of Spain is Madrid.', start: 3.5, end: 5 },
  ];
  const request = {
    ...PARIS,
    prompt: [PARIS.prompt, 'Spain:'],
    n: 2,
    structured_outputs: { quote_of: ['No use.', segments], max_words: 8 },
  };
  const { choices } = await client.completions.create(request as OpenAI.CompletionCreateParamsNonStreaming);
  assert.is(choices.length, 4);
  const quotationsOf = (choice: object): unknown => (choice as { quotations?: Quotation[] }).quotations;
  for (const choice of choices) {
    const [quotation, ...others] = quotationsOf(choice) as Quotation[];
    assert.equal([quotation!.text, others], [choice.text, []]);
    assert.is(quotationProblem(quotation!, [[], segments], 5, 8), undefined);
  }
  const stream = await client.completions.create({
    ...request,
    stream: true,
  } as OpenAI.CompletionCreateParamsStreaming);
  const told = new Map<number, unknown>();
  for await (const {
    choices: [choice],
  } of stream)
    if (quotationsOf(choice!)) told.set(choice!.index, quotationsOf(choice!));
  assert.equal(
    [...told].sort(),
    choices.map((choice, n) => [n, quotationsOf(choice)]),
  );
});

Completions('a stream has the same text as the whole answer, for each prompt', async () => {
  const request = { ...PARIS, prompt: [PARIS.prompt, 'The capital of Italy is'], echo: true };
  const whole = await client.completions.create(request);
  const stream = await client.completions.create({ ...request, stream: true, stream_options: { include_usage: true } });
  const texts = ['', ''];
  const ends: number[] = [];
  const ids = new Set<string>();
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    ids.add(chunk.id);
    usage = chunk.usage;
    for (const { index, text, finish_reason: reason } of chunk.choices) {
      texts[index] += text;
      if (reason) ends.push(index);
    }
  }
  assert.equal(
    texts,
    whole.choices.map(({ text }) => text),
  );
  assert.ok(texts[0]!.startsWith(PARIS.prompt));
  assert.equal(ends.sort(), [0, 1]);
  assert.is(ids.size, 1);
  assert.is(usage!.total_tokens, whole.usage!.total_tokens);
});

Completions('log-probabilities have the lists of OpenAI, with offsets into the text', async () => {
  const { choices } = await client.completions.create({ ...PARIS, logprobs: 3, echo: true });
  const { text, logprobs } = choices[0]!;
  const { tokens, token_logprobs: scores, top_logprobs: top, text_offset: offsets } = logprobs!;
  assert.is(tokens!.join(''), text);
  assert.equal([scores!.length, top!.length, offsets!.length], [tokens!.length, tokens!.length, tokens!.length]);
  assert.is(scores![0], null);
  assert.ok(scores!.slice(1).every((score) => score! <= 0));
  for (const [n, token] of tokens!.entries()) assert.ok(text.startsWith(token, offsets![n]), `${n}: ${token}`);
  assert.ok(Object.keys(top!.at(-1)!).length >= 3);

  const stream = await client.completions.create({ ...PARIS, logprobs: 3, echo: true, stream: true });
  const streamed: string[] = [];
  const streamedOffsets: number[] = [];
  for await (const chunk of stream) {
    streamed.push(...(chunk.choices[0]!.logprobs?.tokens ?? []));
    streamedOffsets.push(...(chunk.choices[0]!.logprobs?.text_offset ?? []));
  }
  assert.equal(streamed, tokens);
  assert.equal(streamedOffsets, offsets);
});

Completions('a prompt alone can be scored', async () => {
  const { choices, usage } = await client.completions.create({ ...PARIS, max_tokens: 0, echo: true, logprobs: 0 });
  assert.is(choices[0]!.text, PARIS.prompt);
  assert.is(choices[0]!.logprobs!.tokens!.join(''), PARIS.prompt);
  assert.is(usage!.completion_tokens, 0);
});

Completions('the likeliest of several tries is sent', async () => {
  const request = { ...PARIS, prompt: 'My favourite colour is', temperature: 2, seed: 3, max_tokens: 6, logprobs: 0 };
  const all = await client.completions.create({ ...request, n: 6 });
  const mean = ({ logprobs }: OpenAI.CompletionChoice): number => {
    const scores = logprobs!.token_logprobs!;
    return scores.reduce((sum, score) => sum + score, 0) / scores.length;
  };
  const best = all.choices.toSorted((a, b) => mean(b) - mean(a))[0]!;
  const { choices } = await client.completions.create({ ...request, n: 1, best_of: 6 });
  assert.is(choices.length, 1);
  assert.is(choices[0]!.text, best.text);
});

Completions('wrong parameters are refused with their names', async () => {
  const cases: [more: object, param: string | null][] = [
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [[]] }, 'prompt'],
    [{ prompt: [1, 'a'] }, 'prompt'],
    [{ prompt: [1.5] }, 'prompt'],
    [{ prompt: Array(1000).fill('a') }, 'prompt'],
    [{ best_of: 2, n: 3, temperature: 1 }, 'best_of'],
    [{ best_of: 2, stream: true }, 'best_of'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ logprobs: 21 }, 'logprobs'],
  ];
  for (const [more, param] of cases) {
    const response = await at.post('/v1/completions', { ...PARIS, ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 100)}: ${text}`);
    const named = JSON.parse(text).error.param as string | null;
    assert.ok(named === param || named?.startsWith(`${param}[`), text);
  }
  const unknown = await at.post('/v1/completions', { ...PARIS, prompt: [2_000_000_000] });
  assert.is(unknown.status, 400);
  assert.match(await unknown.text(), 'has no token 2000000000');
});

Completions('a suffix has no effect on a model without tokens for it, and a header says so', async () => {
  const response = await at.post('/v1/completions', { ...PARIS, suffix: 'the end', best_of: 1, made_up: 1 });
  assert.is(response.status, 200);
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'made_up, suffix');
  await response.text();
  await using strict = await startOpenAiApp({ config: { openai: { strict: true } } });
  const refused = await strict.post('/v1/completions', { model: 'tiny', prompt: 'a', suffix: 'b' });
  const { error } = (await refused.json()) as { error: { param: string; code: string } };
  assert.equal([refused.status, error.param, error.code], [400, 'suffix', 'unsupported_parameter']);
});

Completions('the gap before a suffix is filled by a model that has tokens for it', async () => {
  const coder = await testModel('qwen2.5-coder-0.5b-instruct');
  await using other = await startOpenAiApp({ prepare: (app) => app.registerDeployment('coder', llamaOptions(coder)) });
  const gap = { model: 'coder', prompt: 'def', suffix: '(a, b):\n    return a * b\n\nprint(multiply(2, 3))\n' };
  const request = { ...gap, temperature: 0, max_tokens: 4 };
  const whole = await other.client.completions.create(request).withResponse();
  assert.is(whole.response.headers.get('x-aana-ignored-parameters'), null);
  const { text } = whole.data.choices[0]!;
  assert.match(text, /^ multiply/);
  const difference = { suffix: '(a, b):\n    return a - b\n\nprint(subtract(2, 3))\n' };
  const subtracted = await other.client.completions.create({ ...request, ...difference });
  assert.match(subtracted.choices[0]!.text, /^ subtract/);
  let streamed = '';
  for await (const { choices } of await other.client.completions.create({ ...request, stream: true }))
    streamed += choices[0]?.text ?? '';
  assert.is(streamed, text);
  const echoed = await other.client.completions.create({ ...request, echo: true });
  assert.is(echoed.choices[0]!.text, gap.prompt + text);
  const tokenized = await other.post('/v1/tokenize', { model: 'coder', prompt: gap.prompt });
  const { tokens } = (await tokenized.json()) as Tokenized;
  const ofTokens = await other.client.completions.create({ ...request, prompt: [tokens] });
  assert.is(ofTokens.choices[0]!.text, text);
  assert.is(ofTokens.usage!.prompt_tokens, whole.data.usage!.prompt_tokens);

  const refused: readonly (readonly [more: object, param: string])[] = [
    [{ suffix: 'a<|fim_middle|>b' }, 'suffix'],
    [{ prompt: ['a', 'b<|fim_suffix|>'] }, 'prompt'],
    [{ overflow: 'truncate_middle' }, 'overflow'],
    [{ echo: true, logprobs: 0 }, 'suffix'],
  ];
  for (const [more, param] of refused) {
    const answer = await other.post('/v1/completions', { ...request, ...more });
    const { error } = (await answer.json()) as { error: { param: string } };
    assert.equal([answer.status, error.param], [400, param]);
  }
});

interface Tokenized {
  readonly count: number;
  readonly max_model_len: number;
  readonly tokens: number[];
  readonly token_strs: string[] | null;
}

async function tokenize(body: object): Promise<Tokenized> {
  const response = await at.post('/v1/tokenize', { model: 'smol', ...body });
  const text = await response.text();
  assert.is(response.status, 200, text);
  return JSON.parse(text) as Tokenized;
}

Completions('texts and dialogs have tokens, and tokens have a text', async () => {
  const {
    count,
    tokens,
    token_strs: texts,
    max_model_len: most,
  } = await tokenize({
    prompt: 'Grüße 👋',
    return_token_strs: true,
  });
  assert.equal([count, most, texts!.length], [tokens.length, 512, tokens.length]);
  assert.equal((await tokenize({ content: 'Grüße 👋' })).tokens, tokens);
  const back = await at.post('/v1/detokenize', { model: 'smol', tokens });
  assert.equal(await back.json(), { prompt: 'Grüße 👋', content: 'Grüße 👋' });
  const asElsewhere = await at.post('/detokenize', { model: 'smol', tokens });
  assert.equal(await asElsewhere.json(), { prompt: 'Grüße 👋', content: 'Grüße 👋' });
  const { tokens: again } = (await (
    await at.post('/tokenize', { model: 'smol', content: 'Grüße 👋' })
  ).json()) as Tokenized;
  assert.equal(again, tokens);
  const wrong = await at.post('/tokenize', { model: 'smol', prompt: 5 });
  assert.equal([wrong.status, ((await wrong.json()) as { error: { param: string } }).error.param], [400, 'prompt']);
  const dialog = await tokenize({ messages: [{ role: 'user', content: 'Hello' }], return_token_strs: true });
  assert.ok(dialog.token_strs!.includes('<|im_start|>'));
  // The tiny model begins texts with a token of its own.
  const [with_, without] = await Promise.all(
    [true, false].map((outer) => tokenize({ model: 'tiny', prompt: 'Once', add_special_tokens: outer })),
  );
  assert.is(with_!.count, without!.count + 1);
  for (const body of [{}, { prompt: 'a', content: 'b' }])
    assert.is((await at.post('/v1/tokenize', { model: 'smol', ...body })).status, 400);
});

if (cannotRun !== undefined) skip('completions with the official client', cannotRun);
else Completions.run();
