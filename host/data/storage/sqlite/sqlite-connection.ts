import type { Connection, Row, Statement, Value } from '../database.ts';
import type { KeptVectors } from '../kept-vectors.ts';
import type { SqliteHandle, SqliteModule, SqliteStatement } from './module.ts';
import { failureOf } from './sqlite-errors.ts';
import { vectorExtension, vectorsUnavailable } from './vector-extension.ts';

/** Prepared statements that one connection keeps, which is more than the repositories have. */
const KEPT_STATEMENTS = 300;

export interface SqliteConnectionOptions {
  readonly now: () => number;
  readonly keptVectors?: KeptVectors | undefined;
}

/** One open connection. Its statements run one after the other, in the order of their calls, in threads of libuv. */
export class SqliteConnection implements Connection {
  readonly dialect = 'sqlite';
  readonly #handle: SqliteHandle;
  readonly #path: string;
  /** The notifications of the running transaction. */
  notifications: string[] = [];
  readonly #statements = new Map<string, Promise<SqliteStatement>>();
  #last: Promise<unknown> = Promise.resolve();
  #vectors: Promise<void> | undefined;

  readonly now: () => number;
  readonly keptVectors: KeptVectors | undefined;
  readonly foundCollections = undefined;

  private constructor(handle: SqliteHandle, path: string, { now, keptVectors }: SqliteConnectionOptions) {
    this.#handle = handle;
    this.#path = path;
    this.now = now;
    this.keptVectors = keptVectors;
  }

  static async open(
    module: SqliteModule,
    path: string,
    pragmas: string,
    options: SqliteConnectionOptions,
  ): Promise<SqliteConnection> {
    const handle = await new Promise<SqliteHandle>((resolve, reject) => {
      const opened = new module.Database(
        path,
        module.OPEN_READWRITE | module.OPEN_CREATE | module.OPEN_FULLMUTEX,
        (error) => (error ? reject(failureOf(error, path)) : resolve(opened)),
      );
    });
    const connection = new SqliteConnection(handle, path, options);
    try {
      await connection.script(pragmas);
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  query<R extends object = Row>(statement: Statement | string, values: readonly Value[] = []): Promise<R[]> {
    return this.#next(() => this.#query<R>(statement, values));
  }

  async #query<R extends object>(statement: Statement | string, values: readonly Value[]): Promise<R[]> {
    const prepared = await this.#prepare(typeof statement === 'string' ? statement : statement.sqlite);
    const named = Object.fromEntries(
      values.map((value, index) => [
        `$${index + 1}`,
        value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value,
      ]),
    );
    return new Promise((resolve, reject) => {
      prepared.all(named, (error, rows) => (error ? reject(failureOf(error, this.#path)) : resolve(rows as R[])));
    });
  }

  script(sql: string): Promise<void> {
    const run = (): Promise<void> =>
      new Promise((resolve, reject) => {
        this.#handle.exec(sql, (error) => (error ? reject(failureOf(error, this.#path)) : resolve()));
      });
    return this.#next(run);
  }

  async notify(message: string): Promise<void> {
    this.notifications.push(message);
  }

  /** The same as {@link notify}, because SQLite notifies no other process. */
  notifyHere(message: string): Promise<void> {
    return this.notify(message);
  }

  loadVectors(): Promise<void> {
    this.#vectors ??= this.#next(
      () =>
        new Promise((resolve, reject) => {
          this.#handle.loadExtension(vectorExtension(), (error) =>
            error ? reject(vectorsUnavailable(error)) : resolve(),
          );
        }),
    );
    this.#vectors.catch(() => (this.#vectors = undefined)); // the package may be installed meanwhile
    return this.#vectors;
  }

  async close(): Promise<void> {
    await this.#forgetStatements();
    await new Promise<void>((resolve) => this.#handle.close(() => resolve()));
  }

  /** Calls `run` after all earlier statements, also after failed ones. */
  #next<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#last.then(run);
    this.#last = done.catch(() => {});
    return done;
  }

  async #prepare(sql: string): Promise<SqliteStatement> {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    if (this.#statements.size >= KEPT_STATEMENTS) await this.#forgetStatements();
    const prepared = new Promise<SqliteStatement>((resolve, reject) => {
      const statement = this.#handle.prepare(sql, (error) =>
        error ? reject(failureOf(error, this.#path)) : resolve(statement),
      );
    });
    this.#statements.set(sql, prepared);
    prepared.catch(() => this.#statements.delete(sql));
    return prepared;
  }

  async #forgetStatements(): Promise<void> {
    const statements = await Promise.allSettled(this.#statements.values());
    this.#statements.clear();
    for (const result of statements)
      if (result.status === 'fulfilled') await new Promise<void>((resolve) => result.value.finalize(resolve));
  }
}
