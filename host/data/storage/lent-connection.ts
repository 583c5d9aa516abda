import type { Connection, Dialect, Row, Statement, Value } from './database.ts';
import { databaseError } from './errors.ts';

/**
 * A connection until it is given back. Work that continues after its transaction has failed, such as the rest of a
 * `Promise.all`, fails at its next statement. Otherwise it would run in the next transaction on this connection.
 */
export class LentConnection implements Connection {
  readonly dialect: Dialect;
  readonly #connection: Connection;
  #isOver = false;

  constructor(connection: Connection) {
    this.dialect = connection.dialect;
    this.#connection = connection;
  }

  /** Lends the connection for as long as `work` runs. */
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

  async notifyHere(message: string): Promise<void> {
    return this.#lent().notifyHere(message);
  }

  #lent(): Connection {
    if (this.#isOver) throw databaseError('DatabaseFault', 'the transaction of this statement is over');
    return this.#connection;
  }
}
