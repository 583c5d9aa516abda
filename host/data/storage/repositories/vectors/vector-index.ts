import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import type { KeptCollection, Neighbour } from '../../kept-vectors.ts';
import type { ChunkRow } from './chunks.ts';

/** The nearest of what is searched for. */
export interface NearestQuery {
  /** Of length 1. */
  readonly vector: Float32Array;
  readonly limit: number;
  readonly filter?: VectorFilter | undefined;
  /** The collection as it was found, for vectors that are kept in memory. */
  readonly collection: KeptCollection;
}

/** What is searched for of a chunk. */
export interface IndexedChunk {
  readonly id: number;
  /** A vector of length 1. */
  readonly vector: Float32Array;
  /** The words of the text, in their order. */
  readonly words: readonly string[];
}

/** The vectors and words of one collection, in tables of its own. All of it takes part in the transaction. */
export interface VectorIndex {
  /** Makes the tables. Throws `VectorsUnavailable`. */
  create(dimensions: number): Promise<void>;
  drop(): Promise<void>;
  /** Adds chunks. Those whose ids are in `replaced` are there already and get other vectors and words. */
  put(chunks: readonly IndexedChunk[], replaced: ReadonlySet<number>): Promise<void>;
  remove(ids: readonly number[]): Promise<void>;
  /** Returns the nearest chunks, the nearest first. */
  nearest(query: NearestQuery): Promise<Neighbour[]>;
  /** Returns the same with the chunks. */
  nearestChunks(query: NearestQuery): Promise<(Neighbour & ChunkRow)[]>;
  /** Returns the ids of the chunks that have the most and the rarest of some words, the best first. */
  matching(words: readonly string[], limit: number, filter?: VectorFilter): Promise<number[]>;
}

/** Returns SQL that adds the chunks to the results of `nearest`, which have `id` and `similarity`. */
export const withChunks = (nearest: string): string =>
  `select near.id, near.similarity, name, document, text, metadata
   from (${nearest}) as near join vector_chunks on vector_chunks.id = near.id order by near.similarity desc`;
