import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

const source = `
import { defineEndpoint, defineHelper, definePlugin, z } from 'aana-host/plugin';

const square = defineHelper({ name: 'square', input: z.int(), output: z.int(), run: (n) => n * n });
const made = { input: z.strictObject({ n: z.int().check(z.describe('A number.')) }), output: z.any() };
let loads = 0;

const all = defineEndpoint({
  ...made, name: 'all', path: '/all', summary: 'All', uses: ['storage', 'remote'],
  initialize: () => ({ loads: ++loads, table: [1, 2, 3] }),
  async run({ n }, ctx) {
    const squares = await Promise.all([n, n + 1].map((each) => ctx.runRemote(square, each)));
    const before = await ctx.storage.get('n');
    await ctx.storage.set('n', { n, text: 'é€😀' });
    ctx.state.table.push(n);
    const answer = await fetch('https://a.example/x', { method: 'POST', headers: { 'X-N': String(n) }, body: 'ü' });
    ctx.progress(0.5, 'half');
    const image = await ctx.image.open({ url: 'https://a.example/a.png' });
    return {
      squares, before: before ?? null, after: await ctx.storage.get('n'),
      keys: [...ctx.storage.keys()], state: ctx.state,
      answer: [answer.status, answer.headers.get('x-n'), await answer.text()], width: image.width,
      time: ctx.clock.now().getTime() > 1e12 && ctx.deadline > ctx.clock.now() && ctx.clock.monotonicMs() >= 0,
      aborted: ctx.signal.aborted,
    };
  },
});
const steps = defineEndpoint({
  ...made, name: 'steps', path: '/steps', summary: 'Steps',
  run({ n }, ctx) {
    const call = (...fractions) => ctx.wait(ctx.deployment('model').call('steps', { fractions }));
    const asked = [call(0, 0.5, 0.25, 1), call(0.5, 1)];
    if (n === 0) return asked;
    ctx.progress(0.25, 'first', { until: 0.75 });
    call(0, 0.5, 1);
    ctx.progress(0.75, 'second');
    call(0.5, 1);
    return asked;
  },
});
const large = defineEndpoint({
  ...made, name: 'large', path: '/large', summary: 'Large', uses: ['storage'],
  async run({ n }, ctx) {
    const file = new Uint8Array(n).fill(255, n - 1);
    const image = await ctx.image.decode(file);
    const pixels = await image.pixels({ width: 2048, height: 2048 });
    await ctx.storage.setBytes('k', file.subarray(-(2 ** 20)), { expiresInMs: 60_000 });
    const stored = await ctx.storage.getBytes('k');
    const named = await ctx.image.decode(' data:image/png;\\n base64,iVBO\\r\\n\\tRw==\\n');
    return [image.width, pixels.length, pixels.at(-1), stored.length, stored.at(-1), named.width];
  },
});
const messageOf = (call) => { try { call(); }
  catch ({ name, kind, message }) { return name + ' ' + kind + ': ' + message; } };
const plain = defineEndpoint({
  ...made, name: 'plain', path: '/plain', summary: 'Plain',
  run: (_, ctx) => [() => ctx.storage.get('n'), () => ctx.runRemote(square, 1), () => ctx.repositories.videos]
    .map(messageOf),
});
export const endpoint = definePlugin([all, steps, large, plain], { helpers: [square] });
`;

interface Context {
  dir: string;
  host: PluginHost;
  ports: FakePorts;
}

const databases = sqliteDatabases();
const Sdk = suite<Context>('capabilities through the SDK');
Sdk.after(() => databases.end());

Sdk.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-sdk-'));
  context.ports = new FakePorts();
  context.host = new PluginHost({
    sandbox: testSandbox,
    ports: context.ports,
    cacheDir: testCacheDir(),
    isFast: true,
    log,
    grants: { sample: { capabilities: ['*'], hosts: ['*'] } },
  });
});
Sdk.after.each(async ({ host, dir }) => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

async function load({ dir, host }: Context, manifest: object, text = source): Promise<LoadedPlugin> {
  await mkdir(join(dir, 'src'), { recursive: true });
  await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'sample', version: '1.0.0', ...manifest }));
  await writeFile(join(dir, 'src', 'index.ts'), text);
  await buildTestPlugin(dir);
  return host.load(dir);
}

