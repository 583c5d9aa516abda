// Reranking through a deployment with tiny models, in a replica process of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert, writeTinyQwen3 } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { DeploymentManager } from '../deployments/index.ts';
import { noLlamaServer, startLlamaServer } from '../../test/helpers/llama-server.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

interface Ranking {
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly tokens: number;
}

const Rerank = suite('a deployment that ranks documents');
const folder = mkdtempSync(join(tmpdir(), 'aana-rerank-'));
let manager: DeploymentManager;

Rerank.before(async () => {
  const path = join(folder, 'bert.gguf');
  writeTinyBert(path, { pooling: 'rank' });
  manager = deployed({
    type: 'LlamaRerankDeployment',
    user_config: { model_id: path, model_kwargs: { n_threads: 1 } },
  });
  await manager.start();
});

Rerank.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

const DOCUMENTS = ['the cat sat on the house', 'a big red dog', '', 'who is it', 'the bird ran'];

const rerank = async (args: object = {}): Promise<Ranking> =>
  (await manager.handle('model').call('rerank', { query: 'the cat', documents: DOCUMENTS, ...args })) as Ranking;

async function failure(args: object): Promise<AanaError> {
  const error = await rerank(args).then(
    (value) => new Error(`it answered ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AanaError) return error;
  throw error;
}

Rerank('orders the documents by scores between 0 and 1', async () => {
  const { results, tokens } = await rerank();
  assert.equal(results.map(({ index }) => index).sort(), [0, 1, 2, 3, 4]);
  const scores = results.map(({ score }) => score);
  assert.equal(
    [...scores].sort((a, b) => b - a),
    scores,
  );
  assert.ok(scores.every((score) => score > 0 && score < 1));
  assert.ok(tokens > 30);
  assert.equal((await rerank({ top_n: 2 })).results, results.slice(0, 2));
  const raw = (await rerank({ raw_scores: true })).results;
  assert.ok(raw.every(({ score }, at) => Math.abs(1 / (1 + Math.exp(-score)) - (scores[at] ?? NaN)) < 1e-6));
  assert.equal(
    (await rerank({ documents: ['who is it', 'who is it', 'who is it'] })).results.map(({ index }) => index),
    [0, 1, 2],
  );
});

Rerank('refuses what it cannot rank', async () => {
  for (const args of [{ documents: [] }, { documents: 'a' }, { top_n: 0 }, { query: null }, { truncate: 'left' }])
    assert.is((await failure(args)).kind, 'invalid-input', JSON.stringify(args));
  const { name, message } = await failure({ documents: ['a', 'the cat '.repeat(40)] });
  assert.is(name, 'PromptTooLongException');
  assert.match(message, /the document at index 1 has \d+ tokens together with the query, the limit is 64/);
  assert.is((await rerank({ documents: ['the cat '.repeat(40)], truncate: 'end' })).tokens, 64);
  assert.equal(await manager.handle('model').call('count_tokens', { query: 'the cat', document: 'a dog' }), {
    tokens: 7,
    max_tokens: 64,
  });
  const long = { query: 'the cat', document: 'the cat '.repeat(40) };
  assert.equal(await manager.handle('model').call('count_tokens', long), { tokens: 85, max_tokens: 64 });
});

Rerank('gives the probabilities of a model with a template as they are', async () => {
  const path = join(folder, 'qwen3.gguf');
  writeTinyQwen3(path, { pooling: 'rank' });
  const other = deployed({
    type: 'LlamaRerankDeployment',
    user_config: { model_id: path, model_kwargs: { n_threads: 1 } },
  });
  try {
    await other.start();
    const args = { query: 'the cat', documents: DOCUMENTS };
    const scores = (await other.handle('model').call('rerank', args)) as Ranking;
    assert.equal(await other.handle('model').call('rerank', { ...args, raw_scores: true }), scores);
  } finally {
    await other.shutdown({ graceMs: 0 });
  }
});

for (const [name, write] of [
  ['a cross-encoder', writeTinyBert],
  ['a model with a template', writeTinyQwen3],
] as const) {
  Rerank(`${name} has the scores of llama-server`, async () => {
    const reason = noLlamaServer();
    if (reason !== undefined) return skip(`the scores of ${name}`, reason);
    const path = join(folder, 'parity.gguf');
    write(path, { pooling: 'rank' });
    await using server = await startLlamaServer(path, ['--reranking', '-c', '512']);
    const documents = DOCUMENTS.filter((document) => document !== '');
    const body = JSON.stringify({ query: 'the cat', documents });
    const answer = await fetch(`${server.baseUrl}/rerank`, { method: 'POST', body });
    const { results } = (await answer.json()) as { results: { index: number; relevance_score: number }[] };
    const other = deployed({
      type: 'LlamaRerankDeployment',
      user_config: { model_id: path, model_kwargs: { n_threads: 1 } },
    });
    try {
      await other.start();
      const ours = (await other
        .handle('model')
        .call('rerank', { query: 'the cat', documents, raw_scores: true })) as Ranking;
      for (const { index, score } of ours.results) {
        const expected = results.find((result) => result.index === index)?.relevance_score ?? Number.NaN;
        assert.ok(Math.abs(score - expected) < 1e-3, `${documents[index]}: ${score} and ${expected}`);
      }
    } finally {
      await other.shutdown({ graceMs: 0 });
    }
  });
}

if (cannotRun === undefined) Rerank.run();
else skip('reranking', cannotRun);
