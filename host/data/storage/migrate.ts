import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError, fail } from '../../base/core/errors.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import type { Connection, Database, Dialect } from './database.ts';

/**
 * A folder of migrations: `0001-<name>.sql` for both databases, or `0001-<name>.sqlite.sql` and
 * `0001-<name>.postgresql.sql`. A migration expands: a host that ends with an earlier one goes on beside it. A
 * migration that contracts begins with the line `-- contracts: least <number>`, and from then on only hosts that have
 * the migration with this earlier number may use the database.
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
  /** For a migration that contracts, the number of the migration that a host must have. */
  readonly least: number | undefined;
}

/** A row of `aana_migrations`. */
interface AppliedRow {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  /** The number of the migration that a host must have. Databases from before the first release have no such column. */
  readonly least?: number;
}

/** The tables of this package. */
export const HOST_MIGRATIONS: MigrationSource = {
  scope: 'aana-host',
  folder: join(packageRoot, 'host', 'data', 'storage', 'migrations'),
};

const CONTRACTS = /^-- contracts: least (\d+)\n/;
const FILE = /^(\d{4})-([a-z0-9-]+?)(?:\.(sqlite|postgresql))?\.sql$/;
/** A number that is the same in every host, so that two hosts that migrate at once wait for each other. */
const ADVISORY_LOCK = 4_161_616_173;

const TABLE = `create table if not exists aana_migrations (
  scope text not null,
  number integer not null,
  name text not null,
  checksum text not null,
  least integer not null,
  applied_at bigint not null,
  primary key (scope, number)
)`;

/**
 * Applies the missing migrations of each source in the order of their numbers, all in one transaction. Returns the
 * applied migrations. Migrations only go forward. Throws `MigrationError` and changes nothing if this version must not
 * use the database, if a migration fails, or if one that contracts would break a host that is connected.
 */
export async function migrate(
  database: Database,
  sources: readonly MigrationSource[] = [HOST_MIGRATIONS],
): Promise<AppliedMigration[]> {
  const wanted = await Promise.all(
    sources.map(async (source) => ({ ...source, known: await readMigrations(source, database.dialect) })),
  );
  const applyMissing = async (connection: Connection): Promise<AppliedMigration[]> => {
    if (connection.dialect === 'postgresql')
      await connection.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    await connection.script(TABLE);
    const applied: AppliedMigration[] = [];
    for (const { scope, known } of wanted) {
      const rows = await appliedRows(connection, scope);
      const refusal = refusalOf(scope, rows, known);
      if (refusal) throw migrationError(`the database ${database.address} ${refusal.reason}; ${refusal.advice}`);
      const missing = known.filter(({ number }) => number > (rows.at(-1)?.number ?? 0));
      if (rows.length > 0) await requireNoOlderHost(connection, scope, missing);
      let least = rows.at(-1)?.least;
      for (const one of missing) await apply(connection, one, (least = Math.max(least ?? one.number, one.least ?? 0)));
      applied.push(...missing.map(({ number, name }) => ({ scope, number, name })));
    }
    return applied;
  };
  return database.write(applyMissing, { isUnlimited: true }); // waits for another host, and may rewrite large tables
}

/**
 * Returns the name that the connections of a host have in PostgreSQL: the number of its last migration of each source.
 * A migration that contracts finds older hosts by it. PostgreSQL keeps 63 bytes of a name.
 */
export async function applicationName(sources: readonly MigrationSource[]): Promise<string> {
  const latest = await Promise.all(
    sources.map(async (source) => {
      const known = await readMigrations(source, 'postgresql');
      return `${source.scope}=${known.at(-1)?.number ?? 0}`;
    }),
  );
  return latest.join(' ');
}

/** How far a database is migrated. */
export interface MigrationState {
  /** The number of the last migration that the database has; 0 if it has none. */
  readonly applied: number;
  /** The number of the last migration that this version has. */
  readonly latest: number;
  /** Undefined if this version may use the database. */
  readonly refusal: Refusal | undefined;
}

/** Why a version must not use a database, as the end of a sentence about the database, and what to do. */
export interface Refusal {
  readonly reason: string;
  readonly advice: string;
}

const HAS_TABLE = {
  sqlite: "select 1 from sqlite_master where type = 'table' and name = 'aana_migrations'",
  postgresql: "select 1 from pg_catalog.pg_class where oid = to_regclass('aana_migrations')",
};

/** Reads how far a database is migrated, and changes nothing. */
export async function migrationState(connection: Connection, source: MigrationSource): Promise<MigrationState> {
  const known = await readMigrations(source, connection.dialect);
  const isMigrated = (await connection.query(HAS_TABLE)).length > 0;
  const rows = isMigrated ? await appliedRows(connection, source.scope) : [];
  return {
    applied: rows.at(-1)?.number ?? 0,
    latest: known.at(-1)?.number ?? 0,
    refusal: refusalOf(source.scope, rows, known),
  };
}

