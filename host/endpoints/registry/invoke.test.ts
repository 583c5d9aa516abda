import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaError } from '../../base/core/errors.ts';
import { VideoInput } from '../../base/schemas/index.ts';
import {
  type ServedEndpoint,
  EndpointRegistry,
  hostEndpoint,
  invoke,
  pluginEndpoints,
  type UploadedFile,
} from './index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Invoke = suite('invoke');

const runs: string[] = [];
const INPUT = z.toJSONSchema(z.strictObject({ video: VideoInput, count: z.int().min(1).default(2) }), { io: 'input' });

/** As a plugin comes out of loading, without a component behind it. */
function plugin(inputSchema: object = INPUT) {
  return {
    name: 'demo',
    endpoints: [
      {
        name: 'look',
        path: '/look',
        summary: 'Look',
        description: '',
        inputSchema,
        outputSchema: {},
        streaming: false,
      },
    ],
    run: async ({ input }: { input: string }) => {
      runs.push(input);
      return '{"ok":true}';
    },
  };
}

const look = pluginEndpoints(plugin())[0] as ServedEndpoint;
const file = (path: string): UploadedFile => ({ path, bytes: 1 });
const options = (files: Record<string, UploadedFile> = {}) => ({
  requestId: 'r',
  timeoutMs: 5000,
  signal: new AbortController().signal,
  files: new Map(Object.entries(files)),
});

Invoke.before.each(() => {
  runs.length = 0;
});

Invoke('passes a valid input on unchanged, without the defaults of the component', async () => {
  assert.is(await invoke(look, { video: { url: 'http://x/y' } }, options()), '{"ok":true}');
  assert.equal(runs, ['{"video":{"url":"http://x/y"}}']);
});

const BAD: [title: string, input: unknown, entries: [type: string, loc: (string | number)[]][]][] = [
  ['a missing key', {}, [['missing', ['video']]]],
  ['an unknown key', { video: { url: 'http://x' }, vidio: 1 }, [['extra_forbidden', ['vidio']]]],
  ['an unknown inner key', { video: { url: 'http://x', size: 1 } }, [['extra_forbidden', ['video', 'size']]]],
  ['a wrong type under a nullable key', { video: { url: 3 } }, [['string_type', ['video', 'url']]]],
  ['a number out of range', { video: {}, count: 0 }, [['greater_than_equal', ['count']]]],
  ['a list in place of the object', [], [['model_type', []]]],
  ['a prototype key', JSON.parse('{"video":{},"__proto__":{"a":1}}'), [['extra_forbidden', ['__proto__']]]],
];
for (const [title, input, entries] of BAD) {
  Invoke(`refuses ${title} by name before the run`, async () => {
    const error = await errorOf(invoke(look, input, options()));
    assert.is(error.name, 'ValidationError');
    assert.is(error.kind, 'invalid-input');
    assert.equal(
      (error.data as { type: string; loc: unknown }[]).map(({ type, loc }) => [type, loc]),
      entries,
    );
    assert.equal(runs, []);
  });
}

Invoke('refuses an input that names a missing file, and lists the uploaded ones', async () => {
  const error = await errorOf(invoke(look, { video: { content: 'clip' } }, options({ other: file('/o') })));
  assert.is(error.name, 'UploadedFileNotFound');
  assert.is(error.kind, 'invalid-input');
  assert.is(error.message, 'the input names the file part "clip", but the uploaded file parts are "other"');
  assert.equal((error.data as { loc: unknown }[])[0]?.loc, ['video', 'content']);
  assert.match(
    (await errorOf(invoke(look, { video: { content: 'clip' } }, options()))).message,
    'no file was uploaded',
  );
});

Invoke('accepts the scheme of a URL in upper and lower case', async () => {
  for (const url of ['http://x/y', 'HTTP://x/y', 'Https://x/y'])
    assert.is(await invoke(look, { video: { url } }, options()), '{"ok":true}');
  assert.is((await errorOf(invoke(look, { video: { url: 'ftp://x/y' } }, options()))).name, 'ValidationError');
});

