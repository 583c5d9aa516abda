// Backups of a host that accepts and runs tasks meanwhile. The commands run once in their own processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp } from 'aana-host';
import { type Config, loadConfig } from '../../base/config/index.ts';
import { delay } from '../../base/core/abort.ts';
import { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { sqliteModule } from '../../data/storage/fixtures/databases.ts';
import { openDatabase } from '../../data/storage/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { until } from '../../test/helpers/server.ts';
import { makeBackup } from './make-backup.ts';
import type { Manifest } from './manifest.ts';
import { type Restored, restoreBackup } from './restore-backup.ts';

const Backup = suite('aana-host backup and restore');
let folder = '';

Backup.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-backup-'));
});
Backup.after(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  const child = spawn(process.execPath, [join(packageRoot, 'bundle/host/cli/main.js'), ...args], {
    cwd: folder,
    env: { HOME: folder, PATH: process.env['PATH'], AANA_CACHE_DIR: process.env['AANA_CACHE_DIR'], ...env },
    timeout: 60_000,
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, out, err };
}

const configOf = (dataDir: string, env: Record<string, string> = {}): Config =>
  loadConfig({ cwd: folder, env, base: { data_dir: dataDir } });
const options = { sqliteModule, signal: new AbortController().signal };

const make = (target: string, dataDir: string, env?: Record<string, string>): Promise<Manifest> =>
  makeBackup({ config: configOf(dataDir, env), target: join(folder, target), ...options });
const restore = (source: string, dataDir: string, force = false): Promise<Restored> =>
  restoreBackup({ config: configOf(dataDir), source: join(folder, source), force, ...options });

async function assertRefused(work: Promise<unknown>, kind: string, message: RegExp): Promise<void> {
  const error = await errorOf(work, AanaError);
  assert.is(error.kind, kind, error.message);
  assert.match(error.message, message);
}

/** Starts a host whose tasks read their file. Tasks that wait do so until `released` is true. */
async function host(dataDir: string, released: () => boolean): Promise<AanaApp> {
  const base = {
    cache_dir: join(folder, 'cache'),
    runtime_dir: join(folder, 'run'),
    data_dir: dataDir,
    media: { temp_dir: folder },
    task_queue: { heartbeat_timeout: 3, num_workers: 2 },
    deployments: {},
  };
  const app = new AanaApp({
    config: loadConfig({ cwd: folder, env: {}, base }),
    log: silentLogger,
    progress: { write: () => true },
  });
  app.registerEndpoint({
    name: 'read',
    path: '/read',
    input: z.strictObject({ file: z.string().meta({ 'x-aana-file': true }), waits: z.boolean() }),
    output: z.string(),
    run: async ({ file, waits }, { files, signal }) => {
      while (waits && !released()) await delay(20, signal);
      return readFile(files.get(file)?.path ?? '', 'utf8');
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  return app;
}

async function defer(app: AanaApp, content: string, waits: boolean): Promise<string> {
  const form = new FormData();
  form.set('body', JSON.stringify({ file: 'f', waits }));
  form.set('f', new Blob([content]));
  const response = await fetch(`${app.url}/read?defer=true`, { method: 'POST', body: form });
  const body = (await response.json()) as { task_id: string };
  assert.is(response.status, 200, JSON.stringify(body));
  return body.task_id;
}

async function taskOf(app: AanaApp, id: string): Promise<{ status: string; result: unknown }> {
  const response = await fetch(`${app.url}/tasks/${id}`);
  const body = (await response.json()) as { status: string; result: unknown };
  assert.is(response.status, 200, `task ${id}: ${JSON.stringify(body)}`);
  return body;
}

async function upload(app: AanaApp, content: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new Blob([content]), 'notes.txt');
  const response = await fetch(`${app.url}/v1/files`, { method: 'POST', body: form });
  return ((await response.json()) as { id: string }).id;
}

Backup('keep all that was acknowledged before, while tasks arrive and end', async () => {
  const data = join(folder, 'data');
  const contents = new Map<string, string>();
  const acknowledged = new Set<string>();
  let file = '';
  let isOver = false;
  const app = await host(data, () => false);
  try {
    const load = async (): Promise<void> => {
      for (let i = 0; !isOver; i += 1) {
        const content = `${i} `.repeat(i % 7 === 0 ? 200_000 : 10);
        contents.set(await defer(app, content, i % 10 === 0), content);
      }
    };
    const loads = [load(), load()];
    await until(async () => contents.size > 20);
    file = await upload(app, 'notes of a user');
    for (const id of contents.keys()) acknowledged.add(id);
    const made = await run(['backup', 'backup', '--data-dir', data]);
    await make('backup.tar.gz', data);
    isOver = true;
    await Promise.all(loads);
    assert.is(made.code, 0, made.err);
    assert.match(made.out, /backup: the database at migration \d+ and \d+ files?, \d+ MiB\n$/);
  } finally {
    isOver = true;
    await app.shutdown({ graceMs: 0 });
  }
  assert.equal(
    [(await stat(join(folder, 'backup'))).mode & 0o777, (await stat(join(folder, 'backup.tar.gz'))).mode & 0o777],
    [0o700, 0o600],
  );
  assert.equal(
    (await readdir(folder)).filter((name) => name.includes('partial')),
    [],
  );

  const [fromFolder, fromArchive] = [join(folder, 'from-folder'), join(folder, 'from-archive')];
  const restored = await run(['restore', 'backup', '--data-dir', fromFolder]);
  assert.is(restored.code, 0, restored.err);
  await restore('backup.tar.gz', fromArchive);
  for (const to of [fromFolder, fromArchive]) {
    const next = await host(to, () => true);
    try {
      for (const id of acknowledged) {
        await until(async () => ['completed', 'failed'].includes((await taskOf(next, id)).status), 120_000);
        assert.equal((await taskOf(next, id)).result, contents.get(id), id);
      }
      const notes = await fetch(`${next.url}/v1/files/${file}/content`);
      assert.is(await notes.text(), 'notes of a user');
    } finally {
      await next.shutdown({ graceMs: 0 });
    }
  }
});

Backup('restore no backup over data, or under a running host', async () => {
  const to = join(folder, 'occupied');
  const app = await host(to, () => true);
  const id = await defer(app, 'mine', false);
  await until(async () => (await taskOf(app, id)).status === 'completed');
  await assertRefused(
    restore('backup', to, true),
    'conflict',
    /a process has the database .*aana\.db open; stop the app/,
  );
  assert.is((await taskOf(app, id)).status, 'completed', 'the host still works');
  await app.shutdown({ graceMs: 0 });

  await assertRefused(
    restore('backup', to),
    'conflict',
    /occupied is not empty \(it has .*--force puts the data there aside/,
  );
  const { aside = '' } = await restore('backup', to, true);
  assert.ok(existsSync(join(aside, 'aana.db')), aside);
  assert.ok((await readdir(to)).includes('aana.db'));
});

Backup('refuse damaged, foreign and newer backups, and leave the folder as it was', async () => {
  const manifestOf = (dir: string): Manifest =>
    JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as Manifest;
  const first = manifestOf(join(folder, 'backup')).files.find(({ path }) => path.startsWith('tasks/'))?.path ?? '';
  const rewrite = async (dir: string, change: Partial<Record<keyof Manifest, unknown>>): Promise<void> =>
    writeFile(join(dir, 'manifest.json'), JSON.stringify({ ...manifestOf(dir), ...change }));
  const cases: readonly [string, (dir: string) => Promise<unknown>, RegExp][] = [
    ['a changed file', (dir) => appendFile(join(dir, first), 'x'), /is damaged: tasks\/.* differs from its checksum/],
    ['a missing file', async (dir) => rmSync(join(dir, first)), /is damaged: tasks\/.* is missing/],
    ['no manifest', async (dir) => rmSync(join(dir, 'manifest.json')), /is not a backup/],
    ['half a manifest', (dir) => writeFile(join(dir, 'manifest.json'), '{"format":'), /is not JSON/],
    ['a later form', (dir) => rewrite(dir, { format: 2 }), /has a form that this version does not know/],
    [
      'a path that leaves the folder',
      (dir) => rewrite(dir, { files: [{ path: '../../evil', bytes: 0, sha256: '0'.repeat(64) }] }),
      /manifest\.json is damaged: files\.0\.path/,
    ],
    ['no database', (dir) => rewrite(dir, { files: [] }), /names no database/],
    [
      'a newer database',
      async (dir) => {
        const { db_config: base } = loadConfig({ cwd: folder, env: {} });
        const config = { ...base, datastore_config: { ...base.datastore_config, path: join(dir, 'aana.db') } };
        const database = await openDatabase({ config, log: silentLogger, sqliteModule });
        await database.write((connection) =>
          connection.script("insert into aana_migrations values ('aana-host', 9999, 'future', 'x', 9999, 0)"),
        );
        await database.close();
        const bytes = await readFile(join(dir, 'aana.db'));
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        const files = manifestOf(dir).files.filter(({ path }) => path !== 'aana.db');
        await rewrite(dir, { files: [{ path: 'aana.db', bytes: bytes.length, sha256 }, ...files] });
      },
      /the database of \S+ needs migration 9999 of aana-host, and this version ends with \d+; restore it with /,
    ],
  ];
  for (const [title, spoil, expected] of cases) {
    const dir = join(folder, title.replaceAll(' ', '-'));
    await cp(join(folder, 'backup'), dir, { recursive: true });
    await spoil(dir);
    const to = join(folder, 'untouched');
    await mkdir(to, { recursive: true });
    const error = await errorOf(restore(title.replaceAll(' ', '-'), to), AanaError);
    assert.match(error.message, expected, title);
    assert.match(error.name, /^(InvalidBackup|BackupRefused)$/);
    assert.equal(await readdir(to), [], title);
    rmSync(dir, { recursive: true });
  }
  await writeFile(join(folder, 'text.tar.gz'), 'no archive');
  const elsewhere = join(folder, 'elsewhere');
  await assertRefused(restore('text.tar.gz', elsewhere), 'invalid-input', /text\.tar\.gz cannot be unpacked/);
  await assertRefused(restore('nothing', elsewhere), 'invalid-input', /nothing cannot be read: ENOENT/);
});

Backup('refuse targets that exist, absent databases, PostgreSQL and buckets', async () => {
  const data = join(folder, 'from-folder');
  await assertRefused(make('backup', data), 'conflict', /is not empty; name another one/);
  await assertRefused(make('backup.tar.gz', data), 'conflict', /exists; name a file or folder/);
  await assertRefused(make('new-one', join(folder, 'nothing')), 'internal', /aana\.db cannot be read: ENOENT/);
  assert.not.ok((await readdir(folder)).some((name) => name.startsWith('new-one')));
  const postgres = { DB_CONFIG__DATASTORE_TYPE: 'postgresql' };
  await assertRefused(make('new-one', data, postgres), 'invalid-input', /pg_dump/);
  const bucket = { AANA_OBJECT_STORE_URL: 's3://aana/files', AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' };
  await assertRefused(make('new-one', data, bucket), 'invalid-input', /the files are in s3:\/\/aana\/files/);
  await assertRefused(
    make('new-one', data, { ...bucket, ...postgres }),
    'invalid-input',
    /copy s3:.* and then run pg_/,
  );
});

Backup.run();
