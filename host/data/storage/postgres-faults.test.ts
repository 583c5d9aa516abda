// PostgreSQL that is cut off, silent, read-only, replaced by its replica, or asked for encryption.
import { execFile, spawnSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import { delay } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import type { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { PostgresPair } from '../../test/helpers/database/postgres-pair.ts';
import { PostgresProxy } from '../../test/helpers/database/postgres-proxy.ts';
import { skip } from '../../test/skip.ts';
import { postgresDatabases, sqliteModule, type TestDatabases } from './fixtures/databases.ts';
import { type Database, mayBeCommitted, openDatabase, type StorageConfig } from './index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const exec = promisify(execFile);
const TABLE = 'create table things (id integer primary key, name text)';
const insert = (database: Database, id: number): Promise<unknown> =>
  database.write((connection) => connection.query('insert into things (id, name) values ($1, $2)', [id, 'thing']));
const idsOf = async (database: Database): Promise<unknown[]> =>
  (await database.read((connection) => connection.query<{ id: number }>('select id from things order by id'))).map(
    ({ id }) => id,
  );

function faultTests(databases: TestDatabases): void {
  const Faults = suite<{ config: StorageConfig; proxy: PostgresProxy; direct: Database; database: Database }>(
    'PostgreSQL behind a bad network',
  );
  Faults.before.each(async (context) => {
    const config = await databases.create();
    context.direct = await databases.open(config);
    await context.direct.write((connection) => connection.script(TABLE));
    context.proxy = await PostgresProxy.start(config.datastore_config);
    context.config = {
      ...config,
      connection_timeout: 1,
      query_timeout: 1,
      datastore_config: { ...config.datastore_config, port: context.proxy.port },
    };
    context.database = await databases.open(context.config);
  });
  Faults.after.each(async ({ proxy, database, direct }) => {
    await Promise.all([database.close(), direct.close(), proxy[Symbol.asyncDispose]()]);
  });
  Faults.after(() => databases.end());

  Faults('reports an unknown commit, and only then', async ({ proxy, database, direct }) => {
    const cuts = ['statement', 'commit', 'answer'] as const;
    const known: unknown[] = [];
    for (const [id, at] of cuts.entries()) {
      void proxy.cutNext(at, at === 'statement' ? 1 : 0); // the first one is `begin`
      const error = await errorOf(insert(database, id));
      known.push([at, error.name, error.kind, mayBeCommitted(error)]);
      await insert(database, id + 10);
    }
    assert.equal(known, [
      ['statement', 'DatabaseException', 'unavailable', false],
      ['commit', 'DatabaseException', 'unavailable', true],
      ['answer', 'DatabaseException', 'unavailable', true],
    ]);
    assert.equal(await idsOf(direct), [2, 10, 11, 12]);
  });

  Faults('continues after a silence, and does not wait for its end', async ({ proxy, database, direct }) => {
    proxy.silence();
    const errors = await Promise.all([
      errorOf(insert(database, 1)),
      errorOf(database.write((connection) => connection.query('select 1'), { isUrgent: true })),
    ]);
    assert.equal(
      errors.map(({ kind }) => kind),
      ['unavailable', 'unavailable'],
    );
    assert.equal(errors.map(mayBeCommitted), [false, false]);
    proxy.resume();
    await insert(database, 2);
    assert.equal(await idsOf(direct), [2]);
  });

  Faults('sends notifications again after an unnoticed silence', async ({ proxy, database, direct }) => {
    const heard: string[] = [];
    let told = deferred();
    database.listen((message) => {
      heard.push(message);
      told.resolve();
    });
    await told.promise;
    const before = proxy.connections;
    proxy.silence();
    // Until the database has given up the connection and made another one.
    while (proxy.connections === before) await delay(50);
    proxy.resume();
    told = deferred();
    await told.promise;
    told = deferred();
    await direct.write((connection) => connection.notify('hello'));
    await told.promise;
    assert.equal(heard, ['', '', 'hello']);
  });

  Faults('closes also while the server is silent', async ({ proxy, database }) => {
    await insert(database, 1);
    proxy.silence();
    await database.close();
  });

  Faults('lets urgent writes overtake writes that hold all connections', async ({ config }) => {
    await using database = await databases.open({ ...config, pool_size: 2, max_overflow: 0, query_timeout: 30 });
    const go = deferred();
    const busy = [1, 2, 3].map((id) =>
      database.write(async (connection) => {
        await connection.query('insert into things (id) values ($1)', [id]);
        await go.promise;
      }),
    );
    await database.write((connection) => connection.query('insert into things (id) values (9)'), { isUrgent: true });
    go.resolve();
    await Promise.all(busy);
    assert.equal(await idsOf(database), [1, 2, 3, 9]);
  });

  Faults('ends an idle transaction whose locks others wait for', async ({ database, direct }) => {
    await insert(direct, 1);
    const error = await errorOf(
      database.write(async (connection) => {
        await connection.query('update things set name = $1 where id = 1', ['mine']);
        // Waits for this one.
        await direct.write((other) => other.query('update things set name = $1 where id = 1', ['theirs']));
        await connection.query('select 1');
      }),
    );
    assert.is(error.kind, 'unavailable');
    assert.equal(await direct.read((connection) => connection.query('select name from things')), [{ name: 'theirs' }]);
  });

  Faults('is unavailable for writes, and not broken, while it is read-only', async ({ config, database, direct }) => {
    const { database: name } = config.datastore_config;
    await direct.write((connection) =>
      connection.script(`alter database ${name} set default_transaction_read_only = on`),
    );
    await using late = await databases.open(config);
    assert.is((await errorOf(insert(late, 1))).kind, 'unavailable');
    assert.equal(await idsOf(late), []);
    await direct.write((connection) =>
      connection.script(`alter database ${name} set default_transaction_read_only = off`),
    );
    assert.is((await errorOf(insert(late, 1))).kind, 'unavailable'); // on a connection from before the change
    await insert(late, 2); // the refused connection was not kept
    assert.equal(await idsOf(database), [2]);
  });

  Faults.run();
}

function tlsTests(databases: TestDatabases, ca: string): void {
  const Tls = suite('PostgreSQL with TLS');
  Tls.after(() => databases.end());
  const modeOf = async (ssl: Partial<StorageConfig['datastore_config']>): Promise<unknown> => {
    const config = await databases.create();
    try {
      await using database = await databases.open({
        ...config,
        datastore_config: { ...config.datastore_config, ...ssl },
      });
      const [row] = await database.write((connection) =>
        connection.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()'),
      );
      return row?.['ssl'];
    } catch (error) {
      return (error as Error).message;
    }
  };

  Tls('encrypts when configured, and checks the certificate and its name', async () => {
    assert.is(await modeOf({}), false);
    assert.is(await modeOf({ ssl_mode: 'require' }), true);
    assert.is(await modeOf({ ssl_mode: 'verify-ca', ssl_root_cert: ca }), true);
    assert.is(await modeOf({ ssl_mode: 'verify-full', ssl_root_cert: ca, host: 'localhost' }), true);
    assert.match(String(await modeOf({ ssl_mode: 'verify-ca' })), 'self-signed certificate');
    // The certificate is for localhost.
    assert.match(String(await modeOf({ ssl_mode: 'verify-full', ssl_root_cert: ca })), '127.0.0.1');
    assert.match(
      String(await modeOf({ ssl_mode: 'require', ssl_root_cert: '/none.pem' })),
      'db_config.datastore_config.ssl_root_cert: /none.pem cannot be read',
    );
  });

  Tls.run();
}

function pairTests(pair: PostgresPair): void {
  const Pair = suite('PostgreSQL and its replica');
  Pair.after(() => pair.stop());

  Pair('change roles without a restart of the host', async () => {
    const host = pair.addresses
      .map((one) => `${one.host}:${one.port}`)
      .toReversed()
      .join(',');
    const [{ port } = { port: 0 }] = pair.addresses;
    const { db_config: config } = loadConfig({
      env: {},
      cwd: '/',
      base: {
        db_config: {
          datastore_type: 'postgresql',
          datastore_config: { host, port: 1, user: pair.user, database: pair.database },
        },
      },
    });
    await using database = await openDatabase({ config, log: silentLogger, sqliteModule });
    await database.write((connection) => connection.script(TABLE));
    await insert(database, 1);
    const heard: string[] = [];
    database.listen((message) => heard.push(message));
    while (heard.length === 0) await delay(10);
    assert.is(await pair.failOver('crash'), port);
    for (let error: AanaError | undefined; ;) {
      error = await insert(database, 2).then(
        () => undefined,
        (thrown: AanaError) => thrown,
      );
      if (error === undefined) break;
      assert.is(error.kind, 'unavailable');
    }
    assert.equal(await idsOf(database), [1, 2]);
    while (heard.length === 1) await delay(10);
    await database.write((connection) => connection.notify('here'));
    while (!heard.includes('here')) await delay(10);
  });

  Pair.run();
}

/**
 * Returns PostgreSQL with a self-signed certificate for `localhost` and the file of the certificate, or the reason why
 * there is none.
 */
async function encryptedDatabases(): Promise<{ readonly databases: TestDatabases; readonly ca: string } | string> {
  if (spawnSync('openssl', ['version']).status !== 0) return 'openssl, which makes certificates, is not installed';
  const folder = await mkdtemp(join(tmpdir(), 'aana-tls-'));
  const [ca, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  await exec('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
    '-out',
    ca,
    '-keyout',
    key,
  ]);
  await chmod(folder, 0o755);
  const databases = await postgresDatabases({
    settings: ['ssl=on', `ssl_cert_file=${ca}`, `ssl_key_file=${key}`],
    prepare: async (_data, { uid, gid }) => {
      if (uid !== undefined) await chown(key, uid, gid ?? uid);
    },
  });
  return typeof databases === 'string'
    ? databases
    : { ca, databases: { ...databases, end: () => databases.end().then(() => rm(folder, { recursive: true })) } };
}

const databases = await postgresDatabases();
const encrypted = await encryptedDatabases();
const pair = await PostgresPair.start();
if (typeof databases === 'string') skip('PostgreSQL behind a bad network', databases);
else faultTests(databases);
if (typeof encrypted === 'string') skip('PostgreSQL with TLS', encrypted);
else tlsTests(encrypted.databases, encrypted.ca);
if (typeof pair === 'string') skip('PostgreSQL and its replica', pair);
else pairTests(pair);
