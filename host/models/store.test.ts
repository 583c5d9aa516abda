import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../core/log/logger.ts';
import { catalogue, findEntry } from './catalogue.ts';
import { modelsList, modelsPath, modelsPull, modelsRemove } from './commands.ts';
import { writeTinyWhisper } from './convert/make-whisper.test.fixture.ts';
import { type FileServer, startFileServer } from './sources/file-server.test.fixture.ts';
import { ModelStore } from './store.ts';
import { messageOf } from './fixtures/message-of.ts';

interface Context {
  dir: string;
  cacheDir: string;
  server: FileServer;
  store: ModelStore;
}

const NOWHERE = 'http://127.0.0.1:9';

/** Returns a GGUF file with one tensor of 32 weights. */
function makeGguf(): Buffer {
  const uint64 = (value: number): Buffer => {
    const out = Buffer.alloc(8);
    out.writeBigUInt64LE(BigInt(value));
    return out;
  };
  const uint32 = (value: number): Buffer => {
    const out = Buffer.alloc(4);
    out.writeUInt32LE(value);
    return out;
  };
  const text = (value: string): Buffer => Buffer.concat([uint64(value.length), Buffer.from(value)]);
  const pairs = [
    Buffer.concat([text('general.name'), uint32(8), text('tiny')]),
    Buffer.concat([text('list'), uint32(9), uint32(8), uint64(2), text('a'), text('b')]),
  ];
  const tensor = Buffer.concat([text('t'), uint32(1), uint64(32), uint32(0), uint64(0)]);
  const head = Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(1), uint64(pairs.length), ...pairs, tensor]);
  return Buffer.concat([head, Buffer.alloc(Math.ceil(head.length / 32) * 32 - head.length), Buffer.alloc(128, 1)]);
}

const GGUF = makeGguf();
const GGUF_SHA256 = createHash('sha256').update(GGUF).digest('hex');

function recorder() {
  const text = { out: '', err: '' };
  const io = {
    out: { write: (part: string) => void (text.out += part) },
    err: { write: (part: string) => void (text.err += part) },
  };
  return { io, text };
}

async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}

const Store = suite<Context>('ModelStore');

