import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answerBy,
  asBytes,
  bytesAnswer,
  defineEndpoint,
  defineHelper,
  definePlugin,
  FileInput,
  HostError,
  z,
} from '../node.ts';
import { type FakeHost, FakeRepositories, type FakeStorage, runEndpoint } from '../testing/testing.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';

const anything = { path: '/act', summary: 'Acts', input: z.strictObject({}), output: z.any() };

async function failure(run: Promise<unknown>): Promise<HostError> {
  try {
    await run;
  } catch (error) {
    assert.instance(error, HostError);
    return error as HostError;
  }
  throw new Error('it did not fail');
}

async function allOf<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

const Capabilities = suite('capabilities of the SDK');

const counting = definePlugin([
  defineEndpoint({
    ...{ ...anything, name: 'count' },
    uses: ['storage'],
    async run(_, { storage }) {
      const count = ((await storage.get<number>('count')) ?? 0) + 1;
      await storage.set('count', count);
      await storage.set(`seen/${count}`, { é: '€ 😀' });
      if (count === 3) assert.equal([await storage.delete('seen/1'), await storage.delete('seen/1')], [true, false]);
      return { count, keys: await allOf(storage.keys('seen/')), last: await storage.get(`seen/${count}`) };
    },
  }),
]);

Capabilities('storage keeps values from one run to the next', async () => {
  const storage: FakeStorage = new Map();
  const outputs: unknown[] = [];
  for (let n = 0; n < 3; n++) outputs.push((await runEndpoint(counting, 'count', {}, { storage })).output);
  assert.equal(outputs[2], { count: 3, keys: ['seen/2', 'seen/3'], last: { é: '€ 😀' } });
  assert.is(storage.get('count'), 3);
});

Capabilities('the fake of storage counts, compares, expires and lists', async () => {
  const storage: FakeStorage = new Map();
  let now = 1000;
  const limit = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'limit' },
      uses: ['storage'],
      run: async (_, { storage: kept }) => ({
        count: await kept.increment('n', 2, { expiresInMs: 60_000 }),
        swapped: [await kept.compareAndSet('c', undefined, { a: 'é' }), await kept.compareAndSet('c', { a: 'é' }, [1])],
        removed: await kept.compareAndSet('c', [1], undefined),
        facts: [...kept.facts()],
        entries: [...kept.entries<number>('n')].map(({ value }) => value),
        refused: (await failure(kept.increment('text'))).name,
      }),
    }),
  ]);
  const run = async (): Promise<unknown> => (await runEndpoint(limit, 'limit', {}, { storage, now: () => now })).output;
  storage.set('text', 'x');
  const first = {
    ...{ count: 2, swapped: [true, true], removed: true, entries: [2], refused: 'StoredValueMismatch' },
    facts: [
      { key: 'n', size: 1, expiresInMs: 60_000 },
      { key: 'text', size: 3 },
    ],
  };
  assert.equal(await run(), first);
  now += 59_999;
  assert.equal(await run(), {
    ...{ ...first, count: 4, entries: [4] },
    facts: [
      { key: 'n', size: 1, expiresInMs: 1 },
      { key: 'text', size: 3 },
    ],
  });
  now += 1;
  assert.equal(await run(), first);
  assert.equal(
    [...storage],
    [
      ['text', 'x'],
      ['n', 2],
    ],
  );
});

Capabilities('storage takes bytes as they are at the call, and nothing else in their place', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'keep' },
      uses: ['storage'],
      async run(_, { storage }) {
        const bytes = Uint8Array.of(0, 255);
        const calls = [storage.setBytes('a', bytes), storage.compareAndSetBytes('b', undefined, bytes)];
        bytes.fill(1);
        await Promise.all(calls);
        for (const other of ['text', '', [1], bytes.buffer] as never[]) {
          assert.throws(() => storage.setBytes('a', other), /must be a Uint8Array/);
          assert.throws(() => storage.compareAndSetBytes('a', undefined, other), /must be a Uint8Array/);
        }
        return [await storage.getBytes('a'), await storage.getBytes('b'), await storage.getBytes('c')].map(
          (each) => each && [...each],
        );
      },
    }),
  ]);
  assert.equal((await runEndpoint(plugin, 'keep', {})).output, [[0, 255], [0, 255], null]);
});

