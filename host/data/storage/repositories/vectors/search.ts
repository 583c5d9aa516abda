import { fail } from '../../../../base/core/errors.ts';
import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import type { Connection } from '../../database.ts';
import type { KeptCollection } from '../../kept-vectors.ts';
import { type ChunkRow, checkLength, type StoredChunk, storedChunk } from './chunks.ts';
import { conditionOf } from './filter.ts';
import { sql } from './statements.ts';
import { vectorIndexOf } from './vector-index-of.ts';
import type { VectorCollection } from './vector-repository.ts';
import { questionWords } from './words.ts';

/** A question with a vector, a text, or both. */
export interface VectorSearch {
  /** What made the vector; required with it. */
  readonly model?: string | undefined;
  /** Finds the chunks with the nearest vectors. */
  readonly vector?: readonly number[] | Float32Array | undefined;
  /** Finds the chunks that have its words. At most 65,536 characters. */
  readonly text?: string | undefined;
  readonly filter?: VectorFilter | undefined;
  /** Most results, from 1 to 100. Default: 10. */
  readonly limit?: number | undefined;
  /** Called with the collection once it is found. */
  readonly onFound?: ((collection: VectorCollection) => void) | undefined;
}

/** How well a chunk fits. */
export interface Rank {
  /**
   * With a vector alone, the cosine of the angle between both vectors, from -1 to 1. Otherwise from 0 to 1: by the
   * places of the chunk in the rankings by vector and by words, 1 for the first place in each of them.
   */
  readonly score: number;
}

export interface FoundChunk extends StoredChunk, Rank {}

const MOST_RESULTS = 100;
const DEFAULT_RESULTS = 10;
/** Chunks of each ranking that are ranked together, for each result. */
const CANDIDATES = 4;
/** The constant of reciprocal rank fusion: the larger it is, the less the first places count. */
const FUSION = 60;

/** Returns the chunks that fit best, the best first. @param vector of length 1 */
export async function searchCollection(
  connection: Connection,
  collection: KeptCollection,
  { vector, text, filter, limit = DEFAULT_RESULTS }: VectorSearch & { readonly vector?: Float32Array | undefined },
): Promise<FoundChunk[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_RESULTS)
    throw fail('ValidationError', `limit: it must be an integer from 1 to ${MOST_RESULTS}`);
  if (text !== undefined) checkLength(text, 'text');
  // A wrong filter is told before anything is searched.
  if (filter !== undefined) conditionOf(filter, { chunk: 'id', collection: collection.id, first: 1 });
  const index = vectorIndexOf(connection, collection.id);
  const words = questionWords(text ?? '');
  if (vector && text === undefined)
    return (await index.nearestChunks({ vector, limit, filter, collection })).map(({ similarity, ...row }) => ({
      ...storedChunk(row),
      score: similarity,
    }));
  if (text === undefined) throw fail('ValidationError', 'a search needs a vector, a text, or both');
  const most = limit * CANDIDATES;
  const [near, matching] = await Promise.all([
    vector ? index.nearest({ vector, limit: most, filter, collection }) : undefined,
    words.length > 0 ? index.matching(words, most, filter) : [],
  ]);
  const ranked = fused([...(near ? [near.map(({ id }) => id)] : []), matching]).slice(0, limit);
  const ids = JSON.stringify(ranked.map(({ id }) => id));
  const rows = await connection.query<ChunkRow & { readonly id: number }>(sql.read, [collection.id, ids]);
  const byId = new Map(rows.map((row) => [row.id, storedChunk(row)]));
  return ranked.flatMap(({ id, score }) => {
    const chunk = byId.get(id); // it may have been removed meanwhile
    return chunk ? [{ ...chunk, score }] : [];
  });
}

/** Ranks the members of several rankings together, by reciprocal rank fusion. */
function fused(rankings: readonly (readonly number[])[]): (Rank & { readonly id: number })[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings)
    for (const [place, id] of ranking.entries())
      scores.set(id, (scores.get(id) ?? 0) + (FUSION + 1) / (FUSION + 1 + place) / rankings.length);
  return [...scores]
    .map(([id, score]) => ({ id, score }))
    .toSorted((one, other) => other.score - one.score || one.id - other.id);
}