Store.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-store-'));
  context.cacheDir = path.join(context.dir, 'cache');
  context.server = await startFileServer();
  context.server.files.set('/owner/repo/resolve/main/model-Q8_0.gguf', GGUF);
  const description = {
    siblings: [{ rfilename: 'README.md' }, { rfilename: 'model-Q8_0.gguf' }],
    cardData: { license: 'mit' },
  };
  context.server.files.set('/api/models/owner/repo', Buffer.from(JSON.stringify(description)));
  context.store = new ModelStore({
    cacheDir: context.cacheDir,
    log: silentLogger,
    hfEndpoint: context.server.url,
    hfToken: 'secret',
  });
});
Store.after.each(async ({ dir, server }) => {
  await server[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

Store('the catalogue has each id once; each file is pinned or can be made from a pinned file', () => {
  const ids = catalogue.map((entry) => entry.id);
  assert.is(new Set(ids).size, ids.length);
  for (const entry of catalogue) {
    const isMade = entry.sources.every((source) => source.from === 'quantise');
    assert.ok(entry.sha256 ?? entry.sha1 ?? isMade, entry.id);
    for (const source of entry.sources)
      if (source.from === 'quantise')
        assert.ok(findEntry(source.base)?.sha256 ?? findEntry(source.base)?.sha1, entry.id);
  }
});

for (const [id, file] of [
  ['whisper-base', 'ggml-base-q8_0.bin'],
  ['whisper-base:f16', 'ggml-base.bin'],
  ['Whisper-Tiny.en:Q5_1', 'ggml-tiny.en-q5_1.bin'],
  ['whisper-turbo', 'ggml-large-v3-turbo-q8_0.bin'],
  ['whisper-large', 'ggml-large-v3-q8_0.bin'],
  ['qwen2.5-coder-0.5b-instruct', 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf'],
] as const) {
  Store(`the id ${id} means the file ${file}`, () => assert.is(findEntry(id)?.fileName, file));
}

Store(
  "pulls a file of a hub repository with the token and verifies it against the hub's digest",
  async ({ store, cacheDir, server }) => {
    server.handler = (request, response) => {
      if (!request.url?.startsWith('/owner/repo/resolve')) return false;
      response.writeHead(302, { location: '/content', 'x-linked-etag': `"${GGUF_SHA256}"` }).end();
      return true;
    };
    server.files.set('/content', GGUF);
    assert.is(await store.resolve('owner/repo/model-Q8_0.gguf'), undefined);
    const model = await store.pull('owner/repo/model-Q8_0.gguf');
    assert.equal(await readFile(model.path), GGUF);
    assert.is(model.sha256, GGUF_SHA256);
    assert.is(server.seen[0]?.authorization, 'Bearer secret');
    assert.equal(await filesBelow(cacheDir), ['model-Q8_0.gguf', 'model-Q8_0.gguf.json']);
    const asked = server.seen.length;
    assert.is((await store.pull('owner/repo/model-Q8_0.gguf')).path, model.path);
    assert.is(server.seen.length, asked);
  },
);

Store('picks a GGUF of a repository, and finds it again without the hub', async ({ store, cacheDir }) => {
  const model = await store.pull('owner/repo');
  assert.is(model.id, 'owner/repo/model-Q8_0.gguf');
  assert.is(model.licence, 'mit');
  const offline = new ModelStore({ cacheDir, log: silentLogger, offline: true, hfEndpoint: NOWHERE });
  assert.is((await offline.pull('owner/repo')).path, model.path);
});

Store(
  "throws for content that differs from the hub's digest and leaves no file",
  async ({ store, cacheDir, server }) => {
    server.handler = (request, response) => {
      if (!request.url?.startsWith('/owner/repo/resolve')) return false;
      response.writeHead(302, { location: '/content', 'x-linked-etag': `"${'ab'.repeat(32)}"` }).end();
      return true;
    };
    server.files.set('/content', GGUF);
    assert.match(
      await messageOf(store.pull('owner/repo/model-Q8_0.gguf')),
      /^DownloadException: .*\n.*checksum differs/,
    );
    assert.equal(await filesBelow(cacheDir), []);
  },
);

Store(
  'throws for content that differs from the pinned digest, even if the hub gives the same digest',
  async ({ store, cacheDir, server }) => {
    server.files.set('/ggerganov/whisper.cpp/resolve/main/ggml-large-v3-turbo-q5_0.bin', GGUF);
    assert.match(
      await messageOf(store.pull('whisper-turbo:q5_0')),
      /expected sha1 e050f7970618a659205450ad97eb95a18d69c9ee/,
    );
    assert.equal(await filesBelow(cacheDir), []);
  },
);

Store('downloads once when two stores pull at the same time', async ({ store, cacheDir, server }) => {
  const other = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: server.url });
  const [one, two] = await Promise.all([
    store.pull('owner/repo/model-Q8_0.gguf'),
    other.pull('owner/repo/model-Q8_0.gguf'),
  ]);
  assert.equal(one, two);
  assert.is(server.seen.length, 1);
});

Store('continues a pull that was cut off', async ({ store, cacheDir, server }) => {
  server.etag = '"one"';
  const folder = path.join(cacheDir, 'models', 'hub', 'owner', 'repo');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'model-Q8_0.gguf.partial'), GGUF.subarray(0, 100));
  await writeFile(path.join(folder, 'model-Q8_0.gguf.partial.etag'), '"one"');
  assert.is((await store.pull('owner/repo/model-Q8_0.gguf')).sha256, GGUF_SHA256);
  assert.is(server.seen[0]?.range, 'bytes=100-');
});

