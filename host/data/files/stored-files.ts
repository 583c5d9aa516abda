import type { Readable } from 'node:stream';
import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { timeOrderedId } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../base/core/request-context.ts';
import type { UploadedFile } from '../../endpoints/registry/index.ts';
import { LostObject, type ObjectStore, RowObjects } from '../objects/index.ts';
import {
  type FileBytes,
  type FilePage,
  type FileRecord,
  mayBeCommitted,
  pruneFiles,
  bytesOfFile,
  type Storage,
  type TracedStorage,
} from '../storage/index.ts';

/** Named like the settings `openai.files.…`; times in seconds. */
export interface StoredFilesConfig {
  readonly retention: number;
  readonly maximum_stored_bytes_per_user: number;
}

export interface StoredFilesOptions {
  readonly storage: Storage;
  /** Keeps the bytes, in its folder `files`. */
  readonly objects: ObjectStore;
  readonly config: StoredFilesConfig;
  readonly log: Logger;
}

export interface NewFile {
  readonly filename: string;
  readonly purpose: string;
  /** Seconds until nobody finds the file. Default: the setting; 0 is never. */
  readonly expiresAfterS?: number | undefined;
}

/** Whose files a request works with, and the database at the request's place of its trace. */
export interface Owner {
  /** Null for all callers where the host requires no keys. */
  readonly userId: string | null;
  readonly storage: TracedStorage;
}

/** The stored files of a caller. Files of other users are not found. */
export interface UserFiles {
  /** Takes the bytes of an upload. Throws `StorageFull` when the user has no room for them. */
  add(upload: UploadedFile, file: NewFile): Promise<FileRecord>;
  /** Stores what the host itself writes for the user. Throws like `add`. */
  create(chunks: AsyncIterable<string | Buffer>, file: NewFile): Promise<FileRecord>;
  find(id: string): Promise<FileRecord | undefined>;
  list(page: FilePage): Promise<readonly FileRecord[]>;
  /** Throws `UploadedFileLost`. The signal ends the wait for the bytes. */
  open(file: FileRecord, signal?: AbortSignal): Promise<Readable>;
  /**
   * Removes a file, also from all vector stores. Returns whether it existed. Throws `FileInUse` for the input of a
   * batch that has not ended.
   */
  delete(id: string): Promise<boolean>;
}

const FILE_ID = /^file-[0-9a-f]{32}$/;
const SWEEP_EVERY_MS = 600_000;
/** Most rows that one transaction removes, because other writers wait for it. */
const BATCH = 500;

/** Files that users keep: the bytes in a store and the rows in the database. Bytes come first and go last. */
export class StoredFiles implements ForCallers<UserFiles> {
  readonly #options: StoredFilesOptions;
  readonly #bytes: RowObjects;
  readonly #sweeper: RepeatedWork;