const run = async (
  plugin: LoadedPlugin,
  endpoint: string,
  n: number,
  onProgress?: (fraction: number, text: string) => void,
): Promise<unknown> =>
  JSON.parse(
    await plugin.run({
      endpoint,
      input: JSON.stringify({ n }),
      requestId: 'r',
      deadlineMs: 60_000,
      signal: new AbortController().signal,
      files: new Map(),
      ...(onProgress && { onProgress }),
    }),
  );

Sdk('deployments move the progress of the run inside of its steps, and only for a caller who asks', async (context) => {
  const plugin = await load(context, {
    capabilities: ['media', 'deployments', 'storage', 'http', 'remote'],
    deployments: ['model'],
    hosts: ['a.example'],
  });
  const reports: [number, string][] = [];
  const onProgress = (...report: [number, string]): void => void reports.push(report);
  const called = [0.5, 1].map((fraction) => [fraction, '']);
  assert.equal(await run(plugin, 'steps', 0, onProgress), [true, true]);
  assert.equal(reports, called);
  reports.length = 0;
  assert.equal(await run(plugin, 'steps', 1, onProgress), [true, true]);
  const steps = [
    [0.25, 'first'],
    [0.5, 'first'],
    [0.75, 'first'],
    [0.75, 'second'],
  ];
  assert.equal(reports, [...called, ...steps]);
  assert.equal(await run(plugin, 'steps', 1), [false, false]);
});

Sdk('uploaded files are read in the sandbox, also by helpers, and only those of the request', async (context) => {
  const plugin = await load(
    context,
    { capabilities: ['remote'] },
    `
import { defineEndpoint, defineHelper, definePlugin, FileInput, z } from 'aana-host/plugin';
const nameOf = async (call) => { try { await call(); } catch ({ name, kind }) { return name + ' ' + kind; } };
const count = defineHelper({ name: 'count', input: z.string(), output: z.int(),
  run: async (field, ctx) => (await ctx.file(field).text()).length });
export const endpoint = definePlugin([defineEndpoint({
  name: 'all', path: '/all', summary: 'All', input: z.strictObject({ file: FileInput }),
  output: z.any(), uses: ['remote'],
  async run({ file: field }, ctx) {
    const file = ctx.file(field);
    const bytes = await file.bytes();
    let sum = 0;
    for (let n = 0; n < bytes.length; n++) sum += bytes[n];
    return {
      facts: [file.name ?? null, file.type ?? null, file.size], sum,
      text: await file.text() === 'a' + '€'.repeat(100_000),
      pieces: [...file.pieces()].map((piece) => piece.length),
      texts: [...file.textPieces()].map((piece) => piece.length),
      parts: (await Promise.all([file.bytes(1, 4), file.bytes(file.size - 2), file.bytes(file.size), file.bytes(1e15)]))
        .map((part) => [...part]),
      refused: await Promise.all([() => file.bytes(-1), () => file.bytes(0.5, 2),
        () => ctx.file('other'), () => ctx.file('../0')].map(nameOf)),
      helper: await ctx.runRemote(count, field),
    };
  },
})], { helpers: [count] });`,
  );
  const content = Buffer.from(`a${'€'.repeat(100_000)}`);
  const path = join(context.dir, 'upload');
  await writeFile(path, content);
  const files = new Map([['table', { path, bytes: content.length, filename: 'a.csv' }]]);
  assert.equal(await runPlugin(plugin, 'all', { file: 'table' }, { files }), {
    facts: ['a.csv', null, 300_001],
    sum: content.reduce((sum, byte) => sum + byte, 0),
    text: true,
    pieces: [262_144, 37_857],
    texts: [87_382, 12_619],
    parts: [[0xe2, 0x82, 0xac], [0x82, 0xac], [], []],
    refused: [
      ...['InvalidArguments invalid-input', 'InvalidArguments invalid-input'],
      ...['UploadedFileNotFound invalid-input', 'UploadedFileNotFound invalid-input'],
    ],
    helper: 100_001,
  });
  await writeFile(path, Buffer.concat([Buffer.from([0xff, 0x61]), Buffer.alloc(262_144, 0x80), Buffer.from([0xe2])]));
  const broken = new Map([['table', { path, bytes: 262_147 }]]);
  const { texts, helper } = (await runPlugin(plugin, 'all', { file: 'table' }, { files: broken })) as Record<
    string,
    unknown
  >;
  assert.equal([texts, helper], [[262_144, 3], 262_147]);
});

