/** Databases that there is an adapter for. */
export type Dialect = 'sqlite' | 'postgresql';

/**
 * What a statement can be given. Booleans come back as 0 and 1 from SQLite; JSON and times are texts and numbers
 * (milliseconds since 1970) in both.
 */
export type Value = string | number | boolean | Uint8Array | null;

export type Row = Readonly<Record<string, unknown>>;

/** One statement as each database wants it. Values are written `$1`, `$2`, …; each of them must occur. */
export type Statement = Readonly<Record<Dialect, string>>;

/**
 * A connection while it is lent: nobody else's statements run on it. Its own run in the order in which they are issued,
 * so that those that need nothing of each other can be issued together.
 */
export interface Connection {
  readonly dialect: Dialect;
  /** Milliseconds since 1970 by the clock that all hosts of this database share. */
  now(): number;
  /** The rows of one statement. Throws `DatabaseException`. */
  query<R extends object = Row>(statement: Statement | string, values?: readonly Value[]): Promise<R[]>;
  /** Several statements without values, as a migration has them. */
  script(sql: string): Promise<void>;
  /** Tells the listeners of all hosts, once the transaction is committed. SQLite reaches those of this process. */
  notify(message: string): Promise<void>;
}

export interface WriteOptions {
  /**
   * Goes before writes that wait, on a connection of its own where the database has several writers. Default: false.
   */
  readonly isUrgent?: boolean;
  /** Statements may take any time, as those of migrations do. Default: false. */
  readonly isUnlimited?: boolean;
}

/** A database with a pool of connections. */
export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;
  /** Where it is, for messages; without a password. */
  readonly address: string;
  now(): number;
  /** Lends a connection for reading; each statement sees what was committed before it. */
  read<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction on a connection of its own: committed when it resolves, as if it had never been when
   * it rejects. Only when the connection is lost while it is committed nobody knows: `UnknownOutcomeError` says so.
   */
  write<T>(work: (connection: Connection) => Promise<T>, options?: WriteOptions): Promise<T>;
  /**
   * Hears what transactions notify of; an empty message says that some may have been missed. Gives a function that ends
   * this.
   */
  listen(listener: (message: string) => void): () => void;
  /** Waits for what is running. May be called twice; use afterwards throws `DatabaseException`. */
  close(): Promise<void>;
}
