import * as z from 'zod';
import { configClass } from '../class/config-class.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import { MAX_TEXTS, Truncate } from '../class/embedding-methods.ts';
import { method } from '../class/method.ts';
import {
  EMBEDDING_CALLS,
  embeddingModelMemory,
  EmbeddingModelKwargs,
  prepareEmbeddingModel,
} from './llama-embedding-model.ts';

const schema = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .describe('`owner/repo` or `owner/repo/file.gguf` of the hub, or the path of a GGUF file. It must be a reranker.'),
  model_kwargs: EmbeddingModelKwargs.prefault({}).describe('Parameters for loading the model.'),
  rerank_template: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Text with `{query}` and `{document}` that replaces the model's template. Models without a template read both " +
        'one after the other.',
    ),
  truncate: Truncate.default('none'),
});

/** Configuration of a deployment that ranks documents. */
export class LlamaRerankConfig extends configClass(schema) {}

/** Scores of documents for a query with llama.cpp. */
export const LlamaRerankDeployment = defineDeployment({
  name: 'LlamaRerankDeployment',
  configSchema: schema,
  maxOngoingRequests: () => EMBEDDING_CALLS,
  methods: {
    rerank: method({
      description: 'Orders documents by how well they answer a query.',
      input: z.strictObject({
        query: z.string(),
        documents: z.array(z.string()).min(1).max(MAX_TEXTS),
        top_n: z.int().min(1).max(MAX_TEXTS).nullish().describe('Number of results. Default: one for each document.'),
        raw_scores: z
          .boolean()
          .nullish()
          .describe("Whether scores are the model's own numbers. Otherwise they lie between 0 and 1."),
        truncate: z.nullish(Truncate),
      }),
      output: z.strictObject({
        results: z
          .array(z.strictObject({ index: z.int().describe('Place in `documents`, from 0.'), score: z.number() }))
          .describe('The best comes first.'),
        tokens: z.int().describe('Tokens that were computed.'),
      }),
    }),
    count_tokens: method({
      description: 'Counts the tokens of a query together with a document.',
      input: z.strictObject({ query: z.string(), document: z.string() }),
      output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
    }),
  },
  threads: ({ model_kwargs: { n_threads: threads } }) => threads,
  prepare: async (config, context) => ({
    ...(await prepareEmbeddingModel(config.model_id, config.model_kwargs, context)),
    rerank_template: config.rerank_template,
    settings: { truncate: config.truncate },
  }),
  memory: embeddingModelMemory,
  reconfigurable: ['truncate'],
  implementation: new URL('../../engines/llama-rerank.js', import.meta.url),
});
