import { request } from 'node:http';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer, type TestServer } from './fixtures/test-server.ts';

const Http = suite('the HTTP application');
let at: TestServer;

Http.before(async () => {
  at = await startServer();
});
Http.after(async () => at[Symbol.asyncDispose]());
Http.after.each(() => assert.equal(at.leftovers(), [], 'uploads are gone with their request'));

interface Answer {
  status: number;
  type: string | null;
  headers: Headers;
  body: { error?: string; message?: string; data?: unknown; stacktrace?: unknown } & Record<string, unknown>;
  text: string;
}

async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(at.url + path, { method: 'POST', ...init });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    headers: response.headers,
    body: JSON.parse(text),
    text,
  };
}

function form(body: unknown, files: Record<string, Blob> = {}): { body: FormData } {
  const data = new FormData();
  if (body !== undefined) data.append('body', typeof body === 'string' ? body : JSON.stringify(body));
  for (const [name, file] of Object.entries(files)) data.append(name, file, `${name}.bin`);
  return { body: data };
}

const json = (body: string): RequestInit => ({ body, headers: { 'content-type': 'application/json' } });

function assertError(answer: Answer, status: number, error: string): void {
  assert.is(answer.status, status, answer.text);
  assert.equal(Object.keys(answer.body), ['error', 'message', 'data', 'stacktrace']);
  assert.is(answer.body.error, error);
  assert.is(answer.body.stacktrace, null);
  assert.match(answer.type ?? '', 'application/json');
}

const firstEntry = (answer: Answer) =>
  (answer.body.data as { type: string; loc: unknown[]; msg: string; input: unknown }[])[0];

Http('answers multipart, urlencoded and JSON alike, in compact JSON', async () => {
  const body = JSON.stringify({ text: 'ä & <b>' });
  const ways: RequestInit[] = [form(body), { body: new URLSearchParams({ body }) }, json(body)];
  for (const way of ways) {
    const answer = await send('/echo', way);
    assert.is(answer.status, 200, answer.text);
    assert.is(answer.text, '{"text":"ä & <b>"}');
    assert.is(answer.type, 'application/json; charset=utf-8');
  }
});

Http('gives uploaded files to the endpoint, byte for byte, however the request is cut', async () => {
  const content = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256));
  const sum = content.reduce((total, byte) => total + byte, 0);
  const whole = await send(
    '/video/size',
    form({ video: { content: 'clip' } }, { clip: new Blob([content], { type: 'video/webm' }) }),
  );
  assert.equal(whole.body, { bytes: 70_000, sum, filename: 'clip.bin', mime: 'video/webm' });

  // As some clients send: the file first and without a content type; in pieces that cut the boundary.
  const head = '--b\r\ncontent-disposition: form-data; name="clip"; filename="a.webm"\r\n\r\n';
  const tail =
    '\r\n--b\r\ncontent-disposition: form-data; name="body"\r\ncontent-type: ' +
    'application/json\r\n\r\n{"video":{"content":"clip"}}\r\n--b--\r\n';
  const raw = Buffer.concat([Buffer.from(head), content, Buffer.from(tail)]);
  const text = await new Promise<string>((resolve, reject) => {
    const req = request(
      `${at.url}/video/size`,
      { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=b' } },
      async (res) => {
        let answer = '';
        for await (const part of res) answer += String(part);
        resolve(answer);
      },
    );
    req.on('error', reject);
    const cuts = [
      3,
      40,
      head.length - 1,
      head.length + 1,
      60_000,
      head.length + content.length + 2,
      head.length + content.length + 90,
      raw.length,
    ];
    void (async () => {
      let from = 0;
      for (const to of cuts) {
        req.write(raw.subarray(from, to));
        from = to;
        await new Promise((tick) => setTimeout(tick, 5));
      }
      req.end();
    })();
  });
  assert.equal(JSON.parse(text), { bytes: 70_000, sum, filename: 'a.webm', mime: 'application/octet-stream' });
});

Http('accepts an empty file and leaves the decision to the endpoint', async () => {
  const answer = await send('/video/size', form({ video: { content: 'clip' } }, { clip: new Blob([]) }));
  assert.is(answer.body['bytes'], 0);
});

