import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.ts';
import type { Dialect, Statement } from './database.ts';

const folder = join(packageRoot, 'host', 'storage', 'sql');
const DIALECTS = ['sqlite', 'postgresql'] as const satisfies readonly Dialect[];
const HEADING = /^-- statement: ([a-z][A-Za-z0-9]*)(?: \((sqlite|postgresql)\))?$/m;
const COMMENT = /^--.*$/gm;

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
