// What sampling parameters do in the engine. `native/test/sampling/` tests the computation itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaSampling } from './binding/index.ts';
import { endOf, errorOf, isBuilt, prompt, TestEngine } from './fixtures/test-engine.ts';
import { TINY_LLAMA, tinyToken, writeTinyLlama } from './fixtures/tiny-llama.ts';

const Sampling = suite('sampling in the llama engine');
const folder = mkdtempSync(join(tmpdir(), 'aana-llama-sampling-'));
Sampling.after(() => rmSync(folder, { recursive: true }));

function test(title: string, run: (llama: TestEngine) => Promise<void>): void {
  if (isBuilt)
    Sampling(title, async () => {
      await using llama = await TestEngine.load();
      await run(llama);
    });
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const END = tinyToken('</s>');
const CAT = tinyToken('▁cat');
const wordsOf = (text: string): string[] => text.split(/[ .,]+/).filter((word) => word !== '');

test('a bias forces a token, and bans one', async (llama) => {
  const forced = await llama.generate(prompt, { maxTokens: 5, logitBias: [{ token: CAT, bias: 100 }] });
  assert.is(forced.text, ' cat'.repeat(5));
  const [first = ''] = wordsOf((await llama.generate(prompt)).text);
  const banned = await llama.generate(prompt, { logitBias: [{ token: tinyToken(`▁${first}`), bias: -100 }] });
  assert.not.ok(wordsOf(banned.text).includes(first), banned.text);
});

test('bad words never come', async (llama) => {
  const draw: Partial<LlamaSampling> = { temperature: 1.5, maxTokens: 200, seed: 3 };
  const free = wordsOf((await llama.generate(prompt, draw)).text);
  const bad = [...new Set(free)].slice(0, 3);
  const words = wordsOf((await llama.generate(prompt, { ...draw, badWords: bad })).text);
  assert.ok(words.length > 100, `${words.length} words`);
  assert.equal(
    words.filter((word) => bad.includes(word)),
    [],
  );
});

test('a stop token ends the answer and is no part of it', async (llama) => {
  const whole = await llama.generate(prompt);
  const [, , third = ''] = wordsOf(whole.text);
  const { text, last } = await llama.generate(prompt, { stopTokenIds: [tinyToken(`▁${third}`)] });
  assert.is(text, whole.text.slice(0, whole.text.indexOf(` ${third}`)));
  assert.is(endOf({ text, texts: [], last }).reason, 'stop');
});

test('an answer does not end before its least tokens, by an end token, stop token or stop string', async (llama) => {
  const wantsEnd = { logitBias: [{ token: END, bias: 100 }] };
  assert.is(endOf(await llama.generate(prompt, wantsEnd)).completionTokens, 0);
  const long = endOf(await llama.generate(prompt, { ...wantsEnd, minTokens: 10 }));
  assert.equal([long.completionTokens, long.reason], [10, 'stop']);
  const cats = { logitBias: [{ token: CAT, bias: 100 }], minTokens: 10 };
  const stopped = endOf(await llama.generate(prompt, { ...cats, stop: ['dog', 'cat'] }));
  assert.equal([stopped.completionTokens, stopped.stop], [11, 'cat']);
  assert.is(long.stop, undefined);
  const { text } = await llama.generate(prompt, { ...cats, stopTokenIds: [CAT] });
  assert.not.match(text, 'cat');
});

test('the model’s end is ignored on request', async (llama) => {
  const end = endOf(await llama.generate(prompt, { logitBias: [{ token: END, bias: 100 }], ignoreEos: true }));
  assert.equal([end.completionTokens, end.reason], [32, 'length']);
});

test('each token comes with its log-probability and the likeliest ones', async (llama) => {
  const id = llama.submit(prompt, { maxTokens: 20, logprobs: 3 });
  const { text } = await llama.finish(id);
  const scores = llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
  assert.is(scores.length, 20);
  assert.is(Buffer.concat(scores.map(({ bytes }) => bytes)).toString(), text);
  for (const { id: token, logprob, top } of scores) {
    assert.is(top.length, 3);
    assert.equal([top[0]?.id, top[0]?.logprob], [token, logprob], 'the likeliest was chosen');
    assert.ok(top.every((item, i) => item.logprob <= (top[i - 1]?.logprob ?? 0)));
  }
  const biased = llama.submit(prompt, { maxTokens: 1, logprobs: 0, logitBias: [{ token: CAT, bias: 100 }] });
  await llama.finish(biased);
  const [only] = llama.of(biased).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
  assert.ok((only?.logprob ?? 0) < -0.1, 'a bias changes no log-probability');
  assert.equal(only?.top, []);
  const unscored = llama.submit(prompt);
  await llama.finish(unscored);
  assert.ok(llama.of(unscored).every((event) => !('scores' in event)));
});

test('scores of tokens without a text of their own are not lost', async (llama) => {
  const id = llama.submit(prompt, {
    maxTokens: 3,
    logprobs: 0,
    logitBias: [{ token: CAT, bias: 100 }],
    stop: [' cat cat'],
  });
  assert.is((await llama.finish(id)).text, '');
  const [text, end] = llama.of(id);
  assert.equal([text?.type, text?.type === 'text' && text.scores?.length, end?.type], ['text', 2, 'end']);
});

test('penalties and DRY change a repeating text', async (llama) => {
  const cats: Partial<LlamaSampling> = { maxTokens: 12, logitBias: [{ token: CAT, bias: 40 }] };
  const count = async (changes: Partial<LlamaSampling>): Promise<number> =>
    wordsOf((await llama.generate(prompt, { ...cats, ...changes })).text).filter((word) => word === 'cat').length;
  assert.is(await count({}), 12);
  for (const changes of [
    { repetitionPenalty: 5 },
    { frequencyPenalty: 10 },
    { presencePenalty: 40 },
    { dry: { multiplier: 10 } },
  ]) {
    const cut = await count(changes);
    assert.ok(cut > 0 && cut < 12, `${cut} with ${JSON.stringify(changes)}`);
  }
});

test('the same seed gives the same text with all parameters together, another seed another text', async (llama) => {
  const all: Partial<LlamaSampling> = {
    temperature: 1.5,
    topK: 100,
    topP: 0.98,
    minP: 0.01,
    typicalP: 0.98,
    repetitionPenalty: 1.1,
    presencePenalty: 0.1,
    frequencyPenalty: 0.1,
    dry: { multiplier: 0.5 },
    xtc: { probability: 0.3, threshold: 0.1 },
    maxTokens: 80,
  };
  for (const settings of [all, { ...all, mirostat: { version: 1 } }, { ...all, mirostat: { version: 2 } }] as const) {
    const draw = async (seed: number): Promise<string> => (await llama.generate(prompt, { ...settings, seed })).text;
    const text = await draw(7);
    assert.is(await draw(7), text);
    assert.is.not(await draw(8), text);
  }
});

test('values of a wrong type or range are refused by name', async (llama) => {
  const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ temperature: -1 }, /temperature/],
    [{ topP: 1.5 }, /topP/],
    [{ typicalP: Number.NaN }, /typicalP/],
    [{ repetitionPenalty: 0 }, /repetitionPenalty/],
    [{ presencePenalty: 'a' }, /presencePenalty/],
    [{ dry: 5 }, /dry/],
    [{ dry: { multiplier: 1, base: 0.5 } }, /base/],
    [{ dry: { multiplier: 1, sequenceBreakers: [5] } }, /sequenceBreakers/],
    [{ xtc: { probability: 2, threshold: 0.1 } }, /probability/],
    [{ mirostat: { version: 3 } }, /version/],
    [{ logitBias: { 5: 1 } }, /logitBias/],
    [{ logitBias: [{ token: 1.5, bias: 1 }] }, /logitBias/],
    [{ badWords: 'a' }, /badWords/],
    [{ minTokens: -1 }, /minTokens/],
    [{ stop: [5] }, /stop/],
    [{ stopTokenIds: [-1] }, /stopTokenIds/],
  ];
  for (const [changes, pattern] of cases) assert.throws(() => llama.submit(prompt, changes), pattern);
  endOf(await llama.generate(prompt));
});

