import * as z from 'zod';
import type { GgufValue } from '../../../base/core/model-files/gguf.ts';
import { fail } from '../../../base/core/errors.ts';
import { countOf, readGgufHeader } from './gguf-header.ts';

/** Tokens of a dialog where the configuration names no number, and the model was trained with as many. */
export const DEFAULT_TOKENS = 8192;

/** How positions beyond the trained length are computed, in the words of Transformers. */
export const RopeScalingConfig = z.strictObject({
  rope_type: z
    .enum(['linear', 'yarn'])
    .describe('`yarn` (arXiv:2309.00071) suits models that were trained without scaling; `linear` divides positions.'),
  factor: z.number().min(1).max(1024).describe('How many times longer than the original length a dialog can be.'),
  original_max_position_embeddings: z
    .int()
    .min(1)
    .max(16_777_216)
    .optional()
    .describe('Tokens of the original length. Default: what the model file states.'),
  beta_fast: z.number().positive().max(1024).default(32).describe('Begin of the dimensions that yarn mixes.'),
  beta_slow: z.number().positive().max(1024).default(1).describe('End of the dimensions that yarn mixes.'),
});

/** The keys of `model_kwargs` that say how long a dialog can be. */
export const contextLength = {
  n_ctx: z
    .int()
    .min(0)
    .max(16_777_216)
    .optional()
    .describe(
      'Tokens that one dialog can hold, including the answer; 0 is the length that the model was trained with. More ' +
        'needs `rope_scaling`. Default: 8192, or the length that the model was trained with if that is less.',
    ),
  rope_scaling: RopeScalingConfig.optional().describe(
    'Lets dialogs be longer than what the model was trained with. Default: as the model file says.',
  ),
  rope_theta: z
    .number()
    .positive()
    .max(1e12)
    .optional()
    .describe('Base of the frequencies of the position embedding (RoPE). Default: as the model file says.'),
};

/** How the positions of a model are scaled. */
export interface RopeScaling {
  readonly type: 'linear' | 'yarn';
  readonly factor: number;
  /** Tokens of the length that `factor` multiplies. */
  readonly originalTokens: number;
  readonly betaFast: number;
  readonly betaSlow: number;
}

/** The part of a replica's spec that says how long a dialog can be. */
export interface ContextLengthSpec {
  /** 0 if the file does not state the length that the model was trained with, and the configuration names none. */
  readonly n_ctx: number;
  readonly rope_scaling?: RopeScaling;
  readonly rope_theta?: number;
}

/**
 * Returns how long the dialogs of a model can be. Throws `ValidationError` when the configuration wants longer ones
 * than the model can read.
 */
export async function contextLengthSpec(
  path: string,
  kwargs: z.output<z.ZodObject<typeof contextLength>>,
): Promise<ContextLengthSpec> {
  const stated = statedLengths((await readGgufHeader(path)) ?? new Map());
  const scaling = kwargs.rope_scaling;
  const rope = scaling && {
    type: scaling.rope_type,
    factor: scaling.factor,
    originalTokens: scaling.original_max_position_embeddings ?? stated.original,
    betaFast: scaling.beta_fast,
    betaSlow: scaling.beta_slow,
  };
  const limit = mostTokens(stated.trained, rope);
  const wanted = kwargs.n_ctx ?? (limit > 0 ? Math.min(DEFAULT_TOKENS, limit) : DEFAULT_TOKENS);
  if (limit > 0 && wanted > limit) throw tooLong(wanted, limit, rope, stated.trained);
  return {
    n_ctx: wanted === 0 ? limit : wanted,
    ...(rope && { rope_scaling: rope }),
    ...(kwargs.rope_theta !== undefined && { rope_theta: kwargs.rope_theta }),
  };
}

/** Returns the most tokens of a dialog; 0 if nothing states it. */
export const mostTokens = (trained: number, rope: RopeScaling | undefined): number =>
  rope ? Math.floor(rope.originalTokens * rope.factor) : trained;

function tooLong(wanted: number, limit: number, rope: RopeScaling | undefined, trained: number) {
  const why = rope
    ? `the ${limit} tokens that rope_scaling allows (${rope.originalTokens} × ${rope.factor})`
    : `the ${limit} tokens that the model was trained with; for longer dialogs set model_kwargs.rope_scaling, for ` +
      `example {"rope_type": "yarn", "factor": ${Math.ceil(wanted / trained)}}`;
  return fail('ValidationError', `user_config: model_kwargs.n_ctx: ${wanted} is more than ${why}`);
}

/** Returns the length that the model was trained with, and the one before its own scaling; 0 if not stated. */
function statedLengths(header: ReadonlyMap<string, GgufValue>): {
  readonly trained: number;
  readonly original: number;
} {
  const number = (key: string): number => countOf(header.get(`${String(header.get('general.architecture'))}.${key}`));
  const trained = number('context_length');
  return { trained, original: number('rope.scaling.original_context_length') || trained };
}
