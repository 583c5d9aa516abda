// A bucket whose server fails, and one that checks signatures.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { networkOf } from '../../../io/outgoing/index.ts';
import { startObjectServer } from '../../../test/helpers/database/object-server.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { FAULTS, FaultyServer } from '../fixtures/faulty-server.ts';
import { openBucket, type ObjectStoreConfig } from '../open-store.ts';
import type { S3Store } from './s3-store.ts';

const Bucket = suite('a bucket');
const folder = mkdtempSync(join(tmpdir(), 'aana-bucket-'));
const copies = join(folder, 'copies');
mkdirSync(copies);
Bucket.after(() => rmSync(folder, { recursive: true }));

const network = networkOf({
  ...{ httpProxy: null, httpsProxy: null, noProxy: [], proxyResolves: false, authorityFiles: [] },
});
const opened = (config: ObjectStoreConfig): S3Store =>
  openBucket(config.url!, { config, dir: folder, network, copiesRoot: folder, copies: async () => copies });
async function* chunk(bytes: Buffer): AsyncGenerator<Buffer, void> {
  yield bytes;
}
const objectOf = (key: string, bytes: Buffer) => ({
  ...{ key, bytes: bytes.length },
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const keysIn = async (store: S3Store): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.list('files')) keys.push(key);
  return keys.sort();
};

const server = await startObjectServer();
if (typeof server === 'string') skip('a bucket', server);
else {
  const LARGE = randomBytes(9 * 2 ** 20);
  const SMALL = Buffer.from('content');
  const faulty = new FaultyServer(server.url);
  const endpoint = await faulty.listen();
  const config: ObjectStoreConfig = { ...server.settings('faults'), endpoint };
  await server.create('faults');
  const store = opened(config);
  Bucket.after(async () => {
    await faulty[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  Bucket('takes and gives everything although any single request fails in any way', async () => {
    for (const fault of FAULTS)
      for (const [bytes, requests] of [
        [SMALL, 4],
        [LARGE, 7],
      ] as const)
        for (let at = 0; at < requests; at += 1) {
          faulty.faults = [...Array.from({ length: at }, () => 'none' as const), fault];
          const key = `files/${fault}-${bytes.length}-${at}`;
          await store.write(key, chunk(bytes));
          {
            await using copy = await store.fetch(objectOf(key, bytes));
            assert.ok(bytes.equals(readFileSync(copy.path)), key);
          }
          assert.equal(await keysIn(store), [key]);
          await store.remove(key);
          faulty.faults = [];
          assert.equal(await keysIn(store), [], key);
        }
    assert.equal(readdirSync(copies), []);
  });

  Bucket('continues a download where it broke off, as often as it gets further', async () => {
    await store.write('files/x', chunk(LARGE));
    faulty.ranges.length = 0;
    faulty.faults = Array.from({ length: 9 }, () => 'cut');
    await using copy = await store.fetch(objectOf('files/x', LARGE));
    assert.ok(LARGE.equals(readFileSync(copy.path)));
    assert.is(faulty.ranges[0], undefined);
    assert.ok(
      faulty.ranges.slice(1).some((range) => /^bytes=[1-9]\d*-$/.test(range ?? '')),
      String(faulty.ranges),
    );
    await store.remove('files/x');
  });

  Bucket('is named when it stays away, and the reason is told', async () => {
    await store.write('files/x', chunk(SMALL));
    for (const fault of FAULTS) {
      faulty.always = fault;
      for (const work of [
        () => store.write('files/y', chunk(SMALL)),
        () => store.fetch(objectOf('files/x', SMALL)),
        () => keysIn(store),
      ]) {
        const error = await errorOf(work());
        assert.is(error.name, 'ObjectStoreUnavailable');
        assert.match(error.message, /^the object store s3:\/\/faults\/hosts cannot be used: \w/);
        assert.equal(error.data, { store: 's3://faults/hosts' });
      }
    }
    faulty.always = 'none';
    assert.equal(readdirSync(copies), []);
  });

  Bucket('says what is wrong with its name, its server and its key', async () => {
    const reasonOf = async (change: Partial<ObjectStoreConfig>): Promise<string> =>
      (await errorOf(opened({ ...server.settings('faults'), ...change }).write('files/z', chunk(SMALL)))).message;
    assert.match(await reasonOf({ url: 's3://missing' }), /s3:\/\/missing cannot .*NoSuchBucket\); create the bucket$/);
    assert.match(await reasonOf({ endpoint: 'http://127.0.0.1:1' }), /cannot be used: /);
    // An own user of the server, which then checks who signs what.
    const { id, secret } = await server.allowOnly('aana');
    try {
      const signed = { access_key_id: id, secret_access_key: secret };
      const allowed = opened({ ...server.settings('faults'), ...signed });
      for (const bytes of [SMALL, LARGE]) {
        await allowed.write('files/signed', chunk(bytes));
        await (await allowed.fetch(objectOf('files/signed', bytes)))[Symbol.asyncDispose]();
        assert.ok((await keysIn(allowed)).length > 0);
        await allowed.remove('files/signed');
      }
      assert.match(await reasonOf({}), /InvalidAccessKeyId\); see object_store.access_key_id$/);
      const wrong = await reasonOf({ ...signed, secret_access_key: 'wrong' });
      assert.match(wrong, /SignatureDoesNotMatch\); see object_store.secret_access_key$/);
      assert.not.match(wrong, new RegExp(id));
    } finally {
      await server.allowAll();
    }
  });
}

Bucket.run();