Capabilities('an endpoint that uses what the plugin does not have fails with a sentence', async () => {
  const error = await failure(runEndpoint(counting, 'count', {}, { storage: null }));
  assert.equal([error.name, error.kind, error.data], ['CapabilityDenied', 'denied', { capability: 'storage' }]);
  assert.match(error.message, /the endpoint count uses the capability storage.*plugin\.json/);
});

Capabilities('what an endpoint does not name in `uses` is not in ctx', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...anything,
      name: 'act',
      run: (_, ctx) => Object.keys(ctx).filter((key) => /storage|fetch|remote/i.test(key)),
    }),
  ]);
  assert.equal((await runEndpoint(plugin, 'act', {})).output, []);
});

const keeping = definePlugin([
  defineEndpoint({
    ...{ ...anything, name: 'keep' },
    uses: ['repositories', 'repositories-write'],
    async run(_, { repositories: { media, videos, captions, transcripts } }) {
      const { media_id: id } = await videos.save({ media_id: 'v', title: 'A' });
      const [, second] = await captions.saveAll(
        [2, 1].map((timestamp) => ({ media_id: id, model: 'm', frame_id: timestamp, caption: 'c', timestamp })),
      );
      const { id: transcript } = await transcripts.save({
        media_id: id,
        model: 'w',
        transcript: 'Hi',
        segments: [{ n: 1 }],
        language: 'en',
        language_confidence: 0.5,
      });
      await media.create('i', 'image');
      await media.delete('i');
      const times = (await allOf(captions.list(id))).map(({ timestamp }) => timestamp);
      if (second) await captions.delete(second.id);
      return {
        times,
        left: (await allOf(captions.list(id))).length,
        text: (await transcripts.read(transcript)).transcript,
        infos: (await allOf(transcripts.listInfos(id))).length,
        titles: (await allOf(videos.list())).map(({ title }) => title),
        there: await media.exists('i'),
      };
    },
  }),
  defineEndpoint({
    ...anything,
    name: 'odd',
    uses: ['repositories-write'],
    run: (_, ctx) => ctx.repositories.captions.save({ model: 'm', frame_id: 0.5, caption: 'c', timestamp: 0 }),
  }),
  defineEndpoint({
    ...anything,
    name: 'look',
    uses: ['repositories'],
    run: (_, { repositories }) => repositories.videos.getMetadata('none'),
  }),
]);

Capabilities('repositories keep rows from one run to the next, and refuse as the host does', async () => {
  const repositories = new FakeRepositories();
  assert.equal((await runEndpoint(keeping, 'keep', {}, { repositories })).output, {
    times: [1, 2],
    left: 1,
    text: 'Hi',
    infos: 1,
    titles: ['A'],
    there: false,
  });
  assert.equal(
    [repositories.media.get('v'), repositories.captions.length, repositories.transcripts[0]?.segments],
    ['video', 1, [{ n: 1 }]],
  );
  assert.is((await failure(runEndpoint(keeping, 'keep', {}, { repositories }))).name, 'MediaIdAlreadyExistsException');
  const { name, kind, data } = await failure(runEndpoint(keeping, 'look', {}));
  assert.equal([name, kind, data], ['NotFoundException', 'not-found', { table: 'video', id: 'none' }]);
  assert.match(
    (await failure(runEndpoint(keeping, 'odd', {}))).message,
    'frame_id is a whole number from 0 to 2147483647, not 0.5',
  );
  assert.is((await failure(runEndpoint(keeping, 'look', {}, { repositories: null }))).name, 'CapabilityDenied');
});

const asking = definePlugin([
  defineEndpoint({
    ...{ ...anything, name: 'ask' },
    async run() {
      const page = await fetch('https://a.example/b', { headers: { 'X-Key': '1' } });
      const made = await fetch('https://a.example/c', { method: 'PUT', body: JSON.stringify({ name: 'ä' }) });
      const type = page.headers.get('Content-Type');
      const { name } = (await page.json()) as { name: string };
      return { ok: page.ok, type, name, made: made.status, text: await made.text() };
    },
  }),
]);

