import type { Connection, Dialect, Row, Statement, Value } from './database.ts';
import { databaseError } from './errors.ts';

/**
 * A connection until it is given back. Work that goes on although it has failed, as the rest of a `Promise.all` does,
 * ends at its next statement: otherwise it would run in the transaction that has the connection by then.
 */
export class LentConnection implements Connection {
  readonly dialect: Dialect;
  readonly #connection: Connection;
  #isOver = false;

  constructor(connection: Connection) {
    this.dialect = connection.dialect;
    this.#connection = connection;
  }

  /** Lends it for as long as `work` takes. */
  static async for<T>(connection: Connection, work: (lent: Connection) => Promise<T>): Promise<T> {
    const lent = new LentConnection(connection);
    try {
      return await work(lent);
    } finally {
      lent.#isOver = true;
    }
  }

  now(): number {
    return this.#connection.now();
  }

  async query<R extends object = Row>(statement: Statement | string, values?: readonly Value[]): Promise<R[]> {
    return this.#lent().query<R>(statement, values);
  }

  async script(sql: string): Promise<void> {
    return this.#lent().script(sql);
  }

  async notify(message: string): Promise<void> {
    return this.#lent().notify(message);
  }

  #lent(): Connection {
    if (this.#isOver) throw databaseError('the transaction of this statement is over', 'internal');
    return this.#connection;
  }
}
