import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';

/** What is searched for of a chunk. */
export interface IndexedChunk {
  readonly id: number;
  /** A vector of length 1. */
  readonly vector: Float32Array;
  /** The words of the text, in their order. */
  readonly words: readonly string[];
}

/** A chunk that is near to a vector. */
export interface Neighbour {
  readonly id: number;
  /** The cosine of the angle between both vectors, from -1 to 1. */
  readonly similarity: number;
}

/** The vectors and words of one collection, in tables of its own. All of it takes part in the transaction. */
export interface VectorIndex {
  /** Makes the tables. Throws `VectorsUnavailable`. */
  create(dimensions: number): Promise<void>;
  drop(): Promise<void>;
  /** Adds chunks. Those whose ids are in `replaced` are there already and get other vectors and words. */
  put(chunks: readonly IndexedChunk[], replaced: ReadonlySet<number>): Promise<void>;
  remove(ids: readonly number[]): Promise<void>;
  /** Returns the nearest chunks to a vector of length 1, the nearest first. */
  nearest(vector: Float32Array, limit: number, filter?: VectorFilter): Promise<Neighbour[]>;
  /** Returns the ids of the chunks that have the most and the rarest of some words, the best first. */
  matching(words: readonly string[], limit: number, filter?: VectorFilter): Promise<number[]>;
}
