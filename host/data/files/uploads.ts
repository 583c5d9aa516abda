import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { timeOrderedId } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../base/core/request-context.ts';
import type { UploadedFile } from '../../endpoints/registry/index.ts';
import { LostObject, type ObjectStore, RowObjects } from '../objects/index.ts';
import {
  expireUploads,
  type FileRecord,
  mayBeCommitted,
  type PartRecord,
  pruneUploads,
  type Storage,
  uploadPartExists,
  type UploadRecord,
  type UploadStatus,
} from '../storage/index.ts';
import type { Owner, StoredFiles } from './stored-files.ts';

export interface UploadsOptions {
  readonly storage: Storage;
  /** Takes the files of completed uploads. */
  readonly files: StoredFiles;
  /** Keeps the parts, in its folder `uploads`. */
  readonly objects: ObjectStore;
  /** Most bytes of files and of parts that a user keeps; undefined is no limit. */
  readonly maxBytes: number | undefined;
  readonly log: Logger;
}

export interface UploadOrder {
  readonly filename: string;
  readonly purpose: string;
  /** Of the whole file. */
  readonly bytes: number;
  /** Seconds from the creation of the file to its expiry. Default: the setting of files. */
  readonly expiresAfterS: number | undefined;
}

/** An upload, and the file of a completed one. */
export interface Upload extends UploadRecord {
  readonly file: FileRecord | undefined;
}

/** The uploads of a user. Uploads of other users are not found. */
export interface UserUploads {
  /** Throws `StorageFull` for a file that is larger than the files of a user may be. */
  create(order: UploadOrder): Promise<Upload>;
  /**
   * Takes the bytes of a part. Returns its id and the time of its creation in milliseconds since 1970; undefined for an
   * upload that does not exist. Throws `UploadEnded`, `TooManyParts`, and `StorageFull` when the user has no room.
   */
  addPart(id: string, bytes: UploadedFile): Promise<{ readonly id: string; readonly createdAt: number } | undefined>;
  /**
   * Makes a file of parts, in this order; undefined for an upload that does not exist. Throws `UploadEnded`, and
   * `WrongParts` for parts that the upload does not have and for a file with other bytes than announced. The upload is
   * still pending then.
   */
  complete(id: string, parts: readonly string[], md5: string | undefined): Promise<Upload | undefined>;
  /** Ends an upload without a file; undefined for one that does not exist. Throws `UploadEnded` for a completed one. */
  cancel(id: string): Promise<Upload | undefined>;
}

const ID = /^upload_[0-9a-f]{32}$/;
/** An upload that is not completed until then expires. */
const LIFE_MS = 3_600_000;
/** An ended upload is known for so long after its time. */
const KEPT_MS = 86_400_000;
const SWEEP_EVERY_MS = 60_000;
/** Most rows that one transaction changes, because other writers wait for it. */
const BATCH = 100;
const MAX_PARTS = 10_000;

