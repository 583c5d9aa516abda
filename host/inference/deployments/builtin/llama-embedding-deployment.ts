import * as z from 'zod';
import { configClass } from '../class/config-class.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import {
  embeddingDefaults,
  embeddingMethods,
  embeddingSettingNames,
  embeddingSettings,
  hasDefaultPrompt,
  NO_DEFAULT_PROMPT,
} from '../class/embedding-methods.ts';
import {
  EMBEDDING_CALLS,
  embeddingModelMemory,
  EmbeddingModelKwargs,
  prepareEmbeddingModel,
} from './llama-embedding-model.ts';

const schema = z
  .strictObject({
    model_id: z
      .string()
      .min(1)
      .default('all-minilm-l6-v2')
      .describe('A catalogue id, `owner/repo` or `owner/repo/file.gguf` of the hub, or the path of a GGUF file.'),
    model_kwargs: EmbeddingModelKwargs.prefault({}).describe('Parameters for loading the model.'),
    pooling: z
      .enum(['mean', 'cls', 'last'])
      .optional()
      .describe(
        "How the vectors of a text's tokens become one: their mean, or the vector of the first or last token. " +
          "Default: the pooling that the model's file states.",
      ),
    ...embeddingSettings,
    normalize: embeddingSettings.normalize.default(embeddingDefaults.normalize),
    truncate: embeddingSettings.truncate.default(embeddingDefaults.truncate),
    prompts: embeddingSettings.prompts.default(embeddingDefaults.prompts),
  })
  .refine(hasDefaultPrompt, NO_DEFAULT_PROMPT);

/** Configuration of a deployment for embeddings. */
export class LlamaEmbeddingConfig extends configClass(schema) {}

/** Vectors of texts with llama.cpp. */
export const LlamaEmbeddingDeployment = defineDeployment({
  name: 'LlamaEmbeddingDeployment',
  configSchema: schema,
  maxOngoingRequests: () => EMBEDDING_CALLS,
  methods: embeddingMethods,
  threads: ({ model_kwargs: { n_threads: threads } }) => threads,
  prepare: async (config, context) => ({
    ...(await prepareEmbeddingModel(config.model_id, config.model_kwargs, context)),
    pooling: config.pooling,
    settings: {
      normalize: config.normalize,
      dimensions: config.dimensions,
      truncate: config.truncate,
      prompts: config.prompts,
      default_prompt_name: config.default_prompt_name,
    },
  }),
  memory: embeddingModelMemory,
  reconfigurable: embeddingSettingNames,
  implementation: new URL('../../engines/llama-embedding.js', import.meta.url),
});