Sdk('all of them work in the sandbox, and every run starts from what initialize made', async (context) => {
  const plugin = await load(context, { capabilities: ['media', 'storage', 'http', 'remote'], hosts: ['a.example'] });
  const shared = { keys: ['n'], width: 640, time: true, aborted: false };
  const first = {
    squares: [9, 16],
    before: null,
    after: { n: 3, text: 'é€😀' },
    state: { loads: 1, table: [1, 2, 3, 3] },
    answer: [201, '3', 'ü'],
  };
  assert.equal(await run(plugin, 'all', 3), { ...shared, ...first });
  const second = {
    squares: [25, 36],
    before: first.after,
    after: { n: 5, text: 'é€😀' },
    state: { loads: 1, table: [1, 2, 3, 5] },
    answer: [201, '5', 'ü'],
  };
  assert.equal(await run(plugin, 'all', 5), { ...shared, ...second });
  const toAdd = (member: string, names: string): string =>
    `CapabilityDenied denied: ctx.${member} needs ${names} in "uses" of the endpoint and in "capabilities" in ` +
    `plugin.json; ctx of a helper does not have it`;
  assert.equal(await run(plugin, 'plain', 0), [
    toAdd('storage', '"storage"'),
    toAdd('runRemote', '"remote"'),
    toAdd('repositories', '"repositories" or "repositories-write"'),
  ]);
  assert.equal(
    plugin.endpoints.map(({ name }) => name),
    ['all', 'steps', 'large', 'plain'],
  );
});

Sdk('the largest image files, pixels and values pass within the usual limits', async (context) => {
  const plugin = await load(context, { capabilities: ['media', 'storage', 'http', 'remote'], hosts: ['a.example'] });
  assert.equal(await run(plugin, 'large', 2 ** 24), [2 ** 24, 3 * 2 ** 22, 255, 2 ** 20, 255, 4]);
  assert.is((await errorOf(run(plugin, 'large', 2 ** 24 + 1))).name, 'ArgumentsTooLarge');
});

Sdk('repositories are gone through page by page, and read and written with one name', async (context) => {
  await using storage = new Storage({ config: await databases.create(), log, sqliteModule });
  context.ports.repositories = storage;
  const text = `
import { defineEndpoint, definePlugin, HostError, z } from 'aana-host/plugin';
const made = { input: z.strictObject({ n: z.int() }), output: z.any(), summary: '' };
const keep = defineEndpoint({
  ...made, name: 'keep', path: '/keep', uses: ['repositories', 'repositories-write'],
  async run({ n }, { repositories: { media, videos, captions, transcripts } }) {
    const { media_id } = await videos.save({ title: 'Grüße', url: null });
    const at = (timestamp) => ({ media_id, model: 'm', frame_id: timestamp, caption: 'c', timestamp });
    await captions.saveAll(Array.from({ length: n }, (_, each) => at(n - each)));
    const one = await captions.save({ model: 'm', frame_id: 0, caption: 'loose', timestamp: 0 });
    const said = { transcript: 'Hi', segments: [{ text: 'Hi', words: [] }], language: 'en', language_confidence: 1 };
    const saved = await transcripts.save({ media_id, model: 'w', ...said });
    const { transcript, segments, ...info } = await transcripts.read(saved.id);
    const same = [
      await captions.read(one.id), one, { ...info, transcript, segments }, saved,
      [...transcripts.listInfos(media_id)], [info], (await videos.getMetadata(media_id)).title, 'Grüße',
    ].map((each) => JSON.stringify(Object.entries(each).sort()));
    const times = (await captions.list(media_id).all()).map(({ timestamp }) => timestamp);
    const listed = [...videos.list()].some((video) => video.media_id === media_id);
    await media.delete(media_id);
    let error;
    try { await transcripts.read(saved.id); }
      catch (thrown) { error = thrown instanceof HostError && [thrown.name, thrown.data.table]; }
    return { same: same.every((each, at) => each === same[at ^ 1]), times: [times.length, times[0], times.at(-1)],
      listed, there: await media.exists(media_id), error };
  },
});
const messageOf = (call) => call.then(() => 'it succeeded', ({ name, message }) => name + ': ' + message);
const look = defineEndpoint({
  ...made, name: 'look', path: '/look', uses: ['repositories'],
  run: async (_, { repositories }) => [await repositories.media.exists('v'),
    await messageOf(repositories.videos.save({}))],
});
export const endpoint = definePlugin([keep, look]);`;
  const plugin = await load(context, { capabilities: ['repositories', 'repositories-write'] }, text);
  assert.equal(await run(plugin, 'keep', 450), {
    same: true,
    times: [450, 1, 450],
    listed: true,
    there: false,
    error: ['NotFoundException', 'transcript'],
  });
  const [exists, refused] = (await run(plugin, 'look', 0)) as [boolean, string];
  assert.is(exists, false);
  assert.match(refused, /^CapabilityDenied: this function of ctx\.repositories needs "repositories-write" in "uses"/);
});