const latinForm = (): RequestInit => ({
  body: Buffer.from(
    '--b\r\ncontent-disposition: form-data; name="body"\r\ncontent-type: application/json; ' +
      'charset=iso-8859-1\r\n\r\n{"text":"caf\xe9"}\r\n--b--\r\n',
    'latin1',
  ),
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
});
const clip = (): Blob => new Blob(['abc'], { type: 'video/mp4' });
const BAD: [title: string, path: string, init: () => RequestInit, type: string, loc: unknown[]][] = [
  ['text that is not JSON', '/echo', () => form('{"text":'), 'json_invalid', []],
  ['JSON with a number that is not', '/echo', () => json('{"text": NaN}'), 'json_invalid', []],
  ['a missing key', '/echo', () => form({}), 'missing', ['text']],
  ['an unknown key', '/echo', () => form({ text: '', nope: 1 }), 'extra_forbidden', ['nope']],
  ['a prototype key', '/echo', () => json('{"text":"","__proto__":{"x":1}}'), 'extra_forbidden', ['__proto__']],
  ['a JSON value that is no object', '/echo', () => json('[1]'), 'model_type', []],
  [
    'nesting without end',
    '/echo',
    () => json(`{"text":"","more":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    'json_too_deep',
    [],
  ],
  ['elements without end', '/echo', () => json(`{"text":"","more":[${'{},'.repeat(1000)}{}]}`), 'json_too_many', []],
  ['a form without body', '/echo', () => form(undefined, { clip: clip() }), 'missing', ['body', 'body']],
  ['no body at all', '/echo', () => ({}), 'missing', ['body']],
  ['an empty JSON body', '/echo', () => json(' '), 'missing', ['body']],
  [
    'JSON that is not UTF-8',
    '/echo',
    () => ({ ...json(''), body: Buffer.from('{"text":"caf\xe9"}', 'latin1') }),
    'json_invalid',
    [],
  ],
  ['a field that is not UTF-8', '/echo', () => latinForm(), 'json_invalid', []],
  [
    'half of a surrogate pair',
    '/echo',
    () => json('{"text":"","more":[{"a":"\\ud800"}]}'),
    'string_unicode',
    ['more', 0, 'a'],
  ],
  ['an empty form', '/echo', () => ({ body: new URLSearchParams({}) }), 'missing', ['body', 'body']],
  ['no source of a video', '/video/size', () => form({ video: {} }), 'value_error', ['video']],
  [
    'two sources of a video',
    '/video/size',
    () => form({ video: { url: 'http://x/', path: '/y' } }),
    'value_error',
    ['video'],
  ],
  [
    'a file part that nothing names',
    '/video/size',
    () => form({ video: { url: 'http://x/' } }, { clip: clip() }),
    'extra_file',
    ['clip'],
  ],
  [
    'a field that is neither body nor a file',
    '/echo',
    () => ({ body: new URLSearchParams({ body: '{"text":""}', extra: '1' }) }),
    'extra_forbidden',
    ['extra'],
  ],
  ['body twice', '/echo', () => ({ body: new URLSearchParams('body=%7B%7D&body=%7B%7D') }), 'duplicate_part', ['body']],
  [
    'two file parts of one name',
    '/video/size',
    () => {
      const { body } = form({ video: { content: 'clip' } }, { clip: clip() });
      body.append('clip', clip(), 'b.mp4');
      return { body };
    },
    'duplicate_part',
    ['clip'],
  ],
  [
    'a file part named like a prototype',
    '/video/size',
    () => form({ video: { content: '__proto__' } }, { ['__proto__']: clip() } as never),
    'extra_forbidden',
    ['__proto__'],
  ],
];
for (const [title, path, init, type, loc] of BAD) {
  Http(`answers ${title} with 422 and names it`, async () => {
    const answer = await send(path, init());
    assert.is(answer.status, 422, answer.text);
    assert.equal(Object.keys(answer.body), ['error', 'message', 'data', 'stacktrace']);
    const entry = firstEntry(answer);
    assert.is(entry?.type, type, answer.text);
    assert.equal(entry?.loc, loc);
    assert.equal(Object.keys(entry ?? {}), ['type', 'loc', 'msg', 'input']);
    assert.is(answer.body.error, 'ValidationError');
    assert.is(answer.body.message, 'Validation error');
  });
}

Http('reports both mistakes of a form without body that has another field', async () => {
  const data = new FormData();
  data.append('bodi', '{"text":""}');
  const misspelt: RequestInit[] = [{ body: new URLSearchParams({ bodi: '{"text":""}' }) }, { body: data }];
  for (const init of misspelt) {
    const answer = await send('/echo', init);
    assertError(answer, 422, 'ValidationError');
    const entries = answer.body.data as { type: string; loc: unknown[] }[];
    assert.equal(
      entries.map(({ type, loc }) => [type, loc]),
      [
        ['missing', ['body', 'body']],
        ['extra_forbidden', ['bodi']],
      ],
    );
  }
});

Http('answers an unknown name of a file part with 422 UploadedFileNotFound', async () => {
  const answer = await send('/video/size', form({ video: { content: 'other' } }, { clip: clip() }));
  assertError(answer, 422, 'UploadedFileNotFound');
  assert.match(answer.body.message ?? '', '"other"');
});

Http('answers a request over any limit with 413', async () => {
  const big = (bytes: number): Blob => new Blob([Buffer.alloc(bytes)]);
  const video = { video: { content: 'a' } };
  const over: [path: string, init: RequestInit][] = [
    ['/echo', json(JSON.stringify({ text: 'x'.repeat(30_000) }))],
    ['/echo', form({ text: 'x'.repeat(30_000) })],
    ['/echo', { body: new URLSearchParams({ body: JSON.stringify({ text: 'x'.repeat(30_000) }) }) }],
    ['/video/size', form(video, { a: big(160_000) })],
    ['/video/size', form(video, { a: big(110_000), b: big(110_000) })],
    ['/video/size', form(video, { a: big(1), b: big(1), c: big(1), d: big(1) })],
    ['/video/size', form(video, { a: big(5_000_000) })],
  ];
  for (const [path, init] of over) assertError(await send(path, init), 413, 'RequestTooLarge');
  assert.is((await send('/echo', form({ text: 'still serving' }))).status, 200);
});

Http('accepts a byte-order mark and whole surrogate pairs', async () => {
  assert.is((await send('/echo', json('\ufeff{"text":"\\ud83d\\ude00"}'))).text, '{"text":"😀"}');
});

Http(
  'answers a request that is too large also when the client wants the connection closed and sends all of it first',
  async () => {
    const body = Buffer.alloc(8_000_000, ' ');
    const socket = connect(at.port, '127.0.0.1');
    socket.write(
      Buffer.concat([
        Buffer.from(
          `POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ` +
            `${body.length}\r\n\r\n`,
        ),
        body,
      ]),
    );
    let text = '';
    for await (const part of socket) text += String(part);
    assert.match(text, /^HTTP\/1\.1 413 /);
  },
);

Http('counts the bytes of a request without a length', async () => {
  const stream = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(16_384).fill(0x20));
    },
  });
  const answer = await send('/echo', { ...json(''), body: stream, duplex: 'half' } as RequestInit);
  assertError(answer, 413, 'RequestTooLarge');
});

Http('answers another content type with 415 and a broken form with 400', async () => {
  assertError(
    await send('/echo', { body: 'text', headers: { 'content-type': 'text/plain' } }),
    415,
    'UnsupportedMediaType',
  );
  const typed = (type: string, more = {}): RequestInit => ({
    body: Buffer.from('{"text":""}'),
    headers: { 'content-type': type, ...more },
  });
  const refused: [init: RequestInit, named: RegExp][] = [
    [typed('application/json; charset=utf-16le'), /"utf-16le"/],
    [typed('application/json', { 'content-encoding': 'gzip' }), /"gzip"/],
    [{ body: Buffer.from('[]') }, /send content-type: application\/json/],
  ];
  for (const [init, named] of refused) {
    const answer = await send('/echo', init);
    assertError(answer, 415, 'UnsupportedMediaType');
    assert.match(answer.body.message ?? '', named);
  }
  const multipart = (body: string, type = 'multipart/form-data; boundary=b'): RequestInit => ({
    body,
    headers: { 'content-type': type },
  });
  for (const body of ['--b\r\ncontent-disposition: form-data; name="body"\r\n\r\n{"text"', '--c\r\n\r\n--c--\r\n']) {
    const answer = await send('/echo', multipart(body));
    assertError(answer, 400, 'MalformedRequest');
    assert.match(answer.body.message ?? '', 'does not follow the boundary of its content type, or ends early');
  }
  assertError(await send('/echo', multipart('--b--\r\n', 'multipart/form-data')), 400, 'MalformedRequest');
  assert.is((await send('/echo', multipart('--b--\r\n'))).status, 422);
});

const STATUSES: [kind: string, status: number][] = [
  ['bad-request', 400],
  ['denied', 403],
  ['not-found', 404],
  ['conflict', 409],
  ['too-large', 413],
  ['invalid-input', 422],
  ['internal', 500],
  ['plugin-failed', 502],
  ['unavailable', 503],
  ['deadline-exceeded', 504],
];
for (const [kind, status] of STATUSES) {
  Http(`answers an error of kind ${kind} with ${status}, its name and its data`, async () => {
    const answer = await send('/fail', form({ kind }));
    assertError(answer, status, 'DownloadException');
    assert.is(answer.body.message, 'cannot be fetched');
    assert.equal(answer.body.data, { url: 'http://x' });
    assert.is(answer.headers.get('retry-after'), status === 503 ? '1' : null);
  });
}

Http('sends the wait of an error in Retry-After', async () => {
  const answer = await send('/fail', form({ kind: 'later' }));
  assertError(answer, 503, 'DeploymentUnavailable');
  assert.is(answer.headers.get('retry-after'), '12');
  const limited = await send('/fail', form({ kind: 'limited' }));
  assert.equal([limited.status, limited.headers.get('retry-after')], [429, '35']);
});

Http(
  'answers an unexpected error with 500 and its class name, and an error whose data is not JSON with empty data',
  async () => {
    assertError(await send('/fail', form({ kind: 'unknown' })), 500, 'RangeError');
    const odd = await send('/fail', form({ kind: 'circular' }));
    assertError(odd, 400, 'Odd');
    assert.equal(odd.body.data, {});
  },
);

Http('shows a stack trace only if the configuration says so', async () => {
  await using loud = await startServer({ includeStacktrace: true });
  const response = await fetch(`${loud.url}/fail`, { method: 'POST', ...form({ kind: 'unknown' }) });
  assert.match(((await response.json()) as { stacktrace: string }).stacktrace, /RangeError: something broke\n\s+at /);
});

Http('answers unknown paths with 404 and wrong methods with 405 and Allow, in the four keys', async () => {
  assertError(await send('/nothing'), 404, 'NotFound');
  assertError(await send('/%E0%A4%A', { method: 'GET' }), 404, 'NotFound');
  const get = await send('/echo', { method: 'GET' });
  assertError(get, 405, 'MethodNotAllowed');
  assert.is(get.headers.get('allow'), 'POST');
  const post = await send('/api/ready');
  assertError(post, 405, 'MethodNotAllowed');
  assert.is(post.headers.get('allow'), 'GET, HEAD');
});

Http('keeps a harmless request id, replaces any other, and does not name its software', async () => {
  const kept = await send('/echo', { ...form({ text: '' }), headers: { 'x-request-id': 'abc-1' } });
  assert.is(kept.headers.get('x-request-id'), 'abc-1');
  const made = await send('/nothing', { headers: { 'x-request-id': 'a"b' } });
  assert.match(made.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  assert.is(made.headers.get('x-powered-by'), null);
  assert.is(made.headers.get('server'), null);
});

Http('reports readiness, and refuses endpoints with 503 until it has started', async () => {
  const ready = await fetch(`${at.url}/api/ready`);
  assert.is(ready.status, 200);
  assert.is(await ready.text(), '{"ready":true}');
  await using early = await startServer({ readiness: () => ({ ready: false, away: [] }), isDeployed: () => false });
  const notReady = await fetch(`${early.url}/api/ready`);
  assert.is(notReady.status, 503);
  assert.is(await notReady.text(), '{"ready":false}');
  const refused = await fetch(`${early.url}/not/loaded/yet`, { method: 'POST', ...form({ text: '' }) });
  assert.is(refused.status, 503);
  assert.is(refused.headers.get('retry-after'), '1');
  assert.is(((await refused.json()) as { error: string }).error, 'NotReady');
});

Http.run();
