import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type TinyLlamaOptions, writeTinyLlama } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { contextLength, contextLengthSpec } from './context-length.ts';
import * as z from 'zod';

const Length = suite('how long a dialog can be');

const folder = mkdtempSync(join(tmpdir(), 'aana-length-'));
Length.after(() => rmSync(folder, { recursive: true }));

const Kwargs = z.object(contextLength);

/** Returns what a configuration means for a model that was trained with 2000 tokens. */
async function lengthOf(kwargs: z.input<typeof Kwargs>, model: TinyLlamaOptions = { contextTokens: 2000 }) {
  const path = join(folder, 'model.gguf');
  writeTinyLlama(path, model);
  return contextLengthSpec(path, Kwargs.parse(kwargs));
}

const yarn = { rope_type: 'yarn', factor: 4 } as const;
const extended: TinyLlamaOptions = {
  contextTokens: 8000,
  rope: { scaling: { type: 'yarn', factor: 4, originalTokens: 2000 } },
};

for (const [title, kwargs, expected, model] of [
  ['a short model, no number', {}, 2000],
  ['a long model, no number', {}, 8192, { contextTokens: 32_768 }],
  ['0', { n_ctx: 0 }, 2000],
  ['the trained length', { n_ctx: 2000 }, 2000],
  ['0 and scaling', { n_ctx: 0, rope_scaling: yarn }, 8000],
  ['scaling, no number', { rope_scaling: { ...yarn, factor: 40 } }, 8192],
  ['scaling of a part', { n_ctx: 0, rope_scaling: { ...yarn, original_max_position_embeddings: 1000 } }, 4000],
  ['the scaling of the file', { n_ctx: 8000 }, 8000, extended],
  ['scaling of a scaled file', { n_ctx: 0, rope_scaling: { ...yarn, factor: 8 } }, 16_000, extended],
] as const)
  Length(`is right for ${title}`, async () => assert.is((await lengthOf(kwargs, model)).n_ctx, expected));

for (const [kwargs, message] of [
  [
    { n_ctx: 2001 },
    'user_config: model_kwargs.n_ctx: 2001 is more than the 2000 tokens that the model was trained with; for longer ' +
      'dialogs set model_kwargs.rope_scaling, for example {"rope_type": "yarn", "factor": 2}',
  ],
  [
    { n_ctx: 8001, rope_scaling: yarn },
    'user_config: model_kwargs.n_ctx: 8001 is more than the 8000 tokens that rope_scaling allows (2000 × 4)',
  ],
] as const)
  Length(`is refused for ${JSON.stringify(kwargs)}`, () =>
    lengthOf(kwargs).then(
      () => assert.unreachable('it is accepted'),
      (error: Error) => assert.is(error.message, message),
    ),
  );

Length('is what the engine gets', async () => {
  assert.equal(await lengthOf({ n_ctx: 6000, rope_scaling: yarn, rope_theta: 500_000 }), {
    n_ctx: 6000,
    rope_scaling: { type: 'yarn', factor: 4, originalTokens: 2000, betaFast: 32, betaSlow: 1 },
    rope_theta: 500_000,
  });
});

Length.run();
