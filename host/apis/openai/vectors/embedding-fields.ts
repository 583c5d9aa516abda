import * as z from 'zod';
import { MAX_TEXT, MAX_NAME } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';

/** Tokens of one text. */
const MAX_TOKENS = 1_000_000;

const text = { type: 'string' };
const token = { type: 'integer', minimum: 0 };
const tokens = { type: 'array', items: token, minItems: 1 };

/** The part that a text with too many tokens loses. */
export const truncateField = z
  .nullish(z.enum(['none', 'start', 'end']))
  .describe("The part that a text with too many tokens loses; `none` refuses it. Default: the deployment's.");

/** The parameters of `POST /v1/embeddings` that have an effect. */
export const EmbeddingRequest = z.object({
  model: z.string().min(1).max(MAX_NAME).describe('A deployment, an alias, or the id of a model.'),
  // The items are checked later. A schema would collect the faults of all items, of which a request can have millions.
  input: z.union([z.string().max(MAX_TEXT), z.array(z.unknown()).max(MAX_TOKENS)]).meta({
    description: 'A text, its tokens, or a list of at most 2048 texts or lists of tokens.',
    anyOf: [
      text,
      { type: 'array', items: text, minItems: 1, maxItems: 2048 },
      tokens,
      { type: 'array', items: tokens, minItems: 1, maxItems: 2048 },
    ],
  }),
  encoding_format: z
    .nullish(z.enum(['float', 'base64']))
    .describe('`base64`: the numbers as little-endian 32-bit floats. Default: `float`.'),
  dimensions: z
    .nullish(z.int().min(1).max(65_536))
    .describe(
      'Numbers of a vector that are kept, from its beginning. Only vectors of models that were trained for it keep ' +
        'their meaning.',
    ),
  prompt_name: z
    .nullish(z.string().max(MAX_NAME))
    .describe("A prompt of the deployment's configuration, before each text."),
  normalize: z.nullish(z.boolean()).describe("Whether vectors get the length 1. Default: the deployment's."),
  truncate: truncateField,
});
export type EmbeddingRequest = z.output<typeof EmbeddingRequest>;

/** All parameters of `POST /v1/embeddings`. */
export const EMBEDDING_FIELDS = {
  schema: EmbeddingRequest,
  idle: {
    user: { why: 'the user of the API key counts', isHarmless: true },
    add_special_tokens: { why: 'the model decides', neutral: [true] },
    truncate_prompt_tokens: { why: 'give truncate' },
    embd_normalize: { why: 'give normalize', neutral: [2] },
    priority: { why: 'requests of a user are served in turn', neutral: [0] },
  },
} as const satisfies RequestFields;
