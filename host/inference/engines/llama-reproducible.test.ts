// Reproducible answers of deployments with real models: the same text and the same log-probabilities, whatever else
// runs.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentHandle } from '../deployments/index.ts';
import { hasEngineKernels } from '../devices/index.ts';
import type { GeneratedText, SamplingParams } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Reproducible = suite('reproducible answers');

const prompt = `${'Rivers carry water from hills to the sea, and they shape the land. '.repeat(4)}In spring the`;
const other = `${prompt.slice(0, 230)} And so the`;

async function answer(llm: DeploymentHandle, text: string, params: SamplingParams): Promise<GeneratedText> {
  const sampling: SamplingParams = { max_tokens: 8, logprobs: 1, ignore_eos: true, ...params };
  return (await llm.call('generate', { prompt: text, sampling_params: sampling })) as GeneratedText;
}

const told = ({ text, details }: GeneratedText): object => ({ text, logprobs: details?.logprobs });

/** Calls that run beside others, of other lengths. */
const others = (llm: DeploymentHandle): Promise<GeneratedText>[] =>
  Array.from({ length: 8 }, (_, n) =>
    answer(llm, `Story ${n}: ${'once a fox ran far. '.repeat(n + 1)}`, { max_tokens: 3 + 2 * n }),
  );

for (const model of ['smollm2-135m-instruct', 'qwen2.5-coder-0.5b-instruct']) {
  const title =
    `of ${model} are equal to the last bit alone, among eight others and after cache hits; plain ones ` +
    `are not, where ggml multiplies`;
  const run = async (): Promise<void> => {
    const manager = deployed({
      type: 'LlamaTextGenerationDeployment',
      user_config: { model_id: model, model_kwargs: { n_ctx: 512, n_seq_max: 4, n_threads: 1 } },
    });
    await manager.start();
    try {
      const llm = manager.handle('model');
      for (const reproducible of [false, true]) {
        const alone = await answer(llm, prompt, { reproducible });
        const among = [];
        const first = others(llm);
        among.push(await answer(llm, prompt, { reproducible }));
        await Promise.all(first);
        const second = others(llm);
        await answer(llm, other, { reproducible });
        among.push(...(await Promise.all([1, 2].map(() => answer(llm, prompt, { reproducible })))));
        await Promise.all(second);
        if (reproducible) {
          for (const one of among) assert.equal(told(one), told(alone));
          assert.ok(among.some(({ details }) => (details?.usage.cached_tokens ?? 0) >= 32));
        } else if (!hasEngineKernels()) {
          assert.ok(among.some((one) => JSON.stringify(told(one)) !== JSON.stringify(told(alone))));
        }
      }
    } finally {
      await manager.shutdown({ graceMs: 0 });
    }
  };
  if (cannotRun === undefined) Reproducible(title, run);
  else skip(title, cannotRun);
}

const refusal = 'are refused where answers share the cells of the cache';
if (cannotRun === undefined)
  Reproducible(refusal, async () => {
    const manager = deployed({
      type: 'LlamaTextGenerationDeployment',
      user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 256, n_ctx_total: 512, n_threads: 1 } },
    });
    await manager.start();
    try {
      const error = await errorOf(answer(manager.handle('model'), 'One', { reproducible: true }));
      assert.equal([error.name, error.kind], ['InvalidSamplingParams', 'bad-request']);
      assert.match(error.message, 'n_ctx_total');
    } finally {
      await manager.shutdown({ graceMs: 0 });
    }
  });
else skip(refusal, cannotRun);

Reproducible.run();