Store('names the reason of each source when all sources fail', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  const message = await messageOf(store.pull('whisper-small:f16'));
  assert.match(
    message,
    /^DownloadException: whisper-small:f16 could not be fetched from any source:\n {2}- hub:ggerganov\/whisper\.cpp\/ggml-small\.bin: .*127\.0\.0\.1:9 cannot be reached/,
  );
});

Store('lists the sources of the 16-bit file for a quantised file', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  assert.match(
    await messageOf(store.pull('whisper-small')),
    /^DownloadException: whisper-small could not be fetched from any source:\n {2}- hub:ggerganov\/whisper\.cpp\/ggml-small\.bin: [^\n]*$/,
  );
});

Store('does not ask an unreachable hub again', async ({ cacheDir, server }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: server.url });
  server.handler = (request) => {
    request.socket.destroy();
    return true;
  };
  await messageOf(store.pull('owner/repo/model-Q8_0.gguf'));
  await messageOf(store.pull('owner/repo/other.gguf'));
  assert.is(server.seen.length, 1);
});

Store('throws for a full disk and names the folder', async ({ store, cacheDir }) => {
  const folder = path.join(cacheDir, 'models', 'hub', 'owner', 'repo');
  await mkdir(folder, { recursive: true });
  await symlink('/dev/full', path.join(folder, 'model-Q8_0.gguf.partial'));
  const message = await messageOf(store.pull('owner/repo/model-Q8_0.gguf'));
  assert.match(message, /^InsufficientResources: .*no space is left/);
  assert.ok(message.includes(folder));
});

Store('throws for a missing model when downloads are switched off', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, offline: true });
  assert.match(await messageOf(store.pull('whisper-base')), /^DownloadException: whisper-base .*switched off/);
});

Store('resolve and pull throw for a truncated file, and it can be pulled again after rm', async ({ store }) => {
  const { path: file } = await store.pull('owner/repo/model-Q8_0.gguf');
  await truncate(file, 100);
  for (const attempt of ['resolve', 'pull'] as const) {
    assert.match(
      await messageOf(store[attempt]('owner/repo/model-Q8_0.gguf')),
      /^ModelDamaged: .*100 bytes instead of .*models rm owner\/repo\/model-Q8_0\.gguf/,
    );
  }
  assert.is((await store.list()).find((row) => row.path === file)?.state, 'damaged');
  await store.remove('owner/repo/model-Q8_0.gguf');
  assert.is((await store.pull('owner/repo/model-Q8_0.gguf')).bytes, GGUF.length);
});

Store('removes a model and the files of unfinished pulls', async ({ store, cacheDir }) => {
  const { path: file } = await store.pull('owner/repo/model-Q8_0.gguf');
  await writeFile(`${file}.partial`, 'x');
  await writeFile(`${file}.intermediate`, 'x');
  assert.is(await store.remove('owner/repo/model-Q8_0.gguf'), GGUF.length + 2);
  assert.equal(await filesBelow(cacheDir), []);
  assert.match(await messageOf(store.remove('owner/repo/model-Q8_0.gguf')), /^ModelNotFound/);
});

Store('accepts a path, and throws if the file is truncated', async ({ store, dir }) => {
  const file = path.join(dir, 'mine.gguf');
  assert.is(await store.resolve(file), undefined);
  assert.match(await messageOf(store.pull(file)), /^ModelNotFound: there is no model file/);
  await writeFile(file, GGUF);
  assert.is((await store.pull(file)).kind, 'gguf');
  await truncate(file, GGUF.length - 1);
  assert.match(await messageOf(store.resolve(file)), /^ModelFormatError: mine\.gguf: the file is truncated/);
  await writeFile(file, 'not a model, only a text that is longer than a header of a model file');
  assert.match(await messageOf(store.resolve(file)), /neither a GGUF nor a ggml file/);
});

