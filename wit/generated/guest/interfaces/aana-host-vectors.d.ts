// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/vectors@0.1.0' {
  /**
   * Makes a collection unless it exists. Fails with `VectorModelMismatch` if it exists for another model or other
   * dimensions, and with `StorageFull` if there are 100.
   */
  export function ensure(name: string, model: string, dimensions: number): void;
  /**
   * Returns the collections whose names come after `after`, in the order of their bytes: at most `limit`, from 1 to
   * 1,000.
   */
  export function listCollections(after: string | undefined, limit: number): Array<Collection>;
  /**
   * Removes a collection with all of its chunks. Returns whether it existed.
   */
  export function deleteCollection(name: string): boolean;
  /**
   * Adds chunks, or replaces those with the same ids: at most 500, whose texts have at most 1,048,576 characters
   * together. `vectors` has their vectors one after the other, as 32-bit floating-point numbers, little endian. Fails
   * with `StorageFull` if all collections would have more than 1 GiB.
   */
  export function upsert(name: string, model: string, chunks: Array<Chunk>, vectors: Base64): void;
  /**
   * Removes chunks. Returns how many there were.
   */
  export function deleteChunks(name: string, which: Selection): number;
  /**
   * Returns the chunks whose ids come after `after`, in the order of their bytes, or those of a document: at most
   * `limit`, from 1 to 1,000. An answer ends before the texts have more than 1,048,576 characters, but not before the
   * first chunk. Empty when there are no more.
   */
  export function listChunks(name: string, document: string | undefined, after: string | undefined,
    limit: number): Array<Chunk>;
  /**
   * Returns the chunks that fit best, the best first.
   */
  export function search(name: string, query: Query): Array<FoundChunk>;
  export type Base64 = import('aana:host/types@0.1.0').Base64;
  export type Error = import('aana:host/types@0.1.0').Error;
  export interface Collection {
    name: string,
    /**
     * What makes the vectors.
     */
    model: string,
    /**
     * Numbers of each vector.
     */
    dimensions: number,
    chunks: number,
    /**
     * Bytes of its texts, metadata and vectors: a whole number.
     */
    bytes: number,
  }
  /**
   * A text that a search finds.
   */
  export interface Chunk {
    /**
     * Unique in its collection.
     */
    id: string,
    /**
     * The document of which it is a part.
     */
    document?: string,
    /**
     * At most 65,536 characters.
     */
    text: string,
    /**
     * A JSON object of at most 16 members: texts of at most 512 characters, numbers and booleans.
     */
    metadata: string,
  }
  export interface FoundChunk {
    chunk: Chunk,
    /**
     * With a vector alone, the cosine of the angle between both vectors, from -1 to 1. Otherwise from 0 to 1, by the
     * places of the chunk in the rankings by vector and by words.
     */
    score: number,
  }
  /**
   * Which chunks to delete.
   */
  export type Selection = SelectionIds | SelectionDocument;
  export interface SelectionIds {
    tag: 'ids',
    val: Array<string>,
  }
  /**
   * All chunks of a document.
   */
  export interface SelectionDocument {
    tag: 'document',
    val: string,
  }
  /**
   * A question: a vector, a text, or both.
   */
  export interface Query {
    /**
     * 32-bit floating-point numbers, little endian. The nearest chunks are found.
     */
    vector?: Base64,
    /**
     * What made the vector.
     */
    model?: string,
    /**
     * The chunks with its words are found. At most 65,536 characters.
     */
    text?: string,
    /**
     * A filter of the metadata in JSON, such as `{"type":"eq","key":"language","value":"en"}`.
     */
    filter?: string,
    /**
     * Most results, from 1 to 100.
     */
    limit: number,
  }
}
