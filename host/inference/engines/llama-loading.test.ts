// Options of loading a language model, through a deployment with a real model.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentManager } from '../deployments/index.ts';
import type { GeneratedText } from '../../base/schemas/index.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Loading = suite('options of loading a language model');

const managerWith = (kwargs: object): DeploymentManager =>
  deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 256, n_threads: 1, ...kwargs } },
  });

/** Returns the five likeliest tokens behind a prompt, with the log-probability of each. */
async function likeliest(kwargs: object): Promise<Map<string, number>> {
  const manager = managerWith(kwargs);
  try {
    await manager.start();
    const args = {
      prompt: 'Monday, Tuesday, Wednesday,',
      sampling_params: { max_tokens: 1, logprobs: 5 },
    };
    const { details } = (await manager.handle('model').call('generate', args)) as GeneratedText;
    const [token] = details?.logprobs ?? [];
    return new Map(token?.top_logprobs.map((each) => [each.token, each.logprob]));
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}

let expected: Promise<Map<string, number>> | undefined;

for (const [kwargs, margin] of [
  [{ kv_type: 'bf16' }, 0.2],
  [{ type_k: 'q8_0', type_v: 'bf16' }, 0.3],
  [{ type_k: 'q8_0', type_v: 'q5_1' }, 1],
  [{ type_k: 'q5_1', type_v: 'q5_0' }, 1],
  [{ type_k: 'q5_0', type_v: 'q4_1' }, 3],
  [{ type_k: 'q4_1', type_v: 'q4_0' }, 3],
  [{ type_k: 'q4_0', kv_type: 'f16', flash_attn: 'off' }, 3],
  [{ use_mmap: false, use_mlock: true, flash_attn: 'on', n_gpu_layers: 'auto' }, 0.001],
  [{ flash_attn: 'off' }, 0.2],
] as const) {
  Loading(`${JSON.stringify(kwargs)} changes the numbers a little`, async () => {
    const wanted = await (expected ??= likeliest({}));
    const [best = ['', Number.NaN]] = wanted;
    const found = await likeliest(kwargs);
    const difference = Math.abs((found.get(best[0]) ?? Number.NaN) - best[1]);
    const shown = [wanted, found].map((tokens) => JSON.stringify([...tokens])).join(' and ');
    assert.ok(difference <= margin, `${difference}: ${shown}`);
  });
}

const folder = mkdtempSync(join(tmpdir(), 'aana-llama-loading-'));
Loading.after(() => rmSync(folder, { recursive: true }));

for (const swaFull of [true, false])
  Loading(`a model with windows answers with swa_full ${swaFull}, small passes and many places`, async () => {
    const model = join(folder, 'windowed.gguf');
    writeTinyLlama(model, { window: 32, contextTokens: 2048 });
    const manager = deployed({
      type: 'LlamaTextGenerationDeployment',
      user_config: {
        model_id: model,
        model_kwargs: { n_ctx: 2048, n_seq_max: 96, n_ubatch: 64, n_threads: 1, swa_full: swaFull },
      },
    });
    try {
      await manager.start();
      const prompt = 'Once upon a time there was a little girl. '.repeat(50);
      const generate = (overflow: string) =>
        manager.handle('model').call('generate', { prompt, overflow, sampling_params: { max_tokens: 8 } });
      const { text } = (await generate('error')) as GeneratedText;
      assert.ok(text.length > 0);
      // Only keys of whole layers can be moved.
      if (swaFull) assert.is(((await generate('shift')) as GeneratedText).text, text);
      else assert.match((await errorOf(generate('shift'))).message, 'overflow');
    } finally {
      await manager.shutdown({ graceMs: 0 });
    }
  });

for (const [kwargs, message] of [
  [{ n_gpu_layers: 'auto', split_mode: 'row' }, /model_kwargs\.n_gpu_layers: cannot be auto with this split_mode/],
  [{ n_gpu_layers: 'auto', tensor_split: [1] }, /model_kwargs\.tensor_split: cannot be set with n_gpu_layers auto/],
  [{ split_mode: 'tensor', flash_attn: 'off' }, /model_kwargs\.flash_attn: cannot be off with split_mode tensor/],
] as const) {
  Loading(`${JSON.stringify(kwargs)} is refused`, async () => {
    const manager = managerWith(kwargs);
    assert.match((await errorOf(manager.start())).message, message);
    await manager.shutdown({ graceMs: 0 });
  });
}

if (cannotRun === undefined) Loading.run();
else skip('options of loading a language model', cannotRun);
