// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';

export interface Collection {
  readonly name: string;
  /** What makes the vectors. */
  readonly model: string;
  /** Numbers of each vector. */
  readonly dimensions: number;
  readonly chunks: number;
  /** Bytes of its texts, metadata and vectors: a whole number. */
  readonly bytes: number;
}

/** A text that a search finds. */
export interface Chunk {
  /** Unique in its collection. */
  readonly id: string;
  /** The document of which it is a part. */
  readonly document?: string | undefined;
  /** At most 65,536 characters. */
  readonly text: string;
  /** A JSON object of at most 16 members: texts of at most 512 characters, numbers and booleans. */
  readonly metadata: string;
}

export interface FoundChunk {
  readonly chunk: Chunk;
  /**
   * With a vector alone, the cosine of the angle between both vectors, from -1 to 1. Otherwise from 0 to 1, by the
   * places of the chunk in the rankings by vector and by words.
   */
  readonly score: number;
}

/** Which chunks to delete. */
export type Selection =
  | { readonly tag: 'ids'; readonly val: readonly string[] }
  /** All chunks of a document. */
  | { readonly tag: 'document'; readonly val: string };

/** A question: a vector, a text, or both. */
export interface Query {
  /** 32-bit floating-point numbers, little endian. The nearest chunks are found. */
  readonly vector?: Base64 | undefined;
  /** What made the vector. */
  readonly model?: string | undefined;
  /** The chunks with its words are found. At most 65,536 characters. */
  readonly text?: string | undefined;
  /** A filter of the metadata in JSON, such as `{"type":"eq","key":"language","value":"en"}`. */
  readonly filter?: string | undefined;
  /** Most results, from 1 to 100. */
  readonly limit: number;
}

/** The interface `vectors` as a guest sees it. A function that fails throws the record `error`. */
export interface Vectors {
  /**
   * Makes a collection unless it exists. Fails with `VectorModelMismatch` if it exists for another model or other
   * dimensions, and with `StorageFull` if there are 100.
   */
  ensure(name: string, model: string, dimensions: number): void;
  /**
   * Returns the collections whose names come after `after`, in the order of their bytes: at most `limit`, from 1 to
   * 1,000.
   */
  listCollections(after: string | undefined, limit: number): readonly Collection[];
  /** Removes a collection with all of its chunks. Returns whether it existed. */
  deleteCollection(name: string): boolean;
  /**
   * Adds chunks, or replaces those with the same ids: at most 500, whose texts have at most 1,048,576 characters
   * together. `vectors` has their vectors one after the other, as 32-bit floating-point numbers, little endian. Fails
   * with `StorageFull` if all collections would have more than 1 GiB.
   */
  upsert(name: string, model: string, chunks: readonly Chunk[], vectors: Base64): void;
  /** Removes chunks. Returns how many there were. */
  deleteChunks(name: string, which: Selection): number;
  /**
   * Returns the chunks whose ids come after `after`, in the order of their bytes, or those of a document: at most
   * `limit`, from 1 to 1,000. An answer ends before the texts have more than 1,048,576 characters, but not before the
   * first chunk. Empty when there are no more.
   */
  listChunks(name: string, document: string | undefined, after: string | undefined, limit: number): readonly Chunk[];
  /** Returns the chunks that fit best, the best first. */
  search(name: string, query: Query): readonly FoundChunk[];
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface VectorsCalls {
  'vectors.ensure': { readonly args: readonly [name: string, model: string, dimensions: number];
    readonly value: undefined };
  'vectors.list-collections': { readonly args: readonly [after: string | undefined, limit: number];
    readonly value: readonly Collection[] };
  'vectors.delete-collection': { readonly args: readonly [name: string]; readonly value: boolean };
  'vectors.upsert': { readonly args: readonly [name: string, model: string, chunks: readonly Chunk[], vectors: Base64];
    readonly value: undefined };
  'vectors.delete-chunks': { readonly args: readonly [name: string, which: Selection]; readonly value: number };
  'vectors.list-chunks': { readonly args: readonly [name: string, document: string | undefined, after: string
    | undefined, limit: number]; readonly value: readonly Chunk[] };
  'vectors.search': { readonly args: readonly [name: string, query: Query]; readonly value: readonly FoundChunk[] };
}