Invoke('finds all files that an input names at any depth', async () => {
  const input = z.strictObject({
    scenes: z.record(z.string(), z.array(z.strictObject({ cut: z.union([z.null(), VideoInput]) }))),
    cover: VideoInput,
  });
  const [deep] = pluginEndpoints(plugin(z.toJSONSchema(input, { io: 'input' }))) as [ServedEndpoint];
  const body = {
    scenes: { first: [{ cut: { content: 'a' } }, { cut: null }, { cut: { content: 'b' } }] },
    cover: { content: 'a' },
  };
  assert.is(await invoke(deep, body, options({ a: file('/a'), b: file('/b') })), '{"ok":true}');
  const error = await errorOf(invoke(deep, body, options({ a: file('/a') })));
  assert.equal(
    (error.data as { loc: unknown }[]).map(({ loc }) => loc),
    [['scenes', 'first', 2, 'cut', 'content']],
  );
});

const OUTPUT = z.toJSONSchema(z.object({ segments: z.array(z.object({ text: z.string() })) }), { io: 'output' });
const giving = (output: string, streaming = false, outputSchema: object = OUTPUT): ServedEndpoint =>
  pluginEndpoints({
    ...plugin({}),
    endpoints: [
      { name: 'give', path: '/give', summary: '', description: '', inputSchema: {}, outputSchema, streaming },
    ],
    run: async ({ write }: { write?: ((chunk: string) => Promise<void>) | undefined }) => {
      await write?.(output);
      return streaming ? 'null' : output;
    },
  })[0] as ServedEndpoint;

const WRONG: [title: string, output: string, places: unknown[]][] = [
  [
    'has another type',
    '{"segments":[{"text":"fine"},{"text":12345}]}',
    [{ loc: ['segments', 1, 'text'], type: 'string_type' }],
  ],
  ['lacks a key', '{}', [{ loc: ['segments'], type: 'missing' }]],
  ['has a key too many', '{"segments":[],"secret":12345}', [{ loc: ['secret'], type: 'extra_forbidden' }]],
  ['is no JSON', '{"segments":', [{ loc: [], type: 'json_invalid' }]],
];
for (const [title, output, places] of WRONG) {
  Invoke(`sends no output of a component that ${title}, streamed or not, and only the log has the place`, async () => {
    for (const streaming of [false, true]) {
      const sent: string[] = [];
      const error = await errorOf(
        invoke(giving(output, streaming), {}, { ...options(), write: async (chunk) => void sent.push(chunk) }),
      );
      assert.equal(
        [error.name, error.kind, error.message, error.data],
        ['OutputError', 'internal', 'endpoint give: its output does not match its schema', {}],
      );
      assert.equal(error.logFields, { output: places });
      assert.equal(sent, []);
    }
  });
}

Invoke('returns an output unchanged if it matches or its schema is empty', async () => {
  for (const [output, schema] of [
    ['{ "segments": [] }', OUTPUT],
    ['[1, 2', {}],
  ] as const)
    assert.is(await invoke(giving(output, false, schema), {}, options()), output);
});

Invoke('reports mismatches that the SDK found in an output only to the log', async () => {
  const places = [{ loc: ['text'], type: 'string_type' }];
  const sdk = {
    ...plugin({}),
    run: () => Promise.reject(new AanaError('OutputError', 'internal', 'text: is no string', { data: places })),
  };
  const error = await errorOf(invoke(pluginEndpoints(sdk)[0] as ServedEndpoint, {}, options()));
  assert.equal(
    [error.message, error.data, error.logFields],
    ['endpoint look: its output does not match its schema', {}, { output: places }],
  );
});

Invoke('refuses a component whose output schema cannot be checked', () => {
  assert.throws(
    () => giving('', false, { not: { type: 'string' } }),
    /endpoint give: its output schema cannot be used/,
  );
});

Invoke('refuses an uploaded file that no input names', async () => {
  const error = await errorOf(invoke(look, { video: { content: 'a' } }, options({ a: file('/a'), b: file('/b') })));
  assert.equal(error.data, [{ type: 'extra_file', loc: ['b'], msg: 'No input names this file part', input: 'b' }]);
});