Capabilities('fetch sends requests and reads answers', async () => {
  const answer: FakeHost['fetch'] = ({ method }) =>
    method === 'GET'
      ? { headers: { 'Content-Type': 'application/json' }, body: { name: 'ü' } }
      : { status: 404, body: 'none' };
  const { output, requests } = await runEndpoint(asking, 'ask', {}, { fetch: answer });
  assert.equal(output, { ok: true, type: 'application/json', name: 'ü', made: 404, text: 'none' });
  assert.equal(requests, [
    { method: 'GET', url: 'https://a.example/b', headers: { 'x-key': '1' }, body: '' },
    {
      method: 'PUT',
      url: 'https://a.example/c',
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
      body: '{"name":"ä"}',
    },
  ]);
  const [one, other] = await Promise.all(
    ['one', 'other'].map((body) => runEndpoint(asking, 'ask', {}, { fetch: () => ({ body: { name: body } }) })),
  );
  assert.equal(
    [one, other].map((run) => (run!.output as { name: string }).name),
    ['one', 'other'],
  );
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('{"name":');
    yield new TextEncoder().encode('"streamed"}');
  }
  const streamed = await runEndpoint(asking, 'ask', {}, { fetch: () => ({ body: pieces() }) });
  assert.is((streamed.output as { name: string }).name, 'streamed');
  const whole = await runEndpoint(asking, 'ask', {}, { fetch: () => Response.json({ name: 'of Node' }) });
  assert.is((whole.output as { name: string }).name, 'of Node');
  const refused = await failure(runEndpoint(asking, 'ask', {}));
  assert.equal([refused.name, refused.kind], ['CapabilityDenied', 'denied']);
});

Capabilities('fetch ends with its signal, and a time that is over is one of the run', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'late' },
      run: async () => (await fetch('https://a.example/', { signal: AbortSignal.timeout(5) })).status,
    }),
  ]);
  const late = await failure(runEndpoint(plugin, 'late', {}, { fetch: () => new Promise(() => {}) }));
  assert.equal([late.name, late.kind], ['TimeoutError', 'deadline-exceeded']);
});

Capabilities('fetch ends with its signal although the garbage is collected meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'late' },
      run: async () => (await fetch('https://a.example/', { signal: AbortSignal.timeout(200) })).status,
    }),
  ]);
  const answer = (): Promise<never> => {
    const timer = setInterval(collect, 10);
    setTimeout(() => clearInterval(timer), 150);
    return new Promise(() => {});
  };
  assert.is((await failure(runEndpoint(plugin, 'late', {}, { fetch: answer }))).name, 'TimeoutError');
});

const double = defineHelper({
  name: 'double',
  input: z.int(),
  output: z.int(),
  run: (n, ctx) => (ctx.log.info('doubling'), n * 2),
});
const waiting = defineHelper({
  name: 'waiting',
  input: z.string(),
  output: z.nullable(z.int()),
  async run(text, ctx) {
    const { tokens } = await ctx.llm.countTokens({ text });
    if (tokens === 0) throw new HostError('NoWay', 'conflict', 'no');
    return tokens;
  },
});
const failing = defineHelper({
  name: 'failing',
  input: z.any(),
  output: z.any(),
  run: () => {
    throw new HostError('NoWay', 'conflict', 'no');
  },
});
const helping = definePlugin(
  [
    defineEndpoint({
      ...{ ...anything, name: 'help' },
      uses: ['remote'],
      async run(_, ctx) {
        const several = await Promise.all([1, 2, 3].map((n) => ctx.runRemote(double, n)));
        return [...several, await ctx.runRemote(double, 10)];
      },
    }),
    defineEndpoint({
      ...{ ...anything, name: 'wait' },
      uses: ['remote'],
      run: (_, ctx) => [ctx.wait(ctx.runRemote(double, 1)), ctx.wait(ctx.runRemote(double, 2))],
    }),
    defineEndpoint({
      ...{ ...anything, name: 'later' },
      uses: ['remote'],
      run: (_, ctx) => Promise.all([ctx.runRemote(waiting, 'abc'), ctx.runRemote(waiting, 'a')]),
    }),
    defineEndpoint({
      ...{ ...anything, name: 'catch' },
      uses: ['remote'],
      async run(_, ctx) {
        const outcomes = await Promise.allSettled([ctx.runRemote(failing, null), ctx.runRemote(waiting, '')]);
        return outcomes.map((one) => one.status === 'rejected' && one.reason instanceof HostError && one.reason.name);
      },
    }),
    defineEndpoint({ ...anything, name: 'fail', uses: ['remote'], run: (_, ctx) => ctx.runRemote(failing, null) }),
    defineEndpoint({
      ...anything,
      name: 'wrong',
      uses: ['remote'],
      run: (_, ctx) => ctx.runRemote(double, 'a' as unknown as number),
    }),
  ],
  { helpers: [double, waiting, failing] },
);

