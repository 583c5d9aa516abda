import {
  answerEmbeddings,
  blaming,
  documentsOf,
  EMBEDDING_FIELDS,
  type RankedDocuments,
  rankingOf,
  RERANK_BLAME,
  RERANK_FIELDS,
  rerankArguments,
  resolveModel,
} from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from './openai-request.ts';

/** Adds `POST /v1/embeddings`, and `POST /v1/rerank` with the other path that servers have for it. */
export function vectorRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  serveRoute(router, OPENAI_ROUTES.embeddings, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const request = await readJsonRequest(ctx, EMBEDDING_FIELDS, options);
    return withinTime(ctx, options, (context) => answerEmbeddings(models, request, context));
  });
  serveRoute(router, OPENAI_ROUTES.rerank, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const request = await readJsonRequest(ctx, RERANK_FIELDS, options);
    const resolved = resolveModel(models, request.model, 'rerank');
    const documents = documentsOf(request);
    const args = rerankArguments(request, documents, resolved);
    return withinTime(ctx, options, (context) =>
      blaming(RERANK_BLAME, async () => {
        const ranked = await models.call(resolved.model.name, 'rerank', args, context);
        return rankingOf(request, documents, ranked as RankedDocuments);
      }),
    );
  });
}
