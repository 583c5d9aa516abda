import * as z from 'zod';
import { amount, whole } from '../../../base/core/fields.ts';
import type { PrepareContext, ReplicaSpec } from '../class/deployment-definition.ts';
import { pullModel } from './pull-model.ts';

const count = {
  num_speculative_tokens: whole(
    { min: 1, max: 64, default: 8 },
    'Most tokens that are guessed in a step, for all dialogs together.',
  ),
};

/** How the tokens of answers are guessed, in the words of vLLM. */
export const SpeculativeConfig = z.discriminatedUnion('method', [
  z.strictObject({
    method: z
      .literal('ngram')
      .describe(
        'Tokens are guessed from earlier tokens of the same dialog. Pays for answers that repeat their prompt.',
      ),
    ...count,
  }),
  z.strictObject({
    method: z.literal('draft_model').describe('Tokens are guessed by a smaller model with the same vocabulary.'),
    model: z
      .string()
      .min(1)
      .describe(
        'The smaller model: a catalogue id, `owner/repo` or `owner/repo/file.gguf` of the hub, or the path of ' +
          'a GGUF file.',
      ),
    p_min: amount(
      { min: 0, max: 1, default: 0.5 },
      'The smaller model guesses no token that it holds for less likely.',
    ),
    ...count,
  }),
]);

/** Returns the part of a replica's spec for guessed tokens. Fetches the model that guesses, if there is one. */
export async function speculationSpec(
  config: z.output<typeof SpeculativeConfig> | undefined,
  context: PrepareContext,
): Promise<ReplicaSpec> {
  if (!config) return {};
  const spec = { n_guessed: config.num_speculative_tokens };
  if (config.method === 'ngram') return spec;
  return { ...spec, draft_model_path: await pullModel(config.model, context), draft_p_min: config.p_min };
}