Capabilities('helpers run, several at a time', async () => {
  const { output, logs } = await runEndpoint(helping, 'help', {});
  assert.equal(output, [2, 4, 6, 20]);
  assert.is(logs.length, 4);
});

Capabilities('helpers run in a synchronous run with ctx.wait', async () => {
  assert.equal((await runEndpoint(helping, 'wait', {})).output, [2, 4]);
});

const countingTokens: FakeHost = {
  deployments: {
    llm_deployment: { count_tokens: ({ text }: { text: string }) => ({ tokens: text.length, max_tokens: 9 }) },
  },
};

Capabilities('helpers can be asynchronous', async () => {
  assert.equal((await runEndpoint(helping, 'later', {}, countingTokens)).output, [3, 1]);
});

Capabilities('endpoints catch what a helper throws, now or later, as an error of the host', async () => {
  assert.equal((await runEndpoint(helping, 'catch', {}, countingTokens)).output, ['NoWay', 'NoWay']);
});

Capabilities('a helper fails as it throws, and checks what it is given', async () => {
  assert.equal(
    [(await failure(runEndpoint(helping, 'fail', {}))).name, (await failure(runEndpoint(helping, 'wrong', {}))).name],
    ['NoWay', 'ValidationError'],
  );
});

Capabilities('an uploaded file is read whole, in parts and in pieces that end between characters', async () => {
  const reading = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'read', input: z.strictObject({ file: FileInput }) },
      async run({ file }, ctx) {
        const { name, type, size, ...given } = ctx.file(file);
        const opened = ctx.file(file);
        const pieces = [...opened.textPieces()];
        const ranges = [[], [1], [0, 3], [size - 1], [2, 99_999_999], [5, 2]];
        const bytes = await Promise.all(ranges.map(async (range) => (await opened.bytes(...range)).length));
        return {
          ...{ name, type, size, given, bytes },
          text: (await opened.text()) === pieces.join(''),
          end: pieces.map((piece) => piece.slice(-2)),
          pieces: [...opened.pieces()].map((piece) => piece.length),
          first: [...(await opened.bytes(0, 4))],
        };
      },
    }),
  ]);
  const content = `\ufeffa${'€'.repeat(100_000)}`;
  const files = { table: { content, name: 't.csv', type: 'text/csv' }, none: { content: new Uint8Array() } };
  const size = 3 + 1 + 300_000;
  const table = await runEndpoint(reading, 'read', { file: 'table' }, { files });
  assert.equal(table.output, {
    ...{ name: 't.csv', type: 'text/csv', size, given: {}, text: true, end: ['€€', '€€'] },
    bytes: [size, size - 1, 3, 1, size - 2, 0],
    pieces: [262_144, size - 262_144],
    first: [0xef, 0xbb, 0xbf, 0x61],
  });
  const none = await runEndpoint(reading, 'read', { file: 'none' }, { files });
  assert.equal(none.output, {
    ...{ size: 0, given: {}, bytes: [0, 0, 0, 0, 0, 0], text: true, end: [], pieces: [], first: [] },
  });
  const missing = await failure(runEndpoint(reading, 'read', { file: 'other' }, { files }));
  assert.equal(
    [missing.name, missing.kind, missing.data],
    ['UploadedFileNotFound', 'invalid-input', { content: 'other' }],
  );
});

