import * as z from 'zod';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import type { EmbeddingRequest } from './embedding-fields.ts';

/** The answer of `POST /v1/embeddings`. */
export const EmbeddingList = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int().describe('Place in `input`, from 0.'),
      embedding: z.union([z.array(z.number()), z.string()]).describe('A string for the format `base64`.'),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

/** The parameters that cause errors of embeddings. */
export const EMBEDDING_BLAME: Blame = {
  TooManyDimensions: 'dimensions',
  TooManyTexts: 'input',
  UnknownPrompt: 'prompt_name',
  PromptTooLongException: 'input',
  EmptyPrompt: 'input',
  InvalidPrompt: 'input',
};

/** The result of `embed_batch`. */
export interface EmbeddedBatch {
  readonly embedding: readonly (readonly number[])[];
  readonly tokens: readonly number[];
}

/** As in OpenAI's API. */
const MAX_INPUTS = 2048;
const MAX_TOKEN = 2 ** 31 - 1;

/** Returns the arguments of `embed_batch`. Throws `InvalidParameter`, which names the wrong part of `input`. */
export function embeddingArguments(request: EmbeddingRequest, { adapter }: ResolvedModel): Record<string, unknown> {
  const { input, dimensions, prompt_name: prompt, normalize, truncate } = request;
  return {
    sentences: textsOf(input),
    ...(dimensions != null && { dimensions }),
    ...(prompt != null && { prompt_name: prompt }),
    ...(normalize != null && { normalize }),
    ...(truncate != null && { truncate }),
    ...(adapter !== undefined && { adapter }),
  };
}

/** Returns the answer. `model` is the name that the request gave. */
export function embeddingList(
  { model, encoding_format: format }: Pick<EmbeddingRequest, 'model' | 'encoding_format'>,
  { embedding, tokens }: EmbeddedBatch,
): z.input<typeof EmbeddingList> {
  const count = tokens.reduce((sum, one) => sum + one, 0);
  return {
    object: 'list',
    data: embedding.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64Of(vector) : [...vector],
    })),
    model,
    usage: { prompt_tokens: count, total_tokens: count },
  };
}

function textsOf(items: string | readonly unknown[]): readonly (string | readonly number[])[] {
  if (typeof items === 'string') return [items];
  if (items.length === 0) throw invalidValue('input', 'it must have at least one text or token');
  if (typeof items[0] === 'number') return [tokensOf(items, 'input')];
  if (items.length > MAX_INPUTS)
    throw invalidValue('input', `it has ${items.length} items; a request can have ${MAX_INPUTS}`);
  const isTokens = Array.isArray(items[0]);
  return items.map((item, at) => {
    if (isTokens && Array.isArray(item)) return tokensOf(item, `input[${at}]`);
    if (!isTokens && typeof item === 'string') return item;
    throw invalidValue(`input[${at}]`, isTokens ? 'it must be a list of tokens like input[0]' : 'it must be a text');
  });
}

function tokensOf(items: readonly unknown[], param: string): readonly number[] {
  if (items.length === 0) throw invalidValue(param, 'it must have at least one token');
  const wrong = items.findIndex(
    (item) => !(typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= MAX_TOKEN),
  );
  if (wrong >= 0) throw invalidValue(`${param}[${wrong}]`, `a token must be a whole number from 0 to ${MAX_TOKEN}`);
  return items as readonly number[];
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}
