import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import type { Connection, Dialect, Statement, Value } from './database.ts';

const folder = join(packageRoot, 'host', 'data', 'storage', 'sql');
const DIALECTS = ['sqlite', 'postgresql'] as const satisfies readonly Dialect[];
const HEADING = /^-- statement: ([a-z][A-Za-z0-9]*)(?: \((sqlite|postgresql)\))?$/m;
const COMMENT = /^--.*$/gm;

/** A condition, in which `?` is its value. Without a value (undefined or null) it does not apply. */
export type Filter = readonly [condition: string, value: Value | undefined];

/** The place of conditions in a statement. */
const FILTERS = '{filters}';

/**
 * Returns a statement with the conditions that apply in the place of `{filters}`, and its values: `values`, then those
 * of the conditions. Conditions that do not apply are left out, because SQLite uses no index for `$1 is null or user_id
 * = $1`.
 */
export function filtered(
  statement: Statement,
  values: readonly Value[],
  filters: readonly Filter[],
): readonly [Statement, readonly Value[]] {
  const all = [...values];
  const conditions = filters.flatMap(([condition, value]) =>
    value === undefined || value === null ? [] : [condition.replace('?', `$${all.push(value)}`)],
  );
  const where = conditions.length > 0 ? conditions.join(' and ') : 'true';
  const { sqlite, postgresql } = statement;
  return [{ sqlite: sqlite.replace(FILTERS, where), postgresql: postgresql.replace(FILTERS, where) }, all];
}

/**
 * Returns the statements of `sql/<file>.sql` by name. Each begins with a line `-- statement: <name>`, or `-- statement:
 * <name> (sqlite)` and `(postgresql)` where the databases differ. Throws when the file has other statements than
 * `names`.
 */
export function loadStatements<Name extends string>(
  file: string,
  names: readonly Name[],
): Readonly<Record<Name, Statement>> {
  const found: Record<string, Partial<Record<Dialect, string>>> = {};
  const [, ...parts] = readFileSync(join(folder, `${file}.sql`), 'utf8')
    .replaceAll('\r\n', '\n')
    .split(HEADING);
  for (let at = 0; at < parts.length; at += 3) {
    const [name = '', only, text = ''] = parts.slice(at, at + 3);
    const statement = (found[name] ??= {});
    for (const dialect of only === undefined ? DIALECTS : [only as Dialect])
      statement[dialect] = text.replace(COMMENT, '').trim();
  }
  const unknown = Object.keys(found).filter((name) => !(names as readonly string[]).includes(name));
  const missing = names.filter((name) => DIALECTS.some((dialect) => !found[name]?.[dialect]));
  if (unknown.length + missing.length > 0)
    throw new Error(`sql/${file}.sql and its repository differ in ${[...unknown, ...missing].join(', ')}`);
  return found as Readonly<Record<Name, Statement>>;
}

/** Runs statements on one connection. In a transaction, all repositories on the connection take part. */
export class Repository {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}

/** The rows of one user, or those of all callers where the host requires no keys (null). */
export class CallerRepository extends Repository {
  /** The user in the rows; empty for all callers. */
  protected readonly owner: string;

  constructor(connection: Connection, userId: string | null) {
    super(connection);
    this.owner = userId ?? '';
  }
}
