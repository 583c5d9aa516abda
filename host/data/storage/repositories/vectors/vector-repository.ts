import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { lacksTable, notFound } from '../../errors.ts';
import { CallerRepository } from '../../statements.ts';
import type { Metadata } from '../../../../base/schemas/vectors/vector-filter.ts';
import {
  type CheckedChunk,
  type ChunkRow,
  checkChunk,
  checkMetadata,
  checkName,
  checkVector,
  type StoredChunk,
  storedChunk,
  type VectorChunk,
} from './chunks.ts';
import { wrong } from './filter.ts';
import { sql } from './statements.ts';
import { type FoundChunk, type VectorSearch, searchCollection } from './search.ts';
import { vectorIndexOf } from './vector-index-of.ts';

/** What a collection is made for. */
export interface VectorSpace {
  /** The name of what makes the vectors, 1 to 255 characters. Vectors of different models cannot be compared. */
  readonly model: string;
  /** The numbers of each vector, from 1 to 8192. */
  readonly dimensions: number;
}

export interface VectorCollection extends VectorSpace {
  /** 1 to 255 characters. */
  readonly name: string;
  readonly chunks: number;
  /** The bytes of its texts, metadata and vectors. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly created_at: number;
}

/** A collection as its row has it. Its model and its dimensions never change. */
export interface CollectionRow extends VectorCollection {
  readonly id: number;
  readonly version: number;
}

function collectionOf({ name, model, dimensions, chunks, bytes, created_at }: CollectionRow): VectorCollection {
  return { name, model, dimensions, chunks, bytes, created_at };
}

export interface VectorUsage {
  readonly collections: number;
  readonly chunks: number;
  readonly bytes: number;
}

/** Chunks by their ids, or all of a document. */
export type ChunkSelection = { readonly ids: readonly string[] } | { readonly document: string };

export interface ChunkPage {
  /** The id of the chunk before the page; undefined for the first page. */
  readonly after?: string | undefined;
  /** Only chunks of this document. */
  readonly document?: string | undefined;
  /** From 1 to 1000. */
  readonly limit: number;
}

/** What the name of a collection is called in errors. */
const COLLECTION = 'the name of the collection';
const MOST_DIMENSIONS = 8192;
/** Most chunks that one statement adds or removes, because the values of a statement are in memory. */
const MOST_CHUNKS = 2000;
/** Most bytes of texts, metadata and vectors that are added at once, for the same reason. */
const MOST_BYTES = 16 * 2 ** 20;
/** Most collections or chunks of a page. */
const MOST_LISTED = 1000;

/** What the collections of one owner may have together. */
export interface VectorLimits {
  /** Most bytes of their texts, metadata and vectors. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** Most collections, which are tables of the database. Default: 1000. */
  readonly maxCollections?: number | undefined;
}

const DEFAULT_COLLECTIONS = 1000;

/** The collections of vectors of a user, or of all callers where the host requires no keys (null). */
export class VectorRepository extends CallerRepository {
  readonly #limits: { readonly maxBytes: number; readonly maxCollections: number };

  constructor(connection: Connection, userId: string | null, limits: VectorLimits = {}) {
    super(connection, userId);
    const { maxBytes = Number.MAX_SAFE_INTEGER, maxCollections = DEFAULT_COLLECTIONS } = limits;
    this.#limits = { maxBytes, maxCollections };
  }

  /**
   * Makes a collection unless it exists. Throws `VectorModelMismatch` if it exists for another model,
   * `VectorsUnavailable` if the database lacks its extension for vectors, and `StorageFull`.
   */
  async ensure(name: string, { model, dimensions }: VectorSpace): Promise<VectorCollection> {
    checkName(name, COLLECTION);
    checkName(model, 'the model');
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > MOST_DIMENSIONS)
      throw fail('ValidationError', `a collection has 1 to ${MOST_DIMENSIONS} dimensions, not ${dimensions}`);
    const values = [this.owner, name, model, dimensions, this.connection.now()];
    let found: CollectionRow | undefined;
    while (!found) {
      const [made] = await this.connection.query<{ id: number }>(sql.create, values);
      if (made) {
        await this.#requireFewCollections();
        await vectorIndexOf(this.connection, made.id).create(dimensions);
      }
      found = await this.#find(name); // another transaction may have removed it meanwhile
    }
    const collection = collectionOf(found);
    requireModel(collection, model);
    if (collection.dimensions !== dimensions) throw mismatch(collection, `${dimensions} dimensions`);
    return collection;
  }

  async find(name: string): Promise<VectorCollection | undefined> {
    const found = await this.#find(name);
    return found && collectionOf(found);
  }

