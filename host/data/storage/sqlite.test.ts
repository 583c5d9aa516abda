import { stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { adapterTests } from './fixtures/adapter.ts';
import { sqliteDatabases, sqliteModule } from './fixtures/databases.ts';
import { observed } from './fixtures/observed.ts';
import { ownerTests } from './fixtures/owners.ts';
import { pluginValueTests } from './fixtures/plugin-values.ts';
import { repositoryTests } from './fixtures/repositories.ts';
import { batchTests } from './fixtures/batches.ts';
import { fileTests } from './fixtures/files.ts';
import { sweepTests } from './fixtures/sweeps.ts';
import { migrationTests } from './fixtures/migrations.ts';
import { responseTests } from './fixtures/responses.ts';
import { taskTests } from './fixtures/tasks/index.ts';
import { migrate, Repositories, Storage, type Value } from './index.ts';

const databases = sqliteDatabases();
const Sqlite = suite('SQLite');

Sqlite('keeps its files from other users', async () => {
  const config = await databases.create();
  await using database = await databases.open(config);
  await database.write((connection) => connection.script('create table things (id integer)'));
  const path = config.datastore_config.path ?? '';
  const modes = await Promise.all(
    [dirname(path), path, `${path}-wal`].map(async (file) => ((await stat(file)).mode & 0o777).toString(8)),
  );
  assert.equal(modes, ['700', '600', '600']);
});

Sqlite('names the file when it is not a database, and when it cannot be created', async () => {
  const config = await databases.create();
  const path = config.datastore_config.path ?? '';
  await using first = await databases.open(config);
  await first.close();
  await writeFile(path, 'no database at all, but a text that is long enough'.repeat(100));
  const messages = [path, '/dev/null/aana.db'].map((file) =>
    databases
      .open({ ...config, datastore_config: { ...config.datastore_config, path: file } })
      .catch((error: Error) => error.message),
  );
  assert.match(String(await messages[0]), new RegExp(`the database ${path}: .*file is not a database`));
  assert.match(String(await messages[1]), '/dev/null/aana.db cannot be opened');
});

Sqlite('lists of one user use an index, whichever filters are given', async () => {
  await using database = await databases.open(await databases.create());
  await migrate(database);
  const filters = [
    {},
    { status: 'failed' },
    { endpoint: '/e' },
    { error: 'E' },
    { status: 'failed', error: 'E' },
  ] as const;
  const statements: [string, readonly Value[]][] = [];
  await database.write(async (connection) => {
    const observing = observed(connection, (statement, values) => {
      statements.push([typeof statement === 'string' ? statement : statement.sqlite, values]);
    });
    const { tasks, webhooks, apiKeys } = new Repositories(observing);
    for (const filter of filters) await tasks.list('ann', { ...filter, limit: 10, offset: 0 });
    await tasks.count('ann');
    await tasks.retryFailed('ann', { endpoints: ['/e'] }, 10);
    await webhooks.listAll('ann', { limit: 10, offset: 0 });
    await apiKeys.list('ann', { limit: 10, offset: 0 });
  });
  assert.is(statements.length, filters.length + 4);
  for (const [statement, values] of statements) {
    const steps = await database.read((connection) =>
      connection.query<{ detail: string }>(`explain query plan ${statement}`, values),
    );
    assert.not.match(steps.map(({ detail }) => detail).join('; '), /SCAN (tasks|webhooks|api_keys)/);
  }
});

Sqlite('is opened and migrated by the first use, and by `migrate`', async () => {
  const config = await databases.create();
  await using storage = new Storage({ config, log: silentLogger, sqliteModule });
  await storage.write(({ videos }) => videos.save({ media_id: 'v' }));
  assert.equal(await storage.migrate(), []);
  assert.ok(await storage.read(({ media }) => media.exists('v')));
  await storage.close();
  await storage.close();
  assert.is(
    await storage.read(({ media }) => media.exists('v')).catch((error: Error) => error.name),
    'DatabaseException',
  );
  await using next = new Storage({ config, log: silentLogger, sqliteModule });
  assert.ok(await next.read(({ media }) => media.exists('v')));
});

Sqlite('does not let readers write', async () => {
  await using database = await databases.open(await databases.create());
  assert.match(
    String(
      await database
        .read((connection) => connection.script('create table things (id integer)'))
        .catch((error: Error) => error.message),
    ),
    'readonly',
  );
});

Sqlite.run();
pluginValueTests(databases);
taskTests(databases);
ownerTests(databases);
repositoryTests(databases);
responseTests(databases);
fileTests(databases);
sweepTests(databases);
batchTests(databases);
migrationTests(databases);
adapterTests(databases);
