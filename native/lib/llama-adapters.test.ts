// LoRA adapters in the engine of a language model.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions, LlamaTokenScores } from './binding/index.ts';
import { writeAdapter, writeMerged } from './fixtures/tiny-adapter.ts';
import { writeGguf } from './fixtures/gguf-file.ts';
import { endOf, isBuilt, prompt, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { ggufPair } from './gguf.ts';

const Adapters = suite('LoRA adapters');
const folder = mkdtempSync(join(tmpdir(), 'aana-adapters-'));
Adapters.after(() => rmSync(folder, { recursive: true }));

const ONE = { seed: 1, spread: 0.4 };
const TWO = { seed: 2, spread: 0.4, rank: 8, matrices: /^blk\.\d+\.(attn_q|ffn_down)\.weight$/ };
const one = join(folder, 'one.gguf');
const two = join(folder, 'two.gguf');
writeAdapter(one, tinyModel, ONE);
writeAdapter(two, tinyModel, TWO);
const BOTH: Partial<LlamaLoadOptions> = { adapters: [one, two] };

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Adapters(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

interface Greedy {
  readonly text: string;
  readonly scores: readonly LlamaTokenScores[];
}

/** Returns the greedy text, and at each place the two likeliest tokens. */
async function greedyText(llama: TestEngine, adapter?: { index: number; scale: number }): Promise<Greedy> {
  const id = llama.submit(prompt, { logprobs: 2, maxTokens: 48, ...(adapter && { adapter }) });
  const { text } = await llama.finish(id);
  return { text, scores: llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : [])) };
}

/** Below this difference of logarithms, rounding may decide which of two tokens is the likeliest. */
const MARGIN = 0.001;

/** Fails unless the texts are equal up to a place where the two likeliest tokens are as good as equal. */
function assertSame(actual: Greedy, expected: Greedy): void {
  const at = actual.scores.findIndex(({ id }, place) => id !== expected.scores[place]?.id);
  if (at < 0) return assert.is(actual.text, expected.text);
  const [first, second] = expected.scores[at]?.top ?? [];
  const difference = (first?.logprob ?? 0) - (second?.logprob ?? Number.NEGATIVE_INFINITY);
  assert.ok(difference <= MARGIN, `token ${at} differs, though the best one is better by ${difference}`);
}

test('an adapter gives the text of the merged model, at each scale', async () => {
  await using llama = await TestEngine.load(BOTH);
  const base = await greedyText(llama);
  for (const [index, options, scale] of [
    [0, ONE, 1],
    [0, ONE, -0.5],
    [1, TWO, 1],
  ] as const) {
    const merged = join(folder, `merged-${index}-${scale}.gguf`);
    writeMerged(merged, tinyModel, options, scale);
    await using other = await TestEngine.load({ modelPath: merged });
    const adapted = await greedyText(llama, { index, scale });
    assertSame(adapted, await greedyText(other));
    assert.is.not(adapted.text, base.text);
  }
  assertSame(await greedyText(llama, { index: 0, scale: 0 }), base);
  assertSame(await greedyText(llama), base);
});

test('requests with different adapters run at the same time and do not change each other', async () => {
  await using llama = await TestEngine.load({ ...BOTH, maxSequences: 4 });
  const uses = [undefined, { index: 0, scale: 1 }, { index: 1, scale: 1 }, { index: 0, scale: 2 }];
  const alone: Greedy[] = [];
  for (const use of uses) alone.push(await greedyText(llama, use));
  const together = await Promise.all(uses.map((use) => greedyText(llama, use)));
  for (const [at, text] of together.entries()) assertSame(text, alone[at] as Greedy);
  assert.is(new Set(together.map(({ text }) => text)).size, uses.length);
});