  /** Returns a page of up to 1000 collections in the order of their names. */
  async list({
    after = '',
    limit,
  }: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<VectorCollection[]> {
    requirePage(after, limit);
    return this.connection.query(sql.list, [this.owner, after, limit]);
  }

  /** Removes a collection with all of its chunks. Returns whether it existed. */
  async delete(name: string): Promise<boolean> {
    checkName(name, COLLECTION);
    const [removed] = await this.connection.query<{ id: number }>(sql.remove, [this.owner, name]);
    if (removed) await vectorIndexOf(this.connection, removed.id).drop();
    return removed !== undefined;
  }

  /** Returns what the collections of the user have together. */
  async usage(): Promise<VectorUsage> {
    const [usage] = await this.connection.query<VectorUsage>(sql.usage, [this.owner]);
    return usage ?? { collections: 0, chunks: 0, bytes: 0 };
  }

  /**
   * Adds chunks, or replaces those with the same ids. Returns by how many bytes the collection has grown. Throws
   * `NotFoundException` for a missing collection, `VectorModelMismatch` for another model, `ValidationError` for a
   * wrong chunk, and `StorageFull`.
   * @param model what made the vectors
   */
  async upsert(name: string, model: string, chunks: readonly VectorChunk[]): Promise<number> {
    requireFew(chunks, 'chunks');
    const collection = await this.#lock(name);
    requireModel(collection, model);
    const { id, dimensions } = collection;
    const checked = checkChunks(chunks, dimensions);
    const names = checked.map((chunk) => chunk.name);
    if (new Set(names).size < names.length) throw fail('ValidationError', 'chunks: two of them have the same id');
    if (checked.length === 0) return 0;
    const replaced = await this.connection.query<StoredSize>(sql.replaced, [id, JSON.stringify(names)]);
    const rows = checked.map((chunk) => [chunk.name, chunk.document, chunk.text, chunk.metadata, chunk.bytes]);
    const stored = await this.connection.query<{ id: number; name: string }>(sql.upsert, [id, JSON.stringify(rows)]);
    const ids = new Map(stored.map((row) => [row.name, row.id]));
    const withIds = checked.map((chunk) => ({ ...chunk, id: ids.get(chunk.name) ?? 0 }));
    const replacedIds = replaced.map((row) => row.id);
    if (replaced.length > 0) await this.connection.query(sql.removeAttributes, [JSON.stringify(replacedIds)]);
    const attributes = withIds.flatMap((chunk) => chunk.attributes.map((attribute) => [chunk.id, ...attribute]));
    await this.connection.query(sql.addAttributes, [id, JSON.stringify(attributes)]);
    await vectorIndexOf(this.connection, id).put(withIds, new Set(replacedIds));
    const added = checked.reduce((sum, chunk) => sum + chunk.bytes, 0);
    const growth = added - bytesOfRows(replaced);
    await this.#count(id, checked.length - replaced.length, growth);
    return growth;
  }

  /**
   * Replaces the metadata of all chunks of a document. Returns by how many bytes the collection has grown. Throws like
   * {@link upsert}.
   */
  async describe(name: string, document: string, metadata: Metadata): Promise<number> {
    checkName(document, 'document');
    const { id } = await this.#lock(name);
    const { json, attributes } = checkMetadata(metadata, 'metadata');
    const before = await this.connection.query<StoredSize>(sql.documentChunks, [id, document]);
    const after = await this.connection.query<StoredSize>(sql.describe, [id, document, json, Buffer.byteLength(json)]);
    for (let at = 0; at < after.length; at += MOST_CHUNKS) {
      const ids = after.slice(at, at + MOST_CHUNKS).map((row) => row.id);
      await this.connection.query(sql.removeAttributes, [JSON.stringify(ids)]);
      const rows = ids.flatMap((chunk) => attributes.map((attribute) => [chunk, ...attribute]));
      await this.connection.query(sql.addAttributes, [id, JSON.stringify(rows)]);
    }
    const growth = bytesOfRows(after) - bytesOfRows(before);
    await this.#count(id, 0, growth);
    return growth;
  }

  /** Removes chunks. Returns how many there were. Throws `NotFoundException` for a missing collection. */
  async remove(name: string, selection: ChunkSelection): Promise<number> {
    const { id } = await this.#lock(name);
    if ('ids' in selection) {
      requireFew(selection.ids, 'ids');
      for (const [n, one] of selection.ids.entries()) checkName(one, `ids[${n}]`);
    } else checkName(selection.document, 'document');
    const removed = await ('ids' in selection
      ? this.connection.query<StoredSize>(sql.removeNamed, [id, JSON.stringify(selection.ids)])
      : this.connection.query<StoredSize>(sql.removeDocument, [id, selection.document]));
    await vectorIndexOf(this.connection, id).remove(removed.map((row) => row.id));
    await this.#count(id, -removed.length, -bytesOfRows(removed));
    return removed.length;
  }

  /** Returns a page of chunks in the order of their ids. Throws `NotFoundException` for a missing collection. */
  async chunks(name: string, { after = '', document, limit }: ChunkPage): Promise<StoredChunk[]> {
    requirePage(after, limit);
    if (document !== undefined) checkName(document, 'document');
    const { id } = await this.#require(name);
    const rows = await (document === undefined
      ? this.connection.query<ChunkRow>(sql.page, [id, after, limit])
      : this.connection.query<ChunkRow>(sql.pageOfDocument, [id, document, after, limit]));
    return rows.map(storedChunk);
  }

  /**
   * Returns the chunks that fit best, the best first: those near to a vector, those with the words of a text, or both
   * ranked together. Throws `NotFoundException` for a missing collection, `VectorModelMismatch` for a vector of another
   * model, and `ValidationError`.
   */
  async search(name: string, search: VectorSearch): Promise<FoundChunk[]> {
    checkName(name, COLLECTION);
    const { foundCollections } = this.connection;
    const finding = this.#find(name);
    const known = foundCollections?.find(this.owner, name);
    // Sent together with the statement that finds the collection. It counts if the name still stands for the same one.
    const early = known && this.#searchIn(known, search);
    early?.catch(() => {});
    const found = await finding;
    if (found) search.onFound?.(collectionOf(found));
    if (early && known?.id === found?.id) return await early;
    foundCollections?.keep(this.owner, name, found);
    if (!found) throw notFound('collection', name);
    return await this.#searchIn(found, search);
  }

  async #searchIn(collection: CollectionRow, search: VectorSearch): Promise<FoundChunk[]> {
    if (search.vector) requireModel(collection, search.model);
    const vector = search.vector && checkVector(search.vector, collection.dimensions, 'vector');
    return await searchCollection(this.connection, collection, { ...search, vector }).catch(async (error: unknown) => {
      throw (await this.#isGone(collection, error)) ? notFound('collection', collection.name) : error;
    });
  }

  /** Returns whether a search failed because its collection was removed. Another one may have its name now. */
  async #isGone({ name, id }: CollectionRow, error: unknown): Promise<boolean> {
    if (lacksTable(error)) return true; // PostgreSQL answers nothing more in a transaction that has failed
    return await this.#find(name).then(
      (found) => found?.id !== id,
      () => false,
    );
  }

  async #find(name: string): Promise<CollectionRow | undefined> {
    checkName(name, COLLECTION);
    return (await this.connection.query<CollectionRow>(sql.find, [this.owner, name]))[0];
  }

  async #require(name: string): Promise<CollectionRow> {
    const found = await this.#find(name);
    if (!found) throw notFound('collection', name);
    return found;
  }

  async #lock(name: string): Promise<CollectionRow> {
    checkName(name, COLLECTION);
    const [found] = await this.connection.query<CollectionRow>(sql.lock, [this.owner, name]);
    if (!found) throw notFound('collection', name);
    return found;
  }

  async #count(id: number, chunks: number, bytes: number): Promise<void> {
    await this.connection.query(sql.count, [id, chunks, bytes]);
    if (bytes <= 0) return;
    const usage = await this.usage();
    const { maxBytes } = this.#limits;
    if (usage.bytes > maxBytes)
      throw fail(
        'StorageFull',
        `the collections of this user would have ${usage.bytes} bytes, but may have at most ${maxBytes}; ` +
          `delete chunks and try again`,
        { data: { limit: maxBytes } },
      );
  }

  /**
   * Throws `StorageFull` if the collection that was just made is one too many. Two transactions at the same time may
   * exceed the limit by one.
   */
  async #requireFewCollections(): Promise<void> {
    const { maxCollections } = this.#limits;
    if ((await this.usage()).collections > maxCollections)
      throw fail('StorageFull', `there are at most ${maxCollections} collections; delete one and try again`, {
        data: { limit: maxCollections },
      });
  }
}