Store('throws for an unknown id and suggests similar ids', async ({ store }) => {
  assert.is(await store.resolve('whisper'), undefined);
  assert.match(await messageOf(store.pull('whisper-tiny.en:q2')), /^ModelNotFound: .*variants are q8_0, q5_1, f16/);
  assert.match(await messageOf(store.pull('smollm2')), /did you mean smollm2-135m-instruct/);
});

Store('imports a GGUF under its name, and only once', async ({ store, dir, cacheDir }) => {
  const file = path.join(dir, 'My-Model.gguf');
  await writeFile(file, GGUF);
  const model = await store.import(file);
  assert.is(model.id, 'My-Model');
  assert.is((await store.resolve('My-Model'))?.sha256, GGUF_SHA256);
  assert.match(await messageOf(store.import(file)), /^ModelExists/);
  assert.match(await messageOf(store.import(file, { id: 'whisper-base' })), /^ModelExists/);
  assert.match(await messageOf(store.import(file, { id: '../x' })), /^InvalidModelId/);
  await writeFile(file, 'not a model, only a text that is longer than a header of a model file');
  assert.match(await messageOf(store.import(file, { id: 'other' })), /^ModelFormatError/);
  await store.remove('My-Model');
  assert.equal(await filesBelow(cacheDir), []);
});

Store('imports a CTranslate2 folder at 16 bit and quantised', async ({ store, dir }) => {
  await writeTinyWhisper(path.join(dir, 'fine-tuned'));
  const whole = await store.import(path.join(dir, 'fine-tuned'));
  const small = await store.import(path.join(dir, 'fine-tuned'), { id: 'fine-tuned-q8', quantise: 'q8_0' });
  assert.is(whole.kind, 'whisper');
  assert.ok(small.bytes < whole.bytes * 0.7);
  assert.match(await messageOf(store.import(dir, { id: 'x' })), /has no model\.bin/);
});

Store(
  'accepts a file that was put into the cache by hand if its digest is right, and replaces it otherwise',
  async ({ store, cacheDir, server }) => {
    const id = 'owner/repo/model-Q8_0.gguf';
    const folder = path.join(cacheDir, 'models', 'hub', 'owner', 'repo');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'model-Q8_0.gguf'), 'left by hand');
    assert.is(await store.resolve(id), undefined);
    assert.is((await store.pull(id)).sha256, GGUF_SHA256);
    assert.is(server.seen.length, 1);
  },
);

Store('rejects an aborted pull with the reason and releases the lock', async ({ store, cacheDir, server }) => {
  const reason = new Error('client went away');
  const controller = new AbortController();
  server.handler = (_, response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('x', () => setTimeout(() => controller.abort(reason), 30));
    return true;
  };
  const pulling = store.pull('owner/repo/model-Q8_0.gguf', { signal: controller.signal });
  assert.is(await pulling.catch((error: unknown) => error), reason);
  assert.equal(
    (await filesBelow(cacheDir)).filter((name) => name.endsWith('.lock')),
    [],
  );
});

Store('the commands print their results, and each error as one line', async ({ store }) => {
  const { io, text } = recorder();
  assert.is(await modelsPull(store, ['owner/repo', 'no-such-model'], io), 1);
  assert.match(text.out, /model-Q8_0\.gguf\n$/);
  assert.match(text.err, /^error: there is no model "no-such-model"/);
  assert.is(await modelsPath(store, 'owner/repo', io), 0);
  assert.is(await modelsPath(store, 'whisper-base', io), 1);
  assert.match(text.err, /models pull whisper-base/);
  text.out = '';
  assert.is(await modelsList(store, io), 0);
  assert.match(text.out, /^MODEL +SIZE +HERE +LICENCE\n/);
  assert.match(text.out, /\nwhisper-base +81\.8 MB +- +MIT\n/);
  assert.match(text.out, /\nowner\/repo\/model-Q8_0\.gguf +\d+ B +yes +mit\n/);
  assert.is(await modelsRemove(store, ['owner/repo'], io), 0);
  assert.is(await store.resolve('owner/repo'), undefined);
});

Store.run();