test('a prompt is not reused with another adapter', async () => {
  await using llama = await TestEngine.load({ ...BOTH, maxSequences: 1 });
  const reused = async (adapter?: { index: number; scale: number }): Promise<number> =>
    endOf(await llama.generate(prompt, { maxTokens: 2, ...(adapter && { adapter }) })).reusedTokens;
  await reused();
  assert.ok((await reused()) > 0);
  for (const use of [{ index: 0, scale: 1 }, { index: 0, scale: 0.5 }, { index: 1, scale: 1 }, undefined]) {
    assert.is(await reused(use), 0);
    assert.ok((await reused(use)) > 0);
  }
});

const broken = (name: string, write: (path: string) => void): string => {
  const path = join(folder, name);
  write(path);
  return path;
};
const pairs = (type: Buffer): Buffer[] => [ggufPair.text('general.architecture', 'llama'), type];

for (const [title, path, message] of [
  ['is missing', join(folder, 'none.gguf'), /^adapter file .*none\.gguf does not exist/],
  ['is a model', tinyModel, /is not a LoRA adapter/],
  [
    'is truncated',
    broken('cut.gguf', (path) => writeFileSync(path, readFileSync(one).subarray(0, -1000))),
    /^adapter file .*cut\.gguf is truncated/,
  ],
  [
    'is for another architecture',
    broken('qwen.gguf', (path) => writeAdapter(path, tinyModel, { ...ONE, architecture: 'qwen2' })),
    /is for a model of the architecture qwen2, not llama/,
  ],
  [
    'is for a model of another size',
    broken('large.gguf', (path) => {
      const tensors = ['a', 'b'].map((half) => ({
        name: `blk.0.attn_output.weight.lora_${half}`,
        dimensions: half === 'a' ? [128, 4] : [4, 128],
        type: 0,
        bytes: 2048,
        content: () => [Buffer.alloc(2048)],
      }));
      writeGguf(
        path,
        [...pairs(ggufPair.text('general.type', 'adapter')), ggufPair.text('adapter.type', 'lora')],
        tensors,
      );
    }),
    /large\.gguf does not fit the model \(.*attn_output/,
  ],
  [
    'has matrices of integers',
    broken('integers.gguf', (path) => {
      const tensors = ['a', 'b'].map((half) => ({
        name: `blk.0.attn_output.weight.lora_${half}`,
        dimensions: [64, 64],
        type: 26,
        bytes: 64 * 64 * 4,
        content: () => [Buffer.alloc(64 * 64 * 4)],
      }));
      writeGguf(
        path,
        [...pairs(ggufPair.text('general.type', 'adapter')), ggufPair.text('adapter.type', 'lora')],
        tensors,
      );
    }),
    /lora_a has the type i32, which no matrix of an adapter can have/,
  ],
  [
    'has an alpha that is not a number',
    broken('alpha.gguf', (path) => writeAdapter(path, tinyModel, { ...ONE, alpha: Number.NaN })),
    /adapter\.lora\.alpha is not a finite number/,
  ],
  [
    'has a kind that is no text',
    broken('kind.gguf', (path) => writeGguf(path, pairs(ggufPair.uint32('general.type', 1)), [])),
    /general\.type is not a text/,
  ],
  [
    'has no tensors',
    broken('empty.gguf', (path) =>
      writeGguf(path, [...pairs(ggufPair.text('general.type', 'adapter')), ggufPair.text('adapter.type', 'lora')], []),
    ),
    /has no tensors/,
  ],
] as const) {
  test(`an adapter that ${title} is an error at the load`, async () => {
    const error: unknown = await TestEngine.load({ adapters: [one, path] }).catch((thrown: unknown) => thrown);
    assert.instance(error, Error);
    assert.match((error as Error).message, message);
  });
}

test('a request for an adapter that is not loaded is refused', async () => {
  await using llama = await TestEngine.load(BOTH);
  assert.throws(() => llama.submit(prompt, { adapter: { index: 2, scale: 1 } }), /there is no such adapter/);
  assert.throws(() => llama.submit(prompt, { adapter: { index: 0, scale: Number.NaN } }), /scale is not a number/);
  assert.throws(() => llama.submit(prompt, { adapter: 'one' as never }), /adapter/);
});

Adapters.run();
