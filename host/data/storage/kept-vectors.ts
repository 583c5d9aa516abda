/** A collection of vectors at one version of its content. */
export interface KeptCollection {
  readonly id: number;
  /** Grows with each change of the collection. */
  readonly version: number;
  readonly dimensions: number;
  readonly chunks: number;
}

/** A chunk that is near to a vector. */
export interface Neighbour {
  readonly id: number;
  /** The cosine of the angle between both vectors, from -1 to 1. */
  readonly similarity: number;
}

export interface KeptQuery {
  /** Of length 1. */
  readonly vector: Float32Array;
  readonly limit: number;
  /** Returns the ids of the only chunks that count. It is called if the vectors are in memory. */
  readonly among?: (() => Promise<readonly number[]>) | undefined;
}

/** The vectors that this process keeps in memory, so that searches need not read them. */
export interface KeptVectors {
  /**
   * Returns the nearest chunks of a collection, the nearest first. Undefined if its vectors are not in memory at this
   * version.
   */
  nearest(collection: KeptCollection, query: KeptQuery): Promise<Neighbour[] | undefined>;
}
