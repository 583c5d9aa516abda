import { open, stat } from 'node:fs/promises';
import { silentLogger } from '../../base/core/log/logger.ts';
import { buildSqlite, buildToolsProblem, isSqliteBuilt } from '../../setup/native-build/index.ts';
import { type Database, HOST_MIGRATIONS, migrationState, openDatabase } from '../../data/storage/index.ts';
import { bytesText, type Check, type CheckContext, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';
import { offsetResult } from './clock-check.ts';

const NAME = 'database';
/** Larger databases are not read as a whole. */
const MAX_CHECKED_BYTES = 2 ** 30;
const CONNECTION_TIMEOUT_S = 10;

/** Whether the database can be opened, is not damaged, and has migrations that this version knows. */
export const databaseCheck: Check = {
  name: NAME,
  needsConfig: true,
  run: async (context) => {
    const { config } = context;
    return config.db_config.datastore_type === 'sqlite' ? sqliteResults(context) : openedResults(context, 0);
  },
};

async function sqliteResults(context: CheckContext): Promise<CheckResult[]> {
  const { config, env } = context;
  const path = config.db_config.datastore_config.path ?? '';
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    if (found.code === 'ENOENT') return [ok(NAME, `${path} will be created by the first start`)];
    return [fail(NAME, `${path} cannot be read: ${found.message}`, 'see data_dir, or set another path with DB_CONFIG')];
  }
  if (!found.isFile()) return [fail(NAME, `${path} is not a file`, 'remove it, or set another path with DB_CONFIG')];
  if (!(await beginsLikeSqlite(path)))
    return [fail(NAME, `${path} is no SQLite database`, 'move the file away, or set another path with DB_CONFIG')];
  if (await isSqliteBuilt()) return openedResults(context, found.size);
  const problem = buildToolsProblem(env, ['a C++ compiler', 'cmake']);
  return problem === undefined
    ? [warn(NAME, `${path}; SQLite is not built yet, so it was not opened`, 'the next start builds it')]
    : [fail(NAME, `${path}; SQLite is not built yet, and it cannot be built`, problem)];
}

/** Returns whether a file is empty, as a new database is, or begins like a database (sqlite.org/fileformat, 1.3.1). */
async function beginsLikeSqlite(path: string): Promise<boolean> {
  await using file = await open(path, 'r');
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(16), position: 0 });
  return bytesRead === 0 || buffer.toString('latin1') === 'SQLite format 3\0';
}

async function openedResults({ config, env, signal }: CheckContext, bytes: number): Promise<CheckResult[]> {
  const { db_config: given } = config;
  const limited = { ...given, connection_timeout: Math.min(given.connection_timeout, CONNECTION_TIMEOUT_S) };
  const { datastore_type: type } = given;
  let database: Database;
  try {
    database = await openDatabase({
      config: limited,
      log: silentLogger,
      sqliteModule: () => buildSqlite({ cacheDir: config.cache_dir, log: silentLogger, signal, env }),
    });
  } catch (error) {
    const advice =
      type === 'sqlite'
        ? 'restore a backup (aana-host restore), or move the file away to start with an empty database'
        : 'see whether the server runs, and whether db_config names it, its user and its password';
    return [fail(NAME, reasonOf(error), advice)];
  }
  try {
    const results = [await migrationResult(database, bytes)];
    if (type === 'postgresql') results.push(await serverClock(database));
    else if (bytes <= MAX_CHECKED_BYTES) results.push(...(await damageOf(database)));
    return results;
  } catch (error) {
    return [fail(NAME, reasonOf(error), 'restore a backup (aana-host restore)')];
  } finally {
    await database.close();
  }
}

async function migrationResult(database: Database, bytes: number): Promise<CheckResult> {
  const { applied, latest, refusal } = await database.read((connection) => migrationState(connection, HOST_MIGRATIONS));
  const size = bytes > 0 ? `, ${bytesText(bytes)}` : '';
  if (refusal) return fail(NAME, `${database.address}${size}: it ${refusal.reason}`, refusal.advice);
  if (applied > latest)
    return ok(NAME, `${database.address}${size}, migration ${applied} of a newer version, which this version may use`);
  const at = `${database.address}${size}, migration ${applied} of ${latest}`;
  return applied < latest ? warn(NAME, at, 'the next start applies the others; make a backup first') : ok(NAME, at);
}

async function damageOf(database: Database): Promise<CheckResult[]> {
  const rows = await database.read((connection) => connection.query<Record<string, string>>('pragma quick_check(3)'));
  const found = rows.map((row) => Object.values(row)[0] ?? '');
  return found.length === 1 && found[0] === 'ok'
    ? []
    : [fail(NAME, `${database.address} is damaged: ${found.join('; ')}`, 'restore a backup (aana-host restore)')];
}

async function serverClock(database: Database): Promise<CheckResult> {
  const before = Date.now();
  const [row] = await database.read((connection) =>
    connection.query<{ ms: string | number }>(
      'select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as ms',
    ),
  );
  return offsetResult('the database server', Number(row?.ms) - (before + Date.now()) / 2);
}
