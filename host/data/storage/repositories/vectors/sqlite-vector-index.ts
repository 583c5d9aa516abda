import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import type { Connection } from '../../database.ts';
import type { Neighbour } from '../../kept-vectors.ts';
import type { ChunkRow } from './chunks.ts';
import { type Condition, conditionOf } from './filter.ts';
import { sql } from './statements.ts';
import { type IndexedChunk, type NearestQuery, type VectorIndex, withChunks } from './vector-index.ts';

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

  async nearest(query: NearestQuery): Promise<Neighbour[]> {
    return (await this.#kept(query)) ?? this.#nearest(query, (sql) => sql);
  }

  async nearestChunks(query: NearestQuery): Promise<(Neighbour & ChunkRow)[]> {
    return (await this.#keptChunks(query)) ?? this.#nearest(query, withChunks);
  }

  /** Searches in vectors that are kept in memory; undefined if those of the collection are not. */
  async #kept({ collection, vector, limit, filter }: NearestQuery): Promise<Neighbour[] | undefined> {
    const among = filter && (() => this.#satisfying(filter));
    return this.#connection.keptVectors?.nearest(collection, { vector, limit, among });
  }

  /** Returns the ids of the chunks that satisfy a filter. One text is read much faster than as many rows. */
  async #satisfying(filter: VectorFilter): Promise<readonly number[]> {
    const { sql: chunks, values } = this.#satisfy(filter, 1);
    const [found] = await this.#connection.query<{ ids: string }>(
      `select json_group_array(id) as ids from (${chunks})`,
      values,
    );
    return JSON.parse(found?.ids ?? '[]') as number[];
  }

  /** Returns the same with the chunks; undefined also if the collection has been changed meanwhile. */
  async #keptChunks(query: NearestQuery): Promise<(Neighbour & ChunkRow)[] | undefined> {
    const near = await this.#kept(query);
    if (!near) return undefined;
    const { id, version } = query.collection;
    const ids = JSON.stringify(near.map((one) => one.id));
    const [rows, [now]] = await Promise.all([
      this.#connection.query<ChunkRow & { readonly id: number }>(sql.read, [id, ids]),
      this.#connection.query<{ version: number }>(sql.version, [id]),
    ]);
    if (now?.version !== version) return undefined;
    const byId = new Map(rows.map((row) => [row.id, row]));
    return near.map((one) => ({ ...byId.get(one.id)!, similarity: one.similarity }));
  }

  async #nearest<Row extends Neighbour>(
    { vector, limit, filter }: NearestQuery,
    selected: (nearest: string) => string,
  ): Promise<Row[]> {
    await this.#connection.loadVectors();
    const within = this.#within('rowid', filter);
    // The distance d of two vectors of length 1 and the cosine c of their angle: d² = 2 - 2 c.
    return this.#connection.query<Row>(
      selected(
        `select rowid as id, 1 - distance * distance / 2 as similarity from ${this.#embeddings}
         where embedding match $1 and k = $2 ${within.sql} order by distance`,
      ),
      [bytesOf(vector), limit, ...within.values],
    );
  }

  async matching(words: readonly string[], limit: number, filter?: VectorFilter): Promise<number[]> {
    // Without the sign, SQLite would search for the words again for each chunk of the filter.
    const within = this.#within('+rowid', filter);
    const rows = await this.#connection.query<{ id: number }>(
      `select rowid as id from ${this.#words}
       where ${this.#words} match $1 ${within.sql} order by rank, rowid limit $2`,
      [words.map((word) => `"${word}"`).join(' OR '), limit, ...within.values],
    );
    return rows.map(({ id }) => id);
  }

  /** The condition that a row belongs to a chunk that satisfies the filter. Its parameters begin with `$3`. */
  #within(rowid: string, filter: VectorFilter | undefined): Condition {
    if (filter === undefined) return { sql: '', values: [] };
    const { sql: chunks, values } = this.#satisfy(filter, 3);
    return { sql: `and ${rowid} in (${chunks})`, values };
  }

  /** Selects the ids of the chunks that satisfy the filter. @param first the number of its first parameter */
  #satisfy(filter: VectorFilter, first: number): Condition {
    const condition = conditionOf(filter, { chunk: 'vector_chunks.id', collection: this.#collection, first });
    return {
      sql: `select id from vector_chunks where collection = $${first} and ${condition.sql}`,
      values: condition.values,
    };
  }
}

/** Returns a vector as sqlite-vec reads it. */
function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
