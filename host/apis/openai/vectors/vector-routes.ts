import { answers, RUN_FAILURES } from '../../openapi/index.ts';
import { answerEmbeddings } from './embedding-run.ts';
import { blaming } from '../blame.ts';
import {
  documentsOf,
  type RankedDocuments,
  Ranking,
  rankingOf,
  RERANK_BLAME,
  RERANK_FIELDS,
  rerankArguments,
  RerankRequest,
} from './rerank.ts';
import { EMBEDDING_FIELDS, EmbeddingRequest } from './embedding-fields.ts';
import { EmbeddingList } from './embeddings.ts';
import { withModel } from '../models/model-route.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

/** Adds `POST /v1/embeddings`, and `POST /v1/rerank` with the other path that servers have for it. */
export function vectorRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  serveRoute(
    router,
    {
      id: 'create_embedding',
      at: 'post /v1/embeddings',
      summary: 'Computes vectors of texts, as in OpenAI’s API',
      body: EmbeddingRequest,
      idle: EMBEDDING_FIELDS.idle,
      answers: answers('The vectors.', EmbeddingList),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const request = await readJsonRequest(ctx, EMBEDDING_FIELDS, options);
      return withinTime(ctx, options, (context) => answerEmbeddings(models, request, context));
    },
  );
  serveRoute(
    router,
    {
      id: 'rerank',
      at: 'post /v1/rerank',
      alsoAt: ['/v1/reranking'],
      summary: 'Orders documents by how well they answer a query, as in the APIs of Jina and Cohere',
      body: RerankRequest,
      idle: RERANK_FIELDS.idle,
      answers: answers('The documents, the best one first.', Ranking),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const request = await readJsonRequest(ctx, RERANK_FIELDS, options);
      const documents = documentsOf(request);
      const wish = { name: request.model, capability: 'rerank' } as const;
      return withinTime(ctx, options, (context) =>
        withModel(models, wish, context, (resolved, tried) => {
          const args = rerankArguments(request, documents, resolved);
          return blaming(RERANK_BLAME, async () => {
            const ranked = await models.call(resolved.model.name, 'rerank', args, tried);
            return rankingOf(request, documents, ranked as RankedDocuments);
          });
        }),
      );
    },
  );
}
