// Files that come in parts, over real databases and a real folder.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { type Database, Storage } from '../storage/index.ts';
import { skip } from '../../test/skip.ts';
import { FolderStore } from '../objects/index.ts';
import { StoredFiles, Uploads } from './index.ts';

interface Context {
  folder: string;
  storage: Storage;
  database: Database;
  files: StoredFiles;
  uploads: Uploads;
  /** Returns the uploads of another host. */
  uploadsOf: () => Uploads;
  /** Returns the bytes of a part as they come from a request. */
  upload: (content: string) => Promise<{ readonly path: string; readonly bytes: number }>;
  /** Returns the names in the folder of parts and in that of files. */
  onDisk: () => string[];
}

const ORDER = { filename: 'a.jsonl', purpose: 'batch', bytes: 6, expiresAfterS: undefined };
const MAX_BYTES = 20;
const NEVER = new AbortController().signal;

function uploadTests(databases: TestDatabases): void {
  const Parts = suite<Context>(`files in parts over ${databases.title}`);
  Parts.before.each(async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'aana-uploads-'));
    const config = await databases.create();
    const storage = new Storage({ config, log: silentLogger, sqliteModule });
    await storage.migrate();
    const objects = new FolderStore(folder);
    const files = new StoredFiles({
      ...{ storage, objects, log: silentLogger },
      config: { retention: 3600, maximum_stored_bytes_per_user: MAX_BYTES },
    });
    const uploadsOf = (): Uploads => new Uploads({ storage, files, objects, log: silentLogger, maxBytes: MAX_BYTES });
    const dirs = ['uploads', 'files'].map((name) => join(folder, name));
    Object.assign(context, {
      ...{ folder, storage, files },
      database: await databases.open(config),
      uploads: uploadsOf(),
      uploadsOf,
      upload: async (content: string) => {
        const path = join(folder, `request-${Math.random()}`);
        await writeFile(path, content);
        return { path, bytes: Buffer.byteLength(content) };
      },
      onDisk: () => dirs.flatMap((dir) => (existsSync(dir) ? readdirSync(dir) : [])),
    } satisfies Context);
  });
  Parts.after.each(async ({ folder, storage, database, uploads, files }) => {
    await uploads.stop();
    await files.stop();
    await database.close();
    await storage.close();
    await rm(folder, { recursive: true });
  });
  Parts.after(() => databases.end());

  Parts('are put together in the order of the request, and nothing else stays', async (context) => {
    const { uploads, files, upload, onDisk } = context;
    const ann = uploads.as({ userId: 'ann' });
    const { id } = await ann.create(ORDER);
    const late = (await ann.addPart(id, await upload('def')))!;
    const early = (await ann.addPart(id, await upload('abc')))!;
    const unused = (await ann.addPart(id, await upload('xyz')))!;
    assert.is(onDisk().length, 3);
    for (const [ids, md5, param] of [
      [[early.id, 'part_0'], undefined, 'part_ids[1]'],
      [[early.id, early.id], undefined, 'part_ids[1]'],
      [[early.id], undefined, 'part_ids'],
      [[early.id, late.id, unused.id], undefined, 'part_ids'],
      [[early.id, late.id], '0'.repeat(32), 'md5'],
    ] as const) {
      const error = await errorOf(ann.complete(id, ids, md5));
      assert.equal([error.name, (error.data as { param: string }).param], ['WrongParts', param]);
    }
    assert.is(onDisk().length, 3, 'a refused completion leaves no file');
    const md5 = createHash('md5').update('abcdef').digest('hex').toUpperCase();
    const { file, status } = (await ann.complete(id, [early.id, late.id], md5))!;
    assert.equal([status, file!.bytes, file!.filename], ['completed', 6, 'a.jsonl']);
    assert.is(await text(await files.as({ userId: 'ann' }).open(file!)), 'abcdef');
    assert.equal(onDisk(), [file!.id]);
    for (const work of [() => ann.complete(id, [early.id], undefined), () => ann.cancel(id)])
      assert.is((await errorOf(work())).name, 'UploadEnded');
    assert.is((await errorOf(ann.addPart(id, await upload('a')))).name, 'UploadEnded');
    await files.as({ userId: 'ann' }).delete(file!.id);
    assert.equal(onDisk(), []);
  });

  Parts('belong to their user', async ({ uploads, upload }) => {
    const { id } = await uploads.as({ userId: 'ann' }).create(ORDER);
    for (const other of [uploads.as({ userId: 'bob' }), uploads.as({ userId: null })]) {
      assert.is(await other.addPart(id, await upload('a')), undefined);
      assert.is(await other.complete(id, ['part_0'], undefined), undefined);
      assert.is(await other.cancel(id), undefined);
    }
  });

  Parts('leave nothing when they are cancelled, also while others come and the file is made', async (context) => {
    const { uploads, upload, onDisk } = context;
    const ann = uploads.as({ userId: 'ann' });
    const { id } = await ann.create(ORDER);
    const first = (await ann.addPart(id, await upload('abcdef')))!;
    const coming = [await upload('a'), await upload('b')];
    const results = await Promise.allSettled([
      ann.addPart(id, coming[0]!),
      ann.cancel(id),
      ann.complete(id, [first.id], undefined),
      ann.addPart(id, coming[1]!),
    ]);
    for (const result of results)
      if (result.status === 'rejected') assert.is((result.reason as Error).name, 'UploadEnded');
    const isCompleted = results[2]!.status === 'fulfilled';
    assert.is(onDisk().length, isCompleted ? 1 : 0);
    if (!isCompleted) assert.is((await ann.cancel(id))?.status, 'cancelled');
  });

  Parts('of which one is lost make no file, and leave no bytes of one', async ({ uploads, upload, onDisk, folder }) => {
    const ann = uploads.as({ userId: 'ann' });
    const { id } = await ann.create(ORDER);
    const [first, second] = [
      (await ann.addPart(id, await upload('abc')))!,
      (await ann.addPart(id, await upload('def')))!,
    ];
    await rm(join(folder, 'uploads', second.id));
    const error = await errorOf(ann.complete(id, [first.id, second.id], undefined));
    assert.is(error.name, 'UploadedFileLost');
    assert.equal(onDisk(), [first.id]);
  });

  Parts('are completed once by two requests', async ({ uploads, upload, onDisk }) => {
    const ann = uploads.as({ userId: 'ann' });
    const { id } = await ann.create(ORDER);
    const part = (await ann.addPart(id, await upload('abcdef')))!;
    const results = await Promise.allSettled([1, 2].map(() => ann.complete(id, [part.id], undefined)));
    assert.equal(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.is(onDisk().length, 1);
  });

  Parts('count as bytes of their user', async ({ uploads, upload, files, onDisk }) => {
    const ann = uploads.as({ userId: 'ann' });
    const large = await errorOf(ann.create({ ...ORDER, bytes: MAX_BYTES + 1 }));
    assert.is(large.name, 'StorageFull');
    const { id } = await ann.create({ ...ORDER, bytes: MAX_BYTES });
    await ann.addPart(id, await upload('x'.repeat(15)));
    assert.is((await errorOf(ann.addPart(id, await upload('x'.repeat(6))))).name, 'StorageFull');
    assert.is((await errorOf(files.as({ userId: 'ann' }).add(await upload('x'.repeat(6)), ORDER))).name, 'StorageFull');
    assert.is(onDisk().length, 1);
    await ann.cancel(id);
    await files.as({ userId: 'ann' }).add(await upload('x'.repeat(MAX_BYTES)), ORDER);
  });

  Parts('expire, and are removed with what a killed host left', async (context) => {
    const { uploads, uploadsOf, upload, database, onDisk, folder } = context;
    const ann = uploads.as({ userId: 'ann' });
    const { id } = await ann.create(ORDER);
    const part = (await ann.addPart(id, await upload('abcdef')))!;
    const kept = await ann.create(ORDER);
    await ann.addPart(kept.id, await upload('abcdef'));
    const orphan = join(folder, 'uploads', `part_${'0'.repeat(32)}`);
    await writeFile(orphan, 'left');
    await utimes(orphan, 0, 0);
    await database.write((connection) => connection.query('update uploads set expires_at = 1 where id = $1', [id]));
    assert.is((await errorOf(ann.complete(id, [part.id], undefined))).name, 'UploadEnded');
    assert.is((await ann.cancel(id))?.status, 'expired');
    await database.write((connection) => connection.query('delete from sweeps')); // an hour later
    await uploadsOf().sweep(NEVER);
    assert.is(onDisk().length, 1, 'the part of the upload that is pending');
    await uploads.sweep(NEVER);
    assert.is(await ann.cancel(id), undefined, 'an upload that ended long ago is gone');
    assert.is((await ann.cancel(kept.id))?.status, 'cancelled');
    assert.equal(onDisk(), []);
  });

  Parts.run();
}

const postgres = await postgresDatabases();
uploadTests(sqliteDatabases());
if (typeof postgres === 'string') skip('files in parts over PostgreSQL', postgres);
else uploadTests(postgres);
