import * as z from 'zod';
import { MAX_TEXT, MAX_NAME } from '../../../base/schemas/index.ts';
import type { Blame } from '../blame.ts';
import { invalidValue, type RequestFields } from '../fields.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { truncateField } from './embedding-fields.ts';

/** Most documents of one request. */
const MAX_DOCUMENTS = 2048;

/** The parameters of `POST /v1/rerank` that have an effect. */
export const RerankRequest = z.object({
  model: z.string().min(1).max(MAX_NAME).describe('A deployment, an alias, or the id of a model.'),
  query: z.string().max(MAX_TEXT),
  // The items are checked later, like those of embeddings.
  documents: z
    .array(z.unknown())
    .max(MAX_DOCUMENTS)
    .meta({
      description: 'At most 2048 texts, or objects whose `text` is ranked.',
      minItems: 1,
      maxItems: MAX_DOCUMENTS,
      items: {
        anyOf: [
          { type: 'string' },
          { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: true },
        ],
      },
    }),
  top_n: z.nullish(z.int().min(1)).describe('Number of results. Default: one for each document.'),
  return_documents: z.nullish(z.boolean()).describe('Whether results have their documents. Default: false.'),
  raw_scores: z
    .nullish(z.boolean())
    .describe("Whether scores are the model's own numbers. Otherwise they lie between 0 and 1."),
  truncate: truncateField,
});
export type RerankRequest = z.output<typeof RerankRequest>;

/** All parameters of `POST /v1/rerank`. */
export const RERANK_FIELDS = {
  schema: RerankRequest,
  idle: {
    user: { why: 'the user of the API key counts', isHarmless: true },
    max_chunks_per_doc: { why: 'documents are not divided; give truncate' },
    max_tokens_per_doc: { why: 'give truncate' },
    truncate_prompt_tokens: { why: 'give truncate' },
    rank_fields: { why: 'the key `text` of a document is ranked', neutral: [['text']] },
    priority: { why: 'requests of a user are served in turn', neutral: [0] },
  },
} as const satisfies RequestFields;

/** The parameters that cause errors of ranking. */
export const RERANK_BLAME: Blame = {
  PromptTooLongException: 'documents',
  EmptyPrompt: 'documents',
  InvalidPrompt: 'documents',
};

/** The answer of `POST /v1/rerank`. */
export const Ranking = z.object({
  object: z.literal('list'),
  model: z.string().max(MAX_NAME),
  results: z
    .array(
      z.object({
        index: z.int().describe('Place in `documents`, from 0.'),
        relevance_score: z.number(),
        document: z
          .looseObject({ text: z.string().max(MAX_TEXT) })
          .optional()
          .describe('The document of the request.'),
      }),
    )
    .describe('The best comes first.'),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

/** A document of a request: a text, or an object that has it. */
type Document = Readonly<Record<string, unknown>> & { readonly text: string };

/** Returns the documents. Throws `InvalidParameter`, which names the wrong one. */
export function documentsOf({ documents: items }: Pick<RerankRequest, 'documents'>): readonly Document[] {
  if (items.length === 0) throw invalidValue('documents', 'it must have at least one document');
  if (items.length > MAX_DOCUMENTS)
    throw invalidValue('documents', `it has ${items.length} items; a request can have ${MAX_DOCUMENTS}`);
  return items.map((item, at) => {
    if (typeof item === 'string') return { text: item };
    const { text } = (typeof item === 'object' && item !== null ? item : {}) as Partial<Document>;
    if (typeof text === 'string') return item as Document;
    throw invalidValue(`documents[${at}]`, 'it must be a text, or an object whose key `text` is one');
  });
}

/** Returns the arguments of `rerank`. */
export function rerankArguments(
  { query, top_n: most, raw_scores: isRaw, truncate }: RerankRequest,
  documents: readonly Document[],
  { adapter }: ResolvedModel,
): Record<string, unknown> {
  return {
    query,
    documents: documents.map(({ text }) => text),
    ...(most != null && { top_n: Math.min(most, documents.length) }),
    ...(isRaw != null && { raw_scores: isRaw }),
    ...(truncate != null && { truncate }),
    ...(adapter !== undefined && { adapter }),
  };
}

/** The result of the method `rerank`. */
export interface RankedDocuments {
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly tokens: number;
}

/** Returns the answer. */
export function rankingOf(
  { model, return_documents: hasDocuments }: Pick<RerankRequest, 'model' | 'return_documents'>,
  documents: readonly Document[],
  { results, tokens }: RankedDocuments,
): z.input<typeof Ranking> {
  return {
    object: 'list',
    model,
    results: results.map(({ index, score }) => {
      const document = hasDocuments === true ? documents[index] : undefined;
      return { index, relevance_score: score, ...(document && { document }) };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
