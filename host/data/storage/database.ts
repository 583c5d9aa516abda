import type { KeptVectors } from './kept-vectors.ts';
import type { FoundCollections } from './repositories/vectors/found-collections.ts';

/** Databases with an adapter. */
export type Dialect = 'sqlite' | 'postgresql';

/**
 * A parameter of a statement. SQLite returns booleans as 0 and 1. JSON is a text and a time is a number (milliseconds
 * since 1970) in both databases.
 */
export type Value = string | number | boolean | Uint8Array | null;

export type Row = Readonly<Record<string, unknown>>;

/** One statement in the SQL of each database. Values are written `$1`, `$2`, …; each value must occur. */
export type Statement = Readonly<Record<Dialect, string>>;

/**
 * A connection while it is lent to one piece of work. Statements run in the order in which they are issued, so
 * independent statements can be issued together.
 */
export interface Connection {
  readonly dialect: Dialect;
  /** Returns milliseconds since 1970 by the clock that all hosts of this database share. */
  now(): number;
  /** Runs a statement and returns its rows. Throws `DatabaseException` or `DatabaseFault`. */
  query<R extends object = Row>(statement: Statement | string, values?: readonly Value[]): Promise<R[]>;
  /** Runs several statements without values, such as a migration. */
  script(sql: string): Promise<void>;
  /**
   * Notifies the listeners of all hosts when the transaction is committed. SQLite notifies the listeners of this
   * process.
   */
  notify(message: string): Promise<void>;
  /** Notifies the listeners of this process when the transaction is committed. It costs nothing in the database. */
  notifyHere(message: string): Promise<void>;
  /**
   * Prepares the connection for later statements about vectors: loads SQLite's extension, or sets how pgvector
   * searches. Throws `VectorsUnavailable`.
   */
  loadVectors(): Promise<void>;
  /** Undefined where none are kept, and in a transaction, whose own changes they would lack. */
  readonly keptVectors: KeptVectors | undefined;
  /** Undefined where nothing is gained, and in a transaction, which ends with the failure of a wrong guess. */
  readonly foundCollections: FoundCollections | undefined;
}

export interface WriteOptions {
  /** Runs before waiting writes, on a separate connection if the database has several writers. Default: false. */
  readonly isUrgent?: boolean;
  /** Statements may take any time, for example in migrations. Default: false. */
  readonly isUnlimited?: boolean;
}

/** A database with a pool of connections. */
export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;
  /** The address for messages, without a password. */
  readonly address: string;
  now(): number;
  /** Lends a connection for reading. Each statement sees the transactions that were committed before it. */
  read<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction on a separate connection. The transaction is committed when `work` resolves, and
   * rolled back when it rejects. Throws `UnknownOutcomeError` when the connection is lost during the commit, because
   * the outcome is then unknown.
   */
  write<T>(work: (connection: Connection) => Promise<T>, options?: WriteOptions): Promise<T>;
  /**
   * Calls `listener` with the notifications of transactions. An empty message says that some may have been missed.
   * Returns a function that ends the subscription.
   */
  listen(listener: (message: string) => void): () => void;
  /** Closes the database after running work. May be called twice. Later use throws `DatabaseException`. */
  close(): Promise<void>;
}
