import type { VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import type { Neighbour } from '../../kept-vectors.ts';
import type { ChunkRow } from './chunks.ts';
import { type Condition, conditionOf } from './filter.ts';
import { type IndexedChunk, type NearestQuery, type VectorIndex, withChunks } from './vector-index.ts';

/** The first version of pgvector that goes on searching an index when a filter leaves too few results. */
const LEAST_VERSION = '0.8';
/** Most dimensions of a vector in an index of pgvector. Longer ones are compared one by one. */
const INDEXED_DIMENSIONS = 2000;
/** A number that is the same in every host, so that one host at a time creates the extension. */
const ADVISORY_LOCK = 4_161_616_174;

const EXTENSION = `select default_version as available, installed_version as installed
  from pg_available_extensions where name = 'vector'`;

/** pgvector searches in an index of the type HNSW, and PostgreSQL for words in a GIN index. */
export class PostgresVectorIndex implements VectorIndex {
  readonly #connection: Connection;
  readonly #collection: number;
  readonly #table: string;

  constructor(connection: Connection, collection: number) {
    this.#connection = connection;
    this.#collection = collection;
    this.#table = `vector_index_${collection}`;
  }

  async create(dimensions: number): Promise<void> {
    await this.#requireExtension();
    const index = `create index ${this.#table}_embedding on ${this.#table} using hnsw (embedding vector_ip_ops);`;
    await this.#connection.script(
      `create table ${this.#table} (
         id bigint primary key,
         embedding vector(${dimensions}) not null,
         words tsvector not null
       );
       ${dimensions <= INDEXED_DIMENSIONS ? index : ''}
       create index ${this.#table}_words on ${this.#table} using gin (words);`,
    );
  }

  async drop(): Promise<void> {
    await this.#connection.script(`drop table ${this.#table}`);
  }

  async put(chunks: readonly IndexedChunk[]): Promise<void> {
    const rows = chunks.map(({ id, vector, words }) => [id, `[${vector.join(',')}]`, tsvectorOf(words)]);
    await this.#connection.query(
      `insert into ${this.#table} (id, embedding, words)
       select cast(value ->> 0 as bigint), cast(value ->> 1 as vector), cast(value ->> 2 as tsvector)
       from json_array_elements(cast($1 as json)) as value
       on conflict (id) do update set embedding = excluded.embedding, words = excluded.words`,
      [JSON.stringify(rows)],
    );
  }

  async remove(ids: readonly number[]): Promise<void> {
    await this.#connection.query(
      `delete from ${this.#table} where id in (select cast(json_array_elements_text(cast($1 as json)) as bigint))`,
      [JSON.stringify(ids)],
    );
  }

  async nearest(query: NearestQuery): Promise<Neighbour[]> {
    return this.#nearest(query, (sql) => sql);
  }

  nearestChunks(query: NearestQuery): Promise<(Neighbour & ChunkRow)[]> {
    return this.#nearest(query, withChunks);
  }

  async #nearest<Row extends Neighbour>(
    { vector, limit, filter }: NearestQuery,
    selected: (nearest: string) => string,
  ): Promise<Row[]> {
    const { sql, values } = this.#where(filter, 2);
    const settings = this.#connection.loadVectors();
    const search = (order: string): Promise<Row[]> => {
      // The limit is in the text, because it decides the plan.
      const text = selected(
        `select id, -(embedding <#> $1::vector) as similarity from ${this.#table} where ${sql}
         order by ${order} limit ${limit}`,
      );
      // The best plan for a filter depends on its values, so it is made for each search.
      const statement = filter === undefined ? { sqlite: '', postgresql: text } : text;
      return this.#connection.query<Row>(statement, [binaryOf(vector), ...values]);
    };
    const [found] = await Promise.all([search('embedding <#> $1::vector'), settings]);
    // The search in the index ends after so many chunks. Then few of them satisfy the filter, and all are compared.
    const all = found.length < limit && filter !== undefined ? await search('(embedding <#> $1::vector) + 0') : found;
    return all.toSorted((one, other) => other.similarity - one.similarity);
  }

  async matching(words: readonly string[], limit: number, filter?: VectorFilter): Promise<number[]> {
    const { sql, values } = this.#where(filter, 3);
    const rows = await this.#connection.query<{ id: number }>(
      `select id from ${this.#table} where words @@ $1::tsquery and ${sql}
       order by ts_rank(words, $1::tsquery, 1) desc, id limit $2`,
      [words.map((word) => `'${word}'`).join(' | '), limit, ...values],
    );
    return rows.map(({ id }) => id);
  }

  /** The condition that a row belongs to a chunk that satisfies the filter. `first` is its first parameter. */
  #where(filter: VectorFilter | undefined, first: number): Condition {
    if (filter === undefined) return { sql: 'true', values: [] };
    return conditionOf(filter, { chunk: `${this.#table}.id`, collection: this.#collection, first });
  }

  async #requireExtension(): Promise<void> {
    await this.#connection.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    const [found] = await this.#connection.query<{ available: string; installed: string | null }>(EXTENSION);
    if (!found) throw unavailable('its server lacks the extension pgvector', 'install it on the server');
    const version = found.installed ?? found.available;
    if (version.localeCompare(LEAST_VERSION, 'en', { numeric: true }) < 0)
      throw unavailable(`its server has version ${version} of the extension pgvector`, 'update it on the server');
    if (found.installed !== null) return;
    await this.#connection.script('create extension vector').catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw unavailable(`${reason}`, 'run "create extension vector" in it as a superuser', error);
    });
  }
}

function unavailable(reason: string, advice: string, cause?: unknown): AanaError {
  return fail(
    'VectorsUnavailable',
    `PostgreSQL cannot store vectors: ${reason}; ${advice} (pgvector ${LEAST_VERSION} or newer)`,
    { cause },
  );
}

/** Bytes before the numbers of a vector: how many there are, and two that are 0. */
const HEADER_BYTES = 4;

/** Returns a vector in the binary format of pgvector, which takes much less time than a text to write and to read. */
export function binaryOf(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + vector.byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, vector.length);
  for (let n = 0; n < vector.length; n += 1)
    view.setFloat32(HEADER_BYTES + n * Float32Array.BYTES_PER_ELEMENT, vector[n] ?? 0);
  return bytes;
}

/** Returns words with their places, as PostgreSQL reads them. */
function tsvectorOf(words: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const [at, word] of words.entries()) {
    const known = places.get(word);
    if (known) known.push(at + 1);
    else places.set(word, [at + 1]);
  }
  return [...places].map(([word, at]) => `'${word}':${at.join(',')}`).join(' ');
}
