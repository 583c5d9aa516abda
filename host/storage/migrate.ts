import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AanaError, fail } from '../core/errors.ts';
import { packageRoot } from '../core/package-root.ts';
import type { Connection, Database, Dialect } from './database.ts';

/**
 * A folder of migrations: `0001-<name>.sql` for both databases, or `0001-<name>.sqlite.sql` and
 * `0001-<name>.postgresql.sql`.
 */
export interface MigrationSource {
  /** The owner of the migrations. Each scope has numbers of its own. */
  readonly scope: string;
  readonly folder: string;
}

export interface AppliedMigration {
  readonly scope: string;
  readonly number: number;
  readonly name: string;
}

interface Migration extends AppliedMigration {
  readonly sql: string;
  /** The SHA-256 of the text with LF line ends. */
  readonly checksum: string;
}

/** The tables of this package. */
export const HOST_MIGRATIONS: MigrationSource = {
  scope: 'aana-host',
  folder: join(packageRoot, 'host', 'storage', 'migrations'),
};

const FILE = /^(\d{4})-([a-z0-9-]+?)(?:\.(sqlite|postgresql))?\.sql$/;
/** A number that is the same in every host, so that two hosts that migrate at once wait for each other. */
const ADVISORY_LOCK = 4_161_616_173;

const TABLE = `create table if not exists aana_migrations (
  scope text not null,
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at bigint not null,
  primary key (scope, number)
)`;

/**
 * Applies the missing migrations of each source in the order of their numbers, all in one transaction. Returns the
 * applied migrations. Throws `MigrationError` when the database has a migration that the folder lacks, or another text
 * for a number. Migrations only go forward.
 */
export async function migrate(
  database: Database,
  sources: readonly MigrationSource[] = [HOST_MIGRATIONS],
): Promise<AppliedMigration[]> {
  const wanted = (await Promise.all(sources.map((source) => readMigrations(source, database.dialect)))).flat();
  const applyMissing = async (connection: Connection): Promise<AppliedMigration[]> => {
    if (connection.dialect === 'postgresql')
      await connection.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    await connection.script(TABLE);
    const missing: Migration[] = [];
    for (const { scope } of sources)
      missing.push(
        ...(await missingOf(
          connection,
          scope,
          wanted.filter((one) => one.scope === scope),
        )),
      );
    for (const one of missing) await apply(connection, one);
    return missing.map(({ scope, number, name }) => ({ scope, number, name }));
  };
  return database.write(applyMissing, { isUnlimited: true }); // waits for another host, and may rewrite large tables
}

/** How far a database is migrated. */
export interface MigrationState {
  /** The number of the last migration that the database has; 0 if it has none. */
  readonly applied: number;
  /** The number of the last migration that this version has. */
  readonly latest: number;
  /** The migrations of the database that this version lacks, or has with another text. */
  readonly unknown: readonly Pick<AppliedMigration, 'number' | 'name'>[];
}

const HAS_TABLE = {
  sqlite: "select 1 from sqlite_master where type = 'table' and name = 'aana_migrations'",
  postgresql: "select 1 from pg_catalog.pg_class where oid = to_regclass('aana_migrations')",
};

/** Reads how far a database is migrated, and changes nothing. */
export async function migrationState(connection: Connection, source: MigrationSource): Promise<MigrationState> {
  const known = await readMigrations(source, connection.dialect);
  const isMigrated = (await connection.query(HAS_TABLE)).length > 0;
  const applied = isMigrated
    ? await connection.query<{ number: number; name: string; checksum: string }>(
        'select number, name, checksum from aana_migrations where scope = $1 order by number',
        [source.scope],
      )
    : [];
  return {
    applied: applied.at(-1)?.number ?? 0,
    latest: known.at(-1)?.number ?? 0,
    unknown: applied
      .filter((one) => !known.some(({ number, checksum }) => number === one.number && checksum === one.checksum))
      .map(({ number, name }) => ({ number, name })),
  };
}

async function missingOf(connection: Connection, scope: string, wanted: readonly Migration[]): Promise<Migration[]> {
  const applied = await connection.query<{ number: number; name: string; checksum: string }>(
    'select number, name, checksum from aana_migrations where scope = $1 order by number',
    [scope],
  );
  for (const { number, name, checksum } of applied) {
    const file = wanted.find((one) => one.number === number);
    const label = `migration ${number} (${name}) of ${scope}`;
    if (!file)
      throw migrationError(
        `the database has ${label}, which this version lacks, because a newer version has migrated it; use the newer version or another database`,
      );
    if (file.checksum !== checksum)
      throw migrationError(
        `${label} was changed after it was applied; undo the change and add a migration with the next number`,
      );
  }
  const last = applied.at(-1)?.number ?? 0;
  const missing = wanted.filter(({ number }) => !applied.some((one) => one.number === number));
  const late = missing.find(({ number }) => number < last);
  if (late)
    throw migrationError(
      `migration ${late.number} (${late.name}) of ${scope} comes before ${last}, which is already applied; give it the next number`,
    );
  return missing;
}

async function apply(connection: Connection, { scope, number, name, sql, checksum }: Migration): Promise<void> {
  try {
    await connection.script(sql);
  } catch (error) {
    throw migrationError(
      `migration ${number} (${name}) of ${scope} failed, and the database was not changed: ${(error as Error).message}`,
      error,
    );
  }
  await connection.query(
    'insert into aana_migrations (scope, number, name, checksum, applied_at) values ($1, $2, $3, $4, $5)',
    [scope, number, name, checksum, connection.now()],
  );
}

async function readMigrations({ scope, folder }: MigrationSource, dialect: Dialect): Promise<Migration[]> {
  const names = await readdir(folder).catch((error: Error) => {
    throw migrationError(`the migrations of ${scope} cannot be read: ${error.message}`, error);
  });
  const found: Migration[] = [];
  for (const file of names.sort()) {
    const match = FILE.exec(file);
    if (!match) {
      if (file.endsWith('.sql'))
        throw migrationError(
          `${join(folder, file)}: the name of a migration is 0001-<name>.sql, 0001-<name>.sqlite.sql or 0001-<name>.postgresql.sql`,
        );
      continue;
    }
    const [, number = '', name = '', only] = match;
    if (only !== undefined && only !== dialect) continue;
    const twin = found.find((one) => one.number === Number(number));
    if (twin)
      throw migrationError(`${join(folder, file)}: ${scope} also has the migration ${twin.name} with this number`);
    const sql = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
    found.push({ scope, number: Number(number), name, sql, checksum: createHash('sha256').update(sql).digest('hex') });
  }
  return found;
}

function migrationError(message: string, cause?: unknown): AanaError {
  return fail('MigrationError', message, { cause });
}
