// Embeddings through a deployment, in a replica process of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert, writeTinyQwen3 } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { describeEmbeddings, SETTINGS } from './fixtures/embedding-suite.ts';
import { deployed } from './fixtures/real-models.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

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
      ...SETTINGS,
    },
  });
  await manager.start();
  minilm = manager.handle('model');
});

Embedding.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

describeEmbeddings(Embedding, () => ({ manager, handle: minilm }), { difference: 1e-3, distance: 1e-5 });

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

Embedding('reads a model that reads texts from left to right', async () => {
  const path = join(folder, 'qwen3.gguf');
  writeTinyQwen3(path);
  const other = deployed({
    type: 'LlamaEmbeddingDeployment',
    user_config: { model_id: path, model_kwargs: { n_threads: 1 } },
  });
  try {
    await other.start();
    const { embedding } = (await other.handle('model').call('embed', { text: 'once upon a time' })) as {
      embedding: number[];
    };
    assert.is(embedding.length, 64);
  } finally {
    await other.shutdown({ graceMs: 0 });
  }
});

if (cannotRun === undefined) Embedding.run();
else skip('embeddings', cannotRun);
