// Tokens that are guessed from the text itself change how many steps it takes, and nothing else.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaSampling } from './binding/index.ts';
import { endOf, isBuilt, TestEngine } from './fixtures/test-engine.ts';
import { tinyToken } from './fixtures/tiny-llama.ts';

const Speculation = suite('guessed tokens of the llama engine');
const CAT = tinyToken('▁cat');
const cats: Partial<LlamaSampling> = { maxTokens: 48, logitBias: [{ token: CAT, bias: 100 }] };
/** Repeats itself, so that guesses are made. */
const prompt = 'Once upon a time there was a cat. Once upon a time there was a dog. Once upon';

function test(title: string, run: (plain: TestEngine, guessing: TestEngine) => Promise<void>): void {
  if (isBuilt)
    Speculation(title, async () => {
      await using plain = await TestEngine.load();
      await using guessing = await TestEngine.load({ guessedTokensPerStep: 8 });
      await run(plain, guessing);
    });
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

test('a repeating text takes few steps', async (plain, guessing) => {
  const one = await plain.generate('Once', cats);
  const two = await guessing.generate('Once', cats);
  assert.is(two.text, one.text);
  assert.is(endOf(two).completionTokens, 48);
  assert.ok(guessing.engine.steps * 3 < plain.engine.steps, `${guessing.engine.steps} of ${plain.engine.steps} steps`);
  const { guessedTokens, acceptedTokens } = guessing.engine.counts;
  assert.ok(acceptedTokens > 24 && acceptedTokens <= guessedTokens, `${acceptedTokens} of ${guessedTokens}`);
});

test('the text is the same, also when it is drawn, constrained or ends early', async (plain, guessing) => {
  const variants: Partial<LlamaSampling>[] = [
    {},
    { maxTokens: 1 },
    { maxTokens: 2 },
    { maxTokens: 3 },
    { temperature: 0.8, seed: 5 },
    { temperature: 1.5, seed: 6, topK: 3, repetitionPenalty: 1.2, frequencyPenalty: 0.3 },
    { ...cats, stop: ['cat cat cat cat'] },
    { ...cats, minTokens: 3, stopTokenIds: [CAT] },
    { ...cats, maxTokens: 10_000 },
    { grammar: { text: 'root ::= ("cat " | "dog " | "a ")+' }, maxTokens: 24 },
  ];
  for (const changes of variants) {
    const [one, two] = [await plain.generate(prompt, changes), await guessing.generate(prompt, changes)];
    assert.is(two.text, one.text, JSON.stringify(changes));
    const [mine, theirs] = [endOf(one), endOf(two)];
    assert.equal([theirs.reason, theirs.completionTokens], [mine.reason, mine.completionTokens]);
  }
});

test('each token keeps its scores', async (plain, guessing) => {
  const scoresOf = async (llama: TestEngine): Promise<(readonly [number, number])[]> => {
    const id = llama.submit(prompt, { ...cats, logprobs: 1 });
    await llama.finish(id);
    const scores = llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
    return scores.map(({ id: token, logprob }) => [token, logprob]);
  };
  const [one, two] = [await scoresOf(plain), await scoresOf(guessing)];
  assert.equal(
    two.map(([token]) => token),
    one.map(([token]) => token),
  );
  // Several tokens in one computation round differently.
  assert.ok(one.every(([, logprob], index) => Math.abs(logprob - (two[index]?.[1] ?? 0)) < 0.2));
});

test('sequences share the guesses of a step, and their texts stay apart', async (plain, guessing) => {
  const prompts = Array.from({ length: 6 }, (_, index) => `${prompt} ${index}`);
  const alone = [];
  for (const one of prompts) alone.push((await plain.generate(one)).text);
  const together = await Promise.all(prompts.map((one) => guessing.generate(one)));
  assert.equal(
    together.map(({ text }) => text),
    alone,
  );
});

test('a cancelled sequence leaves nothing that the next one could meet', async (plain, guessing) => {
  const id = guessing.submit('Once', { ...cats, maxTokens: 200 });
  await guessing.until(() => guessing.of(id).length > 5);
  guessing.engine.cancel(id);
  await guessing.finish(id);
  assert.is((await guessing.generate('Once cat cat')).text, (await plain.generate('Once cat cat')).text);
});

Speculation.run();
