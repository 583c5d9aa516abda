// A LoRA adapter over a real model, beside the same model with the adapter merged into its weights.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AdapterOptions, writeAdapter, writeMerged } from '../../../native/lib/fixtures/tiny-adapter.ts';
import type { DeploymentHandle } from '../deployments/index.ts';
import { requantize } from '../../setup/models/convert/requantize.ts';
import type { GenerationDetails, TokenLogprob } from '../../base/schemas/index.ts';
import { testModel } from '../../test/helpers/models.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Merged = suite('a LoRA adapter and the merged model');

/** Below this difference of logarithms, rounding may decide which of two tokens is the likeliest. */
const MARGIN = 0.02;
const SCALE = 2;
const ADAPTER: AdapterOptions = { seed: 7, spread: 0.05, matrices: /^blk\.\d+\.(attn_output|ffn_down)\.weight$/ };
const PROMPTS = ['Name three colours.', 'What is the capital of France?', 'Tell me about the sea.'];

const folder = mkdtempSync(join(tmpdir(), 'aana-merged-'));
Merged.after(() => rmSync(folder, { recursive: true }));

const path = (name: string): string => join(folder, `${name}.gguf`);

/** Returns the tokens of the answer, each with the two likeliest at its place. */
async function answer(llm: DeploymentHandle, question: string, adapter?: string): Promise<readonly TokenLogprob[]> {
  const { details } = (await llm.call('chat', {
    dialog: { messages: [{ role: 'user', content: question }] },
    sampling_params: { max_tokens: 16, logprobs: 2 },
    ...(adapter && { adapter }),
  })) as { details: GenerationDetails };
  return details.logprobs ?? [];
}

/** Returns the first place where the tokens differ, and by how much the likeliest one is better there. */
function divergence(
  actual: readonly TokenLogprob[],
  expected: readonly TokenLogprob[],
): { readonly at: number; readonly difference: number } | undefined {
  const at = actual.findIndex(({ id }, place) => id !== expected[place]?.id);
  if (at < 0) return undefined;
  const [first, second] = expected[at]?.top_logprobs ?? [];
  return { at, difference: (first?.logprob ?? 0) - (second?.logprob ?? Number.NEGATIVE_INFINITY) };
}

Merged('give the same greedy texts, where the two likeliest tokens are not as good as equal', async () => {
  await requantize(await testModel('smollm2-135m-instruct'), path('f16'), 'f16', { bytes: 3e8 });
  writeAdapter(path('adapter'), path('f16'), ADAPTER);
  writeMerged(path('base'), path('f16'), ADAPTER, 0); // the same types of weights as in the merged model
  writeMerged(path('merged'), path('f16'), ADAPTER, SCALE);
  const kwargs = { n_ctx: 128, n_threads: 1, n_seq_max: 1 };
  const type = 'LlamaTextGenerationDeployment';
  const adapters = { it: { model_id: path('adapter'), scale: SCALE } };
  const managers = [
    deployed({ type, user_config: { model_id: path('base'), model_kwargs: kwargs, adapters } }),
    deployed({ type, user_config: { model_id: path('merged'), model_kwargs: kwargs } }),
  ];
  try {
    for (const manager of managers) await manager.start();
    const [adapted, merged] = managers.map((manager) => manager.handle('model'));
    assert.ok(adapted && merged);
    let changed = 0;
    for (const question of PROMPTS) {
      const expected = await answer(merged, question);
      const found = divergence(await answer(adapted, question, 'it'), expected);
      if (found) {
        process.stdout.write(
          `${question}: token ${found.at} differs, the likeliest is better by ${found.difference}\n`,
        );
        assert.ok(found.difference <= MARGIN, `token ${found.at} differs by ${found.difference}`);
      }
      if (divergence(await answer(adapted, question), expected)) changed += 1;
    }
    assert.ok(changed > 0, 'the adapter changes nothing');
  } finally {
    await Promise.all(managers.map((manager) => manager.shutdown({ graceMs: 0 })));
  }
});

if (cannotRun === undefined) Merged.run();
else skip('a LoRA adapter and the merged model', cannotRun);
