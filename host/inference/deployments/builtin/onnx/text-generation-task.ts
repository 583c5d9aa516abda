import * as z from 'zod';
import type { SamplingParams } from '../../../../base/schemas/index.ts';
import type { PrepareContext, ReplicaSpec } from '../../class/deployment-definition.ts';
import {
  DefaultSamplingParams,
  imageTextHandle,
  textGenerationMethods,
  tokenPromptMethods,
} from '../../class/text-generation-methods.ts';
import type { OnnxSizes } from './onnx-replica.ts';
import { countTokensMethod, tokenMethods } from '../token-methods.ts';
import { dialogSize } from './dialog-size.ts';
import { pullTextModel } from './text-model-files.ts';
import type { WeightName } from './weight-file.ts';

/** The task whose deployments have the methods of text generation. */
export const TEXT_GENERATION = 'text-generation';

/** Sampling parameters that this runtime does not have. */
const LACKING = [
  'typical_p',
  'dry_multiplier',
  'xtc_probability',
  'mirostat',
  'bad_words',
  'structured_outputs',
  'logprobs',
] as const;

/** Keys of a configuration that belong to the task. */
export const textGenerationKeys = {
  model_kwargs: z
    .strictObject({
      n_ctx: z
        .int()
        .min(0)
        .max(16_777_216)
        .optional()
        .describe(
          'Tokens that one dialog can hold, including the answer; 0 is the length that the model was trained with. ' +
            'Default: 8192, or the length that the model was trained with if that is less.',
        ),
      chat_template: z.string().min(1).optional().describe("Jinja template that replaces the model's template."),
    })
    .optional()
    .describe(`\`${TEXT_GENERATION}\`: parameters for loading the model.`),
  default_sampling_params: z
    .optional(
      DefaultSamplingParams.check(
        ...LACKING.map((name) =>
          z.refine<SamplingParams>((params) => params[name] == null, {
            path: [name],
            error: 'is not a parameter of Transformers.js.',
          }),
        ),
      ),
    )
    .describe(
      `\`${TEXT_GENERATION}\`: sampling parameters that a request does not set. Default: greedy, at most 256 tokens.`,
    ),
};

interface TextGenerationConfig {
  readonly model_id: string;
  readonly dtype?: WeightName | undefined;
  readonly model_kwargs?:
    | { readonly n_ctx?: number | undefined; readonly chat_template?: string | undefined }
    | undefined;
  readonly default_sampling_params?: SamplingParams | undefined;
}

/** What a definition of the task has in place of that of pipelines. */
export const textGenerationVariant = {
  methods: { ...textGenerationMethods, ...tokenPromptMethods, count_tokens: countTokensMethod, ...tokenMethods },
  optionalHandles: imageTextHandle,
  reconfigurable: ['default_sampling_params'],
  implementation: new URL('../../../engines/transformers/text-generation.js', import.meta.url),
} as const;

/** Calls of a replica. They are computed in turns. */
export const CALLS = 4;

/**
 * Returns the bytes of a model's files and of what its calls keep, and the part of a replica's spec that only this task
 * has.
 */
export async function textGenerationSpec(
  { model_id: id, dtype, model_kwargs: kwargs = {}, default_sampling_params: sampling = {} }: TextGenerationConfig,
  context: PrepareContext,
): Promise<{ readonly sizes: OnnxSizes; readonly spec: ReplicaSpec }> {
  const { bytes, ...files } = await pullTextModel(id, dtype, context);
  const { tokens, bytes: dialogBytes } = await dialogSize(files.folder, kwargs.n_ctx);
  return {
    // Each token copies the keys and values of its dialog.
    sizes: { model: bytes, call: 2 * dialogBytes, calls: (CALLS + 1) * dialogBytes },
    spec: { ...files, ...kwargs, n_ctx: tokens, default_sampling_params: sampling },
  };
}
