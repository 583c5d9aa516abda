// Log-probabilities of the tokens of a prompt.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaPromptToken } from './binding/index.ts';
import { endOf, errorOf, isBuilt, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';

const PromptScores = suite('the scores of a prompt');
const prompt = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(3);

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) PromptScores(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const scoresOf = (llama: TestEngine, id: number): LlamaPromptToken[] =>
  llama.of(id).flatMap((event) => (event.type === 'text' ? [...(event.promptScores ?? [])] : []));

function expectNear(scores: readonly LlamaPromptToken[], expected: readonly LlamaPromptToken[]): void {
  assert.equal(
    scores.map(({ id }) => id),
    expected.map(({ id }) => id),
  );
  for (const [i, { logprob = 0 }] of scores.entries())
    assert.ok(Math.abs(logprob - (expected[i]?.logprob ?? 0)) < 0.05, `${i}: ${logprob}, ${expected[i]?.logprob}`);
}

test('come before the text, for each token but the first', async () => {
  await using llama = await TestEngine.load();
  const id = llama.submit(prompt, { promptLogprobs: 3, maxTokens: 4 });
  const end = endOf(await llama.finish(id));
  const [first, ...scores] = scoresOf(llama, id);
  assert.is(scores.length + 1, end.promptTokens);
  assert.equal(Object.keys(first ?? {}), ['id', 'bytes']);
  assert.is(
    Buffer.concat(scores.map(({ bytes }) => bytes))
      .toString()
      .trim(),
    prompt.trim(),
  );
  for (const { id: token, logprob = 1, rank = 0, top = [] } of scores) {
    assert.ok(logprob <= 0 && rank >= 1);
    assert.is(top.length, 3);
    assert.is(top[rank - 1]?.id ?? token, token);
    assert.ok(top.every((one, i) => i === 0 || one.logprob <= (top[i - 1]?.logprob ?? 0)));
  }
  const types = llama.of(id).map((event) => (event.type === 'text' ? Boolean(event.promptScores) : event.type));
  assert.is(types.lastIndexOf(true) < types.indexOf(false), true);
});

test('are those that the model gives an answer of these tokens', async () => {
  await using llama = await TestEngine.load();
  const id = llama.submit('Once upon a time', { maxTokens: 30, logprobs: 2, ignoreEos: true });
  const { text } = await llama.finish(id);
  const told = llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
  const again = llama.submit(`Once upon a time${text}`, { promptLogprobs: 2, maxTokens: 1 });
  await llama.finish(again);
  expectNear(scoresOf(llama, again).slice(-told.length), told);
});

test('need every token, also of a prompt that was computed before', async () => {
  await using llama = await TestEngine.load();
  const all = [];
  for (let round = 0; round < 2; round++) {
    const id = llama.submit(prompt, { promptLogprobs: 0, maxTokens: 1 });
    assert.is(endOf(await llama.finish(id)).reusedTokens, 0);
    all.push(scoresOf(llama, id));
  }
  expectNear(all[1] ?? [], all[0] ?? []);
  // Others may use what was computed for them.
  assert.ok(endOf(await llama.generate(prompt, { maxTokens: 1 })).reusedTokens > 30);
});

test('of several prompts at the same time are each their own, beside other requests', async () => {
  const prompts = ['The dog ran. ', 'A cat said. ', 'One day. '].map((text) => text + prompt);
  await using alone = await TestEngine.load();
  await using llama = await TestEngine.load({ maxSequences: 4, guessedTokensPerStep: 4 });
  const other = llama.submit(prompt, { maxTokens: 100, ignoreEos: true });
  const ids = prompts.map((text) => llama.submit(text, { promptLogprobs: 1, maxTokens: 1 }));
  for (const [i, text] of prompts.entries()) {
    endOf(await llama.finish(ids[i] ?? 0));
    const expected = alone.submit(text, { promptLogprobs: 1, maxTokens: 1 });
    await alone.finish(expected);
    expectNear(scoresOf(llama, ids[i] ?? 0), scoresOf(alone, expected));
  }
  endOf(await llama.finish(other));
});

test('are told once when the cells run out meanwhile', async () => {
  const long = prompt.repeat(2);
  await using roomy = await TestEngine.load();
  const expected = roomy.submit(long, { promptLogprobs: 1, maxTokens: 1 });
  await roomy.finish(expected);
  await using llama = await TestEngine.load({ totalCells: 256, maxSequences: 3 });
  const others = ['The dog', 'A cat'].map((text) => llama.submit(text, { maxTokens: 120, ignoreEos: true }));
  await llama.until(() => others.every((id) => llama.of(id).length > 1));
  const id = llama.submit(long, { promptLogprobs: 1, maxTokens: 60, ignoreEos: true });
  for (const one of [...others, id]) endOf(await llama.finish(one));
  assert.ok(llama.engine.counts.preemptions > 0);
  expectNear(scoresOf(llama, id), scoresOf(roomy, expected));
});

test('wait for a slow reader, who holds up nobody else', async () => {
  await using llama = await TestEngine.load({ maxSequences: 2, prefillTokensPerStep: 2 });
  const long = prompt.repeat(3);
  const slow = llama.submit(long, { promptLogprobs: 1, maxTokens: 1 });
  llama.unread.add(slow);
  await llama.until(() => llama.of(slow).length >= 64);
  // Neither a prompt with the same beginning waits for it.
  assert.is(endOf(await llama.generate(`${long}The cat`, { maxTokens: 20 })).completionTokens, 20);
  assert.is(llama.of(slow).length, 64);
  llama.unread.delete(slow);
  llama.engine.acknowledge(slow, 64);
  const { promptTokens } = endOf(await llama.finish(slow));
  assert.ok(promptTokens > 128);
  assert.is(scoresOf(llama, slow).length, promptTokens);
});

test('of reproducible requests are the same to the last bit', async () => {
  const sampling = { promptLogprobs: 2, maxTokens: 5, reproducible: true };
  await using alone = await TestEngine.load();
  const expected = alone.submit(prompt, sampling);
  await alone.finish(expected);
  await using llama = await TestEngine.load({ maxSequences: 3 });
  const others = ['The dog', 'A cat'].map((text) => llama.submit(text, { maxTokens: 50, promptLogprobs: 1 }));
  const id = llama.submit(prompt, sampling);
  for (const one of [...others, id]) endOf(await llama.finish(one));
  assert.equal(scoresOf(llama, id), scoresOf(alone, expected));
});

test('fail with a model that computes no numbers', async () => {
  const broken = `${tinyModel}.broken`;
  writeTinyLlama(broken, { isBroken: true });
  await using llama = await TestEngine.load({ modelPath: broken });
  for (let round = 0; round < 2; round++) {
    const { code, message } = errorOf(await llama.generate(prompt, { promptLogprobs: 1 }));
    assert.equal([code, message], ['failed', 'the model computed a logit that is not a number']);
  }
});

PromptScores.run();
