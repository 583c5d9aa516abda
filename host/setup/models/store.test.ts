import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { catalogue, findEntry } from './catalogue/catalogue.ts';
import { hubModels } from './sources/hub-models.ts';
import { modelsList, modelsPath, modelsPull, modelsRemove, type UsersOfFiles } from './commands.ts';
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

/** Returns a GGUF file with one tensor of 32 weights; as one part of a split model if `place` is given. */
function makeGguf(place?: { readonly part: number; readonly parts: number; readonly tensors?: number }): Buffer {
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
    ...(place
      ? [
          Buffer.concat([text('split.no'), uint32(2), Buffer.of(place.part - 1, 0)]),
          Buffer.concat([text('split.count'), uint32(2), Buffer.of(place.parts, 0)]),
          Buffer.concat([text('split.tensors.count'), uint32(5), uint32(place.tensors ?? place.parts)]),
        ]
      : []),
  ];
  const tensor = Buffer.concat([text('t'), uint32(1), uint64(32), uint32(0), uint64(0)]);
  const head = Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(1), uint64(pairs.length), ...pairs, tensor]);
  return Buffer.concat([head, Buffer.alloc(Math.ceil(head.length / 32) * 32 - head.length), Buffer.alloc(128, 1)]);
}

const GGUF = makeGguf();
const PARTS = [1, 2, 3].map((part) => makeGguf({ part, parts: 3 }));
const PART_NAMES = [1, 2, 3].map((part) => `big-Q4_K_M-0000${part}-of-00003.gguf`);
const [FIRST = ''] = PART_NAMES;
const PARTS_BYTES = PARTS.reduce((sum, part) => sum + part.length, 0);

/** Lets the hub serve a repository `owner/split` with these files. */
function serveParts(server: FileServer, names: readonly string[] = PART_NAMES): void {
  const siblings = names.map((rfilename) => ({ rfilename: `q4/${rfilename}`, size: PARTS[0]?.length }));
  server.files.set('/api/models/owner/split', Buffer.from(JSON.stringify({ siblings })));
  for (const [index, name] of PART_NAMES.entries())
    if (names.includes(name)) server.files.set(`/owner/split/resolve/main/q4/${name}`, PARTS[index] ?? GGUF);
}

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
    const isMade = entry.sources.every((source) => source.from === 'quantize');
    assert.ok(entry.sha256 ?? entry.sha1 ?? isMade, entry.id);
    for (const source of entry.sources)
      if (source.from === 'quantize')
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
  'pulls the projector of a repository, which is never taken for its model',
  async ({ store, cacheDir, server }) => {
    const names = ['mmproj-tiny-Q8_0.gguf', 'mmproj-tiny-f16.gguf', 'tiny-Q8_0.gguf'];
    const siblings = names.map((rfilename) => ({ rfilename }));
    server.files.set('/api/models/owner/seeing', Buffer.from(JSON.stringify({ siblings })));
    for (const name of names) server.files.set(`/owner/seeing/resolve/main/${name}`, GGUF);
    const projector = await store.pull('owner/seeing', { projector: true });
    assert.is(projector.id, 'owner/seeing/mmproj-tiny-f16.gguf');
    assert.is(await store.resolve('owner/seeing'), undefined);
    assert.is((await store.pull('owner/seeing')).id, 'owner/seeing/tiny-Q8_0.gguf');
    const offline = new ModelStore({ cacheDir, log: silentLogger, offline: true, hfEndpoint: NOWHERE });
    assert.is((await offline.pull('owner/seeing/tiny-Q8_0.gguf', { projector: true })).path, projector.path);
  },
);