Sdk('descriptions of fields reach the schema that the API documentation shows', async (context) => {
  const plugin = await load(context, { capabilities: ['storage', 'http', 'remote'] });
  const schema = plugin.endpoints[0]?.inputSchema as { readonly properties: object };
  assert.match(JSON.stringify(schema.properties), /"description":"A number\."/);
});

Sdk('a plugin that does not ask for what its endpoint uses does not load, with a sentence', async (context) => {
  const error = await load(context, { capabilities: ['storage', 'http'] }).then(
    () => new Error('it loaded'),
    (thrown: unknown) => thrown as Error,
  );
  assert.match(
    error.message,
    /the endpoint all uses the capability remote, which the plugin does not ask for: add it to /,
  );
});

Sdk('what is not asked for is not in the component', async (context) => {
  const text = source
    .replace(/uses: \[.*?\],/g, '')
    .replace(/async run\(\{ n \}, ctx\)[\s\S]*?\n  \},\n\}\);/, 'run: () => 1 });');
  await load(context, {}, text);
  const { imports } = await context.host.inspect(context.dir);
  assert.ok(imports.includes('aana:host/progress@0.1.0'));
  for (const name of [
    'asr',
    'ocr',
    'llm',
    'storage',
    'vectors',
    'repositories',
    'repositories-write',
    'http',
    'remote',
  ])
    assert.not.ok(imports.includes(`aana:host/${name}@0.1.0`), name);
});

Sdk('imports of what is not asked for are functions that fail with a sentence', async (context) => {
  const plugin = await load(
    context,
    {},
    `
import { transcribe } from 'aana:host/asr@0.1.0';
import { fetch } from 'aana:host/http@0.1.0';
import { chat, chatStream } from 'aana:host/llm@0.1.0';
import { Image, Video } from 'aana:host/media@0.1.0';
import { Task } from 'aana:host/remote@0.1.0';
import { listVideos } from 'aana:host/repositories@0.1.0';
import { saveCaptions } from 'aana:host/repositories-write@0.1.0';
import { delete as remove, get } from 'aana:host/storage@0.1.0';
const nameOf = (call) => {
  try { call(); } catch ({ kind, name, message, data }) {
    return [kind, name, message.includes(JSON.parse(data).capability)].join(' ');
  }
};
export const endpoint = {
  describe: () => [{ name: 'all', path: '/all', summary: '', description: '',
    inputSchema: '{}', outputSchema: '{}', streaming: false }],
  run: () => JSON.stringify([transcribe, fetch, chat, chatStream, Image.open, Video.open, Task.start,
    listVideos, saveCaptions, remove, get].map(nameOf)),
};`,
  );
  assert.equal(await run(plugin, 'all', 0), Array(11).fill('denied CapabilityDenied true'));
});

const refused = [
  {
    what: 'a capability that there is not',
    manifest: { capabilities: ['files'] },
    message: /capabilities\.0: must be one of media, .*, repositories, repositories-write, http, remote; /,
  },
  {
    what: 'hosts without the capability',
    manifest: { hosts: ['a.example'] },
    message: /hosts: are named, but neither "http" nor "media" is among the capabilities/,
  },
  {
    what: 'a host that is a URL',
    manifest: { capabilities: ['http'], hosts: ['https://a.example'] },
    message: /hosts\.0: must be a host such as/,
  },
];
for (const { what, manifest, message } of refused) {
  Sdk(`refuses ${what}`, async (context) => {
    const error = await load(context, manifest).then(
      () => new Error('it loaded'),
      (thrown: unknown) => thrown as Error,
    );
    assert.match(error.message, message);
  });
}

Sdk.run();
