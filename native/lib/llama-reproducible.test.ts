// Reproducible requests: their logits are the same to the last bit, whatever else the engine computes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions, LlamaRequestOptions, LlamaSampling, RequestTerms } from './binding/index.ts';
import { endOf, errorOf, isBuilt, TestEngine } from './fixtures/test-engine.ts';

const Reproducible = suite('reproducible requests of the llama engine');
/** Of several fixed chunks, and not of whole ones. */
const prompt = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(5);
const reproducible = { reproducible: true, logprobs: 3, maxTokens: 40, ignoreEos: true };

type Changes = Partial<LlamaSampling & RequestTerms & LlamaRequestOptions>;

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Reproducible(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

/** The text with the numbers and log-probabilities of its tokens. */
interface Answer {
  readonly text: string;
  readonly scores: readonly (readonly number[])[];
  readonly reused: number;
}

async function answerOf(llama: TestEngine, id: number): Promise<Answer> {
  const generation = await llama.finish(id);
  const scores = llama
    .of(id)
    .flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []))
    .map(({ id: token, logprob, top }) => [token, logprob, ...top.flatMap((one) => [one.id, one.logprob])]);
  return { text: generation.text, scores, reused: endOf(generation).reusedTokens };
}

const answer = (llama: TestEngine, text: string, changes: Changes = {}): Promise<Answer> =>
  answerOf(llama, llama.submit(text, { ...reproducible, ...changes }));

const withoutReuse = ({ text, scores }: Answer): object => ({ text, scores });

async function alone(text: string, changes: Changes = {}, load: Partial<LlamaLoadOptions> = {}): Promise<object> {
  await using llama = await TestEngine.load(load);
  return withoutReuse(await answer(llama, text, changes));
}

/** Submits requests of other lengths that run beside others. */
const submitOthers = (llama: TestEngine, changes: Changes = {}): number[] =>
  Array.from({ length: 8 }, (_, n) =>
    llama.submit(`Number ${n} ${'the dog ran '.repeat(3 * n + 1)}`, {
      maxTokens: 20 + 7 * n,
      ignoreEos: true,
      ...changes,
    }),
  );

test('have the same logits alone and among others, where plain requests have not', async () => {
  for (const isReproducible of [false, true]) {
    const changes = { reproducible: isReproducible };
    const expected = await alone(prompt, changes);
    await using llama = await TestEngine.load({ maxSequences: 5, prefillTokensPerStep: 20 });
    const others = submitOthers(llama);
    const among = await answer(llama, prompt, changes);
    for (const id of others) endOf(await llama.finish(id));
    const isSame = JSON.stringify(withoutReuse(among)) === JSON.stringify(expected);
    assert.is(isSame, isReproducible);
  }
});

test('have the same logits among requests that are reproducible, too, and with other draws of tokens', async () => {
  const drawn = { temperature: 1.3, seed: 7, topK: 40 };
  const expected = await alone(prompt, drawn);
  await using llama = await TestEngine.load({ maxSequences: 4 });
  const others = submitOthers(llama, { reproducible: true });
  const ids = [1, 2, 3].map(() => llama.submit(prompt, { ...reproducible, ...drawn }));
  for (const id of ids) assert.equal(withoutReuse(await answerOf(llama, id)), expected);
  for (const id of others) endOf(await llama.finish(id));
});

test('reuse what reproducible requests computed in whole chunks, and nothing else', async () => {
  const expected = await alone(prompt);
  await using llama = await TestEngine.load({ maxSequences: 2 });
  endOf(await llama.generate(prompt, { maxTokens: 4 }));
  const first = await answer(llama, prompt);
  assert.is(first.reused, 0, 'a plain request computed it in other chunks');
  const again = await answer(llama, prompt);
  assert.ok(again.reused > 32 && again.reused % 32 === 0, `${again.reused}`);
  const other = await answer(llama, `${prompt.slice(0, 200)} And then`);
  assert.ok(other.reused > 0 && other.reused % 32 === 0, `${other.reused}`);
  for (const one of [first, again, await answer(llama, prompt)]) assert.equal(withoutReuse(one), expected);
  // A plain request may use all of it.
  assert.ok(endOf(await llama.generate(`${prompt}The cat`)).reusedTokens >= again.reused);
});

