import type { Connection } from '../../database.ts';
import { PostgresVectorIndex } from './postgres-vector-index.ts';
import { SqliteVectorIndex } from './sqlite-vector-index.ts';
import type { VectorIndex } from './vector-index.ts';

/** Returns the vectors and words of a collection in the database of the connection. */
export function vectorIndexOf(connection: Connection, collection: number): VectorIndex {
  return connection.dialect === 'sqlite'
    ? new SqliteVectorIndex(connection, collection)
    : new PostgresVectorIndex(connection, collection);
}