interface StoredSize {
  readonly id: number;
  readonly bytes: number;
}

function bytesOfRows(rows: readonly StoredSize[]): number {
  return rows.reduce((sum, row) => sum + row.bytes, 0);
}

/** Throws `ValidationError` for a wrong chunk, and for more bytes than one statement takes. */
function checkChunks(chunks: readonly VectorChunk[], dimensions: number): CheckedChunk[] {
  let bytes = 0;
  return chunks.map((chunk, n) => {
    const checked = checkChunk(chunk, dimensions, `chunks[${n}]`);
    bytes += checked.bytes;
    if (bytes > MOST_BYTES)
      throw fail(
        'ValidationError',
        `chunks: the first ${n + 1} of ${chunks.length} have ${bytes} bytes, and at most ${MOST_BYTES} are taken at ` +
          `once; add them in several calls`,
      );
    return checked;
  });
}

function requireFew(list: readonly unknown[], what: string): void {
  if (!Array.isArray(list)) throw wrong(what, 'it must be a list');
  if (list.length > MOST_CHUNKS)
    throw fail('ValidationError', `${what}: there are ${list.length}, and at most ${MOST_CHUNKS} are taken at once`);
}

function requirePage(after: string, limit: number): void {
  if (after !== '') checkName(after, 'after');
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
    throw wrong('limit', `it must be an integer from 1 to ${MOST_LISTED}`);
}

function requireModel(collection: VectorCollection, model: string | undefined): void {
  if (model !== collection.model) throw mismatch(collection, model === undefined ? 'an unnamed model' : model);
}

function mismatch({ name, model, dimensions }: VectorCollection, other: string): AanaError {
  return fail(
    'VectorModelMismatch',
    `the collection ${JSON.stringify(name)} has vectors of ${model} with ${dimensions} dimensions, not of ${other}; ` +
      `make the vectors with its model, or use another collection`,
    { data: { collection: name, model, dimensions } },
  );
}
