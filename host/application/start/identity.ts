import { hostname } from 'node:os';
import type { Config } from '../../base/config/index.ts';

/**
 * Returns how the database knows an application at its next start: by its name and where it listens, because several
 * applications may share a database, and in PostgreSQL also by the machine, because each machine has replicas of its
 * own. A file of SQLite is of one machine, and containers have another name after each start. Undefined without a fixed
 * address.
 */
export function identityOf(
  name: string,
  listensAt: string | undefined,
  { db_config: database }: Pick<Config, 'db_config'>,
): string | undefined {
  if (listensAt === undefined) return undefined;
  const machine = database.datastore_type === 'sqlite' ? '' : ` of ${hostname()}`;
  return `${name} on ${listensAt}${machine}`;
}