/** Files that come in parts. A part lies in the store until the file is made, or until the upload ends without one. */
export class Uploads implements ForCallers<UserUploads> {
  readonly #options: UploadsOptions;
  readonly #bytes: RowObjects;
  readonly #sweeper: RepeatedWork;

  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#bytes = new RowObjects({
      store: options.objects,
      storage: options.storage,
      folder: 'uploads',
      names: /^(part_[0-9a-f]{32})$/,
      isNeeded: (id) => options.storage.read(({ connection }) => uploadPartExists(connection, id)),
      log: options.log,
    });
    this.#sweeper = new RepeatedWork({
      everyMs: SWEEP_EVERY_MS,
      work: (signal) => this.sweep(signal),
      onError: (error) => options.log.warn('expired uploads were not removed', { error }),
    });
  }

  /** Begins to remove the parts of expired uploads. The first upload does this, too. May be called twice. */
  start(): void {
    this.#sweeper.start();
  }

  /** May be called twice. */
  stop(): Promise<void> {
    return this.#sweeper.stop();
  }

  as({ userId, traceparent }: Caller): UserUploads {
    const owner = { userId, storage: this.#options.storage.inTrace(traceparent) };
    return {
      create: (order) => this.#create(owner, order),
      addPart: (id, bytes) => this.#addPart(owner, id, bytes),
      complete: (id, parts, md5) => this.#complete(owner, id, parts, md5),
      cancel: (id) => this.#cancel(owner, id),
    };
  }

  /** Ends the uploads whose time is over, and removes their parts. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { storage } = this.#options;
    for (let count = BATCH; count === BATCH && !signal.aborted;) {
      const expired = await storage.write(async ({ connection }) => {
        const now = connection.now();
        await pruneUploads(connection, now - KEPT_MS, BATCH);
        return expireUploads(connection, now, BATCH);
      });
      await this.#bytes.discard(expired.parts);
      ({ count } = expired);
    }
    await this.#bytes.sweep(signal);
  }

  async #create(owner: Owner, order: UploadOrder): Promise<Upload> {
    const { storage } = owner;
    const { maxBytes } = this.#options;
    const { filename, purpose, bytes, expiresAfterS } = order;
    if (maxBytes !== undefined && bytes > maxBytes)
      throw fail(
        'StorageFull',
        `the file would have ${bytes} bytes, but all files of a user may have at most ${maxBytes} ` +
          `(openai.files.maximum_stored_bytes_per_user)`,
        { data: { limit: maxBytes, param: 'bytes' } },
      );
    const now = await storage.now();
    const id = `upload_${timeOrderedId(now)}`;
    const upload = {
      ...{ id, purpose, filename, bytes, created_at: now, expires_at: now + LIFE_MS },
      file_expires_after: expiresAfterS ?? null,
    };
    await storage.write((repositories) => repositories.uploadsOf(owner.userId).insert(upload));
    this.start();
    return { ...upload, status: 'pending', file_id: null, file: undefined };
  }

  async #addPart(
    owner: Owner,
    id: string,
    { path, bytes, artifact }: UploadedFile,
  ): Promise<{ readonly id: string; readonly createdAt: number } | undefined> {
    const { storage } = owner;
    const { maxBytes } = this.#options;
    const upload = await this.#find(owner, id);
    if (!upload) return undefined;
    requirePending(id, upload.status);
    const createdAt = await storage.now();
    const part = { id: `part_${timeOrderedId(createdAt)}`, bytes, sha256: artifact?.sha256 ?? null };
    try {
      await this.#bytes.put(objectOf(part), path);
      await storage.write(async (repositories) => {
        const number = await repositories.uploadsOf(owner.userId).addPart(id, part, maxBytes);
        if (number === undefined) throw ended(id, 'not pending');
        if (number > MAX_PARTS) throw fail('TooManyParts', `an upload has at most ${MAX_PARTS} parts`);
      });
    } catch (error) {
      // After an unknown commit, the sweeper removes the bytes if the row does not exist.
      if (!mayBeCommitted(error)) await this.#bytes.discard([part.id]);
      throw error;
    }
    this.start();
    return { id: part.id, createdAt };
  }

  async #complete(
    owner: Owner,
    id: string,
    ids: readonly string[],
    md5: string | undefined,
  ): Promise<Upload | undefined> {
    const { files, maxBytes } = this.#options;
    const upload = await this.#find(owner, id);
    if (!upload) return undefined;
    requirePending(id, upload.status);
    const hash = createHash('md5');
    const { filename, purpose, file_expires_after: expiresAfterS } = upload;
    const file = await this.#chosen(owner, upload, ids)
      .then((parts) =>
        files.write(this.#bytesOf(parts, hash), { filename, purpose, expiresAfterS: expiresAfterS ?? undefined }),
      )
      .catch(async (error: unknown) => {
        requirePending(id, (await this.#find(owner, id))?.status ?? 'expired'); // its parts are gone when it has ended
        throw error;
      });
    try {
      const actual = hash.digest('hex');
      if (md5 !== undefined && actual !== md5.toLowerCase())
        throw wrongParts('md5', `the file has the MD5 ${actual}, not ${md5}`);
      const used = await owner.storage.write((repositories) =>
        repositories.uploadsOf(owner.userId).complete(id, file, maxBytes),
      );
      if (!used) throw ended(id, 'not pending');
      await this.#bytes.discard(used);
    } catch (error) {
      if (!mayBeCommitted(error)) await files.discard(file.id);
      throw error;
    }
    return this.#find(owner, id);
  }

  /** Returns the parts of an upload in the order of `ids`. Throws `WrongParts` if they are not the whole file. */
  async #chosen(owner: Owner, { id, bytes }: Upload, ids: readonly string[]): Promise<PartRecord[]> {
    const found = await owner.storage.read((repositories) => repositories.uploadsOf(owner.userId).parts(id));
    const partsById = new Map(found.map((part) => [part.id, part]));
    const parts = ids.map((partId, index) => {
      const part = partsById.get(partId);
      partsById.delete(partId);
      if (part) return part;
      const name = JSON.stringify(partId.slice(0, 100));
      throw wrongParts(`part_ids[${index}]`, `the upload has no part ${name}, or the list has it twice`);
    });
    const sum = parts.reduce((total, part) => total + part.bytes, 0);
    if (sum !== bytes)
      throw wrongParts('part_ids', `the parts have ${sum} bytes, but the upload was created for ${bytes}`);
    return parts;
  }

  async *#bytesOf(parts: readonly PartRecord[], hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer, void> {
    for (const part of parts)
      for await (const chunk of (await this.#open(part)) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        yield chunk;
      }
  }

  async #cancel(owner: Owner, id: string): Promise<Upload | undefined> {
    if (!ID.test(id)) return undefined;
    const parts = await owner.storage.write((repositories) => repositories.uploadsOf(owner.userId).cancel(id));
    if (parts) await this.#bytes.discard(parts);
    const upload = await this.#find(owner, id);
    if (upload?.status === 'completed') throw ended(id, upload.status);
    return upload;
  }

  #find(owner: Owner, id: string): Promise<Upload | undefined> {
    if (!ID.test(id)) return Promise.resolve(undefined);
    return owner.storage.read(async (repositories) => {
      const upload = await repositories.uploadsOf(owner.userId).read(id);
      if (!upload) return undefined;
      const { file_id: fileId } = upload;
      return { ...upload, file: fileId === null ? undefined : await repositories.filesOf(owner.userId).read(fileId) };
    });
  }

  async #open(part: PartRecord): Promise<Readable> {
    try {
      return await this.#bytes.open(objectOf(part));
    } catch (cause) {
      if (!(cause instanceof LostObject)) throw cause;
      throw fail('UploadedFileLost', `the part ${part.id} cannot be used: ${cause.message}; upload it again`, {
        data: { content: part.id },
        cause,
      });
    }
  }
}

function objectOf({ id, bytes, sha256 }: PartRecord): Parameters<RowObjects['put']>[0] {
  return { name: id, bytes, sha256: sha256 ?? undefined };
}

function requirePending(id: string, status: UploadStatus): void {
  if (status !== 'pending') throw ended(id, status);
}

function ended(id: string, status: string): AanaError {
  return fail('UploadEnded', `the upload ${id} has ended (${status})`);
}

function wrongParts(param: string, why: string): AanaError {
  return fail('WrongParts', `Invalid value for '${param}': ${why}`, { data: { param } });
}
