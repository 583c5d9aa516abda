// Draft models of a deployment, over real models.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { requantize } from '../../setup/models/convert/requantize.ts';
import type { DeploymentManager, DeploymentOptionsInput } from '../deployments/index.ts';
import type { GenerationDetails, TokenLogprob } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { testModel } from '../../test/helpers/models.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Draft = suite('a draft model of a deployment');
/** Below this difference of logarithms, rounding may decide which of two tokens is the likeliest. */
const MARGIN = 0.02;
const QUESTIONS = ['Name three colours.', 'What is the capital of France?', 'Count to ten.'];
const folder = mkdtempSync(join(tmpdir(), 'aana-draft-'));
Draft.after(() => rmSync(folder, { recursive: true }));

const options = (speculative?: object): DeploymentOptionsInput => ({
  type: 'LlamaTextGenerationDeployment',
  user_config: {
    model_id: 'smollm2-135m-instruct',
    model_kwargs: { n_ctx: 512, n_threads: 1, ...(speculative && { speculative_config: speculative }) },
  },
});

async function withModel<T>(
  speculative: object | undefined,
  run: (manager: DeploymentManager) => Promise<T>,
): Promise<T> {
  const manager = deployed(options(speculative));
  try {
    await manager.start();
    return await run(manager);
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}

/** Returns the tokens of greedy answers, each with the two likeliest at its place. */
const answers = (manager: DeploymentManager): Promise<(readonly TokenLogprob[])[]> =>
  Promise.all(
    QUESTIONS.map(async (content) => {
      const args = {
        dialog: { messages: [{ role: 'user', content }] },
        sampling_params: { max_tokens: 40, logprobs: 2 },
      };
      const { details } = (await manager.handle('model').call('chat', args)) as { details: GenerationDetails };
      return details.logprobs ?? [];
    }),
  );

Draft('answers as without a draft model, except where the two likeliest tokens are as good as equal', async () => {
  const draft = join(folder, 'draft.gguf');
  await requantize(await testModel('smollm2-135m-instruct'), draft, 'q4_k_m', { bytes: 2e8 });
  const expected = await withModel(undefined, answers);
  for (const model of [draft, 'smollm2-135m-instruct']) {
    const actual = await withModel({ method: 'draft_model', model, p_min: 0.2 }, answers);
    for (const [question, tokens] of actual.entries()) {
      const wanted = expected[question] ?? [];
      const at = tokens.findIndex(({ id }, place) => id !== wanted[place]?.id);
      if (at < 0) {
        assert.is(tokens.length, wanted.length);
        continue;
      }
      const [first, second] = wanted[at]?.top_logprobs ?? [];
      assert.ok(
        (first?.logprob ?? 0) - (second?.logprob ?? -99) < MARGIN,
        `${QUESTIONS[question]} parts at token ${at}`,
      );
    }
  }
});

Draft('refuses a draft model with another vocabulary, and says why', async () => {
  const speculative = { method: 'draft_model', model: 'qwen2.5-coder-0.5b-instruct' };
  const { message } = await errorOf(withModel(speculative, async () => {}));
  assert.match(message, /draft model .*qwen2\.5-coder.* does not fit the model, because it has another vocabulary/);
  assert.match(message, /it has 151936 tokens, and the model has 49152/);
});

Draft('refuses a draft model that does not exist', async () => {
  const { message } = await errorOf(
    withModel({ method: 'draft_model', model: join(folder, 'none.gguf') }, async () => {}),
  );
  assert.match(message, 'none.gguf');
});

if (cannotRun === undefined) Draft.run();
else skip('a draft model of a deployment', cannotRun);
