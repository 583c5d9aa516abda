// A bucket whose server fails, one that answers nonsense, and one that checks signatures.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { networkOf } from '../../../io/outgoing/index.ts';
import { startObjectServer } from '../../../test/helpers/database/object-server.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { sqliteDatabases, sqliteModule } from '../../storage/fixtures/databases.ts';
import { Storage } from '../../storage/index.ts';
import { FAULTS, FaultyServer } from '../fixtures/faulty-server.ts';
import { LostObject, RowObjects } from '../index.ts';
import { openBucket, type ObjectStoreConfig } from '../open-store.ts';
import type { S3Store } from './s3-store.ts';

const Bucket = suite('a bucket');
const folder = mkdtempSync(join(tmpdir(), 'aana-bucket-'));
const copies = join(folder, 'copies');
mkdirSync(copies);
const databases = sqliteDatabases();
Bucket.after(async () => {
  await databases.end();
  rmSync(folder, { recursive: true });
});

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

const AT_NONE: ObjectStoreConfig = {
  ...{ url: 's3://nonsense/hosts', endpoint: 'http://127.0.0.1:1', region: 'us-east-1', session_token: null },
  ...{ access_key_id: 'test', secret_access_key: 'test-secret', timeout: 3600 },
};

/** Runs `work` with a bucket of a server that answers with `answer`. Gives it the requests, as method and path. */
async function withServer(
  answer: (message: IncomingMessage, response: ServerResponse) => void,
  work: (store: S3Store, requests: readonly string[]) => Promise<void>,
): Promise<void> {
  const requests: string[] = [];
  const nonsense: Server = createServer((message, response) => {
    requests.push(`${message.method} ${message.url}`);
    message.resume().once('end', () => answer(message, response));
  });
  await once(nonsense.listen(0, '127.0.0.1'), 'listening');
  try {
    const endpoint = `http://127.0.0.1:${(nonsense.address() as AddressInfo).port}`;
    await work(opened({ ...AT_NONE, endpoint }), requests);
  } finally {
    nonsense.closeAllConnections();
    nonsense.close();
  }
}

Bucket('closes what it writes also if the server takes nothing of it', async () => {
  for (const length of [10, 9 * 2 ** 20, 30 * 2 ** 20]) {
    let isClosed = false;
    const chunks = async function* (): AsyncGenerator<Buffer, void> {
      try {
        for (let at = 0; at < length; at += 2 ** 20) yield Buffer.alloc(2 ** 20);
      } finally {
        isClosed = true;
      }
    };
    await withServer(
      (_, response) => response.writeHead(403).end(),
      async (store) => {
        assert.is((await errorOf(store.write('files/x', chunks()))).name, 'ObjectStoreUnavailable');
      },
    );
    assert.ok(isClosed, `${length}`);
  }
});

Bucket('removes no object when the server does not name the upload', async () => {
  const upload = '<Upload><Key>hosts/files/x</Key><Initiated>2020-01-01T00:00:00Z</Initiated></Upload>';
  for (const id of ['', '<UploadId/>', '<UploadId></UploadId>'])
    await withServer(
      (_, response) => response.end(`<Result>${upload.replace('</Upload>', `${id}</Upload>`)}</Result>`),
      async (store, requests) => {
        await store.removeUnfinished('files', Date.now());
        assert.equal(
          requests.filter((request) => request.startsWith('DELETE')),
          [],
        );
      },
    );
});

Bucket('whose list has no end is refused', async () => {
  const page = '<Result><NextContinuationToken>again</NextContinuationToken></Result>';
  await withServer(
    (_, response) => response.end(page),
    async (store) => {
      assert.match((await errorOf(keysIn(store))).message, /its list of objects does not go on$/);
    },
  );
});

Bucket('that never answers does not hold up the end of a sweep', async () => {
  for (const isSilent of [() => true, (url: string) => !url.includes('uploads=')]) {
    const sweeping = new AbortController();
    await withServer(
      ({ url = '' }, response) => {
        if (!isSilent(url)) response.end('<Result/>');
        else sweeping.abort();
      },
      async (store) => {
        await using storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
        const names = { folder: 'files', names: /^(.+)$/, isNeeded: async () => true };
        await new RowObjects({ store, storage, ...names, log: silentLogger }).sweep(sweeping.signal);
      },
    );
  }
});

Bucket('of AWS is asked for by its name, and one with a point by the path, as its certificate says', async () => {
  for (const [bucket, host] of [
    ['aana', 'aana.s3.eu-west-1.amazonaws.com:443'],
    ['aana.example', 's3.eu-west-1.amazonaws.com:443'],
  ] as const) {
    const asked: string[] = [];
    const proxy = createServer().on('connect', ({ url }, socket) => {
      asked.push(url ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const httpsProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const store = openBucket(`s3://${bucket}`, {
      config: { ...AT_NONE, endpoint: null, region: 'eu-west-1', timeout: 0.1 },
      network: networkOf({ ...{ httpProxy: null, noProxy: [], proxyResolves: true, authorityFiles: [] }, httpsProxy }),
      ...{ dir: folder, copiesRoot: folder, copies: async () => copies },
    });
    await errorOf(keysIn(store));
    proxy.close();
    assert.equal([...new Set(asked)], [host]);
  }
});

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

  Bucket('gets requests that follow each other over one connection, which ends with the store', async () => {
    await using passing = new FaultyServer(server.url);
    const one = opened({ ...config, endpoint: await passing.listen() });
    for (const bytes of [SMALL, LARGE]) {
      const object = objectOf(`files/kept-${bytes.length}`, bytes);
      await one.write(object.key, chunk(bytes));
      await (await one.fetch(object))[Symbol.asyncDispose]();
      assert.ok((await keysIn(one)).includes(object.key));
      await one.remove(object.key);
      await one.remove(object.key);
      await errorOf(one.fetch(object), LostObject);
    }
    assert.is(passing.connections.length, 1);
    const ended = once(passing.connections[0]!, 'close');
    one.close();
    await ended;
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