test('do not continue with the tokens of an answer, which were computed one by one', async () => {
  await using llama = await TestEngine.load({ maxSequences: 2 });
  const { text } = await answer(llama, prompt, { maxTokens: 100 });
  const next = `${prompt}${text} The cat`;
  assert.equal(withoutReuse(await answer(llama, next)), await alone(next));
});

test('share a beginning with one that computes it at the moment', async () => {
  const texts = ['cat ran', 'dog was'].map((end) => `${prompt}The ${end}`);
  await using llama = await TestEngine.load({ maxSequences: 4 });
  const ids = texts.map((text) => llama.submit(text, reproducible));
  const answers = [];
  for (const id of ids) answers.push(await answerOf(llama, id));
  assert.ok((answers[1]?.reused ?? 0) > 32);
  for (const [i, text] of texts.entries()) assert.equal(withoutReuse(answers[i] as Answer), await alone(text));
});

test('have the same logits when a slow reader loses its place and is computed again', async () => {
  const long = { maxTokens: 130 };
  const expected = await alone(prompt, long);
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const slow = llama.submit(prompt, { ...reproducible, ...long });
  llama.unread.add(slow);
  await llama.until(() => llama.of(slow).length >= 64);
  // Takes the only place after a second.
  endOf(await llama.generate('A dog', { maxTokens: 5 }));
  llama.unread.delete(slow);
  const { computedTokens } = llama.engine.counts;
  llama.engine.acknowledge(slow, llama.of(slow).length);
  assert.equal(withoutReuse(await answerOf(llama, slow)), expected);
  assert.ok(llama.engine.counts.computedTokens - computedTokens > 130, 'it was not computed again');
});

test('guess no tokens', async () => {
  const repeating = 'Once upon a time there was a cat. Once upon a time there was a dog. Once upon';
  const expected = await alone(repeating);
  await using llama = await TestEngine.load({ guessedTokensPerStep: 8 });
  assert.equal(withoutReuse(await answer(llama, repeating)), expected);
  assert.is(llama.engine.counts.guessedTokens, 0);
});

test('do not hold up other requests', async () => {
  await using llama = await TestEngine.load({ maxSequences: 2 });
  const first = llama.submit(prompt, { ...reproducible, maxTokens: 150 });
  assert.is(endOf(await llama.generate('A dog', { maxTokens: 5 })).completionTokens, 5);
  assert.is(
    llama.of(first).some(({ type }) => type === 'end'),
    false,
  );
  endOf(await llama.finish(first));
});

test('are refused where sequences share their cells', async () => {
  for (const load of [{ totalCells: 512 }, { totalCells: 300 }]) {
    await using llama = await TestEngine.load(load);
    const { code, fault, message } = errorOf(await llama.generate('A dog', { reproducible: true }));
    assert.equal([code, fault], ['invalid-sampling', 'caller']);
    assert.match(message, 'needs a cache for each sequence');
    endOf(await llama.generate('A dog'));
  }
});

test('do not go on in a shifted context, and the engine goes on', async () => {
  await using llama = await TestEngine.load();
  const { code, fault, message } = errorOf(
    await llama.generate('A dog', { reproducible: true, overflow: 'shift', maxTokens: 3 }),
  );
  assert.equal([code, fault], ['invalid-sampling', 'caller']);
  assert.match(message, /a reproducible answer cannot go on in a shifted context/);
  assert.is((await llama.generate('A dog', { overflow: 'shift', maxTokens: 3 })).last.type, 'end');
});

Reproducible.run();
