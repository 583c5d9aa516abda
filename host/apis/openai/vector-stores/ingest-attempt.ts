import { fail, publicMessage, toErrorRecord } from '../../../base/core/errors.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { StoredFiles } from '../../../data/files/index.ts';
import {
  type Repositories,
  type RunLease,
  type StoreFileEnd,
  type StoreFileRecord,
  type TracedStorage,
  type VectorStoreFileErrorCode,
  type VectorStoreRecord,
  whileUnavailable,
} from '../../../data/storage/index.ts';
import { isUnserved } from '../../../data/tasks/index.ts';
import { type EmbeddingChoice, type EmbeddingModel, embeddingModel } from './embedding-model.ts';
import { type DocumentLimits, textsOfFile } from './file-texts.ts';

/** What attempts at runs need of the host. */
export interface IngestOptions extends EmbeddingChoice {
  readonly storage: TracedStorage;
  readonly files: StoredFiles;
  /** Most bytes of the texts of all stores of a user; undefined is no limit. */
  readonly maxStoredBytes: number | undefined;
  readonly documents: DocumentLimits;
}

/** Whose stores they are, and what the attempt can use. */
export interface IngestScope {
  readonly userId: string | null;
  /** The deployments that the key of the request allows; null for all. */
  readonly deployments: ReadonlySet<string> | null;
  /** Makes the vectors of a store again with the model of today. */
  readonly renew: (store: VectorStoreRecord, model: string) => Promise<void>;
}

type Context = RequestContext & { readonly signal: AbortSignal };

/** Reading files goes after other requests of the same user. */
const PRIORITY = -100;
/** Texts whose vectors are made and stored together. */
const AT_ONCE = 32;
/** Attempts after which a new file fails for whose vectors a deployment was never available. */
const MOST_UNAVAILABLE = 50;

/** The codes of errors that the file causes. */
const CODES: Readonly<Record<string, VectorStoreFileErrorCode>> = {
  UnreadableDocument: 'invalid_file',
  UploadedFileLost: 'invalid_file',
  UnsupportedDocument: 'unsupported_file',
};

/** One attempt at a run: reads its files one after the other, and continues where the attempt before it ended. */
export class IngestAttempt {
  readonly #options: IngestOptions;
  readonly #lease: RunLease;
  readonly #scope: IngestScope;

  constructor(options: IngestOptions, lease: RunLease, scope: IngestScope) {
    this.#options = options;
    this.#lease = lease;
    this.#scope = scope;
  }

