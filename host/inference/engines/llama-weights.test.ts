// The weights of a deployment over a tiny real model, chosen by its configuration.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { DeploymentManager } from '../deployments/index.ts';
import { ModelStore } from '../../setup/models/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';

const Weights = suite('the weights of a deployment');

const folder = mkdtempSync(join(tmpdir(), 'aana-weights-'));
const model = join(folder, 'tiny.gguf');
writeTinyLlama(model);
Weights.after(() => rmSync(folder, { recursive: true }));

let count = 0;

/** Starts a deployment with these weights, and lets it answer. Returns the types that the store has written for it. */
async function typesWritten(quantization: object | undefined): Promise<string[]> {
  const cacheDir = join(folder, `cache-${(count += 1)}`);
  const models = new ModelStore({ cacheDir, log: silentLogger, offline: true });
  const manager = new DeploymentManager({ log: silentLogger, models, env: process.env });
  const kwargs = { n_ctx: 64, n_threads: 1, ...(quantization && { quantization_config: quantization }) };
  manager.register('model', {
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: model, model_kwargs: kwargs },
  });
  try {
    await manager.start();
    await manager.handle('model').call('generate', { prompt: 'Once', sampling_params: { max_tokens: 2 } });
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
  const rows = await models.list();
  return rows.flatMap(({ id }) => /@(.*)$/.exec(id)?.[1] ?? []);
}

for (const [quantization, types] of [
  [undefined, []],
  [{ load_in_8bit: false, load_in_4bit: false }, []],
  [{ load_in_8bit: true }, ['q8_0']],
  [{ weight_type: 'q8_0' }, ['q8_0']],
  [{ weight_type: 'q4_0' }, ['q4_0']],
] as const) {
  Weights(`are written as [${types.join()}] for ${JSON.stringify(quantization)}`, async () =>
    assert.equal(await typesWritten(quantization), types),
  );
}

if (cannotRun === undefined) Weights.run();
else {
  skip('the weights of a deployment', cannotRun);
  rmSync(folder, { recursive: true });
}
