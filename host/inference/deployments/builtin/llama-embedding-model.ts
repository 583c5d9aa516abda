import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import type { PrepareContext, ReplicaSpec } from '../class/deployment-definition.ts';
import { checkPlacement, llamaPlacement, placementOf, placementSpec } from './llama-placement.ts';
import { embeddingMemory, type MemoryNeed } from './memory-need.ts';
import { modelName } from './model-name.ts';
import { pullWeights } from './pull-model.ts';

/** Calls that a replica takes at the same time. Their texts fill its computations. */
export const EMBEDDING_CALLS = 32;

/** `model_kwargs` of a model for embeddings or scores. */
export const EmbeddingModelKwargs = z.strictObject({
  n_ctx: whole(
    { min: 0, max: 16_777_216, default: 2048 },
    'Most tokens of a text, but no more than the model was trained with; 0 is the length that it was trained with.',
  ),
  n_batch: whole(
    { min: 1, max: 1_048_576, default: 512 },
    'Tokens that are computed together. A model that reads a text in both directions computes at least `n_ctx`.',
  ),
  ...llamaPlacement,
});

/** Fetches the model and returns the part of a replica's spec that describes it. */
export async function prepareEmbeddingModel(
  id: string,
  kwargs: z.output<typeof EmbeddingModelKwargs>,
  context: PrepareContext,
): Promise<ReplicaSpec> {
  checkPlacement(kwargs, context.numGpus);
  return {
    ...(await pullWeights(id, {}, context)),
    model_name: modelName(id),
    n_ctx: kwargs.n_ctx,
    n_batch: kwargs.n_batch,
    ...(await placementSpec(kwargs, context)),
  };
}

export function embeddingModelMemory(spec: ReplicaSpec, { gpu }: { readonly gpu: boolean }): Promise<MemoryNeed> {
  return embeddingMemory(String(spec['model_path']), {
    contextTokens: Number(spec['n_ctx']),
    batchTokens: Number(spec['n_batch']),
    ...placementOf(spec, gpu),
  });
}
