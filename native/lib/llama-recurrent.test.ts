// Recurrent and hybrid models, whose state cannot be taken back to an earlier token.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions, LlamaTokenScores } from './binding/index.ts';
import { endOf, isBuilt, sharedCells, TestEngine } from './fixtures/test-engine.ts';
import { type RecurrentKind, writeTinyMamba } from './fixtures/tiny-mamba.ts';

const Recurrent = suite('recurrent models');
const folder = mkdtempSync(join(tmpdir(), 'aana-recurrent-'));
Recurrent.after(() => rmSync(folder, { recursive: true }));

const pathOf = (kind: RecurrentKind): string => join(folder, `${kind}.gguf`);
const KINDS: readonly RecurrentKind[] = ['recurrent', 'hybrid'];
for (const kind of KINDS) writeTinyMamba(pathOf(kind), kind);

type Load = (changes?: Partial<LlamaLoadOptions>) => Promise<TestEngine>;

/** A test for each kind of model. */
function test(title: string, run: (load: Load) => Promise<void>): void {
  for (const kind of KINDS)
    Recurrent(`a ${kind} model ${title}`, () =>
      run((changes) => TestEngine.load({ modelPath: pathOf(kind), ...changes })),
    );
}

const BEGINNING = 'Once upon a time there was a little dog and a big cat';
const PROMPTS = ['', ' who ran home', ' in the red house', ' and then', ' but', ' because it'].map(
  (rest) => `${BEGINNING}${rest}`,
);

interface Answer {
  readonly text: string;
  readonly scores: readonly LlamaTokenScores[];
}

async function answer(llama: TestEngine, id: number): Promise<Answer> {
  const generation = await llama.finish(id);
  endOf(generation);
  const scores = llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
  return { text: generation.text, scores };
}

const SCORED = { logprobs: 2, maxTokens: 40 };

/** Below this difference of logarithms, rounding may decide which of two tokens is the likeliest. */
const MARGIN = 0.01;

function assertSame(actual: Answer, expected: Answer, title: string): void {
  const at = actual.scores.findIndex(({ id }, place) => id !== expected.scores[place]?.id);
  if (at < 0) return assert.is(actual.text, expected.text, title);
  const [first, second] = expected.scores[at]?.top ?? [];
  const difference = (first?.logprob ?? 0) - (second?.logprob ?? Number.NEGATIVE_INFINITY);
  assert.ok(difference <= MARGIN, `${title}: token ${at} differs, though the best one is better by ${difference}`);
}

async function alone(load: Load): Promise<Answer[]> {
  await using llama = await load({ maxSequences: 1 });
  const answers: Answer[] = [];
  for (const prompt of PROMPTS) answers.push(await answer(llama, llama.submit(prompt, SCORED)));
  assert.is(new Set(answers.map(({ text }) => text)).size, PROMPTS.length);
  return answers;
}

for (const [title, changes] of [
  ['beside each other', { maxSequences: 4 }],
  ['in small steps', { maxSequences: 3, prefillTokensPerStep: 5 }],
  ['in a common cache', { maxSequences: 4, totalCells: sharedCells }],
  ['with few cells', { maxSequences: 4, totalCells: 256 }],
  ['with guessed tokens, which it cannot take back', { maxSequences: 4, guessedTokensPerStep: 8 }],
] as const)
  test(`gives the same answers ${title}`, async (load) => {
    const expected = await alone(load);
    await using llama = await load(changes);
    for (let round = 0; round < 2; round += 1) {
      const ids = PROMPTS.map((prompt) => llama.submit(prompt, SCORED));
      for (const [at, id] of ids.entries()) assertSame(await answer(llama, id), expected[at]!, PROMPTS[at]!);
    }
    assert.is(llama.engine.counts.guessedTokens ?? 0, 0);
  });

test('reads a prompt again where it has more than its beginning, and goes on where it has just that', async (load) => {
  await using llama = await load({ maxSequences: 1 });
  const first = await llama.generate(BEGINNING, { maxTokens: 8 });
  // The state has seen the answer, too.
  assert.is(endOf(await llama.generate(`${BEGINNING} who`)).reusedTokens, 0);
  const again = await llama.generate(BEGINNING, { maxTokens: 8 });
  assert.is(again.text, first.text);
  // All tokens of the answer but the last one were computed.
  const more = `${BEGINNING}${first.text.slice(0, first.text.lastIndexOf(' '))} little house`;
  const { promptTokens, reusedTokens } = endOf(await llama.generate(more, { maxTokens: 4 }));
  assert.is(reusedTokens, promptTokens - 2);
});

test('goes on after requests that are cancelled while they are read and while they answer', async (load) => {
  const expected = await alone(load);
  await using llama = await load({ maxSequences: 3, prefillTokensPerStep: 8 });
  const long = `${BEGINNING} `.repeat(12);
  for (let round = 0; round < 4; round += 1) {
    const cancelled = [long, PROMPTS[1]!, long].map((prompt) => llama.submit(prompt, { maxTokens: 200 }));
    const kept = llama.submit(PROMPTS[round]!, SCORED);
    if (round % 2 === 1) await llama.until(() => llama.of(cancelled[1]!).length > 2);
    for (const id of cancelled) llama.engine.cancel(id);
    for (const id of cancelled) await llama.finish(id);
    assertSame(await answer(llama, kept), expected[round]!, PROMPTS[round]!);
  }
});

test('comes back to a text that lost its place, where it has exactly that', async (load) => {
  const [long, branch] = [4, 3].map((times) => `${BEGINNING} `.repeat(times).trimEnd()) as [string, string];
  const answers: Answer[] = [];
  for (const keptBytes of [0, 1e9]) {
    await using llama = await load({ maxSequences: 1, keptBytes });
    const { text } = await llama.generate(long, { maxTokens: 8 });
    assert.is(endOf(await llama.generate(`${branch} house`, { maxTokens: 2 })).reusedTokens, 0);
    const id = llama.submit(`${long}${text.slice(0, text.lastIndexOf(' '))} little house`, SCORED);
    answers.push(await answer(llama, id));
    assert.is(endOf(await llama.finish(id)).reusedTokens > 50, keptBytes > 0);
  }
  assertSame(answers[1]!, answers[0]!, 'a kept text');
});

test('gives up the cells of sequences whose readers are away, and reads them again', async (load) => {
  await using llama = await load({ maxSequences: 4, totalCells: 256 });
  const ids = PROMPTS.map((prompt) => llama.submit(prompt, { maxTokens: 150, logprobs: 2 }));
  const together: Answer[] = [];
  for (const id of ids) together.push(await answer(llama, id));
  assert.ok(llama.engine.counts.preemptions > 0);
  await using one = await load({ maxSequences: 1 });
  for (const [at, prompt] of PROMPTS.entries())
    assertSame(together[at]!, await answer(one, one.submit(prompt, { maxTokens: 150, logprobs: 2 })), prompt);
});

test('refuses to shift its context, and ends an answer when the context is full', async (load) => {
  await using llama = await load({ contextTokens: 64 });
  assert.is(llama.engine.info.canShift, false);
  assert.throws(
    () => llama.submit(BEGINNING, { overflow: 'shift' }),
    /the model cannot take tokens out of the middle of its context/,
  );
  const { reason, promptTokens, completionTokens } = endOf(await llama.generate(BEGINNING, { maxTokens: 200 }));
  assert.equal([reason, promptTokens + completionTokens], ['length', 64]);
});

if (isBuilt) Recurrent.run();
else process.stdout.write('SKIP recurrent models: the native addon is not built\n');