Capabilities('an answer of bytes is sent in pieces, whole or from a generator', async () => {
  const making = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'make', input: z.strictObject({ form: z.enum(['png', 'parts', 'later', 'json']) }) },
      output: answerBy('form', {
        png: bytesAnswer('image/png', 'text/csv'),
        parts: bytesAnswer('text/csv'),
        later: bytesAnswer('text/csv'),
        json: z.strictObject({ n: z.int() }),
      }),
      run({ form }) {
        if (form === 'json') return { n: 1 };
        if (form === 'png') return asBytes('image/png', new Uint8Array(300_000).fill(7), { status: 201 });
        const parts = function* () {
          for (const text of ['a,', 'b']) yield encodeUtf8(text);
        };
        const later = async function* () {
          for (const part of parts()) yield await Promise.resolve(part);
        };
        return asBytes('text/csv', form === 'parts' ? parts() : later(), { headers: { ETag: '"1"' } });
      },
    }),
  ]);
  const made = (form: string) => runEndpoint(making, 'make', { form });
  const json = await made('json');
  assert.equal([json.output, json.answer], [{ n: 1 }, undefined]);
  const { bytes, ...png } = (await made('png')).answer!;
  assert.equal(
    [png, bytes.length, bytes.every((byte) => byte === 7)],
    [{ mediaType: 'image/png', status: 201, headers: {} }, 300_000, true],
  );
  for (const form of ['parts', 'later']) {
    const { bytes: text, ...head } = (await made(form)).answer!;
    assert.equal([head, decodeUtf8(text)], [{ mediaType: 'text/csv', status: 200, headers: { etag: '"1"' } }, 'a,b']);
  }
});

Capabilities('images of a dialog and of a data URL reach the deployment as handles, each once', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'look' },
      async run(_, ctx) {
        const image = await ctx.image.decode(' data:image/png;\r\n base64,iVBO\r\n\tRw==\n');
        const part = { type: 'image' as const, image };
        const dialog = {
          messages: [{ role: 'user' as const, content: [part, { type: 'text' as const, text: '?' }, part] }],
        };
        return [(await ctx.llm.chat(dialog)).message.content, ...(await allOf(ctx.llm.chatStream(dialog)))];
      },
    }),
  ]);
  const files: number[][] = [];
  const answer = { message: { role: 'assistant', content: 'a cup' } };
  const { output, calls } = await runEndpoint(
    plugin,
    'look',
    {},
    {
      decodedImage: (file) => {
        files.push([...file]);
        return { width: 3, height: 2 };
      },
      deployments: { llm_deployment: { chat: () => answer, chat_stream: () => [{ text: 'a' }] } },
    },
  );
  assert.equal(output, ['a cup', { text: 'a' }]);
  assert.equal(files, [[0x89, 0x50, 0x4e, 0x47]]);
  const image = { type: 'image', image: { width: 3, height: 2, format: 'png' } };
  const content = [image, { type: 'text', text: '?' }, image];
  for (const { args } of calls) assert.equal(args, { dialog: { messages: [{ role: 'user', content }] } });
  for (const url of ['data:text/html;base64,AAAA', 'data:image/png;base64,A!AA', 'https://a.example/a.png', '']) {
    const broken = definePlugin([
      defineEndpoint({ ...{ ...anything, name: 'look' }, run: async (_, ctx) => (await ctx.image.decode(url)).width }),
    ]);
    assert.is((await failure(runEndpoint(broken, 'look', {}))).name, 'InvalidDataUrl');
  }
});

Capabilities('images, progress, clock, deadline and signal are there for every endpoint', async () => {
  let cancelled = false;
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'act' },
      async run(_, ctx) {
        const image = await ctx.image.open({ url: 'https://a.example/a.jpg' });
        const { width, height, format } = image;
        assert.equal(
          [(await image.pixels()).length, await image.pixels({ width: 2, height: 1 })],
          [3 * 5 * 480, new Uint8Array([2, 1, 0, 0, 0, 0])],
        );
        ctx.progress(0.5, 'half');
        ctx.progress(1);
        const before = ctx.signal.aborted;
        cancelled = true;
        try {
          ctx.signal.throwIfAborted();
        } catch (error) {
          return [
            width,
            height,
            format,
            ctx.clock.now().toISOString(),
            ctx.clock.monotonicMs(),
            ctx.deadline.getTime(),
            before,
            (error as HostError).kind,
          ];
        }
        return undefined;
      },
    }),
  ]);
  const fakes: FakeHost = {
    image: () => ({
      width: 5,
      format: 'mjpeg',
      pixels: (w, h) => new Uint8Array(3 * w * h).fill(w, 0, 1).fill(h, 1, 2),
    }),
    now: () => 1000,
    remainingMs: () => 500,
    isCancelled: () => cancelled,
  };
  const { output, progress } = await runEndpoint(plugin, 'act', {}, fakes);
  assert.equal(output, [5, 480, 'mjpeg', '1970-01-01T00:00:01.000Z', 1000, 1500, false, 'cancelled']);
  assert.equal(progress, [
    { fraction: 0.5, text: 'half' },
    { fraction: 1, text: '' },
  ]);
});

