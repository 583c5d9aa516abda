// The port of objects, over every driver.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { networkOf } from '../../io/outgoing/index.ts';
import { startObjectServer } from '../../test/helpers/database/object-server.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { sqliteDatabases, sqliteModule } from '../storage/fixtures/databases.ts';
import { Storage } from '../storage/index.ts';
import { olderStore } from './fixtures/older-store.ts';
import { FolderStore, LostObject, type ObjectStore, openStore, RowObjects, type StoredObject } from './index.ts';

/** A kind of store, for a suite that runs over all of them. */
interface TestStores {
  readonly title: string;
  /** Returns an empty store whose local copies lie in the folder `copies`. */
  create(folder: string): Promise<ObjectStore>;
  /** Returns the number of writes that began and never ended. */
  unfinished(store: ObjectStore): Promise<number>;
}

const NEVER = new AbortController().signal;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const objectOf = (key: string, bytes: Buffer): StoredObject => ({ key, bytes: bytes.length, sha256: sha256(bytes) });

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function keysIn(store: ObjectStore, folder: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(folder)) keys.push(key);
  return keys.sort();
}

const databases = sqliteDatabases();

function storeTests(stores: TestStores): void {
  const Store = suite<{ folder: string; store: ObjectStore; storage: Storage }>(`objects in ${stores.title}`);
  Store.before.each(async (context) => {
    context.folder = await mkdtemp(join(tmpdir(), 'aana-objects-'));
    await mkdir(join(context.folder, 'copies'));
    context.store = await stores.create(context.folder);
    context.storage = new Storage({ config: await databases.createMigrated(), log: silentLogger, sqliteModule });
  });
  Store.after.each(async ({ folder, storage }) => {
    await storage.close();
    await rm(folder, { recursive: true });
  });
  Store.after(() => databases.end());

  Store('of any length come back as they were written, and the copies go', async ({ folder, store }) => {
    const MIB = 2 ** 20;
    for (const length of [0, 1, 3 * MIB, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 17 * MIB]) {
      const bytes = randomBytes(length);
      const written = await store.write(`files/a-${length}`, inChunks(bytes, 777_777));
      assert.equal(written, { bytes: length, sha256: sha256(bytes) });
      const upload = join(folder, 'upload');
      await writeFile(upload, bytes);
      await store.put(objectOf(`files/b-${length}`, bytes), upload);
      assert.equal((await readdir(folder)).includes('upload'), false, 'the file was taken');
      for (const name of ['a', 'b']) {
        await using copy = await store.fetch(objectOf(`files/${name}-${length}`, bytes));
        assert.ok(bytes.equals(await readFile(copy.path)), `${name} ${length}`);
      }
    }
    assert.is((await keysIn(store, 'files')).length, 14);
    assert.equal(await readdir(join(folder, 'copies')), []);
  });

  Store('are one copy for users at the same time, each of which may leave', async ({ folder, store }) => {
    const bytes = randomBytes(2 ** 22);
    const written = objectOf('tasks/t/0', bytes);
    await store.write(written.key, inChunks(bytes, 2 ** 16));
    const leaving = new AbortController();
    const fetched = Array.from({ length: 6 }, (_, at) =>
      store.fetch(written, at === 0 ? leaving.signal : NEVER).catch((error: unknown) => error as Error),
    );
    leaving.abort(new Error('left'));
    const results = await Promise.all(fetched);
    for (const result of results.slice(1)) {
      assert.not.instance(result, Error);
      if (result instanceof Error) continue;
      assert.ok(bytes.equals(await readFile(result.path)));
      await result[Symbol.asyncDispose]();
      await result[Symbol.asyncDispose]();
    }
    const [first] = results;
    if (!(first instanceof Error)) await first![Symbol.asyncDispose]();
    assert.equal(await readdir(join(folder, 'copies')), []);
  });

  Store('with other bytes than their rows say are refused, and nothing of them stays', async ({ folder, store }) => {
    const bytes = Buffer.from('content');
    for (const [damaged, why] of [
      [Buffer.from('CONTENT'), /another SHA-256/],
      [Buffer.from('cont'), /it has 4 bytes, not 7/],
      [Buffer.from('content and more'), /bytes/],
      [Buffer.alloc(0), /it has 0 bytes, not 7/],
      [undefined, /./],
    ] as const) {
      await store.write('files/x', inChunks(bytes, 3));
      if (damaged) await store.write('files/x', inChunks(damaged, 2));
      else await store.remove('files/x');
      const error = await errorOf(store.fetch(objectOf('files/x', bytes)), LostObject);
      assert.match(error.message, why);
      await store.remove('files/x');
    }
    assert.equal(await readdir(join(folder, 'copies')), []);
  });

  Store('leave nothing when the chunks end with an error', async ({ store }) => {
    for (const length of [10, 9 * 2 ** 20]) {
      const broken = async function* (): AsyncGenerator<Buffer, void> {
        yield* inChunks(randomBytes(length), 2 ** 20);
        throw new Error('broken off');
      };
      assert.match(String(await errorOf(store.write('files/x', broken()), Error)), /broken off/);
      assert.equal([await keysIn(store, 'files'), await stores.unfinished(store)], [[], 0]);
    }
  });

  Store('are listed below their folder and removed once or twice', async ({ store }) => {
    const keys = ['files/a', 'files/b', 'tasks/1/0', 'tasks/1/1', 'tasks/2/0'];
    for (const key of keys) await store.write(key, inChunks(Buffer.from('x'), 1));
    assert.equal([await keysIn(store, 'files'), await keysIn(store, 'tasks')], [keys.slice(0, 2), keys.slice(2)]);
    assert.equal(await keysIn(store, 'file'), []);
    for (const key of ['tasks/1/0', 'tasks/1/0', 'files/a']) await store.remove(key);
    assert.equal(
      [await keysIn(store, 'files'), await keysIn(store, 'tasks')],
      [['files/b'], ['tasks/1/1', 'tasks/2/0']],
    );
  });

  Store('that killed hosts left are removed when they are old, and nothing else', async ({ store, storage }) => {
    const names = ['row-1', 'row-2', 'foreign', 'left-1'];
    for (const name of names) await store.write(`files/${name}`, inChunks(Buffer.from('x'), 1));
    const objects = (isOld: boolean): RowObjects =>
      new RowObjects({
        ...{ store: isOld ? olderStore(store) : store, folder: 'files', storage },
        names: /^((?:row|left)-\d)$/,
        isNeeded: async (id) => id.startsWith('row'),
        log: silentLogger,
      });
    await objects(false).sweep(NEVER);
    await objects(true).sweep(NEVER); // another host has looked within the hour
    assert.equal(await keysIn(store, 'files'), names.map((name) => `files/${name}`).sort());
    await storage.write(({ connection }) => connection.query('update sweeps set begun_at = begun_at - 3600000'));
    const leaving = AbortSignal.abort(new Error('the host ends'));
    await objects(true).sweep(leaving); // leaves the sweep to the next one
    await objects(true).sweep(NEVER);
    assert.equal(await keysIn(store, 'files'), ['files/foreign', 'files/row-1', 'files/row-2']);
  });

  Store('are read to the end also when they are removed meanwhile', async ({ store, storage }) => {
    const objects = new RowObjects({
      ...{ store, storage, folder: 'files', names: /^(.+)$/, log: silentLogger },
      isNeeded: async () => true,
    });
    const bytes = Buffer.from('content');
    await objects.write('x', inChunks(bytes, 2));
    const reading = await objects.open({ name: 'x', bytes: 7, sha256: sha256(bytes) });
    await objects.discard(['x']);
    assert.is(await text(reading), 'content');
    await errorOf(objects.open({ name: 'x', bytes: 7, sha256: undefined }), LostObject);
    // Removed while its bytes were compared.
    const removing = new Proxy(store, {
      get: (target, name) =>
        name === 'fetch'
          ? async (object: StoredObject) => {
              const copy = await target.fetch(object);
              await rm(copy.path);
              return copy;
            }
          : Reflect.get(target, name, target),
    });
    await objects.write('y', inChunks(bytes, 2));
    const gone = new RowObjects({
      ...{ store: removing, storage, folder: 'files', names: /^(.+)$/, log: silentLogger },
      isNeeded: async () => true,
    });
    await errorOf(gone.open({ name: 'y', bytes: 7, sha256: undefined }), LostObject);
  });

  Store.run();
}

const server = await startObjectServer();
storeTests({
  title: 'a folder',
  create: async (folder) => new FolderStore(join(folder, 'data')),
  unfinished: async ({ address }) =>
    (await readdir(address, { recursive: true })).filter((name) => name.endsWith('.partial')).length,
});

if (typeof server === 'string') skip('objects in a bucket', server);
else {
  let buckets = 0;
  storeTests({
    title: 'a bucket',
    create: async (folder) => {
      const bucket = `objects-${(buckets += 1)}`;
      await server.create(bucket);
      return openStore({
        config: server.settings(bucket),
        dir: folder,
        network: networkOf({
          ...{ httpProxy: null, httpsProxy: null, noProxy: [], proxyResolves: false, authorityFiles: [] },
        }),
        copiesRoot: folder,
        copies: async () => join(folder, 'copies'),
      });
    },
    unfinished: async ({ address }) => {
      const [, bucket] = /^s3:\/\/([^/]+)/.exec(address) ?? [];
      const listing = await (await fetch(`${server.url}/${bucket}?uploads`)).text();
      return listing.split('<UploadId>').length - 1;
    },
  });
}
