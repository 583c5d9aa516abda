// Vectors of texts with Transformers.js in a replica: MiniLM with 8-bit weights and its real tokenizer.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import type { DeploymentHandle, DeploymentManager } from '../../deployments/index.ts';
import { describeEmbeddings, SETTINGS } from '../fixtures/embedding-suite.ts';
import { deployed } from '../fixtures/real-models.ts';
import { writeMiniLm } from '../fixtures/mini-lm.ts';

const Embedding = suite('embeddings with Transformers.js');
const folder = await mkdtemp(join(tmpdir(), 'aana-vectors-'));
const options = (more: object) => ({
  type: 'TransformersDeployment',
  user_config: { model_id: folder, task: 'feature-extraction', dtype: 'q8', threads: 1, ...more },
});
let manager: DeploymentManager;
let handle: DeploymentHandle;

Embedding.before(async () => {
  manager = deployed(options({ max_seq_length: 256, ...SETTINGS }));
  await manager.start();
  handle = manager.handle('model');
});

Embedding.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true });
});

// The 8-bit numbers of a text depend a little on the texts beside it.
describeEmbeddings(Embedding, () => ({ manager, handle }), { difference: 0.02, distance: 2e-3 });

Embedding('a text that would be read for very long is refused', async () => {
  const huge = ' '.repeat(10_000_001);
  for (const call of [handle.call('count_tokens', { text: huge }), handle.call('embed', { text: huge })]) {
    const error = await errorOf(call);
    assert.equal([error.name, error.kind], ['InvalidPrompt', 'bad-request']);
    assert.match(error.message, 'reads at most 10000000 characters of a text');
  }
});

async function startFailure(config: object): Promise<string> {
  const other = deployed(options(config));
  try {
    return (await errorOf(other.start())).message;
  } finally {
    await other.shutdown({ graceMs: 0 });
  }
}

Embedding('settings that do not fit the model or the task are refused by name', async () => {
  assert.match(await startFailure({ dimensions: 385 }), 'has 384 dimensions, fewer than 385');
  const wrong = (config: object) => () => deployed(options(config));
  assert.throws(wrong({ default_prompt_name: 'query' }), /default_prompt_name: .*must be one of the names in prompts/);
  assert.throws(wrong({ task: 'text-classification', truncate: 'end' }), /truncate: .*is not a key of text-classif/);
  assert.throws(wrong({ model_kwargs: { n_ctx: 256 } }), /model_kwargs/);
});

const offline = await unlessOffline(() => writeMiniLm(folder));
if (typeof offline === 'string') skip('embeddings with Transformers.js', offline);
else Embedding.run();