Invoke('finds file names through references, lists and maps, and in a schema that contains itself', async () => {
  const Node = z.strictObject({
    file: z.optional(z.string().meta({ 'x-aana-file': true })),
    get children() {
      return z.optional(z.array(Node));
    },
  });
  const schema = z.toJSONSchema(z.strictObject({ tree: Node, named: z.optional(z.record(z.string(), Node)) }), {
    io: 'input',
  });
  const endpoint = pluginEndpoints(plugin(schema))[0] as ServedEndpoint;
  const input = { tree: { children: [{ file: 'a' }, { children: [{ file: 'b' }] }] }, named: { x: { file: 'c' } } };
  await invoke(endpoint, input, options({ a: file('/a'), b: file('/b'), c: file('/c') }));
  const error = await errorOf(invoke(endpoint, input, options({ a: file('/a') })));
  assert.equal(
    (error.data as { loc: unknown }[]).map(({ loc }) => loc),
    [
      ['tree', 'children', 1, 'children', 0, 'file'],
      ['named', 'x', 'file'],
    ],
  );
});

Invoke('ends a run that takes too long, with the time in the message', async () => {
  const slow = hostEndpoint({
    name: 'slow',
    path: '/slow',
    summary: '',
    input: z.strictObject({}),
    output: z.unknown(),
    run: (_input, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const error = await errorOf(invoke(slow, {}, { ...options(), timeoutMs: 20 }));
  assert.is(error.kind, 'deadline-exceeded');
  assert.match(error.message, 'endpoint slow was ended after 0.02 seconds');
});

Invoke('passes a host function its input with defaults, and streams the values of an async generator', async () => {
  const input = z.strictObject({ count: z.int().default(2) });
  const count = hostEndpoint({
    name: 'count',
    path: '/count',
    summary: '',
    input,
    output: z.strictObject({ n: z.int() }),
    async *run({ count: end }) {
      for (let n = 0; n < end; n++) yield { n };
    },
  });
  assert.is(count.streaming, true);
  const chunks: string[] = [];
  await invoke(count, {}, { ...options(), write: async (chunk) => void chunks.push(chunk) });
  assert.equal(chunks, ['{"n":0}', '{"n":1}']);
});

Invoke('does not start when the signal has already aborted', async () => {
  const error = await errorOf(
    invoke(
      look,
      { video: { url: 'http://x' } },
      { ...options(), signal: AbortSignal.abort(new AanaError('CancelledError', 'cancelled', 'gone')) },
    ),
  );
  assert.is(error.message, 'gone');
  assert.equal(runs, []);
});

Invoke('registers all endpoints of a plugin or none, and refuses taken, reserved and malformed paths', () => {
  const registry = new EndpointRegistry();
  registry.addPlugin(plugin());
  const two = plugin();
  two.endpoints = [
    { ...(two.endpoints[0] as ServedEndpoint), name: 'fresh', path: '/fresh' },
    { ...(two.endpoints[0] as ServedEndpoint), name: 'again', path: '/look' },
  ];
  assert.throws(() => registry.addPlugin(two), /the path \/look already belongs to look/);
  assert.equal(
    registry.list().map(({ name }) => name),
    ['look'],
  );
  const add = (name: string, path: string) => () => registry.add({ ...look, name, path });
  assert.throws(add('look', '/other'), /already registered/);
  assert.throws(add('a', '/api/ready'), /the host's own/);
  assert.throws(add('a', 'no-slash'), /is not a path/);
  assert.throws(add('a', '/x/../y z'), /is not a path/);
  registry.removePlugin('demo');
  assert.equal(registry.list(), []);
});

Invoke('refuses a plugin whose input schema cannot be used, naming the endpoint', () => {
  assert.throws(
    () => pluginEndpoints(plugin({ type: 'object', properties: { a: { $ref: '#/$defs/none' } } })),
    /endpoint look: its input schema cannot be used/,
  );
});

Invoke.run();
