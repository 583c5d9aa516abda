// What an engine keeps of conversations that lost their place to others.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions } from './binding/index.ts';
import { endOf, isBuilt, sharedCells, TestEngine } from './fixtures/test-engine.ts';

const Prefixes = suite('conversations without a place in the llama engine');
const KEPT = { keptBytes: 1e9 };
const LONG = { ...KEPT, contextTokens: 512, prefillTokensPerStep: 256 };

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Prefixes(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

/** Returns about so many tokens that differ from those of another seed from the first word on. */
const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, n) => `${seed * 7919 + n * seed} dog`).join(' ');

interface Talk {
  readonly tenant: string;
  text: string;
  /** Tokens of the last prompt and its answer. */
  tokens: number;
}

/** Takes a turn of each conversation, one after the other. Returns the reused part of what could be reused. */
async function turn(llama: TestEngine, talks: readonly Talk[], question: string): Promise<number> {
  let reused = 0;
  let known = 0;
  for (const talk of talks) {
    const generation = await llama.generate(talk.text + question, { maxTokens: 2, tenant: talk.tenant });
    const end = endOf(generation);
    reused += end.reusedTokens;
    known += talk.tokens;
    talk.text += question + generation.text;
    talk.tokens = end.promptTokens + end.completionTokens - 1;
  }
  return reused / known;
}

const talksOf = (count: number, size: number, tenantOf = (n: number) => `user ${n}`): Talk[] =>
  Array.from({ length: count }, (_, n) => ({ tenant: tenantOf(n), text: words(size, n + 1), tokens: 0 }));

for (const [layout, changes] of [
  ['cells for each sequence', {}],
  ['shared cells', { totalCells: sharedCells }],
  ['few shared cells', { totalCells: 600 }],
] as readonly (readonly [string, Partial<LlamaLoadOptions>])[])
  test(`the third turn of 6 users reuses what 4 places have computed: ${layout}`, async () => {
    await using llama = await TestEngine.load({ ...LONG, ...changes, maxSequences: 4 });
    const talks = talksOf(6, 30);
    await turn(llama, talks, ' Tell me.');
    await turn(llama, talks, ' And then?');
    const part = await turn(llama, talks, ' Why?');
    assert.ok(part > 0.95, `${part}`);
  });

test('64 conversations in turn reuse what was computed for them', async () => {
  await using llama = await TestEngine.load({ ...LONG, maxSequences: 4 });
  const talks = talksOf(64, 24, (n) => `user ${n % 16}`);
  await turn(llama, talks, ' Tell me.');
  const parts = [await turn(llama, talks, ' And then?'), await turn(llama, talks, ' Why?')];
  const tokens = talks.reduce((sum, talk) => sum + talk.tokens, 0) / talks.length;
  assert.ok(tokens > 130, `${tokens} tokens`);
  assert.ok(
    parts.every((part) => part > 0.95),
    `${parts}`,
  );
  const { keptHits, keptMisses, keptTokens, reusedTokens, keptBytes, keptStates } = llama.engine.counts;
  assert.equal([keptHits, keptMisses, keptStates], [128, 64, 64]);
  assert.ok(keptTokens > 0.95 * reusedTokens && keptBytes > 64 * 130 * 4, `${keptTokens} ${keptBytes}`);
});

test('a conversation that comes back is answered as if it had never lost its place', async () => {
  const reproducible = { reproducible: true, logprobs: 3, maxTokens: 24, ignoreEos: true };
  const [first, other] = [words(40, 1), words(40, 2)];
  const answers: unknown[] = [];
  for (const keptBytes of [0, 1e9]) {
    await using llama = await TestEngine.load({ ...LONG, keptBytes, maxSequences: 1 });
    const begun = await llama.generate(first, reproducible);
    await llama.generate(other, reproducible);
    const id = llama.submit(`${first}${begun.text} Why?`, reproducible);
    const { reusedTokens } = endOf(await llama.finish(id));
    assert.is(reusedTokens > 200, keptBytes > 0, `${reusedTokens} tokens`);
    answers.push(llama.of(id).flatMap((event) => (event.type === 'text' ? [event.text, event.scores] : [])));
  }
  assert.equal(answers[1], answers[0]);
});

test('users are told of their own conversations only, also with the same key', async () => {
  for (const cacheKey of ['all', undefined]) {
    const key = cacheKey !== undefined && { cacheKey };
    await using llama = await TestEngine.load({ ...LONG, maxSequences: 1 });
    const ask = async (text: string, tenant: string): Promise<number> =>
      endOf(await llama.generate(text, { maxTokens: 2, tenant, ...key })).reusedTokens;
    await ask(words(40, 1), 'one');
    await ask(words(40, 2), 'one');
    assert.is(await ask(words(40, 1), 'other'), 0);
    assert.is(llama.engine.counts.keptHits, cacheKey === undefined ? 0 : 1);
    await ask(words(40, 3), 'other');
    assert.ok((await ask(words(40, 1), 'other')) > 200);
  }
});

test('what is kept is given up on request, and nothing is kept then', async () => {
  await using llama = await TestEngine.load({ ...LONG, maxSequences: 1 });
  await turn(llama, talksOf(3, 40), '');
  const { keptBytes, keptStates } = llama.engine.counts;
  assert.is(keptStates, 2);
  llama.engine.limitKept(keptBytes - 1);
  await turn(llama, talksOf(1, 1), '');
  assert.ok(llama.engine.counts.keptBytes < keptBytes);
  llama.engine.limitKept(0);
  await turn(llama, talksOf(3, 40), '');
  assert.equal([llama.engine.counts.keptStates, llama.engine.counts.keptBytes], [0, 0]);
  assert.throws(() => llama.engine.limitKept(-1), 'bytes');
});

Prefixes.run();