function appliedRows(connection: Connection, scope: string): Promise<AppliedRow[]> {
  return connection.query<AppliedRow>('select * from aana_migrations where scope = $1 order by number', [scope]);
}

/** Returns why a version with the migrations `known` must not use a database with the migrations `applied`. */
function refusalOf(scope: string, applied: readonly AppliedRow[], known: readonly Migration[]): Refusal | undefined {
  const [latest, last] = [known.at(-1)?.number ?? 0, applied.at(-1)];
  if (!last) return undefined;
  if (last.least === undefined)
    return {
      reason: 'was made before the first release of aana-host and cannot be updated; it was not changed',
      advice: 'set another one with DB_CONFIG, or move it away, and the next start makes a new one',
    };
  const advice = 'use the version that migrated it, or another database';
  if (last.least > latest)
    return { reason: `needs migration ${last.least} of ${scope}, and this version ends with ${latest}`, advice };
  for (const { number, name, checksum } of applied) {
    if (number > latest) break; // from a newer version, whose migrations after `least` only expand
    const file = known.find((one) => one.number === number);
    const label = `migration ${number} (${name}) of ${scope}`;
    if (!file) return { reason: `has ${label}, which this version lacks`, advice };
    if (file.checksum !== checksum)
      return {
        reason: `has ${label} with another text, because the file was changed after it was applied`,
        advice: 'undo the change and add a migration with the next number',
      };
  }
  const late = known.find(({ number }) => number < last.number && !applied.some((one) => one.number === number));
  if (!late) return undefined;
  return {
    reason: `lacks migration ${late.number} (${late.name}) of ${scope}, but already has migration ${last.number}`,
    advice: 'give the missing migration the next number',
  };
}

const CONNECTED = 'select distinct application_name as name from pg_stat_activity where datname = current_database()';

/**
 * Throws while a host is connected that lacks a migration which the missing ones require. Only PostgreSQL serves
 * several hosts. A host that connects later waits for this transaction and is then refused.
 */
async function requireNoOlderHost(connection: Connection, scope: string, missing: readonly Migration[]): Promise<void> {
  const contracting = missing.filter(({ least }) => least !== undefined);
  if (contracting.length === 0 || connection.dialect !== 'postgresql') return;
  const parts = (await connection.query<{ name: string }>(CONNECTED)).flatMap(({ name }) => name.split(' '));
  const connected = parts.filter((part) => part.startsWith(`${scope}=`)).map((part) => Number(part.split('=').at(-1)));
  const oldest = Math.min(...connected);
  for (const { number, name, least = 0 } of contracting)
    if (oldest < least)
      throw migrationError(
        `migration ${number} (${name}) of ${scope} needs all hosts to have migration ${least}, and a host is ` +
          `connected whose last one is ${oldest}; stop that host, or first update it to a version with ` +
          `migration ${least}`,
      );
}

async function apply(connection: Connection, migration: Migration, least: number): Promise<void> {
  const { scope, number, name, sql, checksum } = migration;
  try {
    await connection.script(sql);
  } catch (error) {
    if (!(error instanceof AanaError) || error.name !== 'DatabaseFault') throw error; // another try may succeed
    throw migrationError(
      `migration ${number} (${name}) of ${scope} failed, and the database was not changed: ${error.message}`,
      error,
    );
  }
  await connection.query(
    'insert into aana_migrations (scope, number, name, checksum, least, applied_at) values ($1, $2, $3, $4, $5, $6)',
    [scope, number, name, checksum, least, connection.now()],
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
          `${join(folder, file)}: the name of a migration is 0001-<name>.sql, 0001-<name>.sqlite.sql or ` +
            `0001-<name>.postgresql.sql`,
        );
      continue;
    }
    const [, number = '', name = '', only] = match;
    if (only !== undefined && only !== dialect) continue;
    const twin = found.find((one) => one.number === Number(number));
    if (twin)
      throw migrationError(`${join(folder, file)}: ${scope} also has the migration ${twin.name} with this number`);
    const sql = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
    const [, least] = CONTRACTS.exec(sql) ?? [];
    if (least !== undefined && !found.some((one) => one.number === Number(least)))
      throw migrationError(
        `${join(folder, file)}: it contracts, so it must name an earlier migration as the least one`,
      );
    found.push({
      ...{ scope, number: Number(number), name, sql },
      checksum: createHash('sha256').update(sql).digest('hex'),
      least: least === undefined ? undefined : Number(least),
    });
  }
  return found;
}

function migrationError(message: string, cause?: unknown): AanaError {
  return fail('MigrationError', message, { cause });
}
