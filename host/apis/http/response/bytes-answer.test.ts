import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fail } from '../../../base/core/errors.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { type AnswerHead, type AnswerSink, EndpointRegistry, invoke } from '../../../endpoints/registry/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { startServer, type TestServer } from '../fixtures/test-server.ts';

const Bytes = suite('answers that are bytes');
const outputSchema = {
  anyOf: [
    { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    {
      type: 'object',
      properties: { media_type: { enum: ['image/png', 'text/csv'] }, base64: { type: 'string' } },
      required: ['media_type', 'base64'],
      'x-aana-bytes': true,
    },
  ],
};
const png: AnswerHead = { mediaType: 'image/png', status: 200, headers: [] };
const ended = deferred<unknown>();

/** What the endpoint `make` does by the name in its input. */
const runs: Readonly<Record<string, (answer: AnswerSink) => Promise<string>>> = {
  pieces: async (answer) => {
    answer.begin({ ...png, status: 201, headers: [['content-disposition', 'attachment; filename="a.png"']] });
    for (const n of [0, 255, 10]) await answer.send(Uint8Array.of(n, n));
    return 'null';
  },
  none: async (answer) => {
    answer.begin({ ...png, mediaType: 'text/csv', headers: [['cache-control', 'max-age=60']] });
    return 'null';
  },
  json: async () => '{"n":1}',
  whole: async () => '{"media_type":"image/png","base64":"AP8=","status":404,"headers":{"etag":"\\"1\\""}}',
  early: async (answer) => {
    answer.begin(png);
    throw fail('InvalidRequest', 'before the first byte');
  },
  late: async (answer) => {
    answer.begin(png);
    await answer.send(Uint8Array.of(1));
    throw fail('InvalidRequest', 'after the first byte');
  },
  endless: async (answer) => {
    answer.begin(png);
    try {
      for (;;) await answer.send(new Uint8Array(65_536));
    } catch (error) {
      ended.resolve(error);
      throw error;
    }
  },
  redirect: async () => '{"media_type":"image/png","base64":"AP8=","status":302}',
  cookie: async () => '{"media_type":"image/png","base64":"AP8=","headers":{"set-cookie":"a=b"}}',
};

const registry = new EndpointRegistry();
registry.addPlugin({
  name: 'maker',
  endpoints: [
    {
      ...{ name: 'make', path: '/make', summary: '', description: '', outputSchema, streaming: false },
      inputSchema: { type: 'object', properties: { how: { type: 'string' } } },
    },
  ],
  run: async ({ input, answer }) => runs[(JSON.parse(input) as { how: string }).how]!(answer!),
});
let server: TestServer;
Bytes.before(async () => void (server = await startServer({ registry })));
Bytes.after(async () => server?.[Symbol.asyncDispose]());
const ask = (how: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.url}/make`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ how }),
    ...init,
  });
const bytesOf = async (response: Response): Promise<number[]> => [...new Uint8Array(await response.arrayBuffer())];

Bytes('are sent in pieces, with their status, media type and headers, and browsers run nothing in them', async () => {
  const made = await ask('pieces');
  assert.equal([made.status, made.headers.get('content-type')], [201, 'image/png']);
  assert.is(made.headers.get('content-disposition'), 'attachment; filename="a.png"');
  assert.is(made.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'; sandbox");
  assert.is(made.headers.get('x-content-type-options'), 'nosniff');
  assert.is(made.headers.get('cache-control'), 'no-store');
  assert.equal(await bytesOf(made), [0, 0, 255, 255, 10, 10]);
  const none = await ask('none');
  assert.equal(
    [none.headers.get('content-type'), none.headers.get('cache-control')],
    ['text/csv; charset=utf-8', 'max-age=60'],
  );
  assert.equal(await bytesOf(none), []);
});

Bytes('are also an output in JSON, and other outputs stay JSON', async () => {
  const whole = await ask('whole');
  assert.equal([whole.status, whole.headers.get('content-type'), whole.headers.get('etag')], [404, 'image/png', '"1"']);
  assert.equal(await bytesOf(whole), [0, 255]);
  assert.equal(await (await ask('json')).json(), { n: 1 });
});

Bytes('fail with an error before the first byte, and are cut after it', async () => {
  const early = await ask('early');
  assert.equal([early.status, ((await early.json()) as { error: string }).error], [422, 'InvalidRequest']);
  // Whether the head has arrived depends on the sockets.
  const late = ask('late').then((answer) => answer.arrayBuffer());
  const outcome = late.then(
    () => 'whole',
    () => 'cut',
  );
  assert.is(await outcome, 'cut');
});

Bytes('wait for the client, and end when it leaves', async () => {
  const leaving = new AbortController();
  const endless = await ask('endless', { signal: leaving.signal });
  assert.is(endless.status, 200);
  await endless.body!.getReader().read();
  leaving.abort();
  assert.ok(await ended.promise);
});

Bytes('have no redirects, and no headers of the host', async () => {
  for (const how of ['redirect', 'cookie']) {
    const refused = await ask(how);
    assert.equal([refused.status, ((await refused.json()) as { error: string }).error], [500, 'OutputError'], how);
    assert.is(refused.headers.get('set-cookie'), null);
  }
});

const wrong: readonly (readonly [what: string, head: Partial<AnswerHead>])[] = [
  ['another media type', { mediaType: 'image/gif' }],
  ...[199, 204, 206, 304, 301, 600, 200.5].map((status) => [`the status ${status}`, { status }] as const),
  ...['set-cookie', 'location', 'content-length', 'x-accel-redirect', 'access-control-allow-origin', 'ETag', ''].map(
    (name) => [`the header ${name}`, { headers: [[name, 'a']] as [string, string][] }] as const,
  ),
  ...['a\r\nset-cookie: b', 'a\n', 'é', 'a'.repeat(4_097)].map(
    (value) => [`the value ${value.slice(0, 8)}`, { headers: [['etag', value]] as [string, string][] }] as const,
  ),
  [
    'headers of more than 4096 characters in all',
    {
      headers: [
        ['etag', 'a'.repeat(2100)],
        ['expires', 'a'.repeat(1990)],
      ],
    },
  ],
  [
    'a header twice',
    {
      headers: [
        ['etag', 'a'],
        ['etag', 'b'],
      ],
    },
  ],
];
for (const [what, head] of wrong)
  Bytes(`refuse ${JSON.stringify(what)}`, async () => {
    const answers = new EndpointRegistry();
    answers.addPlugin({
      name: 'maker',
      endpoints: registry.list(),
      run: async ({ answer }) => {
        answer!.begin({ ...png, ...head });
        return 'null';
      },
    });
    const options = { requestId: 'r', timeoutMs: 10_000, signal: new AbortController().signal };
    const error = (await errorOf(invoke(answers.get('make')!, {}, options))) as Error;
    assert.is(error.name, 'OutputError', error.message);
  });

Bytes('are a part of the output where nobody takes them', async () => {
  const options = { requestId: 'r', timeoutMs: 10_000, signal: new AbortController().signal };
  assert.equal(JSON.parse(await invoke(registry.get('make')!, { how: 'pieces' }, options)), {
    ...{ media_type: 'image/png', base64: 'AAD//woK', status: 201 },
    headers: { 'content-disposition': 'attachment; filename="a.png"' },
  });
});

Bytes.run();
