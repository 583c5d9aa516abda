import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import { type FileRecord, FileRepository } from './files.ts';

const sql = loadStatements('uploads', [
  'insert',
  'read',
  'countPart',
  'insertPart',
  'parts',
  'removeParts',
  'complete',
  'cancel',
  'expire',
  'prune',
  'partExists',
]);

export type UploadStatus = 'pending' | 'completed' | 'cancelled' | 'expired';

/** An upload before its first part. Times are milliseconds since 1970. */
export interface NewUpload {
  readonly id: string;
  readonly purpose: string;
  readonly filename: string;
  /** Of the whole file, as the client announced it. */
  readonly bytes: number;
  /** Seconds from the creation of the file to its expiry; null is the setting. */
  readonly file_expires_after: number | null;
  readonly created_at: number;
  readonly expires_at: number;
}

export interface UploadRecord extends NewUpload {
  readonly status: UploadStatus;
  /** The file of a completed upload, which may be gone. */
  readonly file_id: string | null;
}

/** A part of a file. */
export interface PartRecord {
  readonly id: string;
  readonly bytes: number;
  /** In hexadecimal; null if the part came without one. */
  readonly sha256: string | null;
}

/** The uploads of a user, or of all callers where the host requires no keys (null). */
export class UploadRepository extends CallerRepository {
  readonly #files: FileRepository;

  constructor(connection: Connection, userId: string | null) {
    super(connection, userId);
    this.#files = new FileRepository(connection, userId);
  }

  async insert(upload: NewUpload): Promise<void> {
    const { id, purpose, filename, bytes, file_expires_after: expiry, created_at: now, expires_at: until } = upload;
    await this.connection.query(sql.insert, [id, this.owner, purpose, filename, bytes, expiry, now, until]);
  }

  /** An upload whose time is over is `expired`. */
  async read(id: string): Promise<UploadRecord | undefined> {
    const [row] = await this.connection.query<UploadRecord>(sql.read, [id, this.owner]);
    const isOver = row?.status === 'pending' && row.expires_at <= this.connection.now();
    return isOver ? { ...row, status: 'expired' } : row;
  }

  /**
   * Stores a part. Returns its number, counted from 1; undefined if the upload is not pending. Throws `StorageFull` if
   * the user then keeps more than `maxBytes`.
   */
  async addPart(id: string, part: PartRecord, maxBytes?: number): Promise<number | undefined> {
    const [counted] = await this.connection.query<{ part_count: number }>(sql.countPart, this.#pending(id));
    if (!counted) return undefined;
    await this.connection.query(sql.insertPart, [part.id, id, this.owner, part.bytes, part.sha256]);
    await this.#files.requireRoom(maxBytes);
    return counted.part_count;
  }

  /** Returns the parts in no order. */
  parts(id: string): Promise<PartRecord[]> {
    return this.connection.query(sql.parts, [id, this.owner]);
  }

  /**
   * Ends an upload with its file, which replaces the parts. Returns the ids of the parts; undefined if the upload is
   * not pending. Throws `StorageFull` like {@link FileRepository.insert}.
   */
  async complete(id: string, file: FileRecord, maxBytes?: number): Promise<string[] | undefined> {
    const completed = await this.connection.query(sql.complete, [...this.#pending(id), file.id]);
    if (completed.length === 0) return undefined;
    const parts = await this.#removeParts(id);
    await this.#files.insert(file, maxBytes);
    return parts;
  }

  /** Ends an upload without a file. Returns the ids of the parts; undefined if the upload is not pending. */
  async cancel(id: string): Promise<string[] | undefined> {
    const cancelled = await this.connection.query(sql.cancel, this.#pending(id));
    return cancelled.length === 0 ? undefined : this.#removeParts(id);
  }

  #pending(id: string): [id: string, owner: string, now: number] {
    return [id, this.owner, this.connection.now()];
  }

  #removeParts(id: string): Promise<string[]> {
    return removeParts(this.connection, id);
  }
}

/** Ends at most `limit` uploads of all users whose time was over at `now`. Returns their number and their parts. */
export async function expireUploads(
  connection: Connection,
  now: number,
  limit: number,
): Promise<{ readonly count: number; readonly parts: readonly string[] }> {
  const uploads = await connection.query<{ id: string }>(sql.expire, [now, limit]);
  const parts = await Promise.all(uploads.map(({ id }) => removeParts(connection, id)));
  return { count: uploads.length, parts: parts.flat() };
}

/** Removes at most `limit` ended uploads of all users whose time was over at `before`. Returns their number. */
export async function pruneUploads(connection: Connection, before: number, limit: number): Promise<number> {
  return (await connection.query(sql.prune, [before, limit])).length;
}

/** Returns whether any user has the part. */
export async function uploadPartExists(connection: Connection, id: string): Promise<boolean> {
  return (await connection.query(sql.partExists, [id])).length > 0;
}

async function removeParts(connection: Connection, id: string): Promise<string[]> {
  return (await connection.query<{ id: string }>(sql.removeParts, [id])).map((part) => part.id);
}