Store('keeps files of a repository that have the same name in different folders', async (context) => {
  const { store, cacheDir, server } = context;
  const files = ['model.onnx', 'onnx/model.onnx', 'onnx/small/model.onnx'];
  for (const file of files) server.files.set(`/owner/nested/resolve/main/${file}`, Buffer.from(`the file ${file}`));
  const contents = async (from: ModelStore): Promise<Record<string, string>> => {
    const read = async (file: string) => readFile((await from.pull(`owner/nested/${file}`)).path, 'utf8');
    return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await read(file)] as const)));
  };
  const expected = Object.fromEntries(files.map((file) => [file, `the file ${file}`]));
  assert.equal(await contents(store), expected);
  const offline = new ModelStore({ cacheDir, log: silentLogger, offline: true, hfEndpoint: NOWHERE });
  assert.equal(await contents(offline), expected);

  const listed = async (): Promise<string[]> =>
    (await store.list()).filter(({ state }) => state === 'present').map(({ id }) => id);
  assert.equal((await listed()).toSorted(), files.map((file) => `owner/nested/${file}`).toSorted());
  await store.remove('owner/nested/onnx/model.onnx');
  assert.is(await store.resolve('owner/nested/onnx/model.onnx'), undefined);
  assert.equal((await listed()).toSorted(), ['owner/nested/model.onnx', 'owner/nested/onnx/small/model.onnx']);
  await store.remove('owner/nested/onnx/small/model.onnx');
  await store.remove('owner/nested/model.onnx');
  assert.not.ok(await stat(path.join(cacheDir, 'models')).catch(() => undefined));
});

Store('finds the model in a folder of a repository again without the hub', async ({ store, cacheDir, server }) => {
  const siblings = [{ rfilename: 'q8/tiny-Q8_0.gguf' }];
  server.files.set('/api/models/owner/deep', Buffer.from(JSON.stringify({ siblings })));
  server.files.set('/owner/deep/resolve/main/q8/tiny-Q8_0.gguf', GGUF);
  const model = await store.pull('owner/deep');
  assert.is(model.id, 'owner/deep/q8/tiny-Q8_0.gguf');
  const offline = new ModelStore({ cacheDir, log: silentLogger, offline: true, hfEndpoint: NOWHERE });
  assert.is((await offline.pull('owner/deep')).path, model.path);
  await offline.remove('owner/deep');
  assert.is(await offline.resolve('owner/deep'), undefined);
});

Store('takes no file of a repository whose name leads out of it', async ({ store, cacheDir, server }) => {
  const names = [
    '../../../out-Q4_K_M.gguf',
    '/out-Q4_K_M.gguf',
    'a/../../out-Q4_K_M.gguf',
    '..\\out-Q4_K_M.gguf',
    '',
    '..',
  ];
  const siblings = [...names, 'in.gguf'].map((rfilename) => ({ rfilename }));
  server.files.set('/api/models/owner/hostile', Buffer.from(JSON.stringify({ siblings })));
  server.handler = (request, response) => {
    if (!request.url?.includes('resolve')) return false;
    response.end(GGUF);
    return true;
  };
  assert.is((await store.pull('owner/hostile')).id, 'owner/hostile/in.gguf');
  assert.equal(await filesBelow(cacheDir), ['in.gguf', 'in.gguf.json']);
});

Store('does not take a file of a repository for the record of another one', async ({ store, server }) => {
  const record = { id: 'whisper-base', kind: 'gguf', bytes: 9, sha256: '', source: '', licence: '', verified_at: '' };
  server.files.set('/owner/hostile/resolve/main/config.json', Buffer.from(JSON.stringify(record)));
  await store.pull('owner/hostile/config.json');
  const rows = (await store.list()).filter(({ path: file }) => file.includes('hostile'));
  assert.equal(
    rows.map(({ id }) => id),
    ['owner/hostile/config.json'],
  );
});

Store('stores no file under the name of the record of another one', async ({ store, server }) => {
  const record = { id: 'x', kind: 'onnx', bytes: 5, sha256: '', source: '', licence: '', verified_at: '' };
  server.files.set('/owner/voices/resolve/main/a.onnx', Buffer.from('voice'));
  server.files.set('/owner/voices/resolve/main/a.onnx.json', Buffer.from(JSON.stringify(record)));
  for (const [first, second] of [
    ['owner/voices/a.onnx', 'owner/voices/a.onnx.json'],
    ['owner/voices/a.onnx.json', 'owner/voices/a.onnx'],
  ] as const) {
    const before = await store.pull(first);
    assert.is(
      await messageOf(store.pull(second)),
      `ModelExists: ${second} cannot lie beside ${first}, because one of them has the name of the record of the ` +
        `other; run "aana-host models rm ${first}" first`,
    );
    assert.equal(await store.resolve(first), before);
    await store.remove(first);
    await store.pull(second);
    await store.remove(second);
  }
});