  constructor(options: StoredFilesOptions) {
    this.#options = options;
    this.#bytes = new RowObjects({
      store: options.objects,
      storage: options.storage,
      folder: 'files',
      names: /^(file-[0-9a-f]{32})$/,
      isNeeded: async (id) =>
        (await options.storage.read(({ connection }) => bytesOfFile(connection, id))) !== undefined,
      log: options.log,
    });
    this.#sweeper = new RepeatedWork({
      everyMs: SWEEP_EVERY_MS,
      work: (signal) => this.#sweep(signal),
      onError: (error) => options.log.warn('expired files were not removed', { error }),
    });
  }

  /** Begins to remove expired files. The first stored file does this, too. May be called twice. */
  start(): void {
    this.#sweeper.start();
  }

  /** May be called twice. */
  stop(): Promise<void> {
    return this.#sweeper.stop();
  }

  as({ userId, traceparent }: Caller): UserFiles {
    const storage = this.#options.storage.inTrace(traceparent);
    return {
      add: (upload, file) => this.#add({ userId, storage }, upload, file),
      create: async (chunks, file) => this.#insert({ userId, storage }, await this.write(chunks, file)),
      find: async (id) =>
        FILE_ID.test(id) ? storage.read((repositories) => repositories.filesOf(userId).read(id)) : undefined,
      list: (page) => storage.read((repositories) => repositories.filesOf(userId).list(page)),
      open: (file, signal) => this.#open(file, signal),
      delete: async (id) => {
        if (!FILE_ID.test(id)) return false;
        const [isDeleted, isThere] = await storage.write(async (repositories) => {
          const files = repositories.filesOf(userId);
          const wasThere = await files.delete(id);
          if (wasThere) await repositories.vectorStoreFilesOf(userId).removeEverywhere(id);
          return [wasThere, (await files.read(id)) !== undefined];
        });
        if (isDeleted) await this.#bytes.discard([id]);
        else if (isThere) throw inUse(id);
        return isDeleted;
      },
    };
  }

  /** Returns the bytes of a file, whoever has it. Throws `UploadedFileLost`. */
  async open(id: string, signal?: AbortSignal): Promise<Readable> {
    const file = await this.#options.storage.read(({ connection }) => bytesOfFile(connection, id));
    if (!file) throw lost(id, 'it was deleted');
    return this.#open({ id, ...file }, signal);
  }

  /**
   * Writes the bytes of a new file of a user. The caller stores the row of the returned record, together with other
   * changes; without it the bytes are removed later.
   */
  async write(chunks: AsyncIterable<string | Buffer>, file: NewFile): Promise<FileRecord> {
    const record = await this.#newRecord(file);
    const written = await this.#bytes.write(record.id, chunks);
    this.start();
    return { ...record, ...written };
  }

  /** Removes bytes that {@link write} has written and whose row is not stored. */
  discard(id: string): Promise<void> {
    return this.#bytes.discard([id]);
  }

  async #open({ id, bytes, sha256 }: FileBytes & { readonly id: string }, signal?: AbortSignal): Promise<Readable> {
    try {
      return await this.#bytes.open({ name: id, bytes, sha256: sha256 || undefined }, signal);
    } catch (error) {
      throw error instanceof LostObject ? lost(id, error.message, error) : error;
    }
  }

  async #newRecord({ filename, purpose, expiresAfterS }: NewFile): Promise<Omit<FileRecord, 'bytes' | 'sha256'>> {
    const { storage, config } = this.#options;
    const now = await storage.now();
    const lifeS = expiresAfterS ?? config.retention;
    const expiresAt = lifeS === 0 ? null : now + lifeS * 1000;
    return { id: `file-${timeOrderedId(now)}`, purpose, filename, created_at: now, expires_at: expiresAt };
  }

  async #add(owner: Owner, { path, bytes, artifact }: UploadedFile, file: NewFile): Promise<FileRecord> {
    const record = { ...(await this.#newRecord(file)), bytes, sha256: artifact?.sha256 ?? '' };
    return this.#insert(owner, record, () =>
      this.#bytes.put({ name: record.id, bytes, sha256: artifact?.sha256 }, path),
    );
  }

  /** Stores the row of a file, whose bytes `keep` brings into the store unless they are there. */
  async #insert({ userId, storage }: Owner, record: FileRecord, keep?: () => Promise<void>): Promise<FileRecord> {
    const maxBytes = this.#options.config.maximum_stored_bytes_per_user || undefined;
    try {
      await keep?.();
      await storage.write((repositories) => repositories.filesOf(userId).insert(record, maxBytes));
    } catch (error) {
      // After an unknown commit, the sweeper removes the bytes if the row does not exist.
      if (!mayBeCommitted(error)) await this.#bytes.discard([record.id]);
      throw error;
    }
    this.start();
    return record;
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { storage } = this.#options;
    for (let removed = BATCH; removed === BATCH && !signal.aborted;) {
      const ids = await storage.write(({ connection }) => pruneFiles(connection, connection.now(), BATCH));
      await this.#bytes.discard(ids);
      removed = ids.length;
    }
    await this.#bytes.sweep(signal);
  }
}

function inUse(id: string): AanaError {
  return fail('FileInUse', `the file ${id} is the input of a batch that has not ended; cancel it first`);
}

function lost(id: string, why: string, cause?: unknown): AanaError {
  return fail('UploadedFileLost', `the file ${id} cannot be used: ${why}; upload it again`, {
    data: { content: id },
    cause,
  });
}
