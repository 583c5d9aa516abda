// Embeddings through a deployment, in a replica process of its own.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert, writeTinyQwen3 } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

interface Batch {
  readonly embedding: readonly (readonly number[])[];
  readonly tokens: readonly number[];
}

const Embedding = suite('a deployment for embeddings');
const folder = mkdtempSync(join(tmpdir(), 'aana-embedding-'));
let manager: DeploymentManager;
let minilm: DeploymentHandle;

Embedding.before(async () => {
  manager = deployed({
    type: 'LlamaEmbeddingDeployment',
    user_config: {
      model_id: 'sentence-transformers/all-MiniLM-L6-v2',
      model_kwargs: { n_ctx: 256, n_threads: 1 },
      prompts: { query: 'query: ', none: '' },
    },
  });
  await manager.start();
  minilm = manager.handle('model');
});

Embedding.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

const batch = async (
  sentences: readonly (string | readonly number[])[],
  options: object = {},
  signal?: AbortSignal,
): Promise<Batch> => (await minilm.call('embed_batch', { sentences, ...options }, { signal })) as Batch;
const dot = (a: readonly number[] = [], b: readonly number[] = []): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? Number.NaN), 0);

Embedding('has the vectors of sentence-transformers within 0.001', async () => {
  const file = join(packageRoot, 'host/inference/engines/fixtures/minilm-vectors.json');
  const { texts, vectors } = JSON.parse(readFileSync(file, 'utf8')) as { texts: string[]; vectors: number[][] };
  const { embedding } = await batch(texts);
  for (const [at, vector] of vectors.entries()) {
    const largest = Math.max(...vector.map((value, index) => Math.abs(value - (embedding[at]?.[index] ?? NaN))));
    assert.ok(largest < 1e-3, `${texts[at]}: ${largest}`);
  }
});

Embedding('gives one text the vector that it has in a batch', async () => {
  const one = (await minilm.call('embed', { text: 'A cat.' })) as { embedding: number[]; tokens: number };
  const { embedding, tokens } = await batch(['A cat.', 'A dog in the house, who sleeps.', '']);
  assert.equal([one.tokens, tokens], [5, [5, 11, 2]]);
  assert.ok(1 - dot(one.embedding, embedding[0]) < 1e-6);
  assert.ok(Math.abs(dot(embedding[1], embedding[1]) - 1) < 1e-6);
});

Embedding('takes the tokens of a text as they are, without a prompt', async () => {
  const CAT = [101, 1037, 4937, 1012, 102]; // [CLS] a cat . [SEP]
  const text = await batch(['A cat.']);
  const mixed = await batch([CAT, 'A dog.', CAT.slice(1, -1)], { prompt_name: 'query' });
  assert.is(mixed.tokens[0], 5);
  assert.ok(1 - dot(mixed.embedding[0], text.embedding[0]) < 1e-6);
  assert.is(mixed.tokens[2], 3);
  const error = await errorOf(batch(['A cat.', [101, 30_522]]));
  assert.equal([error.name, error.kind], ['InvalidPrompt', 'bad-request']);
  assert.match(error.message, 'the text at index 1 has the token 30522');
});

Embedding('keeps the first dimensions, normalised again, or the raw numbers', async () => {
  const whole = (await batch(['A cat.'], { normalize: false })).embedding[0] ?? [];
  const cut = (await batch(['A cat.'], { dimensions: 64 })).embedding[0] ?? [];
  const raw = (await batch(['A cat.'], { dimensions: 64, normalize: false })).embedding[0];
  assert.equal(raw, whole.slice(0, 64));
  const length = Math.hypot(...whole.slice(0, 64));
  assert.ok(cut.length === 64 && cut.every((value, at) => Math.abs(value - (whole[at] ?? NaN) / length) < 1e-7));
});

Embedding('puts a prompt of the configuration before the texts', async () => {
  const prompted = await batch(['a cat'], { prompt_name: 'query' });
  assert.equal(prompted, await batch(['query: a cat']));
  assert.equal(await batch(['a cat'], { prompt_name: 'none' }), await batch(['a cat']));
  const counted = await minilm.call('count_tokens', { text: 'a cat', prompt_name: 'query' });
  assert.equal(counted, { tokens: 6, max_tokens: 256 });
  const { name, kind, message } = await errorOf(batch(['a'], { prompt_name: 'toString' }));
  assert.equal([name, kind], ['UnknownPrompt', 'bad-request']);
  assert.match(message, 'has no prompt "toString"; it has "query", "none"');
});

