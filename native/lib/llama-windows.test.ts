// Models some of whose layers attend to the last tokens only, and how much these layers keep.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions } from './binding/index.ts';
import { expectSame } from './fixtures/same-text.ts';
import { endOf, isBuilt, sharedCells, TestEngine } from './fixtures/test-engine.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';

const Windows = suite('windows of the llama engine');

const folder = mkdtempSync(join(tmpdir(), 'aana-windows-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
const modelPath = join(folder, 'windowed.gguf');
const MOST_TOKENS = 2 ** 17;
writeTinyLlama(modelPath, { window: 32, contextTokens: MOST_TOKENS });

/** Layers with a window then keep 256 tokens of a sequence. */
const small: Partial<LlamaLoadOptions> = {
  modelPath,
  contextTokens: 2048,
  passTokens: 64,
  prefillTokensPerStep: 64,
  keepsAllWindows: false,
};
const whole: Partial<LlamaLoadOptions> = { ...small, keepsAllWindows: true };
const story = (times: number): string => 'Once upon a time there was a little girl who had a red ball. '.repeat(times);

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Windows(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

test('layers that keep their window need less memory', async () => {
  const grown = async (changes: Partial<LlamaLoadOptions>): Promise<number> => {
    const before = process.memoryUsage.rss();
    await using llama = await TestEngine.load({ ...changes, contextTokens: MOST_TOKENS, maxSequences: 1 });
    assert.is(llama.engine.info.contextTokens, MOST_TOKENS);
    return process.memoryUsage.rss() - before;
  };
  await grown(small); // what only the first engine of a process needs
  const [few, all] = [await grown(small), await grown(whole)];
  // Keys and values of two layers with 32 numbers of 2 bytes each.
  const expected = 2 * 2 * 32 * 2 * MOST_TOKENS;
  assert.ok(all - few > 0.8 * expected, `${few} and ${all} bytes, whose difference should be about ${expected}`);
});

test('a dialog goes on with what was computed for it, with the same text', async () => {
  const sampling = { maxTokens: 40, logprobs: 2, ignoreEos: true };
  await using llama = await TestEngine.load(small);
  await using expected = await TestEngine.load(whole);
  let text = story(40);
  for (let turn = 0; turn < 4; turn += 1) {
    const id = llama.submit(text, sampling);
    const { reusedTokens, promptTokens } = endOf(await llama.finish(id));
    endOf(await expected.finish(expected.submit(text, sampling)));
    expectSame(llama, id, expected, id);
    if (turn > 0) assert.ok(reusedTokens > 500, `${reusedTokens} of ${promptTokens}`);
    text += `${(await llama.finish(id)).text}. And then the dog`;
  }
});

test('a text that parts far back is computed again', async () => {
  const sampling = { maxTokens: 20, logprobs: 2, ignoreEos: true };
  await using llama = await TestEngine.load({ ...small, maxSequences: 1 });
  await using expected = await TestEngine.load({ ...whole, maxSequences: 1 });
  const reused: number[] = [];
  for (const text of [story(40), `${story(8)}The cat`, `${story(8)}The dog`]) {
    const id = llama.submit(text, sampling);
    reused.push(endOf(await llama.finish(id)).reusedTokens);
    endOf(await expected.finish(expected.submit(text, sampling)));
    expectSame(llama, id, expected, id);
  }
  assert.is(reused[1], 0);
  // That text has fewer tokens than the layers keep.
  assert.ok((reused[2] ?? 0) > 100, `${reused}`);
});

for (const [title, load] of [
  ['of layers that keep their window', small],
  ['of whole layers', whole],
  ['of whole layers with shared cells', { ...whole, totalCells: sharedCells }],
] as const)
  test(`texts that come together, wait and lose their places are as alone: ${title}`, async () => {
    const sampling = { maxTokens: 100, logprobs: 2, ignoreEos: true };
    await using llama = await TestEngine.load({
      ...load,
      ...{ maxSequences: 3, guessedTokensPerStep: 6, keptBytes: 2 ** 20 },
    });
    await using expected = await TestEngine.load({ ...whole, maxSequences: 1 });
    const ids: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const text = `${story(4 + 3 * (n % 4))}${['The cat', 'The dog', 'A bird'][n % 3]} ${story(n % 5)}`;
      ids.push(llama.submit(text, { ...sampling, tenant: `user ${n % 3}`, cacheKey: 'all' }));
      expected.submit(text, sampling);
    }
    for (const id of ids) {
      endOf(await llama.finish(id));
      endOf(await expected.finish(id));
      expectSame(llama, id, expected, id);
    }
    assert.ok(llama.engine.counts.reusedTokens > 0);
  });

test('a beginning is not given up for a part of a state, which cannot be taken', async () => {
  await using llama = await TestEngine.load({ ...whole, maxSequences: 1, keptBytes: 2 ** 24 });
  endOf(await llama.generate(`${story(20)}The cat`, { maxTokens: 4 }));
  endOf(await llama.generate('Another text', { maxTokens: 4 })); // the first one is kept
  endOf(await llama.generate(`${story(10)}A bird`, { maxTokens: 4 }));
  const { reusedTokens } = endOf(await llama.generate(`${story(20)}The dog`, { maxTokens: 4 }));
  assert.ok(reusedTokens > 100, `${reusedTokens}`);
});

test('the context of an answer cannot be shifted', async () => {
  await using llama = await TestEngine.load(small);
  assert.is(llama.engine.info.canShift, false);
  assert.throws(() => llama.submit('Once', { overflow: 'shift' }), /cannot take tokens out/);
  await using shifting = await TestEngine.load(whole);
  assert.is(shifting.engine.info.canShift, true);
});

test('prompts on disk are read only by engines that keep as much', async () => {
  const promptCache = { folder: join(folder, 'prompts'), maxBytes: 2 ** 30, minTokens: 16 };
  let text = story(40);
  for (const [changes, isThere] of [
    [whole, false],
    [small, false],
    [small, true],
    [whole, true],
  ] as const) {
    await using llama = await TestEngine.load({ ...changes, promptCache });
    text += `${(await llama.generate(text, { maxTokens: 8, ignoreEos: true })).text} The cat`;
    assert.is(llama.engine.counts.restoredTokens > 100, isThere, text);
  }
});

test('sequences that share one cache cannot keep windows only', async () => {
  for (const changes of [{ totalCells: sharedCells }, { totalCells: 4096 }]) {
    const loading = TestEngine.load({ ...small, ...changes });
    assert.match(await loading.then(String, ({ message }: Error) => message), 'n_ctx_total');
  }
});

test('sizes that llama.cpp does not take are refused', async () => {
  for (const passTokens of [0, 31, 65_537, 1.5, Number.NaN]) {
    const loading = TestEngine.load({ passTokens });
    assert.match(await loading.then(String, ({ message }: Error) => message), 'passTokens', `${passTokens}`);
  }
});

Windows.run();
