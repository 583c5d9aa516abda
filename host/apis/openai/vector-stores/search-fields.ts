import * as z from 'zod';
import { AanaError } from '../../../base/core/errors.ts';
import { checkFilter, type VectorFilter } from '../../../data/storage/index.ts';
import { invalidValue, type RequestFields } from '../fields.ts';
import type { StoreQuery } from './search-stores.ts';
import { Attributes } from './store-fields.ts';

const MAX_QUERY = 4096;
const MAX_QUERIES = 16;
const DEFAULT_RESULTS = 10;
const Query = z.string().min(1).max(MAX_QUERY);

/** What searches of stores have in common. */
export const searchOptions = {
  // The filter is checked later, in bounded time.
  filters: z
    .unknown()
    .optional()
    .meta({
      description:
        'Which files are searched, by their attributes: `{type: "eq", key, value}` (also `ne`, `gt`, `gte`, `lt`, ' +
        '`lte`, `in`, `nin`), or `{type: "and", filters}` (also `or`). At most 100 conditions and 1000 values.',
      type: ['object', 'null'],
      additionalProperties: true,
    }),
  max_num_results: z.nullish(z.int().min(1).max(50)).describe(`1 to 50. Default: ${DEFAULT_RESULTS}.`),
};

/** How results are ranked. */
export const rankingOptions = {
  ranker: z.nullish(z.string().max(64)),
  score_threshold: z.nullish(z.number().min(0).max(1)).describe('Results with a lower score are left out.'),
};

/** The parameters of `POST /v1/vector_stores/{vector_store_id}/search` that have an effect. */
export const SearchRequest = z.object({
  query: z.union([Query, z.array(Query).min(1).max(MAX_QUERIES)]).describe('A question, or up to 16 of them.'),
  ...searchOptions,
  ranking_options: z
    .nullish(z.object(rankingOptions))
    .describe(
      'With the `ranker` `none`, results are ranked by their vectors alone. Others rank by vectors and words together.',
    ),
});
export type SearchRequest = z.output<typeof SearchRequest>;
export const SEARCH_FIELDS = {
  schema: SearchRequest,
  idle: { rewrite_query: { why: 'queries are searched for as they are', neutral: [false] } },
} as const satisfies RequestFields;

/** The results of a search as an answer. */
export const SearchResults = z.object({
  object: z.literal('vector_store.search_results.page'),
  search_query: z.array(z.string()),
  data: z.array(
    z.object({
      file_id: z.string(),
      filename: z.string(),
      score: z.number().describe('From 0 to 1, the best result first.'),
      attributes: Attributes,
      content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
    }),
  ),
  has_more: z.literal(false),
  next_page: z.null(),
});

/**
 * Returns what the options of a search, which are at `path`, ask of stores. Throws `InvalidParameter` for a wrong
 * filter, and names what is wrong.
 */
export function storeQueryOf(
  { filters, max_num_results: limit, ranking_options: ranking }: Omit<SearchRequest, 'query'>,
  path = '',
): Omit<StoreQuery, 'queries'> {
  return {
    filter: filterOf(filters, `${path}filters`),
    limit: limit ?? DEFAULT_RESULTS,
    byVectors: ranking?.ranker === 'none',
    threshold: ranking?.score_threshold ?? 0,
  };
}

function filterOf(given: unknown, param: string): VectorFilter | undefined {
  if (given == null) return undefined;
  try {
    return checkFilter(given, param);
  } catch (error) {
    const [, at, why] = (error instanceof AanaError && /^(\S+?):? (.*)$/s.exec(error.message)) || [];
    throw at !== undefined && why !== undefined ? invalidValue(at, why) : error;
  }
}
