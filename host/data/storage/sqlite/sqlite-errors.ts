import type { AanaError } from '../../../base/core/errors.ts';
import { databaseError } from '../errors.ts';
import { sqliteCode } from './module.ts';

/** Other processes that write, a full disk, and a disk that fails. Another try may succeed. */
const PASSING = new Set(['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_FULL', 'SQLITE_IOERR']);

/** Returns the error of a failed statement. @param path the file of the database, for the message */
export function failureOf(error: Error, path: string): AanaError {
  const mayPass = PASSING.has(sqliteCode(error));
  return databaseError(
    mayPass ? 'DatabaseException' : 'DatabaseFault',
    `the database ${path}: ${error.message}`,
    error,
  );
}
