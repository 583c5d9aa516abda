// Two hosts with folders of their own, over one PostgreSQL and one bucket.
import { type ChildProcess, fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../base/core/log/logger.ts';
import { StoredFiles } from '../data/files/index.ts';
import { olderStore } from '../data/objects/fixtures/older-store.ts';
import { type ObjectStore, openStore } from '../data/objects/index.ts';
import { postgresDatabases, sqliteModule } from '../data/storage/fixtures/databases.ts';
import { Storage } from '../data/storage/index.ts';
import { networkOf } from '../io/outgoing/index.ts';
import { startObjectServer } from '../test/helpers/database/object-server.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { makeFolder, postJson } from './fixtures/test-app.ts';

const HOST = fileURLToPath(new URL('fixtures/object-host.js', import.meta.url));
const BUCKET = 'hosts';
const databases = await postgresDatabases();
const server = await startObjectServer();
const Hosts = suite('two hosts without a shared folder');

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());

interface FileObject {
  readonly id: string;
  readonly bytes: number;
}

if (typeof databases === 'string' || typeof server === 'string')
  skip('two hosts without a shared folder', [databases, server].filter((one) => typeof one === 'string').join('; '));
else {
  const folder = makeFolder();
  const database = await databases.create();
  await server.create(BUCKET);
  const children: ChildProcess[] = [];

  const startHost = async (name: string, timeout = 5): Promise<{ url: string; kill: () => Promise<void> }> => {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const config = {
      folder: own,
      ...{ deployments: {}, db_config: database, object_store: { ...server.settings(BUCKET), timeout } },
      task_queue: { num_workers: 1, reserved_workers: 0, heartbeat_timeout: 2 },
    };
    const child = fork(HOST, [JSON.stringify(config)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    children.push(child);
    const [url] = (await once(child, 'message')) as [string];
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };
    return { url, kill };
  };

  const upload = (url: string, bytes: Uint8Array): Promise<Response> => {
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob([new Uint8Array(bytes)]), 'a.bin');
    return fetch(`${url}/v1/files`, { method: 'POST', body: form });
  };
  const uploaded = async (url: string, bytes: Uint8Array): Promise<FileObject> => {
    const answer = await upload(url, bytes);
    assert.is(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as FileObject;
  };
  const deferred = async (url: string, bytes: Uint8Array): Promise<string> => {
    const form = new FormData();
    form.set('body', '{"video":{"content":"clip"}}');
    form.set('clip', new Blob([new Uint8Array(bytes)]), 'a.mp4');
    const answer = await fetch(`${url}/hash?defer=true`, { method: 'POST', body: form });
    assert.ok(answer.ok, await answer.clone().text());
    return ((await answer.json()) as { task_id: string }).task_id;
  };
  const task = async (url: string, id: string): Promise<{ status: string; result: unknown }> =>
    (await (await fetch(`${url}/tasks/get/${id}`)).json()) as { status: string; result: unknown };
  const download = (url: string, { id }: FileObject): Promise<Response> => fetch(`${url}/v1/files/${id}/content`);
  const store = (): ObjectStore =>
    openStore({
      config: server.settings(BUCKET),
      network: networkOf({
        ...{ httpProxy: null, httpsProxy: null, noProxy: [], proxyResolves: false, authorityFiles: [] },
      }),
      ...{ dir: folder, copiesRoot: folder, copies: async () => folder },
    });
  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const below of ['files', 'uploads', 'tasks']) for await (const { key } of store().list(below)) found.push(key);
    return found.sort();
  };

  Hosts.after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await server[Symbol.asyncDispose]();
    await databases.end();
    rmSync(folder, { recursive: true, force: true });
  });

  Hosts('serve each other’s files and parts, and remove them', async () => {
    const [a, b] = [await startHost('a'), await startHost('b')];
    const bytes = randomBytes(9 * 2 ** 20);
    const file = await uploaded(a.url, bytes);
    assert.ok(bytes.equals(await bytesOf(await download(b.url, file))));

    const halves = [bytes.subarray(0, 5 * 2 ** 20), bytes.subarray(5 * 2 ** 20)];
    const order = { filename: 'b.bin', purpose: 'user_data', bytes: bytes.length, mime_type: 'a/b' };
    const { id } = (await (await postJson(`${a.url}/v1/uploads`, order)).json()) as FileObject;
    const parts: string[] = [];
    for (const [at, half] of halves.entries()) {
      const form = new FormData();
      form.set('data', new Blob([half]), 'part');
      const { url } = [b, a][at]!;
      const part = await fetch(`${url}/v1/uploads/${id}/parts`, { method: 'POST', body: form });
      parts.push(((await part.json()) as FileObject).id);
    }
    const whole = (await (await postJson(`${b.url}/v1/uploads/${id}/complete`, { part_ids: parts })).json()) as {
      file: FileObject;
    };
    assert.ok(bytes.equals(await bytesOf(await download(a.url, whole.file))));
    assert.equal(await keys(), [`files/${file.id}`, `files/${whole.file.id}`].sort());

    for (const one of [file, whole.file])
      assert.is((await fetch(`${b.url}/v1/files/${one.id}`, { method: 'DELETE' })).status, 200);
    assert.is((await download(a.url, file)).status, 404);
    assert.equal(await keys(), []);
    for (const name of ['a', 'b'])
      for (const folderOfFiles of ['files', 'uploads', 'tasks'])
        assert.not.ok(existsSync(join(folder, name, 'data', folderOfFiles)), 'nothing is kept on the machine');
    await Promise.all([a.kill(), b.kill()]);
  });

  Hosts('run each other’s tasks, also of a killed host', async () => {
    const a = await startHost('a');
    const gate = join(folder, 'gate');
    await postJson(`${a.url}/wait?defer=true`, { file: gate }); // it has the only worker
    const bytes = randomBytes(9 * 2 ** 20);
    const id = await deferred(a.url, bytes);
    assert.equal((await keys()).length, 1);
    await a.kill();
    writeFileSync(gate, '');
    const b = await startHost('b');
    await until(async () => (await task(b.url, id)).status === 'completed');
    assert.is((await task(b.url, id)).result, sha256(bytes));
    await until(async () => (await keys()).length === 0);
    const copies = readdirSync(join(folder, 'b'), { recursive: true }).filter((name) =>
      String(name).includes('object-'),
    );
    assert.equal(copies, [], 'no copy stays');
    await b.kill();
  });

  Hosts('keep every acknowledged file when one is killed, and a sweep removes the rest', async () => {
    const b = await startHost('b');
    const acknowledged = new Map<string, string>();
    for (let round = 0; round < 2; round += 1) {
      const a = await startHost('a');
      const uploads = Array.from({ length: 6 }, async () => {
        const bytes = randomBytes(9 * 2 ** 20);
        const answer = await upload(a.url, bytes);
        if (answer.ok) acknowledged.set(((await answer.json()) as FileObject).id, sha256(bytes));
      });
      await Promise.race([Promise.any(uploads), Promise.allSettled(uploads)]); // some are under way
      await a.kill();
      await Promise.allSettled(uploads);
    }
    assert.ok(acknowledged.size >= 2, `${acknowledged.size}`);
    const { data } = (await (await fetch(`${b.url}/v1/files`)).json()) as { data: readonly FileObject[] };
    for (const file of data) {
      const answer = await download(b.url, file);
      assert.is(answer.status, 200);
      const hash = sha256(await bytesOf(answer));
      if (acknowledged.has(file.id)) assert.is(hash, acknowledged.get(file.id));
      acknowledged.delete(file.id);
    }
    assert.is(acknowledged.size, 0, 'none was lost');
    const storage = new Storage({ config: database, log: silentLogger, sqliteModule });
    const files = new StoredFiles({
      ...{ storage, objects: olderStore(store()), log: silentLogger },
      config: { retention: 0, maximum_stored_bytes_per_user: 0 },
    });
    await storage.write(({ connection }) => connection.query('delete from sweeps')); // an hour later
    files.start();
    const rows = data.map(({ id }) => `files/${id}`).sort();
    await until(async () => JSON.stringify(await keys()) === JSON.stringify(rows));
    await files.stop();
    await storage.close();
    await b.kill();
  });

  Hosts('refuse wrong bytes, and say so', async () => {
    const a = await startHost('a');
    const file = await uploaded(a.url, Buffer.from('content'));
    const id = await deferred(a.url, Buffer.from('not yet'));
    await until(async () => (await task(a.url, id)).status === 'completed');
    await store().write(
      `files/${file.id}`,
      (async function* () {
        yield 'CONTENT';
      })(),
    );
    const answer = await download(a.url, file);
    const text = await answer.text();
    assert.is(answer.status, 500, text);
    assert.match(text, new RegExp(`the file ${file.id} cannot be used: its bytes have another SHA-256`));
    await store().remove(`files/${file.id}`);
    assert.match(await (await download(a.url, file)).text(), /does not have it; upload it again/);
    await a.kill();
  });

  Hosts('end a download whose client has left', async () => {
    const name = 'left';
    const a = await startHost(name, 3600);
    const file = await uploaded(a.url, randomBytes(2 ** 20));
    const copies = (): string[] =>
      readdirSync(join(folder, name), { recursive: true })
        .map(String)
        .filter((path) => path.includes('object-'));
    server.process.kill('SIGSTOP');
    try {
      const leaving = new AbortController();
      const left = fetch(`${a.url}/v1/files/${file.id}/content`, { signal: leaving.signal }).catch(() => {});
      await until(async () => copies().length > 0);
      leaving.abort();
      await left;
      await until(async () => copies().length === 0);
    } finally {
      server.process.kill('SIGCONT');
    }
    await a.kill();
  });

  Hosts('refuse files while the store is away, go on, and lose nothing', async () => {
    const a = await startHost('a');
    const file = await uploaded(a.url, Buffer.from('content'));
    const gate = join(folder, 'gate-2');
    await postJson(`${a.url}/wait?defer=true`, { file: gate });
    const id = await deferred(a.url, Buffer.from('clip'));
    server.process.kill('SIGSTOP');
    try {
      for (const answer of [await upload(a.url, Buffer.from('x')), await download(a.url, file)]) {
        const text = await answer.text();
        assert.is(answer.status, 503, text);
        assert.match(text, /the object store s3:\/\/hosts\/hosts cannot be used: /);
        assert.not.match(text, /test-secret/);
      }
      assert.is((await fetch(`${a.url}/v1/files/${file.id}`)).status, 200, 'what needs no bytes goes on');
      writeFileSync(gate, '');
      await until(async () => (await task(a.url, id)).status !== 'created');
      assert.not.equal((await task(a.url, id)).status, 'failed');
    } finally {
      server.process.kill('SIGCONT');
    }
    assert.is(await (await download(a.url, file)).text(), 'content');
    await until(async () => (await task(a.url, id)).status === 'completed');
    assert.is((await task(a.url, id)).result, sha256(Buffer.from('clip')));
    await a.kill();
  });
}

Hosts.run();