Store('says where it looked for a projector', async ({ store, dir }) => {
  const model = path.join(dir, 'tiny.gguf');
  for (const [id, why] of [
    ['owner/repo', "the hub's repository owner/repo has no GGUF file with mmproj in its name"],
    [model, `${dir} has no GGUF file with mmproj in its name`],
    ['whisper-tiny.en', 'only repositories of the hub and folders are searched'],
  ] as const)
    assert.is(
      await messageOf(store.pull(id, { projector: true })),
      `ModelNotFound: no projector of ${id} was found: ${why}; set mmproj to its file`,
    );
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
    assert.match(await messageOf(store.pull('owner/repo/model-Q8_0.gguf')), /^DownloadFailed: .*\n.*checksum differs/);
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
  assert.match(message, /^DownloadFailed: whisper-small:f16 could not .*:\n {2}- hub:.*\/ggml-small\.bin: .*:9 cannot/);
});

Store('lists the sources of the 16-bit file for a quantized file', async ({ cacheDir }) => {
  const store = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  assert.match(
    await messageOf(store.pull('whisper-small')),
    /^DownloadFailed: whisper-small could not be fetched .*:\n {2}- hub:.*\/whisper\.cpp\/ggml-small\.bin: [^\n]*$/,
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
  assert.match(await messageOf(store.pull('whisper-base')), /^DownloadFailed: whisper-base .*switched off/);
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

const runtime = findEntry('onnxruntime');
if (runtime)
  Store('removes the packages of a program with the file that loads them', async ({ store, cacheDir }) => {
    const file = path.join(cacheDir, 'tools', 'onnxruntime', runtime.fileName);
    const library = path.join(`${file}.packages`, 'node_modules', 'onnxruntime-node', 'bin', 'library');
    await mkdir(path.dirname(library), { recursive: true });
    await writeFile(library, Buffer.alloc(1000));
    await writeFile(
      file,
      `module.exports = require('./${runtime.fileName}.packages/node_modules/onnxruntime-node');\n`,
    );
    const sizeInList = async (): Promise<number | undefined> =>
      (await store.list()).find((row) => row.path === file)?.bytes;
    const packed = await sizeInList();
    assert.ok(packed !== undefined && packed > 100_000_000, `${packed} bytes, with those that a pull downloads`);
    assert.is((await store.pull('onnxruntime')).path, file);
    assert.is(await sizeInList(), 1000 + runtime.bytes);
    assert.is(await store.remove('onnxruntime'), 1000 + runtime.bytes);
    assert.equal(await filesBelow(cacheDir), []);
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

for (const id of ['owner/split', `owner/split/q4/${FIRST}`, `owner/split/q4/${PART_NAMES[1]}`]) {
  Store(`pulls all parts of a split model, named ${id}`, async ({ store, cacheDir, server }) => {
    serveParts(server);
    const stages: (string | undefined)[] = [];
    const model = await store.pull(id, { onProgress: (_bytes, total, stage) => stages.push(`${stage} ${total}`) });
    assert.is(model.id, `owner/split/q4/${FIRST}`);
    assert.is(path.basename(model.path), FIRST);
    assert.is(model.bytes, PARTS_BYTES);
    assert.ok(stages.includes(`downloading, file 3 of 3 ${PARTS_BYTES}`), stages.join('\n'));
    const files = await filesBelow(cacheDir);
    assert.equal(files, PART_NAMES.flatMap((name) => [name, `${name}.json`]).sort());
    const asked = server.seen.length;
    assert.equal(await store.resolve(id), model);
    assert.equal(await new ModelStore({ cacheDir, log: silentLogger, offline: true }).pull(id), model);
    assert.is(server.seen.length, asked);
    const rows = (await store.list()).filter((row) => row.id.startsWith('owner/split'));
    assert.equal(
      rows.map(({ bytes, state }) => ({ bytes, state })),
      [{ bytes: PARTS_BYTES, state: 'present' }],
    );
    assert.is(await store.remove(id), PARTS_BYTES);
    assert.equal(await filesBelow(cacheDir), []);
  });
}

Store('continues a pull of a split model with the parts that are missing', async ({ store, server }) => {
  serveParts(server);
  server.files.delete(`/owner/split/resolve/main/q4/${FIRST}`);
  assert.match(await messageOf(store.pull('owner/split')), /^DownloadFailed: .*-00001-of-00003\.gguf.*404/s);
  assert.is(await store.resolve(`owner/split/q4/${FIRST}`), undefined);
  serveParts(server);
  server.seen.length = 0;
  assert.is((await store.pull('owner/split')).bytes, PARTS_BYTES);
  const fetched = server.seen.filter(({ url }) => url.includes('resolve')).map(({ url }) => path.basename(url));
  assert.equal(fetched, [FIRST]);
});

Store('names the part that a repository or the store lacks', async ({ store, server }) => {
  serveParts(server, [PART_NAMES[0] ?? '', PART_NAMES[2] ?? '']);
  for (const id of ['owner/split', `owner/split/q4/${FIRST}`])
    assert.match(
      await messageOf(store.pull(id)),
      /^ModelNotFound: .*owner\/split .*lacks q4\/big-Q4_K_M-00002-of-00003\.gguf/,
    );
  serveParts(server);
  const { path: file } = await store.pull('owner/split');
  await rm(path.join(path.dirname(file), PART_NAMES[2] ?? ''));
  assert.match(
    await messageOf(store.resolve('owner/split')),
    /^ModelDamaged: .*its part big-Q4_K_M-00003-of-00003\.gguf is missing/,
  );
  await truncate(path.join(path.dirname(file), PART_NAMES[1] ?? ''), 100);
  assert.match(await messageOf(store.resolve('owner/split')), /part big-Q4_K_M-00002-of-00003\.gguf: it has 100 bytes/);
});

Store('takes all parts of a split model from a path or an import', async ({ store, dir, cacheDir }) => {
  const files = PART_NAMES.map((name) => path.join(dir, name));
  for (const [index, file] of files.entries()) await writeFile(file, PARTS[index] ?? GGUF);
  const [first = '', second = '', third = ''] = files;
  for (const file of files) {
    const model = await store.pull(file);
    assert.is(model.path, first);
    assert.is(model.bytes, PARTS_BYTES);
  }
  const imported = await store.import(second);
  assert.is(imported.id, 'big-Q4_K_M');
  assert.is(imported.bytes, PARTS_BYTES);
  assert.equal(await filesBelow(cacheDir), PART_NAMES.flatMap((name) => [name, `${name}.json`]).sort());
  assert.is((await store.import(first, { id: 'mine' })).path.endsWith('mine-00001-of-00003.gguf'), true);

  await writeFile(third, makeGguf({ part: 3, parts: 3, tensors: 4 }));
  await writeFile(second, PARTS[2] ?? GGUF);
  assert.match(await messageOf(store.resolve(first)), /name says part 2 of 3, but its content is part 3 of 3/);
  await writeFile(second, GGUF);
  assert.match(await messageOf(store.resolve(first)), /name says part 2 of 3, but its content is a whole model/);
  await writeFile(second, PARTS[1] ?? GGUF);
  await writeFile(first, makeGguf({ part: 1, parts: 3, tensors: 4 }));
  assert.match(await messageOf(store.resolve(first)), /the parts have 3 tensors, but the model has 4/);
  await rm(second);
  assert.match(
    await messageOf(store.import(third, { id: 'x' })),
    /^ModelFormatError: .*part 2 of 3 is missing: .*00002-of-00003/,
  );
  const alone = path.join(dir, 'alone.gguf');
  await writeFile(alone, PARTS[1] ?? GGUF);
  assert.match(await messageOf(store.resolve(alone)), /this is part 2 of 3 of a split model; name its files/);
});

for (const { name, repo, use } of hubModels)
  Store(
    `${name} is the best model of its repository, with its projector where it has one`,
    async ({ store, server }) => {
      const projector = 'mmproj-F16.gguf';
      const names = ['README.md', 'model-Q8_0.gguf', 'model-Q4_K_M.gguf', projector, 'mmproj-Q8_0.gguf'];
      server.handler = (request, response) => {
        if (!request.url?.startsWith(`/api/models/${repo}?`)) return false;
        const siblings = names.map((rfilename) => ({ rfilename, size: GGUF.length, lfs: { sha256: GGUF_SHA256 } }));
        response.end(JSON.stringify({ siblings, cardData: { license: 'mit' } }));
        return true;
      };
      for (const file of names) server.files.set(`/${repo}/resolve/main/${file}`, GGUF);
      const listed = (await store.list()).filter(({ id }) => id === name);
      assert.equal([listed.length, listed[0]!.use, listed[0]!.state], [1, use, 'absent']);
      assert.is(await store.idOf(name.toUpperCase()), name);
      const model = await store.pull(name);
      assert.is(model.id, `${repo}/model-Q4_K_M.gguf`);
      assert.is((await store.resolve(name))?.path, model.path);
      if (/images|audio/.test(use)) assert.is((await store.pull(name, { projector: true })).id, `${repo}/${projector}`);
      assert.not((await store.list()).some(({ id }) => id === name));
      assert.is(await store.remove(name), GGUF.length);
    },
  );

Store(
  'lists a name of the hub until its model is here, and an imported model instead',
  async ({ store, dir, cacheDir }) => {
    const [name, repo] = ['gemma-3-4b', 'ggml-org/gemma-3-4b-it-GGUF'];
    const folder = path.join(cacheDir, 'models', 'hub', repo);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'model-Q8_0.gguf.partial'), GGUF.subarray(0, 100));
    const rows = async (): Promise<(string | undefined)[]> =>
      (await store.list()).filter(({ id }) => id === name).map(({ use }) => use);
    assert.equal(await rows(), ['images'], 'after an interrupted pull');
    assert.is(await messageOf(store.remove(name)), `ModelNotFound: ${name} is not on this machine`);
    const file = path.join(dir, `${name}.gguf`);
    await writeFile(file, GGUF);
    await store.import(file);
    assert.equal(await rows(), [undefined]);
    const projector = await messageOf(store.pull(name, { projector: true }));
    assert.match(projector, /only repositories of the hub and folders are searched/);
  },
);

Store('names the repository that cannot be read while the hub is away', async ({ cacheDir }) => {
  const away = new ModelStore({ cacheDir, log: silentLogger, hfEndpoint: NOWHERE });
  for (const pull of [() => away.pull('qwen3-4b'), () => away.pull('qwen3-4b', { projector: true })])
    assert.match(
      await messageOf(pull()),
      /^DownloadFailed: the hub's repository Qwen\/Qwen3-4B-GGUF cannot be read: http\S+:9 cannot be reached/,
    );
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

Store('imports a CTranslate2 folder at 16 bit and quantized', async ({ store, dir }) => {
  await writeTinyWhisper(path.join(dir, 'fine-tuned'));
  const whole = await store.import(path.join(dir, 'fine-tuned'));
  const small = await store.import(path.join(dir, 'fine-tuned'), { id: 'fine-tuned-q8', quantize: 'q8_0' });
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
  assert.match(text.out, /\nON THE HUB +FOR +REPOSITORY\nqwen3-0\.6b +text +hub:Qwen\/Qwen3-0\.6B-GGUF\n/);
  const usersOf: UsersOfFiles = async (files) => files.map((file) => (file.endsWith('model-Q8_0.gguf') ? ['llm'] : []));
  text.out = '';
  assert.is(await modelsList(store, io, { usersOf }), 0);
  assert.match(text.out, /^MODEL +SIZE +HERE +USED BY +LICENCE\n/);
  assert.match(text.out, /\nowner\/repo\/model-Q8_0\.gguf +\d+ B +yes +llm +mit\n/);
  text.out = '';
  await modelsList(store, io, { json: true, usersOf });
  const listed = JSON.parse(text.out).find((row: { id: string }) => row.id === 'owner/repo/model-Q8_0.gguf');
  assert.equal([listed.state, listed.used_by], ['present', ['llm']]);
  assert.is(await modelsRemove(store, ['owner/repo'], io, usersOf), 1);
  assert.match(text.err, /owner\/repo is loaded by llm/);
  assert.is(await modelsRemove(store, ['owner/repo'], io), 0);
  assert.is(await store.resolve('owner/repo'), undefined);
});

Store.run();
