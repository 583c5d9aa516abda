// Client secrets of hosts that share a database.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { skip } from '../../test/skip.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { Storage } from '../storage/index.ts';
import { type ClientSecret, ClientSecrets } from './client-secrets.ts';
import { AccessError } from './errors.ts';

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const secretOf = (expiresAt = inSeconds(60)): ClientSecret => ({
  key: { id: 'key-1', userId: 'ann' },
  session: { prompt: 'Grüße' },
  expiresAt,
});

function secretTests(databases: TestDatabases): void {
  const Secrets = suite(`client secrets over ${databases.title}`);
  const storages: Storage[] = [];
  /** Returns the secrets of hosts of one new database. */
  const hostsOf = async (count: number): Promise<ClientSecrets[]> => {
    const config = await databases.create();
    const made = Array.from({ length: count }, () => new Storage({ config, log: silentLogger, sqliteModule }));
    storages.push(...made);
    await made[0]!.migrate();
    return made.map((storage) => new ClientSecrets(storage));
  };
  const oneHost = async (): Promise<ClientSecrets> => (await hostsOf(1))[0]!;
  Secrets.after(async () => {
    for (const storage of storages) await storage.close();
    await databases.end();
  });

  Secrets('open on all hosts of the database, also if they begin at the same time', async () => {
    const hosts = await hostsOf(databases.title === 'SQLite' ? 1 : 4); // a file of SQLite has one host
    const sealed = await Promise.all(hosts.map((host) => host.seal(secretOf())));
    assert.is(new Set(sealed).size, hosts.length);
    for (const text of sealed) {
      assert.match(text!, /^ek_[\w-]+$/);
      for (const host of hosts) assert.equal(await host.open(text!), secretOf((await host.open(text!))!.expiresAt));
    }
  });

  Secrets('show nothing of the key and the session', async () => {
    const text = await (await oneHost()).seal(secretOf());
    const bytes = Buffer.from(text!.slice(3), 'base64url').toString('latin1');
    for (const part of ['key-1', 'ann', 'prompt']) assert.not.ok(bytes.includes(part));
  });

  Secrets('are unknown when a byte is changed, or hosts of another database made them', async () => {
    const host = await oneHost();
    const text = (await host.seal(secretOf()))!;
    for (let at = 3; at < text.length; at += 7) {
      const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
      assert.is(await host.open(changed), undefined, `${at}`);
    }
    for (const other of [
      '',
      'ek_',
      'ek_AAAA',
      `${text}AAAA`,
      text.slice(0, -4),
      `ek_${'A'.repeat(100_000)}`,
      text.slice(3),
    ])
      assert.is(await host.open(other), undefined);
    assert.is(await (await oneHost()).open(text), undefined);
  });

  Secrets('expire', async () => {
    const host = await oneHost();
    const text = (await host.seal(secretOf(inSeconds(0))))!;
    try {
      await host.open(text);
      assert.unreachable();
    } catch (error) {
      assert.instance(error, AccessError);
      assert.is((error as AccessError).name, 'ApiKeyExpired');
    }
  });

  Secrets('are not made of a session that no header holds', async () => {
    assert.is(await (await oneHost()).seal({ ...secretOf(), session: 'x'.repeat(8000) }), undefined);
  });

  Secrets.run();
}

const postgres = await postgresDatabases();
secretTests(sqliteDatabases());
if (typeof postgres === 'string') skip('client secrets over PostgreSQL', postgres);
else secretTests(postgres);
