// Upgrades the data folder of the first version of the schema. The file was written by migration 1 alone and is kept as
// it was: a change of an earlier migration, or one that later migrations do not expect, fails here.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../config/index.ts';
import { silentLogger } from '../core/log/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { sqliteModule } from './fixtures/databases.ts';
import { HOST_MIGRATIONS, readSqlite, Storage } from './index.ts';

const FirstVersion = suite('a database of the first version');
const FIXTURE = join(packageRoot, 'host/storage/fixtures/first-version.db.gz');
let folder = '';

FirstVersion.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-first-version-'));
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'aana.db'), gunzipSync(readFileSync(FIXTURE)));
});
FirstVersion.after(() => rmSync(folder, { recursive: true, force: true }));

FirstVersion('gets all later migrations and keeps its rows', async () => {
  const config = loadConfig({ cwd: folder, env: {}, base: { data_dir: join(folder, 'data') } }).db_config;
  await using storage = new Storage({ config, log: silentLogger, sqliteModule });
  const numbers = readdirSync(HOST_MIGRATIONS.folder).map((file) => Number(file.slice(0, 4)));
  const later = [...new Set(numbers)].filter((number) => number > 1).sort((a, b) => a - b);
  assert.ok(later.length > 10);
  assert.equal(
    (await storage.migrate()).map(({ number }) => number),
    later,
  );
  await storage.read(async ({ videos, transcripts, webhooks, apiKeys, pluginValues }) => {
    assert.is((await videos.getMetadata('talk')).title, 'A talk');
    assert.equal(
      (await transcripts.list('talk')).map(({ transcript }) => transcript),
      ['Good morning.'],
    );
    assert.equal(
      (await webhooks.list('ann')).map(({ id, url, events }) => [id, url, events]),
      [['hook-1', 'https://example.org/hook', ['task.completed']]],
    );
    const key = await apiKeys.find('aana_key_of_the_first_version');
    assert.equal([key?.key_id, key?.user_id, key?.is_admin, key?.scopes], ['first', 'ann', true, null]);
    assert.is(Buffer.from((await pluginValues.get('notes', 'key')) ?? []).toString(), 'value');
  });
  await storage.write(({ videos }) => videos.save({ media_id: 'another' }));
});

FirstVersion('is whole after the migrations', async () => {
  const path = join(folder, 'data', 'aana.db');
  const checks = await readSqlite({ path, modulePath: await sqliteModule(), timeoutMs: 1000 }, (connection) =>
    Promise.all([connection.query('pragma integrity_check'), connection.query('pragma foreign_key_check')]),
  );
  assert.equal(checks, [[{ integrity_check: 'ok' }], []]);
});

FirstVersion.run();
