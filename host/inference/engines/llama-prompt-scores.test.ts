// Log-probabilities of a long prompt, from a deployment with a real model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentHandle } from '../deployments/index.ts';
import type { GeneratedText, SamplingParams } from '../../base/schemas/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const PromptScores = suite('the scores of a long prompt');

const WORDS = 'river hill sea land spring winter stone bridge garden letter house road night friend story lake'.split(
  ' ',
);
/** 3 tokens for each word. */
const text = Array.from({ length: 200 }, (_, n) => `${WORDS[(7 * n) % 16]} ${WORDS[(n * n + 3) % 16]},`).join(' ');

const generate = async (llm: DeploymentHandle, prompt: string, params: SamplingParams): Promise<GeneratedText> =>
  (await llm.call('generate', { prompt, sampling_params: params })) as GeneratedText;

const title = 'has an entry for each of its tokens, and other answers end before it is read';
async function run(): Promise<void> {
  const manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 8192, n_seq_max: 3, n_threads: 1 } },
  });
  await manager.start();
  try {
    const llm = manager.handle('model');
    let isRead = false;
    const long = generate(llm, text, { prompt_logprobs: 2, max_tokens: 2, ignore_eos: true }).finally(() => {
      isRead = true;
    });
    for (const prompt of ['In spring the', 'The old house']) {
      const other = await generate(llm, prompt, { max_tokens: 4, ignore_eos: true });
      assert.ok(other.text.length > 0);
      assert.is(isRead, false);
    }
    const { details } = await long;
    const { prompt_token_ids: ids = [], prompt_logprobs: scores = [] } = details ?? {};
    assert.ok(ids.length > 500, `${ids.length} tokens`);
    assert.equal([ids.length, scores.length], [details?.usage.prompt_tokens, details?.usage.prompt_tokens]);
    assert.is(scores[0], null);
    for (const [n, place] of scores.slice(1).entries()) {
      const own = place?.[String(ids[n + 1])];
      assert.ok((own?.logprob ?? 1) <= 0 && (own?.rank ?? 0) >= 1, `token ${n + 1}`);
    }
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}
if (cannotRun === undefined) PromptScores(title, run);
else skip(title, cannotRun);

PromptScores.run();
