import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { buildSqlite } from './index.ts';
import { SQLITE_SOURCE } from './pins.ts';
import { checkTools } from './tools.ts';

const cacheDir = process.env['AANA_CACHE_DIR'] ?? join(packageRoot, '.aana');
const Sqlite = suite('buildSqlite');

Sqlite('builds the version that package.json pins', async () => {
  const { optionalDependencies } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8'));
  assert.is(optionalDependencies.sqlite3, SQLITE_SOURCE.version);
  assert.is(packages['node_modules/sqlite3'].integrity, SQLITE_SOURCE.integrity);
});

Sqlite('returns a module that opens a database, the same one for concurrent calls', async () => {
  const [entry, other] = await Promise.all([
    buildSqlite({ cacheDir, log: silentLogger }),
    buildSqlite({ cacheDir, log: silentLogger }),
  ]);
  assert.is(entry, other);
  assert.ok(existsSync(entry));
  const { Database } = createRequire(entry)(entry) as {
    Database: new (file: string) => { get(sql: string, done: (error: Error | null, row: unknown) => void): void };
  };
  const row = await new Promise((resolve, reject) =>
    new Database(':memory:').get('select 1 as one', (error, found) => (error ? reject(error) : resolve(found))),
  );
  assert.equal(row, { one: 1 });
});

Sqlite('needs a compiler and cmake, and names the missing one', () => {
  const error = (() => {
    try {
      return checkTools({ PATH: '/nonexistent' }, ['a C++ compiler', 'cmake']);
    } catch (thrown) {
      return thrown as Error;
    }
  })();
  assert.match(error?.message ?? '', /^a C\+\+ compiler is missing: .*\. cmake is missing: install it \([^.]*\)$/);
});

Sqlite.run();
