import { Router } from '@koa/router';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { LIMITS, startServer, type TestServer } from '../fixtures/test-server.ts';
import { RouterSet } from './routers.ts';

const Health = suite('health, methods and ids of requests');
let at: TestServer;
const lines: { message: string; fields: Record<string, unknown> }[] = [];
const keep = (message: string, fields: unknown = {}): void =>
  void lines.push({ message, fields: fields as Record<string, unknown> });
const log = { ...silentLogger, info: keep, warn: keep, error: keep, debug: keep };

Health.before(async () => {
  at = await startServer({ log });
});
Health.before.each(() => void (lines.length = 0));
Health.after(async () => at[Symbol.asyncDispose]());

const json = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(at.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

Health('a process that answers is alive, also before it is ready', async () => {
  await using early = await startServer({ readiness: () => ({ ready: false, away: [] }), isDeployed: () => false });
  for (const [path, status, text] of [
    ['/livez', 200, '{"alive":true}'],
    ['/readyz', 503, '{"ready":false}'],
    ['/api/ready', 503, '{"ready":false}'],
    ['/health', 503, '{"ready":false}'],
    ['/ping', 503, '{"ready":false}'],
  ] as const) {
    const response = await fetch(early.url + path);
    assert.equal(
      [response.status, await response.text(), response.headers.get('cache-control')],
      [status, text, 'no-store'],
    );
  }
  for (const path of ['/readyz', '/health', '/ping']) assert.is((await fetch(at.url + path)).status, 200, path);
});

Health('the root says what is served and where', async () => {
  const read = async (url: string): Promise<unknown> => (await fetch(url)).json();
  assert.equal(await read(`${at.url}/version`), { version: '1.2.3' });
  const links = { docs: '/docs', openapi: '/openapi.json', health: '/health' };
  assert.equal(await read(`${at.url}/`), { name: 'test <app>', version: '1.2.3', links });
  assert.is((await fetch(`${at.url}/`, { method: 'POST' })).headers.get('allow'), 'GET, HEAD');
});

Health('a route of the application at the root takes the place of the links', async () => {
  const routers = new RouterSet();
  routers.add(
    'home',
    new Router().get('/', (ctx) => void (ctx.body = 'welcome')),
    [],
  );
  await using own = await startServer({ routers });
  assert.is(await (await fetch(`${own.url}/`)).text(), 'welcome');
});

Health('HEAD answers as GET does, without the body', async () => {
  for (const path of [
    '/livez',
    '/readyz',
    '/api/ready',
    '/api/status',
    '/openapi.json',
    '/docs',
    '/',
    '/version',
    '/health',
  ]) {
    const headers = { 'accept-encoding': 'identity' };
    const get = await fetch(at.url + path, { headers });
    const head = await fetch(at.url + path, { method: 'HEAD', headers });
    assert.is(head.status, get.status, path);
    assert.is(head.headers.get('content-length'), String((await get.arrayBuffer()).byteLength), path);
    assert.is(await head.text(), '');
  }
});

Health('OPTIONS lists the methods of a path', async () => {
  for (const [path, allow] of [
    ['/echo', 'POST'],
    ['/api/ready', 'GET, HEAD'],
  ] as const) {
    const response = await fetch(at.url + path, { method: 'OPTIONS' });
    assert.equal([response.status, response.headers.get('allow'), await response.text()], [204, allow, '']);
  }
  assert.is((await fetch(`${at.url}/nothing`, { method: 'OPTIONS' })).status, 404);
});

Health('the id of a request is in its answer and its log lines: for health, errors and streams', async () => {
  const headers = { 'x-request-id': 'trace-7', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const answers = [
    await fetch(`${at.url}/livez`, { headers }),
    await fetch(`${at.url}/nothing`, { headers }),
    await json('/echo', { text: 1 }, headers),
    await json('/count_stream', { until: 3, fail_at: 2 }, headers),
  ];
  for (const answer of answers) {
    assert.is(answer.headers.get('x-request-id'), 'trace-7');
    await answer.text();
  }
  assert.ok(lines.length >= answers.length);
  for (const { message, fields } of lines) assert.is(fields['requestId'], 'trace-7', message);
  for (const { fields } of lines.filter(({ message }) => message === 'request'))
    assert.is(fields['traceId'], '0af7651916cd43dd8448eb211c80319c');
});

Health(
  'an output that does not match is a 500: the log has the place and the mismatch, and nothing has the value',
  async () => {
    const response = await json('/wrong', {});
    assert.is(response.status, 500);
    assert.equal(await response.json(), {
      error: 'OutputError',
      message: 'endpoint wrong: its output does not match its schema',
      data: {},
      stacktrace: null,
    });
    const failed = lines.find(({ message }) => message === 'request failed');
    assert.equal(failed?.fields['output'], [{ loc: ['segments', 1, 'text'], type: 'string_type' }]);
    assert.not.match(JSON.stringify(lines), '7654321');
  },
);

Health('a refused input is shown to its sender, shortened if it is long, and in no log', async () => {
  const secret = 'a-secret '.repeat(500);
  const small = (await (await json('/echo', { text: { a: 'a-secret' } })).json()) as { data: { input: unknown }[] };
  assert.equal(small.data[0]?.input, { a: 'a-secret' });
  for (const body of [{ text: '', nope: secret }, { text: { a: [secret] } }, { more: secret }]) {
    const text = await (await json('/echo', body)).text();
    assert.ok(text.includes('a-secret') && text.includes('…') && text.length < 1000, text);
  }
  assert.not.match(JSON.stringify(lines), 'a-secret');
});

Health('a request with many mistakes gets a short answer', async () => {
  const keys = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, 0]));
  const { data } = (await (await json('/echo', { text: '', ...keys })).json()) as { data: unknown[] };
  assert.is(data.length, 100);
});

const ORIGINAL: [title: string, send: () => [path: string, body: unknown], status: number, error: string][] = [
  ['an input that does not match', () => ['/echo', {}], 422, 'ValidationError'],
  ['a file that was not uploaded', () => ['/video/size', { video: { content: 'clip' } }], 400, 'UploadedFileNotFound'],
  ['a refused address', () => ['/fail', { kind: 'denied' }], 400, 'DownloadException'],
  ['something unavailable', () => ['/fail', { kind: 'unavailable' }], 400, 'DownloadException'],
  ['a failure of the code', () => ['/fail', { kind: 'unknown' }], 400, 'RangeError'],
  ['a request that is too large', () => ['/echo', { text: 'x'.repeat(LIMITS.max_json_bytes) }], 413, 'RequestTooLarge'],
  ['a path where nothing is', () => ['/nothing', {}], 404, 'NotFound'],
];
for (const [title, send, status, error] of ORIGINAL) {
  Health(`with the original's statuses, ${title} is a ${status}`, async () => {
    await using original = await startServer({ compatStatus: 'original' });
    const [path, body] = send();
    const response = await fetch(original.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    assert.equal([response.status, answer['error']], [status, error]);
    assert.equal(Object.keys(answer), [
      'error',
      'message',
      'data',
      'stacktrace',
      ...(status === 404 ? ['detail'] : []),
    ]);
    if (status === 404) assert.is(answer['detail'], 'Not Found');
  });
}

Health.run();
