/** The used part of the `sqlite3` module. Its file is built when it is first needed, so it cannot be imported. */
export interface SqliteModule {
  readonly OPEN_READWRITE: number;
  readonly OPEN_CREATE: number;
  readonly OPEN_FULLMUTEX: number;
  readonly Database: new (file: string, mode: number, done: (error: Error | null) => void) => SqliteHandle;
}

export interface SqliteHandle {
  exec(sql: string, done: (error: Error | null) => void): void;
  prepare(sql: string, done: (this: SqliteStatement, error: Error | null) => void): SqliteStatement;
  loadExtension(path: string, done: (error: Error | null) => void): void;
  close(done: (error: Error | null) => void): void;
}

export interface SqliteStatement {
  all(values: Readonly<Record<string, unknown>>, done: (error: Error | null, rows: unknown[]) => void): void;
  finalize(done: () => void): void;
}

/** Returns the code of an error of the module, such as `SQLITE_BUSY`. */
export function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