  /** Rejects when the signal aborts, and when another attempt may get further. Chunks that are stored stay. */
  async run(given: Context): Promise<void> {
    const { storage } = this.#options;
    const { userId, deployments, renew } = this.#scope;
    const context = { ...given, priority: PRIORITY };
    const { store_id: storeId } = this.#lease;
    for (;;) {
      context.signal.throwIfAborted();
      const [store, file] = await storage.read((repositories) =>
        Promise.all([
          repositories.vectorStoresOf(userId).read(storeId),
          repositories.vectorStoreFilesOf(userId).next(this.#lease),
        ]),
      );
      if (!store || !file) break;
      const model = embeddingModel(this.#options, deployments);
      if (model.name === store.model) await this.#ingest(store, file, model, context);
      else if (store.isSettled) await renew(store, model.name); // another run has the files then
      else throw ofOtherHost(store, model); // it may work on the task
    }
    // If the last files of a renewal were removed.
    await this.#write(context, (repositories) => repositories.vectorStoresOf(userId).endRenewal(storeId));
  }

  /** Reads a file, or what is left of it, and notes how it ended. */
  async #ingest(
    store: VectorStoreRecord,
    file: StoreFileRecord,
    model: EmbeddingModel,
    context: Context,
  ): Promise<void> {
    let end: StoreFileEnd = { status: 'completed' };
    /** Whether its texts are stored, and only their vectors are made. The texts may be all that is left of it. */
    let hasTexts = false;
    try {
      let stored = file.chunks;
      hasTexts = (await this.#sourceTexts(store, file, 0, 1)).length > 0;
      const maxBytes = hasTexts ? undefined : this.#options.maxStoredBytes;
      const parts = hasTexts ? this.#storedTexts(store, file) : this.#readTexts(file, model, context);
      for await (const texts of parts) {
        const vectors = await model.embed(texts, 'document', context);
        const chunks = texts.map((text, n) => ({ text, vector: vectors[n] ?? [] }));
        const from = { ...file, chunks: stored };
        const isOurs = await this.#write(context, (repositories) =>
          repositories.vectorStoreFilesOf(this.#scope.userId, { maxBytes }).advance(this.#lease, store, from, chunks),
        );
        if (!isOurs) return; // what has become of the file, the next look tells
        stored += texts.length;
      }
    } catch (error) {
      context.signal.throwIfAborted();
      end = this.#failure(error, hasTexts);
    }
    await this.#write(context, async (repositories) => {
      await repositories.vectorStoreFilesOf(this.#scope.userId).finish(this.#lease, file.file_id, end);
      await repositories.vectorStoresOf(this.#scope.userId).endRenewal(store.id);
    });
  }

  /** Returns texts of a file that have vectors of the model before. */
  async #sourceTexts(
    store: VectorStoreRecord,
    { file_id: id }: StoreFileRecord,
    from: number,
    limit: number,
  ): Promise<string[]> {
    const { source_generation: of } = store;
    if (of === null) return [];
    const chunks = await this.#options.storage.read((repositories) =>
      repositories.vectorStoreFilesOf(this.#scope.userId).chunks(store, id, { of, from, limit }),
    );
    return chunks.map(({ text }) => text);
  }

  /** Yields those that have no vectors of the new model yet. */
  async *#storedTexts(store: VectorStoreRecord, file: StoreFileRecord): AsyncGenerator<string[], void> {
    for (let from = file.chunks; ;) {
      const texts = await this.#sourceTexts(store, file, from, AT_ONCE);
      if (texts.length === 0) return;
      yield texts;
      from += texts.length;
    }
  }

  /** Reads a file. Yields the texts of its chunks that are not stored yet. */
  async *#readTexts(file: StoreFileRecord, model: EmbeddingModel, context: Context): AsyncGenerator<string[], void> {
    const { files, documents } = this.#options;
    const opened = { id: file.file_id, bytes: file.bytes, filename: file.filename };
    const { count } = model;
    const room = (await count?.('.', context))?.max_tokens ?? file.max_chunk_tokens;
    const maxTokens = Math.min(file.max_chunk_tokens, room);
    const chunking = {
      maxTokens,
      overlapTokens: Math.min(file.chunk_overlap_tokens, Math.floor(maxTokens / 2)),
      countTokens: count && (async (part: string) => (await count(part, context)).tokens),
    };
    const texts = await textsOfFile(files, opened, documents, chunking, context.signal);
    for (let at = file.chunks; at < texts.length; at += AT_ONCE) yield texts.slice(at, at + AT_ONCE);
  }

  /** Returns how a file ends after an error. Throws the error if another attempt may get further. */
  #failure(error: unknown, hasTexts: boolean): StoreFileEnd {
    const record = toErrorRecord(error);
    const mayPass = record.kind === 'unavailable' || record.kind === 'rate-limited' || isUnserved(record);
    if (mayPass && (hasTexts || this.#lease.attempt < MOST_UNAVAILABLE)) throw error;
    return { status: 'failed', code: CODES[record.name] ?? 'server_error', message: publicMessage(record) };
  }

  /** Writes, also after the database was away. */
  #write<T>({ signal }: Context, work: (repositories: Repositories) => Promise<T>): Promise<T> {
    return whileUnavailable(() => this.#options.storage.write(work), signal);
  }
}

function ofOtherHost({ id, model }: VectorStoreRecord, { name }: EmbeddingModel): Error {
  return fail(
    'NoEmbeddingModel',
    `the vector store ${id} has vectors of ${model} since some minutes, and this host makes those of ${name}; ` +
      'hosts of one database need the same embedding model',
  );
}
