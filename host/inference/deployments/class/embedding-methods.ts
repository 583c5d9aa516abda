import * as z from 'zod';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import { method } from './method.ts';

/** Most texts or documents of one call. */
export const MAX_TEXTS = 2048;
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

export const Truncate = z
  .enum(['none', 'start', 'end'])
  .describe('Part that a text with too many tokens loses. With `none` the call is refused.');

/** Settings of every deployment of a model for embeddings, which replicas take while they run. */
export const embeddingSettings = {
  normalize: z.boolean().describe('Whether vectors get the length 1.'),
  dimensions: Dimensions.optional(),
  truncate: Truncate,
  prompts: z
    .record(z.string(), z.string())
    .describe('Texts by name that a call can put before its own, such as `{ "query": "query: " }`.'),
  default_prompt_name: z.string().optional().describe('The prompt of calls that name none. Default: no prompt.'),
};

/** The names of {@link embeddingSettings}. */
export const embeddingSettingNames = Object.keys(embeddingSettings) as (keyof typeof embeddingSettings)[];

/** The values of settings that are not given. */
export const embeddingDefaults = { normalize: true, truncate: 'none' as const, prompts: {} };

interface Prompts {
  readonly prompts?: Readonly<Record<string, string>> | undefined;
  readonly default_prompt_name?: string | undefined;
}

/** Returns whether the default prompt is one of the prompts. */
export const hasDefaultPrompt = ({ prompts = {}, default_prompt_name: name }: Prompts): boolean =>
  name === undefined || Object.hasOwn(prompts, name);

/** What a schema says where {@link hasDefaultPrompt} is false. */
export const NO_DEFAULT_PROMPT = {
  path: ['default_prompt_name'],
  message: 'must be one of the names in prompts',
};

const promptName = z.string().nullish().describe('Name of a prompt in the configuration.');
/** What texts are embedded for. */
export type InputType = 'query' | 'document';
const inputType = z
  .enum(['query', 'document'])
  .nullish()
  .describe('What the texts are for. Without `prompt_name`, they get the prompt of this name, if there is one.');
const options = {
  prompt_name: promptName,
  input_type: inputType,
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

/** Methods of every deployment of a model for embeddings. */
export const embeddingMethods = {
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
    input: z.strictObject({ text: z.string(), prompt_name: promptName, input_type: inputType }),
    output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
  }),
};
