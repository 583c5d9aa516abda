// Scaled positions. The judge is llama.cpp's reading of a file that states the same scaling.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions } from './binding/index.ts';
import { endOf, isBuilt, prompt, TestEngine } from './fixtures/test-engine.ts';
import { TINY_LLAMA, type TinyLlamaOptions, writeTinyLlama } from './fixtures/tiny-llama.ts';

const Rope = suite('scaled positions');
const TRAINED = TINY_LLAMA.contextTokens;

const folder = mkdtempSync(join(tmpdir(), 'aana-rope-'));
Rope.after(() => rmSync(folder, { recursive: true }));
const plain = join(folder, 'plain.gguf');
writeTinyLlama(plain);

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Rope(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

/** Returns the log-probabilities of the tokens of a prompt that fills most of the longest context. */
async function scores(modelPath: string, changes: Partial<LlamaLoadOptions>): Promise<readonly number[]> {
  await using llama = await TestEngine.load({ modelPath, contextTokens: 0, maxSequences: 1, ...changes });
  const text = `${prompt} `.repeat(Math.floor(llama.engine.info.contextTokens / 6));
  const id = llama.submit(text, { promptLogprobs: 0, maxTokens: 1 });
  await llama.finish(id);
  return llama
    .of(id)
    .flatMap((event) => (event.type === 'text' ? (event.promptScores ?? []) : []))
    .map(({ logprob = 0 }) => logprob);
}

const scaled = (type: 'linear' | 'yarn') =>
  ({ type, factor: 4, originalTokens: TRAINED, betaFast: 32, betaSlow: 1 }) as const;
/** A file states the length that scaling gives. */
const extended = { contextTokens: 4 * TRAINED };
const kinds: readonly [string, TinyLlamaOptions, Partial<LlamaLoadOptions>][] = [
  ['linear', { ...extended, rope: { scaling: scaled('linear') } }, { ropeScaling: scaled('linear') }],
  ['yarn', { ...extended, rope: { scaling: scaled('yarn') } }, { ropeScaling: scaled('yarn') }],
  ['another base', { rope: { base: 1_000_000 } }, { ropeFrequencyBase: 1_000_000 }],
];
for (const [name, stated, changes] of kinds)
  test(`give what a file gives that states them (${name})`, async () => {
    const path = join(folder, `${name}.gguf`);
    writeTinyLlama(path, stated);
    const own = await scores(plain, changes);
    assert.equal(own, await scores(path, {}));
    assert.is(own.length > TRAINED, changes.ropeScaling !== undefined, `${own.length} tokens`);
    // Without the changes, the same tokens have other scores.
    const unscaled = await scores(plain, {});
    assert.is.not(String(own.slice(0, unscaled.length)), String(unscaled));
  });

test('let a sequence hold more than what the model was trained with', async () => {
  const long = 'Once '.repeat(TRAINED + 100);
  for (const ropeScaling of [scaled('linear'), scaled('yarn')]) {
    await using llama = await TestEngine.load({ modelPath: plain, contextTokens: 0, maxSequences: 1, ropeScaling });
    assert.is(llama.engine.info.contextTokens, 4 * TRAINED);
    const end = endOf(await llama.finish(llama.submit(long, { maxTokens: 3, ignoreEos: true })));
    assert.ok(end.promptTokens > TRAINED);
    assert.is(end.completionTokens, 3);
  }
});

test('are those of what was kept on disk, also of tokens beyond the trained length', async () => {
  const promptCache = { folder: join(folder, 'prompts'), maxBytes: 1e9, minTokens: 16 };
  const options = { modelPath: plain, contextTokens: 0, maxSequences: 1, ropeScaling: scaled('yarn') };
  const long = 'Once '.repeat(TRAINED + 200);
  const answerOf = async (changes: Partial<LlamaLoadOptions>): Promise<readonly [string, number]> => {
    await using llama = await TestEngine.load({ ...options, ...changes });
    const { text } = await llama.generate(long, { maxTokens: 20, ignoreEos: true });
    return [text, llama.engine.counts.restoredTokens];
  };
  const [text, none] = await answerOf({ promptCache });
  const [again, restored] = await answerOf({ promptCache });
  assert.is(none, 0);
  assert.ok(restored > TRAINED, `${restored} tokens`);
  assert.is(again, text);
  // Keys with other positions are those of another model.
  const [, others] = await answerOf({ promptCache, ropeScaling: scaled('linear') });
  assert.is(others, 0);
});

test('are checked', async () => {
  for (const [changes, error] of [
    [{ type: 'dynamic' as never }, /ropeScaling\.type must be linear or yarn/],
    [{ factor: Number.NaN }, /factor must be a number above 0/],
    [{ betaFast: 0 }, /betaFast must be a number above 0/],
  ] as const)
    await TestEngine.load({ modelPath: plain, ropeScaling: { ...scaled('yarn'), ...changes } }).then(
      () => assert.unreachable('it loads'),
      (refused: Error) => assert.match(refused.message, error),
    );
});

Rope.run();
