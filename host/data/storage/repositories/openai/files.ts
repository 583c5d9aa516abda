import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import { foldKept, inTurn, sumOfKept } from '../kept-bytes.ts';

const sql = loadStatements('files', [
  'insert',
  'read',
  'oldest',
  'newest',
  'remove',
  'prune',
  'bytesOf',
  'sum',
  'take',
  'add',
]);

/** A file of OpenAI's API. Times are milliseconds since 1970. */
export interface FileRecord {
  readonly id: string;
  readonly purpose: string;
  readonly filename: string;
  readonly bytes: number;
  /** The SHA-256 of all bytes, in hexadecimal. Empty if the file came without one. */
  readonly sha256: string;
  readonly created_at: number;
  /** Null is never. */
  readonly expires_at: number | null;
}

export interface FilePage {
  /** The id of the file before the page, which may be gone; undefined for the first page. */
  readonly after?: string | undefined;
  readonly purpose?: string | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** The files of a user, or of all callers where the host requires no keys (null). Expired files are not found. */
export class FileRepository extends CallerRepository {
  /** Stores a file. Throws `StorageFull` if the user then keeps more than `maxBytes`. */
  async insert(file: FileRecord, maxBytes?: number): Promise<void> {
    const { id, purpose, filename, bytes, sha256, created_at: createdAt, expires_at: expiresAt } = file;
    const row = [id, this.owner, purpose, filename, bytes, sha256, createdAt, expiresAt];
    await this.connection.query(sql.insert, row);
    await this.requireRoom(maxBytes);
  }

  /**
   * Throws `StorageFull` if the user keeps more than `maxBytes` of files and parts of files, with those that other
   * transactions add at the same time.
   */
  async requireRoom(maxBytes: number | undefined): Promise<void> {
    if (maxBytes !== undefined) await inTurn(this.connection, this.owner);
    const kept = await sumOfKept(this.connection, sql, this.owner);
    if (maxBytes !== undefined && kept.bytes > maxBytes) throw full(kept.bytes, maxBytes);
    await foldKept(this.connection, sql, this.owner, kept);
  }

  async read(id: string): Promise<FileRecord | undefined> {
    return (await this.connection.query<FileRecord>(sql.read, [id, this.owner, this.connection.now()]))[0];
  }

  /** Returns a page of files in the order of their ids, which is the order of their uploads. */
  list({ after = '', purpose = '', order, limit }: FilePage): Promise<FileRecord[]> {
    const statement = order === 'asc' ? sql.oldest : sql.newest;
    return this.connection.query(statement, [this.owner, this.connection.now(), after, purpose, limit]);
  }

  /** Returns whether the file existed. */
  async delete(id: string): Promise<boolean> {
    return (await this.connection.query(sql.remove, [id, this.owner])).length > 0;
  }
}

/** Removes at most `limit` files of all users that expired before `before`. Returns their ids. */
export async function pruneFiles(connection: Connection, before: number, limit: number): Promise<string[]> {
  return (await connection.query<{ id: string }>(sql.prune, [before, limit])).map(({ id }) => id);
}

/** What the bytes of a file must be. */
export type FileBytes = Pick<FileRecord, 'bytes' | 'sha256'>;

/** Returns what the bytes of a file of any user are, also if it has expired; undefined if nobody has it. */
export async function bytesOfFile(connection: Connection, id: string): Promise<FileBytes | undefined> {
  return (await connection.query<FileBytes>(sql.bytesOf, [id]))[0];
}

function full(bytes: number, maxBytes: number): AanaError {
  return fail(
    'StorageFull',
    `the files of this user would have ${bytes} bytes, but may have at most ${maxBytes} ` +
      `(openai.files.maximum_stored_bytes_per_user); delete files and try again`,
    { data: { limit: maxBytes } },
  );
}
