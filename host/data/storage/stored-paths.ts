import type { Connection } from './database.ts';
import type { StoredFile } from './repositories/tasks/task-records.ts';

/** A file that a row of the database needs. */
export interface NeededFile {
  /** Path below the folder of the data: `tasks/<task>/<number>` or `files/<file>`. */
  readonly path: string;
  readonly bytes: number;
  /** Absent for files of tasks that came without one. */
  readonly sha256?: string | undefined;
}

const HAS_TABLES = {
  sqlite: "select name from sqlite_master where type = 'table' and name in ('tasks', 'files')",
  postgresql: "select tablename as name from pg_tables where tablename in ('tasks', 'files')",
};

/** Returns the files that the tasks and the stored files of a database need. Completed tasks need none. */
export async function neededFiles(connection: Connection): Promise<NeededFile[]> {
  const tables = (await connection.query<{ name: string }>(HAS_TABLES)).map(({ name }) => name);
  const ofTasks = tables.includes('tasks')
    ? await connection.query<{ files: string }>("select files from tasks where status <> 'completed'")
    : [];
  const stored = tables.includes('files')
    ? await connection.query<{ id: string; bytes: number; sha256: string }>('select id, bytes, sha256 from files')
    : [];
  return [
    ...ofTasks.flatMap(({ files }) =>
      (JSON.parse(files) as StoredFile[]).map(({ path, bytes, sha256 }) => ({ path: `tasks/${path}`, bytes, sha256 })),
    ),
    ...stored.map(({ id, bytes, sha256 }) => ({ path: `files/${id}`, bytes: Number(bytes), sha256 })),
  ];
}
