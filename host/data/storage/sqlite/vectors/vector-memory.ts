import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from '../../../../base/core/log/logger.ts';
import type { Connection } from '../../database.ts';
import type { KeptCollection, KeptQuery, KeptVectors, Neighbour } from '../../kept-vectors.ts';
import { loadTable } from './load-table.ts';
import {
  layoutOf,
  MOST_TABLE_BYTES,
  type TableAnswer,
  type TableMessage,
  type TableQuestion,
  type TableRows,
} from './vector-table.ts';

export interface VectorMemoryOptions {
  /** Most bytes of all tables; 0 keeps none. */
  readonly maxBytes: number;
  /** Collections with fewer bytes are searched as quickly in the file. */
  readonly leastBytes?: number;
  readonly log: Logger;
  /** Lends a connection that reads. */
  readonly read: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
}

const LEAST_BYTES = 2 ** 20;
/** Collections with more vectors are searched in the file: the ids of a filter would hold up other requests. */
const MOST_ROWS = 500_000;
/** So many searches in the file take about as long as reading all vectors. Fewer may be the only ones of a version. */
const SEARCHES_BEFORE = 2;
/** The reason of a failure may be over, and a vain attempt takes about as long as two searches. */
const SEARCHES_AFTER_FAILURE = 100;

interface Entry {
  readonly version: number;
  searches: number;
  table: Table | undefined;
}

/**
 * The vectors of the collections that were searched last, in the memory of a thread that searches in them. A change of
 * a collection, by whatever process, changes its version, and a table serves one version.
 */
export class VectorMemory implements KeptVectors {
  readonly #options: VectorMemoryOptions;
  /** By the id of the collection. Those that were used last are at the end. */
  readonly #entries = new Map<number, Entry>();
  readonly #ended = new AbortController();
  #thread: Worker | undefined;
  #loading: Promise<void> | undefined;

  constructor(options: VectorMemoryOptions) {
    this.#options = options;
  }

  async nearest(collection: KeptCollection, query: KeptQuery): Promise<Neighbour[] | undefined> {
    const { id, version } = collection;
    if (!this.#fits(collection)) return undefined;
    let entry = this.#entries.get(id);
    if (entry && entry.version > version) return undefined; // another search has seen a later change
    if (entry?.version !== version) {
      entry?.table?.close();
      entry = { version, searches: 0, table: undefined };
    }
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (entry.table) return entry.table.nearest(query);
    entry.searches += 1;
    if (entry.searches >= SEARCHES_BEFORE) this.#loading ??= this.#load(collection, entry);
    return undefined;
  }

  /** Waits for the collection that is read, and ends the thread. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#loading;
    this.#forget();
    await this.#thread?.terminate();
  }

  #fits(collection: KeptCollection): boolean {
    const { maxBytes, leastBytes = LEAST_BYTES } = this.#options;
    const { dimensions, chunks: rows } = collection;
    const { bytes } = layoutOf({ dimensions, rows });
    return rows > 0 && rows <= MOST_ROWS && bytes >= leastBytes && bytes <= Math.min(maxBytes, MOST_TABLE_BYTES);
  }

  /** Reads a collection into memory. One is read at a time, because others wait for the connections, too. */
  async #load(collection: KeptCollection, entry: Entry): Promise<void> {
    let table: Table | undefined;
    try {
      this.#makeRoom(layoutOf({ ...collection, rows: collection.chunks }).bytes);
      const loading = new Table(collection, (this.#thread ??= this.#begun()));
      table = loading;
      const ids = await this.#options.read((connection) =>
        loadTable(connection, collection, (rows) => loading.put(rows)),
      );
      if (!ids || this.#entries.get(collection.id) !== entry || this.#ended.signal.aborted) return;
      if (loading.isClosed) throw new Error('there is no memory for them');
      loading.ids = ids;
      entry.table = loading;
    } catch (error) {
      entry.searches = -SEARCHES_AFTER_FAILURE;
      this.#options.log.warn('vectors cannot be kept in memory and are searched in the file', {
        collection: collection.id,
        vectors: collection.chunks,
        error: error instanceof Error ? error.message : String(error),
      });
    } finally {
      if (entry.table !== table) table?.close();
      this.#loading = undefined;
    }
  }

  /** Drops the tables that were not used for longest. */
  #makeRoom(wanted: number): void {
    let bytes = wanted;
    for (const { table } of this.#entries.values()) bytes += table?.bytes ?? 0;
    for (const [id, { table }] of this.#entries) {
      if (bytes <= this.#options.maxBytes) return;
      if (!table) continue;
      bytes -= table.bytes;
      table.close();
      this.#entries.delete(id);
    }
  }

  /** Starts the thread, which stays and does not keep the process. */
  #begun(): Worker {
    const thread = new Worker(new URL('./table-thread.js', import.meta.url));
    thread.on('error', () => {}); // 'exit' follows
    thread.once('exit', () => {
      this.#thread = undefined;
      this.#forget();
    });
    thread.unref();
    return thread;
  }

  #forget(): void {
    for (const { table } of this.#entries.values()) table?.close();
    this.#entries.clear();
  }
}

/** The vectors of a collection in the thread. */
class Table {
  readonly bytes: number;
  /** The ids of the chunks of its rows. */
  ids: Float64Array = new Float64Array(0);
  /** The rows by the ids of their chunks, made for the first query that needs them. */
  #rows: ReadonlyMap<number, number> | undefined;
  readonly #port: MessagePort;
  readonly #closed = new AbortController();
  /** Answers come in the order of the questions. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ dimensions, chunks: rows }: KeptCollection, thread: Worker) {
    this.bytes = layoutOf({ dimensions, rows }).bytes;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.once('close', () => this.#closed.abort());
    thread.postMessage({ dimensions, rows, port: port2 } satisfies TableMessage, [port2]);
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Adds rows, whose bytes are the table's from now on. */
  put(rows: TableRows): void {
    this.#port.postMessage(rows, [rows.bytes.buffer as ArrayBuffer]);
  }

  /** Returns undefined if the table is closed meanwhile. */
  async nearest({ vector, limit, among }: KeptQuery): Promise<Neighbour[] | undefined> {
    const only = among && this.#rowsOf(await among());
    const answered = this.#last.then(() => this.#ask({ vector, limit, among: only })).catch(() => undefined);
    this.#last = answered;
    return answered;
  }

  async #ask(question: TableQuestion): Promise<Neighbour[]> {
    const answered = once(this.#port, 'message', { signal: this.#closed.signal });
    this.#port.postMessage(question);
    const [{ rows, products }] = (await answered) as [TableAnswer];
    const { among } = question;
    return rows.map((row, at) => ({
      id: this.ids[among ? among[row]! : row]!,
      similarity: Math.max(-1, Math.min(1, products[at]!)), // sums of 32 bits are not exact
    }));
  }

  #rowsOf(ids: readonly number[]): Uint32Array {
    this.#rows ??= new Map(Array.from(this.ids, (id, row) => [id, row]));
    const rows = new Uint32Array(Math.min(ids.length, this.ids.length));
    let count = 0;
    for (const id of ids) {
      const row = this.#rows.get(id); // a chunk may have come after the table was read
      if (row !== undefined) rows[count++] = row;
    }
    return rows.subarray(0, count);
  }

  /** The thread forgets the table after its questions. */
  close(): void {
    this.#port.close();
  }
}
