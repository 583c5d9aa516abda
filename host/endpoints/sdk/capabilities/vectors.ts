import type { Metadata, VectorFilter } from '../../../base/schemas/vectors/vector-filter.ts';
import type {
  Chunk as HostChunk,
  Collection,
  Vectors as HostVectors,
} from '../../../../wit/generated/world/vectors.ts';
import { toBase64 } from '../guest/base64.ts';
import { hostPromise, preparedPromise } from '../guest/event-loop.ts';
import { HostError } from '../host-error.ts';
import { type Batches, pages } from './batches.ts';

const PAGE = 1000;
const MAX_U32 = 2 ** 32 - 1;

/** What a collection is made for. */
export interface VectorSpace {
  /** The name of what makes the vectors, 1 to 255 characters. Vectors of different models cannot be compared. */
  readonly model: string;
  /** The numbers of each vector, from 1 to 8192. */
  readonly dimensions: number;
}

/** A collection with its size. */
export interface CollectionFacts extends VectorSpace {
  readonly name: string;
  readonly chunks: number;
  /** The bytes of its texts, metadata and vectors. */
  readonly bytes: number;
}

/** A text of a collection. */
export interface StoredChunk {
  /** Unique in its collection, 1 to 255 characters. */
  readonly id: string;
  /** The document of which the chunk is a part, 1 to 255 characters; undefined if it is none. */
  readonly document: string | undefined;
  /** At most 65,536 characters. */
  readonly text: string;
  readonly metadata: Metadata;
}

/** A text with its vector. */
export interface VectorChunk {
  readonly id: string;
  readonly document?: string | undefined;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  /** Finite numbers of 32 bits, not all of them 0. Only the direction counts. */
  readonly vector: readonly number[] | Float32Array;
}

export interface FoundChunk extends StoredChunk {
  /**
   * With a vector alone, the cosine of the angle between both vectors, from -1 to 1. Otherwise from 0 to 1: by the
   * places of the chunk in the rankings by vector and by words, 1 for the first place in each of them.
   */
  readonly score: number;
}

/** A question with a vector, a text, or both. */
export interface VectorSearch {
  /** Finds the chunks with the nearest vectors. */
  readonly vector?: readonly number[] | Float32Array | undefined;
  /** Finds the chunks that have its words. At most 65,536 characters. */
  readonly text?: string | undefined;
  readonly filter?: VectorFilter | undefined;
  /** Most results, from 1 to 100. Default: 10. */
  readonly limit?: number | undefined;
}

/**
 * Collections of texts with their vectors, which the plugin keeps: at most 100, with 1 GiB in all. Each plugin has its
 * own for each user.
 */
export class Vectors {
  readonly #host: HostVectors;

  constructor(host: HostVectors) {
    this.#host = host;
  }

  /**
   * Makes a collection unless it exists. Throws `VectorModelMismatch` if it exists for another model or with other
   * dimensions, `StorageFull`, and `VectorsUnavailable` where the host's database cannot store vectors.
   */
  ensure(name: string, { model, dimensions }: VectorSpace): Promise<VectorCollection> {
    return preparedPromise(
      () => whole('dimensions', dimensions),
      (checked) => this.#host.ensure(name, model, checked),
      () => this.collection(name, model),
    );
  }

  /** Returns a collection that exists. `model` is what makes its vectors. */
  collection(name: string, model: string): VectorCollection {
    return new VectorCollection(this.#host, name, model);
  }

  /** The collections in the order of their names. */
  list(): Batches<CollectionFacts> {
    return pages<Collection>(
      PAGE,
      (last) => this.#host.listCollections(last?.name, PAGE),
      (each) => each,
    );
  }

  /** Deletes a collection with all of its chunks. Resolves with whether it existed. */
  delete(name: string): Promise<boolean> {
    return hostPromise(() => this.#host.deleteCollection(name));
  }
}

/**
 * One collection. Each call takes effect completely or not at all. Calls throw `NotFoundException` where there is no
 * such collection, and `VectorModelMismatch` for vectors of another model.
 */
export class VectorCollection {
  readonly name: string;
  readonly model: string;
  readonly #host: HostVectors;

  constructor(host: HostVectors, name: string, model: string) {
    this.name = name;
    this.model = model;
    this.#host = host;
  }

  /**
   * Adds chunks, or replaces those with the same ids: at most 500, whose texts have at most 1,048,576 characters
   * together. Throws `ValidationError`, `ArgumentsTooLarge` and `StorageFull`.
   */
  upsert(chunks: readonly VectorChunk[]): Promise<void> {
    return preparedPromise(
      () => ({ chunks: chunks.map(hostChunk), vectors: base64Of(chunks.map(({ vector }) => vector)) }),
      (prepared) => this.#host.upsert(this.name, this.model, prepared.chunks, prepared.vectors),
    );
  }

  /** Resolves with the chunks that fit best, the best first. Throws `ValidationError`. */
  search({ vector, text, filter, limit = 10 }: VectorSearch): Promise<FoundChunk[]> {
    return preparedPromise(
      () => ({
        limit: whole('limit', limit),
        ...(vector && { vector: base64Of([vector]), model: this.model }),
        ...(text !== undefined && { text }),
        ...(filter && { filter: JSON.stringify(filter) }),
      }),
      (query) => this.#host.search(this.name, query),
      (found) => found.map(({ chunk, score }) => ({ ...storedChunk(chunk), score })),
    );
  }

  /** Deletes chunks by their ids, at most 2000. Resolves with how many there were. Throws `ValidationError`. */
  delete(ids: readonly string[]): Promise<number> {
    return hostPromise(() => this.#host.deleteChunks(this.name, { tag: 'ids', val: ids }));
  }

  /** Deletes all chunks of a document. Resolves with how many there were. */
  deleteDocument(document: string): Promise<number> {
    return hostPromise(() => this.#host.deleteChunks(this.name, { tag: 'document', val: document }));
  }

  /** All chunks, or those of a document, in the order of their ids. */
  chunks(document?: string): Batches<StoredChunk> {
    // The host ends a page where its texts are long. The last one is empty.
    return pages<HostChunk, StoredChunk>(
      1,
      (last) => this.#host.listChunks(this.name, document, last?.id, PAGE),
      storedChunk,
    );
  }
}

function hostChunk({ id, document, text, metadata = {} }: VectorChunk): HostChunk {
  return { id, ...(document !== undefined && { document }), text, metadata: JSON.stringify(metadata) };
}

function storedChunk({ id, document, text, metadata }: HostChunk): StoredChunk {
  return { id, document: document ?? undefined, text, metadata: JSON.parse(metadata) as Metadata };
}

/** Returns vectors of one length, one after the other, as the host reads them. */
function base64Of(vectors: readonly (readonly number[] | Float32Array)[]): string {
  const length = vectors[0]?.length ?? 0;
  const numbers = new Float32Array(length * vectors.length);
  for (const [n, vector] of vectors.entries()) {
    if (vector.length !== length)
      throw invalid(`chunks[${n}].vector`, `it has ${vector.length} numbers, and the first vector has ${length}`);
    numbers.set(vector, n * length);
  }
  return toBase64(new Uint8Array(numbers.buffer));
}

/** Returns a number that the world has a type for. A call with another one would trap. */
function whole(what: string, number: number): number {
  if (Number.isInteger(number) && number >= 0 && number <= MAX_U32) return number;
  throw invalid(what, `it is a whole number from 1 on, not ${number}`);
}

const invalid = (at: string, reason: string): HostError =>
  new HostError('ValidationError', 'invalid-input', `${at}: ${reason}`);
