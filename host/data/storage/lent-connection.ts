import type { Connection } from './database.ts';
import { databaseError } from './errors.ts';

/**
 * Lends a connection for as long as `work` runs. Work that continues after its transaction has failed, such as the rest
 * of a `Promise.all`, fails at its next statement. Otherwise it would run in the next transaction on this connection.
 */
export async function lend<T>(connection: Connection, work: (lent: Connection) => Promise<T>): Promise<T> {
  let isOver = false;
  const lent = (): Connection => {
    if (isOver) throw databaseError('DatabaseFault', 'the transaction of this statement is over');
    return connection;
  };
  try {
    return await work({
      dialect: connection.dialect,
      now: () => connection.now(),
      query: async (statement, values) => lent().query(statement, values),
      script: async (sql) => lent().script(sql),
      notify: async (message) => lent().notify(message),
      notifyHere: async (message) => lent().notifyHere(message),
      loadVectors: async () => lent().loadVectors(),
      keptVectors: connection.keptVectors,
      foundCollections: connection.foundCollections,
    });
  } finally {
    isOver = true;
  }
}
