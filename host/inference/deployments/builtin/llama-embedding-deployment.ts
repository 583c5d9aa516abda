import * as z from 'zod';
import { toggle } from '../../../base/core/fields.ts';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import { configClass } from '../class/config-class.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import { method } from '../class/method.ts';
import {
  EMBEDDING_CALLS,
  embeddingModelMemory,
  EmbeddingModelKwargs,
  MAX_TEXTS,
  prepareEmbeddingModel,
  Truncate,
} from './llama-embedding-model.ts';

/** Most tokens of one text: the longest context that can be configured. */
const MAX_TOKENS = 16_777_216;

const Dimensions = z
  .int()
  .min(1)
  .max(65_536)
  .describe(
    'Numbers of a vector that are kept, from its beginning. Only vectors of models that were trained for it keep ' +
      'their meaning.',
  );

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
    normalize: toggle(true, 'Whether vectors get the length 1.'),
    dimensions: Dimensions.optional(),
    truncate: Truncate.default('none'),
    prompts: z
      .record(z.string(), z.string())
      .default({})
      .describe('Texts by name that a call can put before its own, such as `{ "query": "query: " }`.'),
    default_prompt_name: z.string().optional().describe('The prompt of calls that name none. Default: no prompt.'),
  })
  .refine(({ prompts, default_prompt_name: name }) => name === undefined || Object.hasOwn(prompts, name), {
    path: ['default_prompt_name'],
    message: 'must be one of the names in prompts',
  });

/** Configuration of a deployment for embeddings. */
export class LlamaEmbeddingConfig extends configClass(schema) {}

const promptName = z.string().nullish().describe('Name of a prompt in the configuration.');
const options = {
  prompt_name: promptName,
  dimensions: z.nullish(Dimensions),
  normalize: z.boolean().nullish().describe('Whether the vectors get the length 1. Default: the configuration.'),
  truncate: z.nullish(Truncate),
};
const Tokens = TokenNumbers.check(
  z.minLength(1),
  z.maxLength(MAX_TOKENS),
  z.describe('Tokens of a text, computed as they are: without a prompt, and without the tokens that the model wants.'),
);
const tokens = z.int().describe('Tokens of the text, with those that the model wants around it.');

/** Vectors of texts with llama.cpp. */
export const LlamaEmbeddingDeployment = defineDeployment({
  name: 'LlamaEmbeddingDeployment',
  configSchema: schema,
  maxOngoingRequests: () => EMBEDDING_CALLS,
  methods: {
    embed: method({
      operation: 'embeddings',
      description: 'Computes the vector of a text.',
      input: z.strictObject({ text: z.string(), ...options }),
      output: z.strictObject({ embedding: z.array(z.number()), tokens }),
    }),
    embed_batch: method({
      operation: 'embeddings',
      description: 'Computes the vectors of several texts, or of their tokens.',
      input: z.strictObject({
        sentences: z
          .array(z.union([z.string(), Tokens]))
          .min(1)
          .max(MAX_TEXTS),
        ...options,
      }),
      output: z.strictObject({ embedding: z.array(z.array(z.number())), tokens: z.array(tokens) }),
    }),
    count_tokens: method({
      description: 'Counts the tokens of a text.',
      input: z.strictObject({ text: z.string(), prompt_name: promptName }),
      output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
    }),
  },
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
  reconfigurable: ['normalize', 'dimensions', 'truncate', 'prompts', 'default_prompt_name'],
  implementation: new URL('../../engines/llama-embedding.js', import.meta.url),
});
