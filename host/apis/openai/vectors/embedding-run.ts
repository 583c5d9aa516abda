import type * as z from 'zod';
import { blaming } from '../blame.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { withModel } from '../models/model-route.ts';
import type { RunContext } from '../run-context.ts';
import type { EmbeddingRequest } from './embedding-fields.ts';
import {
  EMBEDDING_BLAME,
  type EmbeddedBatch,
  embeddingArguments,
  type EmbeddingList,
  embeddingList,
} from './embeddings.ts';

/** Answers a request for embeddings. */
export async function answerEmbeddings(
  models: ModelDirectory,
  request: EmbeddingRequest,
  context: RunContext,
): Promise<z.input<typeof EmbeddingList>> {
  const wish = { name: request.model, capability: 'embeddings' } as const;
  return withModel(models, wish, context, (resolved, tried) => {
    const args = embeddingArguments(request, resolved);
    return blaming(EMBEDDING_BLAME, async () => {
      const batch = await models.call(resolved.model.name, 'embed_batch', args, tried);
      return embeddingList(request, batch as EmbeddedBatch);
    });
  });
}
