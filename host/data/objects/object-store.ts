/** An object as a row of the database knows it. */
export interface StoredObject {
  /** Parts of letters, digits, `_`, `-` and `.`, divided by `/`. An object is written once and never changed. */
  readonly key: string;
  readonly bytes: number;
  /** The SHA-256 of all bytes, in hexadecimal. Undefined if the row has none; only the length is compared then. */
  readonly sha256: string | undefined;
}

/** What was written under a key. */
export interface Written {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** A file of this machine with the checked bytes of an object. It exists until it is disposed. */
export interface LocalCopy extends AsyncDisposable {
  readonly path: string;
}

export interface ListedObject {
  readonly key: string;
  /** When it was written, in milliseconds since 1970. Servers may give the time at which the writing began. */
  readonly modifiedAt: number;
}

/**
 * The bytes of uploads, shared by all hosts of a database. A store that is away makes every function throw
 * `ObjectStoreUnavailable`.
 */
export interface ObjectStore {
  /** Names the store in messages. */
  readonly address: string;
  /**
   * Returns the folder in which, or below which, the local copies of objects of a folder lie. Processes that open such
   * copies by a relative path need it.
   */
  localRoot(folder: string): string;
  /** Takes the file at `from`, which is then gone. What was taken survives a crash of this machine. */
  put(object: StoredObject, from: string): Promise<void>;
  /** Writes an object, as safely as {@link put}. Nothing is left of one whose chunks end with an error. */
  write(key: string, chunks: AsyncIterable<string | Buffer>): Promise<Written>;
  /** Returns a copy whose bytes were compared with the row. Throws {@link LostObject}. */
  fetch(object: StoredObject, signal?: AbortSignal): Promise<LocalCopy>;
  /** Removes an object, if it exists. Copies that are open stay. */
  remove(key: string): Promise<void>;
  /** Returns the objects below a folder, in no order. */
  list(folder: string, signal?: AbortSignal): AsyncIterable<ListedObject>;
  /** Removes what is left of writes below a folder that began before a time and never ended. */
  removeUnfinished(folder: string, before: number, signal?: AbortSignal): Promise<void>;
  /** Closes connections that are kept between uses. */
  close(): void;
}

/** An object is not there, or has other bytes than its row says. The message is the end of a sentence about it. */
export class LostObject extends Error {
  override readonly name = 'LostObject';
}

/** Throws {@link LostObject} if what was read is not what the row says. */
export function requireSame({ bytes, sha256 }: StoredObject, found: Written): void {
  if (found.bytes !== bytes) throw new LostObject(`it has ${found.bytes} bytes, not ${bytes}`);
  if (sha256 !== undefined && found.sha256 !== sha256) throw new LostObject('its bytes have another SHA-256');
}
