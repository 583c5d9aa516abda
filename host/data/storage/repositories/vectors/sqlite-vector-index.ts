import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import type { Connection } from '../../database.ts';
import type { ChunkRow } from './chunks.ts';
import { type Condition, conditionOf } from './filter.ts';
import { type IndexedChunk, type Neighbour, type VectorIndex, withChunks } from './vector-index.ts';

/** Vectors that SQLite reads together. A table takes room for at least so many. */
const CHUNK_SIZE = 256;

/** sqlite-vec compares a vector with all of its table. FTS5 ranks words with BM25. */
export class SqliteVectorIndex implements VectorIndex {
  readonly #connection: Connection;
  readonly #collection: number;
  readonly #embeddings: string;
  readonly #words: string;

  constructor(connection: Connection, collection: number) {
    this.#connection = connection;
    this.#collection = collection;
    this.#embeddings = `vector_embeddings_${collection}`;
    this.#words = `vector_words_${collection}`;
  }

  async create(dimensions: number): Promise<void> {
    await this.#connection.loadVectors();
    // The words are already in lower case and have spaces between them.
    await this.#connection.script(
      `create virtual table ${this.#embeddings} using vec0(embedding float[${dimensions}], chunk_size=${CHUNK_SIZE});
       create virtual table ${this.#words} using fts5(words, content='', contentless_delete=1, tokenize='ascii');`,
    );
  }

  async drop(): Promise<void> {
    await this.#connection.loadVectors();
    await this.#connection.script(`drop table ${this.#embeddings}; drop table ${this.#words};`);
  }

  async put(chunks: readonly IndexedChunk[], replaced: ReadonlySet<number>): Promise<void> {
    await this.#connection.loadVectors();
    const [old, added] = [chunks.filter(({ id }) => replaced.has(id)), chunks.filter(({ id }) => !replaced.has(id))];
    // sqlite-vec takes new room for a vector that is removed and added again.
    await this.#withVectors(
      old,
      (key, vector) => `update ${this.#embeddings} set embedding = ${vector} from json_each($1) where rowid = ${key}`,
    );
    await this.#withVectors(
      added,
      (key, vector) => `insert into ${this.#embeddings} (rowid, embedding) select ${key}, ${vector} from json_each($1)`,
    );
    await this.#removeFrom(
      this.#words,
      old.map(({ id }) => id),
    );
    await this.#connection.query(
      `insert into ${this.#words} (rowid, words) select value ->> 0, value ->> 1 from json_each($1)`,
      [JSON.stringify(chunks.map(({ id, words }) => [id, words.join(' ')]))],
    );
  }

  async remove(ids: readonly number[]): Promise<void> {
    await this.#connection.loadVectors();
    for (const table of [this.#embeddings, this.#words]) await this.#removeFrom(table, ids);
  }

  /** Runs a statement for each chunk, from the SQL of its id and of its vector. */
  async #withVectors(
    chunks: readonly IndexedChunk[],
    statement: (id: string, vector: string) => string,
  ): Promise<void> {
    if (chunks.length === 0) return;
    const bytes = (chunks[0]?.vector.length ?? 0) * Float32Array.BYTES_PER_ELEMENT;
    await this.#connection.query(statement('value', `substr($2, key * ${bytes} + 1, ${bytes})`), [
      JSON.stringify(chunks.map(({ id }) => id)),
      Buffer.concat(chunks.map(({ vector }) => bytesOf(vector))),
    ]);
  }

  async #removeFrom(table: string, ids: readonly number[]): Promise<void> {
    await this.#connection.query(`delete from ${table} where rowid in (select value from json_each($1))`, [
      JSON.stringify(ids),
    ]);
  }

  nearest(vector: Float32Array, limit: number, filter?: VectorFilter): Promise<Neighbour[]> {
    return this.#nearest(vector, limit, filter, (sql) => sql);
  }

  nearestChunks(vector: Float32Array, limit: number, filter?: VectorFilter): Promise<(Neighbour & ChunkRow)[]> {
    return this.#nearest(vector, limit, filter, withChunks);
  }

  async #nearest<Row extends Neighbour>(
    vector: Float32Array,
    limit: number,
    filter: VectorFilter | undefined,
    selected: (nearest: string) => string,
  ): Promise<Row[]> {
    await this.#connection.loadVectors();
    const { sql, values } = this.#within('rowid', filter);
    // The distance d of two vectors of length 1 and the cosine c of their angle: d² = 2 - 2 c.
    return this.#connection.query<Row>(
      selected(
        `select rowid as id, 1 - distance * distance / 2 as similarity from ${this.#embeddings}
         where embedding match $1 and k = $2 ${sql} order by distance`,
      ),
      [bytesOf(vector), limit, ...values],
    );
  }

  async matching(words: readonly string[], limit: number, filter?: VectorFilter): Promise<number[]> {
    // Without the sign, SQLite would search for the words again for each chunk of the filter.
    const { sql, values } = this.#within('+rowid', filter);
    const rows = await this.#connection.query<{ id: number }>(
      `select rowid as id from ${this.#words} where ${this.#words} match $1 ${sql} order by rank, rowid limit $2`,
      [words.map((word) => `"${word}"`).join(' OR '), limit, ...values],
    );
    return rows.map(({ id }) => id);
  }

  /** The condition that a row belongs to a chunk that satisfies the filter. Its parameters begin with `$3`. */
  #within(rowid: string, filter: VectorFilter | undefined): Condition {
    if (filter === undefined) return { sql: '', values: [] };
    const { sql, values } = conditionOf(filter, {
      chunk: 'vector_chunks.id',
      collection: this.#collection,
      first: 3,
    });
    return { sql: `and ${rowid} in (select id from vector_chunks where collection = $3 and ${sql})`, values };
  }
}

/** Returns a vector as sqlite-vec reads it. */
function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