Embedding('refuses a text that is too long with both numbers, or cuts it', async () => {
  const long = 'word '.repeat(300);
  const { name, kind, fault, message, data } = await errorOf(batch(['a', long]));
  assert.equal([name, kind, fault], ['PromptTooLongException', 'bad-request', 'caller']);
  assert.match(message, 'the text at index 1 has 302 tokens, the limit is 256');
  assert.equal(data, { prompt_len: 302, max_len: 256 });
  assert.equal((await batch([long], { truncate: 'end' })).embedding, (await batch(['word '.repeat(254)])).embedding);
  assert.equal((await batch([long], { truncate: 'start' })).tokens, [256]);
});

Embedding('answers a hundred calls at the same time', async () => {
  const texts = Array.from({ length: 100 }, (_, at) => `This is the text with the number ${at * 7919}.`);
  const all = await Promise.all(texts.map((text) => batch([text, 'The same text.'])));
  const alone = await batch(texts.slice(40, 42));
  assert.ok(1 - dot(all[41]?.embedding[0], alone.embedding[1]) < 1e-5);
  assert.ok(all.every(({ embedding }) => 1 - dot(embedding[1], all[0]?.embedding[1]) < 1e-5));
});

Embedding('ends a cancelled call', async () => {
  const abort = new AbortController();
  const call = batch(
    Array.from({ length: 2048 }, () => 'A text that takes its time.'),
    {},
    abort.signal,
  );
  while (manager.status()['model']?.replicas[0]?.ongoing === 0) await new Promise(setImmediate);
  abort.abort(new Error('enough'));
  const error = await call.catch((thrown: unknown) => thrown);
  assert.ok(error instanceof Error && error.message === 'enough', String(error));
  assert.is((await batch(['a'])).tokens[0], 3);
});

const WRONG: readonly (readonly [args: object, name: string, pattern: RegExp])[] = [
  [{ sentences: [] }, 'ValidationError', /sentences/],
  [{ sentences: Array.from({ length: 2049 }, () => 'a') }, 'ValidationError', /sentences/],
  [{ sentences: [1] }, 'ValidationError', /sentences/],
  [{ sentences: ['a'], dimensions: Number.NaN }, 'ValidationError', /dimensions/],
  [{ sentences: ['a'], dimensions: 0 }, 'ValidationError', /dimensions/],
  [{ sentences: ['a'], truncate: 'middle' }, 'ValidationError', /truncate/],
  [{ sentences: ['a'], dimensions: 385 }, 'TooManyDimensions', /has 384 dimensions, fewer than 385/],
];
for (const [args, name, pattern] of WRONG) {
  Embedding(`refuses ${JSON.stringify(args).slice(0, 60)}`, async () => {
    const error = await errorOf(minilm.call('embed_batch', args as Record<string, unknown>));
    assert.is(error.name, name, error.message);
    assert.match(error.message, pattern);
  });
}

async function startFailure(config: object, type = 'LlamaEmbeddingDeployment'): Promise<string> {
  const other = deployed({ type, user_config: { model_kwargs: { n_threads: 1 }, ...config } });
  try {
    return (await errorOf(other.start())).message;
  } finally {
    await other.shutdown({ graceMs: 0 });
  }
}

Embedding('does not start with a model for another task, or with settings that do not fit the model', async () => {
  const [bert, llama] = [join(folder, 'bert.gguf'), join(folder, 'llama.gguf')];
  writeTinyBert(bert);
  writeTinyLlama(llama);
  assert.match(await startFailure({ model_id: llama }), 'is not a model for embeddings');
  assert.match(
    await startFailure({ model_id: bert }, 'LlamaTextGenerationDeployment'),
    'use it with a LlamaEmbeddingDeployment',
  );
  assert.match(await startFailure({ model_id: bert, dimensions: 33 }), 'has 32 dimensions, fewer than 33');
  const wrong = { type: 'LlamaEmbeddingDeployment', user_config: { default_prompt_name: 'query' } };
  assert.throws(() => deployed(wrong), /default_prompt_name: .*must be one of the names in prompts/);
});

Embedding('takes new settings while it runs, and describes its model', async () => {
  const path = join(folder, 'qwen3.gguf');
  writeTinyQwen3(path);
  const config = { model_id: path, model_kwargs: { n_threads: 1 } };
  const other = deployed({ type: 'LlamaEmbeddingDeployment', user_config: config });
  try {
    await other.start();
    const qwen = other.handle('model');
    const embed = async (): Promise<number[]> =>
      ((await qwen.call('embed', { text: 'once upon a time' })) as { embedding: number[] }).embedding;
    assert.is((await embed()).length, 64);
    const pid = other.status()['model']?.replicas[0]?.pid;
    await other.update('model', {
      type: 'LlamaEmbeddingDeployment',
      user_config: { ...config, dimensions: 16 },
    });
    assert.is((await embed()).length, 16);
    assert.is(other.status()['model']?.replicas[0]?.pid, pid);
  } finally {
    await other.shutdown({ graceMs: 0 });
  }
});

if (cannotRun === undefined) Embedding.run();
else skip('embeddings', cannotRun);
