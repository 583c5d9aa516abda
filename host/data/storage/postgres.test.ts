import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { PostgresProxy } from '../../test/helpers/database/postgres-proxy.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { adapterTests } from './fixtures/adapter.ts';
import { postgresDatabases } from './fixtures/databases.ts';
import { ownerTests } from './fixtures/owners.ts';
import { pluginValueTests } from './fixtures/plugin-values.ts';
import { repositoryTests } from './fixtures/repositories.ts';
import { batchTests } from './fixtures/batches.ts';
import { fileTests } from './fixtures/files.ts';
import { sweepTests } from './fixtures/sweeps.ts';
import { migrationTests } from './fixtures/migrations.ts';
import { responseTests } from './fixtures/responses.ts';
import { taskTests } from './fixtures/tasks/index.ts';
import { type Connection, migrate, Repositories } from './index.ts';

const raise = (code: string): string =>
  `do $$ begin raise exception using errcode = '${code}', message = 'raised ${code}'; end $$`;

/** A promise whose failure passes through some others. */
async function later<T>(promise: Promise<T>, ticks: number): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    for (let tick = 0; tick < ticks; tick += 1) await undefined;
    throw error;
  }
}

const databases = await postgresDatabases();
if (typeof databases === 'string') {
  skip('PostgreSQL', databases);
} else {
  const Postgres = suite('PostgreSQL');

  Postgres('names the server that cannot be reached, without the password', async () => {
    const config = await databases.create();
    const error = await databases
      .open({ ...config, datastore_config: { ...config.datastore_config, port: 1, password: 'hidden' } })
      .catch((thrown: Error) => thrown);
    assert.match(String(error), /postgresql:\/\/aana@127\.0\.0\.1:1\/test_\d+ cannot be reached: .*ECONNREFUSED/);
    assert.not.match(String(error), 'hidden');
  });

  Postgres('has the time of the server, however long its first connection takes', async () => {
    const config = await databases.create();
    await using proxy = await PostgresProxy.start(config.datastore_config);
    proxy.silence();
    const opening = databases.open({ ...config, datastore_config: { ...config.datastore_config, port: proxy.port } });
    await delay(2000);
    proxy.resume();
    await using database = await opening;
    const before = database.now();
    const [row] = await database.read((connection) =>
      connection.query<{ now: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as now'),
    );
    assert.ok(before - row!.now < 500, `the clock is ${before - row!.now} ms ahead`);
  });

  Postgres('continues when the server has ended its connections', async () => {
    await using database = await databases.open(await databases.create());
    const ended = await database
      .read((connection) => connection.query('select pg_terminate_backend(pg_backend_pid())'))
      .catch((error: { kind: string }) => error.kind);
    assert.is(ended, 'unavailable');
    assert.equal(await database.read((connection) => connection.query('select 1 as one')), [{ one: 1 }]);
  });

  Postgres('ends a statement that takes too long', async () => {
    await using database = await databases.open({ ...(await databases.create()), query_timeout: 1 });
    const error = await database
      .read((connection) => connection.query('select pg_sleep(60)'))
      .catch((thrown: { kind: string; message: string }) => thrown);
    assert.match(JSON.stringify(error), '"kind":"unavailable"');
    assert.equal(await database.read((connection) => connection.query('select 1 as one')), [{ one: 1 }]);
  });

  Postgres('reports a text that it cannot store as a fault of the caller', async () => {
    await using database = await databases.open(await databases.create());
    const error = await database
      .read((connection) => connection.query('select cast($1 as text)', ['a\0b']))
      .catch((thrown: { name: string; kind: string }) => thrown);
    assert.match(JSON.stringify(error), '"kind":"invalid-input"');
    assert.equal(await database.read((connection) => connection.query('select 1 as one')), [{ one: 1 }]);
  });

  Postgres('tells why a transaction failed, whichever of its statements is heard first', async () => {
    await using database = await databases.open(await databases.create());
    const failures: unknown[] = [];
    for (const code of ['53100', '57014', '22021', '23505'])
      for (const ticks of [0, 1, 5, 50])
        for (const isCaught of [false, true]) {
          const { kind, message } = await errorOf(
            database.write(async (connection) => {
              const failed = later(connection.script(raise(code)), ticks);
              await Promise.all([
                isCaught ? failed.catch(() => {}) : failed,
                isCaught ? undefined : connection.query('select 1'),
              ]);
            }),
          );
          failures.push(`${kind}: ${message.replace(/^.*: /, '')}`);
        }
    assert.equal(
      [...new Set(failures)],
      [
        'unavailable: raised 53100',
        'unavailable: raised 57014',
        'invalid-input: raised 22021',
        'internal: raised 23505',
      ],
    );
  });

  Postgres('repeats a transaction that lost against another one, whichever statement is heard first', async () => {
    await using database = await databases.open(await databases.create());
    let runs = 0;
    await database.write(async (connection) => {
      runs += 1;
      const first = runs === 1 ? later(connection.script(raise('40001')), 50) : undefined;
      await Promise.all([first, connection.query('select 1')]);
    });
    assert.is(runs, 2);
  });

  Postgres('repeats work whose prepared statements a migration has made stale', async () => {
    const config = await databases.create();
    await using database = await databases.open(config);
    await using newer = await databases.open(config);
    const all = { sqlite: '', postgresql: 'select * from things' };
    await database.write((connection) => connection.script('create table things (id integer)'));
    const read = (): Promise<unknown> => database.read((connection) => connection.query(all));
    const write = (): Promise<unknown> =>
      database.write(async (connection) => {
        await connection.script('insert into things values (1)');
        return connection.query(all);
      });
    assert.equal([await read(), await write()], [[], [{ id: 1 }]]);
    await newer.write((connection) => connection.script("alter table things add column name text default 'a'"));
    assert.equal(await read(), [{ id: 1, name: 'a' }]);
    await newer.write((connection) => connection.script('alter table things add column size integer'));
    const row = { id: 1, name: 'a', size: null };
    assert.equal(await write(), [row, row]);
  });

  Postgres('keeps the statements prepared that were used last, whatever fails between', async () => {
    await using database = await databases.open(await databases.create());
    const numbered = (n: number) => ({ sqlite: '', postgresql: `select ${n} as n` });
    const failing = (n: number) => ({ sqlite: '', postgresql: `select n from missing_${n}` });
    const use = async (connection: Connection, from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n += 1)
        assert.equal(await Promise.all([n, 0].map((one) => connection.query(numbered(one)))), [[{ n }], [{ n: 0 }]]);
    };
    await database.read(async (connection) => {
      const prepared = async (): Promise<readonly string[]> =>
        (await connection.query<{ statement: string }>('select statement from pg_prepared_statements')).map(
          ({ statement }) => statement,
        );
      await use(connection, 1, 1000);
      for (let n = 0; n < 500; n += 1) await errorOf(connection.query(failing(n)));
      await use(connection, 1, 450); // the server has forgotten them
      const kept = await prepared();
      assert.ok(kept.length > 300 && kept.length <= 400, `${kept.length} statements`);
      const has = (n: number): boolean => kept.includes(numbered(n).postgresql);
      assert.equal([0, 449, 1].map(has), [true, true, false]);
    });
    const undone = database.write(async (connection) => {
      await use(connection, 1000, 1500);
      await connection.query(failing(0));
    });
    assert.match((await errorOf(undone)).message, 'missing_0');
    await database.read((connection) => use(connection, 1000, 1500));
  });

  Postgres('applies a migration again that lost against other work', async () => {
    await using database = await databases.open(await databases.create());
    const folder = await mkdtemp(join(tmpdir(), 'aana-migrations-'));
    const source = { scope: 'shop', folder };
    try {
      await writeFile(join(folder, '0001-first.sql'), 'create sequence runs;');
      await migrate(database, [source]);
      const deadlock = "raise exception using errcode = '40P01'";
      const once = `do $$ begin if nextval('runs') = 1 then ${deadlock}; end if; end $$;`; // no rollback sets it back
      await writeFile(join(folder, '0002-second.sql'), `create table things (id integer); ${once}`);
      assert.equal(await migrate(database, [source]), [{ scope: 'shop', number: 2, name: 'second' }]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  Postgres('says what is missing for vectors, and goes on', async () => {
    await using database = await databases.open(await databases.create());
    await migrate(database);
    const extensions = await database.read((connection) =>
      connection.query("select 1 from pg_available_extensions where name = 'vector'"),
    );
    if (extensions.length > 0) return skip('a server without pgvector', 'this one has pgvector');
    const ensure = database.write((connection) =>
      new Repositories(connection).vectorsOf(null).ensure('notes', { model: 'm', dimensions: 4 }),
    );
    const { name, message } = await errorOf(ensure);
    assert.is(name, 'VectorsUnavailable');
    assert.match(
      message,
      /its server lacks the extension pgvector; install it on the server \(pgvector 0\.8 or newer\)$/,
    );
    assert.equal(
      await database.read((connection) => new Repositories(connection).vectorsOf(null).list({ limit: 9 })),
      [],
    );
  });

  Postgres.run();
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
}
