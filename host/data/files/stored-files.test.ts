// The bytes and the rows of stored files, over a real database and a real folder.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { until } from '../../test/helpers/server.ts';
import { Storage } from '../storage/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { sqliteDatabases, sqliteModule } from '../storage/fixtures/databases.ts';
import { FolderStore } from '../objects/index.ts';
import { StoredFiles, type StoredFilesConfig } from './index.ts';

interface Context {
  folder: string;
  dir: string;
  storage: Storage;
  open: (config?: Partial<StoredFilesConfig>) => StoredFiles;
  upload: (content: string) => Promise<{ readonly path: string; readonly bytes: number }>;
}

const databases = sqliteDatabases();
const Files = suite<Context>('stored files');
const HOUR_S = 3600;
const NEW = { filename: 'a.jsonl', purpose: 'batch' };

Files.before.each(async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-files-'));
  const storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  const objects = new FolderStore(join(folder, 'data'));
  const dir = join(folder, 'data', 'files');
  Object.assign(context, {
    folder,
    dir,
    storage,
    open: (config = {}) =>
      new StoredFiles({
        ...{ storage, objects, log: silentLogger },
        config: { retention: HOUR_S, maximum_stored_bytes_per_user: 0, ...config },
      }),
    upload: async (content: string) => {
      await writeFile(join(folder, 'upload'), content);
      return { path: join(folder, 'upload'), bytes: Buffer.byteLength(content) };
    },
  } satisfies Context);
});
Files.after.each(async ({ folder, storage }) => {
  await storage.close();
  await rm(folder, { recursive: true });
});
Files.after(() => databases.end());

Files('keep their bytes until they are deleted', async ({ dir, open, upload }) => {
  const stored = open();
  const files = stored.as({ userId: 'ann' });
  const added = await files.add(await upload('content'), NEW);
  assert.equal(await files.find(added.id), added);
  assert.is(await text(await files.open(added)), 'content');
  assert.is(added.expires_at, added.created_at + HOUR_S * 1000);
  const reading = await files.open(added);
  assert.is(await files.delete(added.id), true);
  assert.is(await text(reading), 'content', 'a download that has begun ends well');
  assert.equal([readdirSync(dir), await files.find(added.id), await files.delete(added.id)], [[], undefined, false]);
  for (const id of ['', '..', '../../data', 'file-', `file-${'g'.repeat(32)}`, 'file-\0'])
    assert.equal([await files.find(id), await files.delete(id)], [undefined, false]);
  await stored.stop();
});

Files('leave no bytes when there is no room', async ({ dir, open, upload }) => {
  const stored = open({ maximum_stored_bytes_per_user: 10, retention: 0 });
  const first = await stored.as({ userId: 'ann' }).add(await upload('1234567'), NEW);
  assert.is(first.expires_at, null);
  assert.is((await errorOf(stored.as({ userId: 'ann' }).add(await upload('1234'), NEW))).name, 'StorageFull');
  assert.equal(readdirSync(dir), [first.id]);
  await stored.as({ userId: 'bob' }).add(await upload('1234'), NEW);
  await stored.stop();
});

Files('say when their bytes are gone or cut', async ({ dir, open, upload }) => {
  const stored = open();
  const files = stored.as({ userId: null });
  const cut = await files.add(await upload('content'), NEW);
  await truncate(join(dir, cut.id), 3);
  const gone = await files.add(await upload('content'), NEW);
  await rm(join(dir, gone.id));
  for (const file of [cut, gone]) assert.is((await errorOf(files.open(file))).name, 'UploadedFileLost');
  await stored.stop();
});

Files('what a killed host left is removed, and nothing else', async ({ dir, open, upload, storage }) => {
  const before = open();
  const files = before.as({ userId: 'ann' });
  const kept = await files.add(await upload('kept'), NEW);
  const expired = await files.add(await upload('expired'), { ...NEW, expiresAfterS: HOUR_S });
  await before.stop();
  await storage.write(({ connection }) =>
    connection.query('update files set expires_at = 1 where id = $1', [expired.id]),
  );
  // Killed between the bytes and the row, and between the removal of the row and of the bytes.
  const orphan = `file-${'0'.repeat(32)}`;
  const young = `file-${'1'.repeat(32)}`;
  await mkdir(dir, { recursive: true });
  for (const id of [orphan, young]) await writeFile(join(dir, id), 'x');
  await mkdir(join(dir, 'lost+found'));
  const old = new Date(Date.now() - 25 * HOUR_S * 1000);
  for (const id of [orphan, kept.id, 'lost+found']) await utimes(join(dir, id), old, old);
  await storage.write(({ connection }) => connection.query('delete from sweeps')); // an hour later
  const next = open();
  next.start();
  await until(async () => !existsSync(join(dir, orphan)));
  await next.stop();
  assert.equal(readdirSync(dir).toSorted(), [kept.id, young, 'lost+found'].toSorted());
});

Files.run();
