import { fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { CallerRepository, filtered, loadStatements } from '../../statements.ts';
import type { Metadata } from '../../../../base/schemas/vectors/vector-filter.ts';
import type { StoredChunk, VectorChunk } from '../vectors/chunks.ts';
import type { VectorRepository } from '../vectors/vector-repository.ts';
import { collectionOf, collectionsOf, removeTexts, storeTexts, type VectorStoreRow } from './store-texts.ts';
import { boundsOf, countsOf, type FileCounts, type IdPage } from './vector-stores.ts';

const sql = loadStatements('vector-store-files', [
  'store',
  'use',
  'addRun',
  'run',
  'runCounts',
  'cancelRun',
  'cancelFiles',
  'addFile',
  'filesIn',
  'file',
  'newestFiles',
  'oldestFiles',
  'setAttributes',
  'removeFile',
  'storesWith',
  'begin',
  'next',
  'advance',
  'grow',
  'finish',
]);

export type VectorStoreFileStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';
/** The codes of OpenAI's API. */
export type VectorStoreFileErrorCode = 'server_error' | 'unsupported_file' | 'invalid_file';

/** A file that is to be read into a store. */
export interface NewStoreFile {
  readonly file_id: string;
  readonly filename: string;
  /** Of the file. */
  readonly bytes: number;
  readonly attributes: Metadata;
  readonly max_chunk_tokens: number;
  readonly chunk_overlap_tokens: number;
}

/** A file of a store. */
export interface StoreFileRecord extends Omit<NewStoreFile, 'attributes'> {
  readonly store_id: string;
  readonly status: VectorStoreFileStatus;
  readonly error_code: VectorStoreFileErrorCode | null;
  readonly error_message: string | null;
  /** JSON. */
  readonly attributes: string;
  /** The chunks that are stored. They are the first ones of the file. */
  readonly chunks: number;
  /** Of these chunks. */
  readonly usage_bytes: number;
  /** Milliseconds since 1970. */
  readonly created_at: number;
}

/** Files that one request added to a store. */
export interface StoreFileBatch {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly created_at: number;
  /** Null if nobody has cancelled it. */
  readonly cancelled_at: number | null;
  readonly counts: FileCounts;
}

/** An attempt at a run. A later attempt makes its writes do nothing. */
export interface RunLease {
  readonly id: string;
  readonly store_id: string;
  readonly attempt: number;
}

export interface StoreFilePage extends IdPage {
  readonly status?: VectorStoreFileStatus | undefined;
  /** Only files that the request with this batch added. */
  readonly batch?: string | undefined;
}

/** How a file ended. */
export type StoreFileEnd =
  | { readonly status: 'completed' }
  | { readonly status: 'failed'; readonly code: VectorStoreFileErrorCode; readonly message: string };

type FileRow = StoreFileRecord & { readonly state: VectorStoreFileStatus };

/** The files of the vector stores of a user, and the runs that read them. */
export class VectorStoreFileRepository extends CallerRepository {
  readonly #texts: VectorRepository;

  /** The texts of all stores of the user have at most `maxBytes`; more is refused with `StorageFull`. */
  constructor(connection: Connection, userId: string | null, maxBytes?: number) {
    super(connection, userId);
    this.#texts = storeTexts(connection, this.owner, maxBytes);
  }

  /** Adds a run of a task. It has no files yet. Returns false if there is no such store. */
  async addRun(runId: string, storeId: string, taskId: string): Promise<boolean> {
    if (!(await this.#lockStore(storeId))) return false;
    await this.connection.query(sql.addRun, [runId, storeId, taskId, this.connection.now()]);
    return true;
  }

  /**
   * Adds files to a store, which a run reads. A file that the store has already is read again. This counts as a use of
   * the store. Returns false if there is no such store. Throws `TooManyStoreFiles` if the store then has more than
   * `maxFiles`.
   */
  async add(runId: string, storeId: string, files: readonly NewStoreFile[], maxFiles: number): Promise<boolean> {
    const now = this.connection.now();
    const [store] = await this.connection.query<VectorStoreRow>(sql.use, [storeId, this.owner, now]);
    if (!store) return false;
    for (const file of files) {
      if (await this.read(storeId, file.file_id)) await removeTexts(this.#texts, store, file.file_id);
      await this.connection.query(sql.addFile, [
        storeId,
        file.file_id,
        runId,
        file.filename,
        file.bytes,
        JSON.stringify(file.attributes),
        file.max_chunk_tokens,
        file.chunk_overlap_tokens,
        now,
      ]);
    }
    const [{ files: number = 0 } = {}] = await this.connection.query<{ files: number }>(sql.filesIn, [storeId]);
    if (number > maxFiles)
      throw fail(
        'TooManyStoreFiles',
        `a vector store has at most ${maxFiles} files (openai.vector_stores.maximum_files_per_store)`,
        { data: { limit: maxFiles } },
      );
    return true;
  }

  /** The store must be the user's. */
  async read(storeId: string, fileId: string): Promise<StoreFileRecord | undefined> {
    return (await this.connection.query<FileRow>(sql.file, [storeId, fileId])).map(fileOf)[0];
  }

  /** Returns a page of the files of a store in the order of their ids. The store must be the user's. */
  async list(storeId: string, { status, batch, ...page }: StoreFilePage): Promise<StoreFileRecord[]> {
    const [statement, values] = filtered(
      page.order === 'asc' ? sql.oldestFiles : sql.newestFiles,
      [storeId, ...boundsOf(page), page.limit],
      [
        ['state = ?', status],
        ['batch_id = ?', batch],
      ],
    );
    return (await this.connection.query<FileRow>(statement, values)).map(fileOf);
  }

  /**
   * Returns the chunks of a file after the first `from`, at most `limit`, of a generation of a store. The store must be
   * the user's.
   */
  async chunks(
    store: VectorStoreRow,
    fileId: string,
    { of = store.generation, from, limit }: { readonly of?: number; readonly from: number; readonly limit: number },
  ): Promise<StoredChunk[]> {
    const name = collectionOf(store, of);
    if (!(await this.#texts.find(name))) return [];
    const after = from === 0 ? undefined : chunkId(fileId, from - 1);
    return this.#texts.chunks(name, { document: fileId, after, limit });
  }

  async setAttributes(storeId: string, fileId: string, attributes: Metadata): Promise<void> {
    const store = await this.#lockStore(storeId);
    if (!store) return;
    let growth = 0;
    for (const name of collectionsOf(store))
      if (await this.#texts.find(name)) {
        const grown = await this.#texts.describe(name, fileId, attributes);
        if (name === collectionOf(store)) growth = grown;
      }
    await this.connection.query(sql.setAttributes, [storeId, fileId, JSON.stringify(attributes), growth]);
  }

  /** Removes a file from a store. Returns whether the store had it. */
  async remove(storeId: string, fileId: string): Promise<boolean> {
    const store = await this.#lockStore(storeId);
    if (!store) return false;
    const removed = await this.connection.query(sql.removeFile, [storeId, fileId]);
    if (removed.length > 0) await removeTexts(this.#texts, store, fileId);
    return removed.length > 0;
  }

  /** Removes a file from all stores of the user. */
  async removeEverywhere(fileId: string): Promise<void> {
    const stores = await this.connection.query<{ store_id: string }>(sql.storesWith, [fileId, this.owner]);
    for (const { store_id: id } of stores) await this.remove(id, fileId);
  }

  async batch(storeId: string, id: string): Promise<StoreFileBatch | undefined> {
    type Row = Omit<StoreFileBatch, 'counts'>;
    const [run] = await this.connection.query<Row>(sql.run, [id, storeId, this.owner]);
    if (!run) return undefined;
    return { ...run, counts: countsOf(await this.connection.query(sql.runCounts, [id])) };
  }

  /** Ends the files of a batch that are in progress, and removes their chunks. The store must be the user's. */
  async cancelBatch(storeId: string, id: string): Promise<void> {
    const store = await this.#lockStore(storeId);
    const cancelled = await this.connection.query(sql.cancelRun, [id, this.connection.now()]);
    if (!store || cancelled.length === 0) return;
    const files = await this.connection.query<{ file_id: string }>(sql.cancelFiles, [id]);
    for (const { file_id: file } of files) await removeTexts(this.#texts, store, file);
  }

  /** Begins an attempt at a run; undefined if there is no such run. */
  async begin(runId: string): Promise<RunLease | undefined> {
    return (await this.connection.query<RunLease>(sql.begin, [runId]))[0];
  }

  /** Returns the next file of a run; undefined if all have ended or another attempt has begun. */
  async next({ id, attempt }: RunLease): Promise<StoreFileRecord | undefined> {
    return (await this.connection.query<StoreFileRecord>(sql.next, [id, attempt]))[0];
  }

  /**
   * Stores the next chunks of a file, which have the vectors of the model of the store. Returns false if nothing was
   * stored, because the file is not as it was: it was removed or cancelled, or another attempt or model has begun.
   * Throws the errors of `VectorRepository.upsert`.
   */
  async advance(
    lease: RunLease,
    store: VectorStoreRow,
    file: Pick<StoreFileRecord, 'file_id' | 'chunks'>,
    chunks: readonly Pick<VectorChunk, 'text' | 'vector'>[],
  ): Promise<boolean> {
    const current = await this.#lockStore(store.id);
    if (current?.generation !== store.generation) return false;
    const { file_id: document, chunks: from } = file;
    const values = [store.id, document, lease.attempt, from, from + chunks.length, lease.id];
    const [advanced] = await this.connection.query<{ attributes: string }>(sql.advance, values);
    if (!advanced) return false;
    const name = collectionOf(store);
    const metadata = JSON.parse(advanced.attributes) as Metadata; // they may have changed since the attempt has begun
    const rows = chunks.map((chunk, n) => ({ ...chunk, id: chunkId(document, from + n), document, metadata }));
    await this.#texts.ensure(name, { model: store.model, dimensions: chunks[0]?.vector.length ?? 0 });
    const bytes = await this.#texts.upsert(name, store.model, rows);
    await this.connection.query(sql.grow, [store.id, document, bytes]);
    return true;
  }

  /** Notes how a file ended. The chunks of one that failed are removed. Does nothing if it has ended otherwise. */
  async finish(lease: RunLease, fileId: string, end: StoreFileEnd): Promise<void> {
    const store = await this.#lockStore(lease.store_id);
    const [code, message] = end.status === 'failed' ? [end.code, end.message] : [null, null];
    const values = [lease.store_id, fileId, lease.attempt, end.status, code, message, lease.id];
    const ended = await this.connection.query(sql.finish, values);
    if (store && ended.length > 0 && end.status === 'failed') await removeTexts(this.#texts, store, fileId);
  }

  async #lockStore(id: string): Promise<VectorStoreRow | undefined> {
    return (await this.connection.query<VectorStoreRow>(sql.store, [id, this.owner]))[0];
  }
}

/** Digits of the number of a chunk in its id, so that the ids of a file are in the order of its text. */
const DIGITS = 8;

const chunkId = (fileId: string, number: number): string => `${fileId}/${String(number).padStart(DIGITS, '0')}`;

function fileOf({ state: status, ...file }: FileRow): StoreFileRecord {
  return status === 'failed' && file.status === 'in_progress'
    ? { ...file, status, error_code: 'server_error', error_message: ABANDONED }
    : { ...file, status };
}

const ABANDONED = 'the task that read the file has failed, or was cancelled or deleted; add the file again';
