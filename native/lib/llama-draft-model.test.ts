// A draft model guesses tokens. They change how many steps a text takes, and nothing else.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions, LlamaSampling } from './binding/index.ts';
import { endOf, isBuilt, rejection, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { tinyToken, writeTinyLlama } from './fixtures/tiny-llama.ts';

const Draft = suite('a draft model of the llama engine');
const folder = mkdtempSync(join(tmpdir(), 'aana-draft-'));
Draft.after(() => rmSync(folder, { recursive: true }));
/** The model guesses for itself, so nearly all guesses come true. */
const same = { guessedTokensPerStep: 8, draftModelPath: tinyModel, leastGuessProbability: 0 };
const stranger = join(folder, 'stranger.gguf');
writeTinyLlama(stranger, { seed: 7 });
const prompt = 'Once upon a time there was a little girl';

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Draft(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const variants: Partial<LlamaSampling>[] = [
  {},
  { maxTokens: 1 },
  { maxTokens: 2 },
  { maxTokens: 10_000, logitBias: [{ token: tinyToken('▁cat'), bias: 100 }] },
  { temperature: 0.8, seed: 5 },
  { temperature: 1.5, seed: 6, topK: 3, repetitionPenalty: 1.2 },
  { stop: ['dog'] },
  { stopTokenIds: [tinyToken('▁dog'), tinyToken('▁cat')] },
  { grammar: { text: 'root ::= ("cat " | "dog " | "a ")+' }, maxTokens: 24 },
];

/** Expects that the texts of an engine with guesses are those of an engine without. */
async function expectSameTexts(changes: Partial<LlamaLoadOptions>): Promise<TestEngine> {
  await using plain = await TestEngine.load();
  const guessing = await TestEngine.load(changes);
  for (const sampling of variants) {
    const [one, two] = [await plain.generate(prompt, sampling), await guessing.generate(prompt, sampling)];
    assert.is(two.text, one.text, JSON.stringify(sampling));
    assert.equal(
      [endOf(two).reason, endOf(two).completionTokens],
      [endOf(one).reason, endOf(one).completionTokens],
      JSON.stringify(sampling),
    );
  }
  return guessing;
}

test('right guesses save steps, and the texts stay the same', async () => {
  await using guessing = await expectSameTexts(same);
  const before = guessing.engine.counts;
  const end = endOf(await guessing.generate('The dog', { maxTokens: 64, ignoreEos: true }));
  assert.is(end.completionTokens, 64);
  const { steps, guessedTokens, acceptedTokens } = guessing.engine.counts;
  assert.ok(steps - before.steps < 32, `${steps - before.steps} steps`);
  const [guessed, accepted] = [guessedTokens - before.guessedTokens, acceptedTokens - before.acceptedTokens];
  assert.ok(guessed > 40 && accepted > 0.8 * guessed, `${accepted} of ${guessed}`);
});

test('wrong guesses change no text, and become few', async () => {
  await using guessing = await expectSameTexts({ ...same, draftModelPath: stranger });
  const { guessedTokens, acceptedTokens, computedTokens } = guessing.engine.counts;
  assert.ok(acceptedTokens < 0.5 * guessedTokens, `${acceptedTokens} of ${guessedTokens}`);
  assert.ok(guessedTokens < 0.5 * computedTokens, `${guessedTokens} of ${computedTokens}`);
});

test('a draft model that is never sure guesses nothing', async () => {
  await using guessing = await TestEngine.load({ ...same, leastGuessProbability: 1 });
  endOf(await guessing.generate(prompt));
  assert.is(guessing.engine.counts.guessedTokens, 0);
});

for (const [layout, changes] of [
  ['cells for each sequence', { maxSequences: 3 }],
  ['too few shared cells', { maxSequences: 3, totalCells: 256 }],
] as const)
  test(`many sequences come and go, and their texts stay apart: ${layout}`, async () => {
    const beginning = `${prompt} who had a red ball and a big dog. `.repeat(3);
    const prompts = Array.from({ length: 12 }, (_, n) => `${n % 3 === 0 ? beginning : prompt} ${n}`);
    const sampling = { maxTokens: 24, ignoreEos: true };
    await using plain = await TestEngine.load();
    const alone: string[] = [];
    for (const one of prompts) alone.push((await plain.generate(one, sampling)).text);
    await using guessing = await TestEngine.load({ ...same, ...changes, prefillTokensPerStep: 16 });
    const cancelled = guessing.submit(prompt, { maxTokens: 200, ignoreEos: true });
    const ids = prompts.map((one) => guessing.submit(one, sampling));
    await guessing.until(() => guessing.of(cancelled).length > 3);
    guessing.engine.cancel(cancelled);
    const texts: string[] = [];
    for (const id of ids) texts.push((await guessing.finish(id)).text);
    // The order of the cells changes the last bits of logits, so a text may part from the other one where two tokens
    // are as good as equal.
    const parted = texts.filter((text, at) => text !== alone[at]);
    assert.ok(parted.length <= 2, `${parted.length} of ${texts.length} texts differ`);
    assert.ok(guessing.engine.counts.acceptedTokens > 50, `${guessing.engine.counts.acceptedTokens} accepted`);
  });

test('sequences of different adapters, tenants and lengths are guessed for', async () => {
  await using guessing = await TestEngine.load({ ...same, contextTokens: 64 });
  const ids = ['one', 'two', 'one'].map((tenant) =>
    guessing.submit(prompt, { tenant, maxTokens: 10_000, ignoreEos: true }),
  );
  for (const id of ids) assert.is(endOf(await guessing.finish(id)).reason, 'length');
  assert.ok(guessing.engine.counts.acceptedTokens > 50);
});

test('an unfitting draft model is refused with the reason', async () => {
  const messageOf = async (draftModelPath: string): Promise<string> =>
    (await rejection(TestEngine.load({ ...same, draftModelPath }))).message;
  const otherWords = join(folder, 'words.gguf');
  writeTinyLlama(otherWords, { renamedToken: '▁cat' });
  const begins = join(folder, 'begins.gguf');
  writeTinyLlama(begins, { beginsTexts: false });
  assert.match(await messageOf(otherWords), /words\.gguf does not fit the model.*another vocabulary.*"▁cat"/);
  assert.match(await messageOf(begins), /begins\.gguf does not fit the model.*begin with another token/);
  assert.match(await messageOf(join(folder, 'none.gguf')), /none\.gguf does not exist/);
});

test('a draft model whose logits are not numbers ends the guesses, not the engine', async () => {
  const broken = join(folder, 'broken.gguf');
  writeTinyLlama(broken, { isBroken: true });
  await using plain = await TestEngine.load();
  await using guessing = await TestEngine.load({ ...same, draftModelPath: broken });
  assert.is((await guessing.generate(prompt)).text, (await plain.generate(prompt)).text);
  assert.is(guessing.engine.counts.guessedTokens, 0);
});

test('invalid options are refused', async () => {
  const wrong = [{ leastGuessProbability: 2 }, { leastGuessProbability: 'x' as unknown as number }];
  for (const changes of wrong)
    assert.match((await rejection(TestEngine.load({ ...same, ...changes }))).message, 'leastGuessProbability');
});

Draft.run();