Capabilities('the usual deployments need no name', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'act' },
      async run(_, ctx) {
        const dialog = { messages: [{ role: 'user' as const, content: 'Hi' }] };
        return [
          (await ctx.llm.chat(dialog)).message.content,
          (await ctx.llm('other').chat(dialog, { adapter: 'legal' })).message.content,
          (await ctx.llm.countTokens({ text: 'a' })).tokens,
          [...ctx.llm.chatStream(dialog)].length,
        ];
      },
    }),
  ]);
  const saying = (content: string) => ({
    chat: ({ adapter = '' }: { readonly adapter?: string }) => ({
      message: { role: 'assistant', content: content + adapter },
    }),
    count_tokens: () => ({ tokens: 1, max_tokens: 9 }),
    *chat_stream() {
      yield { text: content };
    },
  });
  assert.equal(
    (await runEndpoint(plugin, 'act', {}, { deployments: { llm_deployment: saying('usual'), other: saying('other') } }))
      .output,
    ['usual', 'otherlegal', 1, 1],
  );
});

Capabilities('initialize runs once in an instance, before the first run', async () => {
  let calls = 0;
  const plugin = definePlugin([
    defineEndpoint({
      ...anything,
      name: 'act',
      initialize: () => ({ made: ++calls }),
      run: (_, { state }) => state.made,
    }),
  ]);
  plugin.describe();
  assert.is(calls, 1);
  const first = await runEndpoint(plugin, 'act', {});
  const second = await runEndpoint(plugin, 'act', {});
  assert.equal([first.output, second.output, calls], [1, 1, 1]);
});

Capabilities('UTF-8 is written and read as by the platform, broken texts and bytes too', () => {
  for (const text of ['', 'a\u007f\u0080\u07ff\u0800\uffff', '😀€é', '\ud800', 'a\udc00b', '\u{10ffff}'.repeat(5000)])
    assert.equal([...encodeUtf8(text)], [...new TextEncoder().encode(text)]);
  const broken = [[0xff], [0xc0, 0x80], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0x41, 0xe2, 0x82]];
  for (const bytes of broken)
    assert.is(
      decodeUtf8(Uint8Array.from(bytes)),
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes)),
      bytes.join(),
    );
});

Capabilities('frames come as files of the wanted form, also when the loop ends early', async () => {
  const asked: unknown[] = [];
  const plugin = definePlugin([
    defineEndpoint({
      ...{ ...anything, name: 'files' },
      async run(_, { video }) {
        const opened = await video.open({ path: '/v.mp4' });
        const all = await allOf(opened.frameFiles({ count: 2, max_width: 8, format: 'jpeg', quality: 30 }));
        for await (const { time } of opened.frameFiles({ every: 1, format: 'png' }))
          return { first: time, all: all.map(({ file, ...facts }) => ({ ...facts, file: decodeUtf8(file) })) };
      },
    }),
  ]);
  const fakes: FakeHost = {
    video: () => ({
      frames: (options) => {
        asked.push(options);
        return [1, 2].map((time) => ({ time, width: 8, height: 4, file: encodeUtf8(`file ${time}`) }));
      },
    }),
  };
  const { output } = await runEndpoint(plugin, 'files', {}, fakes);
  const all = [1, 2].map((time) => ({ time, width: 8, height: 4, file: `file ${time}` }));
  assert.equal(output, { first: 1, all });
  assert.equal(asked, [
    { count: 2, max_width: 8, format: 'jpeg', quality: 30 },
    { every: 1, format: 'png' },
  ]);
});

Capabilities.run();
