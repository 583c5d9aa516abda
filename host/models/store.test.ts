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

interface Context {
  dir: string;
  cacheDir: string;
  server: FileServer;
  store: ModelStore;
}

const NOWHERE = 'http://127.0.0.1:9';

/** A GGUF with one tensor of 32 weights. */
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

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
  );
}

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

Store('the catalogue has each id and each file once, and a pin or a way to make each file from a pinned one', () => {
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
  Store(`${id} is ${file}`, () => assert.is(findEntry(id)?.fileName, file));
}

Store(
  'pulls a file of a hub repository, verified against the hub, with the token',
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
  'content with another digest than the hub gives is an error and leaves nothing',
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
  'content with another digest than the pinned one is refused, whatever the hub says',
  async ({ store, cacheDir, server }) => {
    server.files.set('/ggerganov/whisper.cpp/resolve/main/ggml-large-v3-turbo-q5_0.bin', GGUF);
    assert.match(
      await messageOf(store.pull('whisper-turbo:q5_0')),
      /expected sha1 e050f7970618a659205450ad97eb95a18d69c9ee/,
    );
    assert.equal(await filesBelow(cacheDir), []);
  },
);

Store('two stores that pull at once download once', async ({ store, cacheDir, server }) => {
  const other = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: server.url });
  const [one, two] = await Promise.all([
    store.pull('owner/repo/model-Q8_0.gguf'),
    other.pull('owner/repo/model-Q8_0.gguf'),
  ]);
  assert.equal(one, two);
  assert.is(server.seen.length, 1);
});

Store('a pull that was cut off is continued by the next one', async ({ store, cacheDir, server }) => {
  server.etag = '"one"';
  const folder = path.join(cacheDir, 'models', 'hub', 'owner', 'repo');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'model-Q8_0.gguf.partial'), GGUF.subarray(0, 100));
  await writeFile(path.join(folder, 'model-Q8_0.gguf.partial.etag'), '"one"');
  assert.is((await store.pull('owner/repo/model-Q8_0.gguf')).sha256, GGUF_SHA256);
  assert.is(server.seen[0]?.range, 'bytes=100-');
});

Store('says why each source failed when all do', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  const message = await messageOf(store.pull('whisper-small:f16'));
  assert.match(
    message,
    /^DownloadException: whisper-small:f16 could not be fetched from any source:\n {2}- hub:ggerganov\/whisper\.cpp\/ggml-small\.bin: .*127\.0\.0\.1:9 cannot be reached/,
  );
});

Store('counts the sources of a 16-bit file among those of the quantised one', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  assert.match(
    await messageOf(store.pull('whisper-small')),
    /^DownloadException: whisper-small could not be fetched from any source:\n {2}- hub:ggerganov\/whisper\.cpp\/ggml-small\.bin: [^\n]*$/,
  );
});

Store('does not ask a hub twice that could not be reached', async ({ cacheDir, server }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: server.url });
  server.handler = (request) => {
    request.socket.destroy();
    return true;
  };
  await messageOf(store.pull('owner/repo/model-Q8_0.gguf'));
  await messageOf(store.pull('owner/repo/other.gguf'));
  assert.is(server.seen.length, 1);
});

Store('a full disk is an error that names the folder', async ({ store, cacheDir }) => {
  const folder = path.join(cacheDir, 'models', 'hub', 'owner', 'repo');
  await mkdir(folder, { recursive: true });
  await symlink('/dev/full', path.join(folder, 'model-Q8_0.gguf.partial'));
  const message = await messageOf(store.pull('owner/repo/model-Q8_0.gguf'));
  assert.match(message, /^InsufficientResources: .*no space is left/);
  assert.ok(message.includes(folder));
});

Store('offline, a missing model is an error that says so', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, offline: true });
  assert.match(await messageOf(store.pull('whisper-base')), /^DownloadException: whisper-base .*switched off/);
});

Store('a truncated file is told by resolve and pull, and rm makes room for a new pull', async ({ store }) => {
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

Store('removes a model with what unfinished pulls left', async ({ store, cacheDir }) => {
  const { path: file } = await store.pull('owner/repo/model-Q8_0.gguf');
  await writeFile(`${file}.partial`, 'x');
  await writeFile(`${file}.intermediate`, 'x');
  assert.is(await store.remove('owner/repo/model-Q8_0.gguf'), GGUF.length + 2);
  assert.equal(await filesBelow(cacheDir), []);
  assert.match(await messageOf(store.remove('owner/repo/model-Q8_0.gguf')), /^ModelNotFound/);
});

Store('takes a path, and tells a truncated file there', async ({ store, dir }) => {
  const file = path.join(dir, 'mine.gguf');
  assert.is(await store.resolve(file), undefined);
  assert.match(await messageOf(store.pull(file)), /^ModelNotFound: there is no model file/);
  await writeFile(file, GGUF);
  assert.is((await store.pull(file)).kind, 'gguf');
  await truncate(file, GGUF.length - 1);
  assert.match(await messageOf(store.resolve(file)), /^ModelFormatError: mine\.gguf: the file is truncated/);
  await writeFile(file, 'no model at all, just a text that is long enough to be looked at twice');
  assert.match(await messageOf(store.resolve(file)), /neither a GGUF nor a ggml file/);
});

Store('an unknown id is an error that suggests what is near', async ({ store }) => {
  assert.is(await store.resolve('whisper'), undefined);
  assert.match(await messageOf(store.pull('whisper-tiny.en:q2')), /^ModelNotFound: .*variants are q8_0, q5_1, f16/);
  assert.match(await messageOf(store.pull('smollm2')), /did you mean smollm2-135m-instruct/);
});

Store('imports a GGUF under its name, once', async ({ store, dir, cacheDir }) => {
  const file = path.join(dir, 'My-Model.gguf');
  await writeFile(file, GGUF);
  const model = await store.import(file);
  assert.is(model.id, 'My-Model');
  assert.is((await store.resolve('My-Model'))?.sha256, GGUF_SHA256);
  assert.match(await messageOf(store.import(file)), /^ModelExists/);
  assert.match(await messageOf(store.import(file, { id: 'whisper-base' })), /^ModelExists/);
  assert.match(await messageOf(store.import(file, { id: '../x' })), /^InvalidModelId/);
  await writeFile(file, 'nothing of the kind, and then some more to make it longer than a header');
  assert.match(await messageOf(store.import(file, { id: 'other' })), /^ModelFormatError/);
  await store.remove('My-Model');
  assert.equal(await filesBelow(cacheDir), []);
});

Store('imports a CTranslate2 folder as it is and quantised', async ({ store, dir }) => {
  await writeTinyWhisper(path.join(dir, 'fine-tuned'));
  const whole = await store.import(path.join(dir, 'fine-tuned'));
  const small = await store.import(path.join(dir, 'fine-tuned'), { id: 'fine-tuned-q8', quantise: 'q8_0' });
  assert.is(whole.kind, 'whisper');
  assert.ok(small.bytes < whole.bytes * 0.7);
  assert.match(await messageOf(store.import(dir, { id: 'x' })), /has no model\.bin/);
});

Store(
  'takes a file that was put into the cache by hand when its digest is right, and replaces it otherwise',
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

Store('abort stops a pull with its reason and releases the lock', async ({ store, cacheDir, server }) => {
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

Store('the commands print what they did and tell errors in a line', async ({ store }) => {
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