test('what does not fit the model is the mistake of its caller', async (llama) => {
  const beyond = TINY_LLAMA.vocabularySize;
  for (const [changes, pattern] of [
    [
      { logitBias: [{ token: beyond, bias: 1 }] },
      `logit_bias has token ${beyond}; the model's tokens are 0 to ${beyond - 1}`,
    ],
    [{ stopTokenIds: [5, beyond] }, `stop_token_ids has token ${beyond}`],
    [{ badWords: ['cat', ' '] }, 'bad_words[1] is empty'],
  ] as const) {
    const { code, fault, message } = errorOf(await llama.generate(prompt, changes));
    assert.equal([code, fault], ['invalid-sampling', 'caller']);
    assert.ok(message.includes(pattern), message);
  }
  endOf(await llama.generate(prompt));
});

test('a model that computes no numbers fails its requests with that reason, and the engine goes on', async () => {
  const modelPath = join(folder, 'broken.gguf');
  writeTinyLlama(modelPath, { isBroken: true });
  await using broken = await TestEngine.load({ modelPath });
  for (let n = 0; n < 2; n += 1) {
    const { code, fault, message } = errorOf(await broken.generate(prompt, { temperature: n }));
    assert.equal([code, fault, message], ['failed', 'deployment', 'the model computed a logit that is not a number']);
  }
  assert.is(broken.engine.failure, '');
});

Sampling.run();
