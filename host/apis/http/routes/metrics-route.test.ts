// The metrics of the whole application over HTTP.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Router } from '@koa/router';
import Koa from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaApp } from '../../../application/app.ts';
import type { ConfigInput } from '../../../base/config/index.ts';
import { ask, assertRefused, guardedApp } from '../fixtures/guarded-app.ts';

const Page = suite('the page of metrics');
let folder = '';

Page.before(async () => void (folder = await mkdtemp(join(tmpdir(), 'aana-metrics-'))));
Page.after(() => rm(folder, { recursive: true, force: true }));

async function served(config: ConfigInput = {}): Promise<AanaApp> {
  const app = guardedApp(folder, { task_queue: { enabled: false }, ...config });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app.deploy();
}

const page = async (app: AanaApp, accept = '*/*'): Promise<Response> =>
  fetch(`${app.url}/metrics`, { headers: { accept } });

/** Returns the lines of a page that begin with `name`, without the buckets of histograms. */
const samples = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket'));

Page('is in the format that the scraper prefers', async () => {
  await using app = await served();
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,' +
    'text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  for (const [accept, type] of [
    ['*/*', 'text/plain; version=0.0.4; charset=utf-8'],
    ['text/plain', 'text/plain; version=0.0.4; charset=utf-8'],
    ['image/png', 'text/plain; version=0.0.4; charset=utf-8'],
    [prometheus, 'application/openmetrics-text; version=1.0.0; charset=utf-8'],
  ] as const) {
    const response = await page(app, accept);
    assert.equal([response.status, response.headers.get('content-type')], [200, type], accept);
    assert.is((await response.text()).endsWith('# EOF\n'), type.startsWith('application'));
  }
});

Page('counts requests by route, whatever the paths are', async () => {
  await using app = await served();
  app.registerRouter('things', new Router().get('/things/:id', (ctx) => void (ctx.body = 'a thing')) as never);
  await ask(`${app.url}/echo`, { body: { n: 1 } });
  await ask(`${app.url}/fail`, { body: {} });
  for (const id of ['1', '2']) await ask(`${app.url}/things/${id}`);
  await ask(`${app.url}/v1/models/none`);
  const before = await (await page(app)).text();
  await askMany(Number(new URL(app.url ?? '').port), 3000);
  const after = await (await page(app)).text();
  const count = 'http_server_request_duration_seconds_count';
  const counted = samples(after, count).map((line) => line.slice(count.length));
  for (const line of [
    '{http_request_method="POST",url_scheme="http",http_route="/echo",http_response_status_code="200"} 1',
    '{http_request_method="POST",url_scheme="http",http_route="/fail",http_response_status_code="500",' +
      'error_type="500"} 1',
    '{http_request_method="GET",url_scheme="http",http_route="/things/:id",http_response_status_code="200"} 2',
    '{http_request_method="GET",url_scheme="http",http_route="/v1/models/:model",http_response_status_code="404"} 1',
    '{http_request_method="GET",url_scheme="http",http_response_status_code="404"} 3000',
  ])
    assert.ok(counted.includes(line), `${line} in\n${counted.join('\n')}`);
  // The first page is one more route, and the made-up paths have one series in common.
  assert.is(samples(after, count).length, samples(before, count).length + 2);
  assert.equal(samples(after, 'http_server_active_requests'), [
    'http_server_active_requests{http_request_method="POST",url_scheme="http"} 0',
    'http_server_active_requests{http_request_method="GET",url_scheme="http"} 1',
  ]);
});

Page('has no more schemes than two, also inside of an application that believes every header', async () => {
  await using app = await served();
  const outer = new Koa({ proxy: true }).use(app.middleware());
  const server = createServer(outer.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/echo`;
  for (const protocol of ['https', 'gopher', 'a', 'b'])
    await fetch(url, { headers: { 'x-forwarded-proto': protocol } }).then((answer) => answer.text());
  server.closeAllConnections();
  server.close();
  const text = await (await page(app)).text();
  const schemes = [...text.matchAll(/url_scheme="([^"]*)"/g)].map(([, scheme]) => scheme);
  assert.equal([...new Set(schemes)].sort(), ['http', 'https']);
});

/** Sends requests for different paths on one connection, and waits for their answers. */
async function askMany(port: number, count: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const paths = Array.from({ length: count }, (_, index) => `/made/up/${index}`);
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`).join(''));
  let text = '';
  let answered = 0;
  for await (const part of socket) {
    text += String(part);
    const parts = text.split('HTTP/1.1 404');
    answered += parts.length - 1;
    text = (parts.at(-1) ?? '').slice(-12); // the next status line may be divided
    if (answered === count) break;
  }
}

Page('needs the key of an admin where requests need keys', async () => {
  await using app = await served({ api_service: { enabled: true }, data_dir: join(folder, 'keys') });
  const url = `${app.url}/metrics`;
  const keyOf = async (options: object): Promise<string> =>
    (await app.apiKeys!.create({ user_id: 'ann', ...options })).apiKey;
  assertRefused(await ask(url), 401, 'ApiKeyNotProvided');
  assertRefused(await ask(url, { key: 'none' }), 401, 'ApiKeyNotFound');
  assertRefused(await ask(url, { key: await keyOf({}) }), 403, 'AdminOnlyAccess');
  assertRefused(await ask(url, { key: await keyOf({ is_admin: true, scopes: ['tasks'] }) }), 403, 'InsufficientScope');
  const { status, body } = await ask(url, { key: await keyOf({ is_admin: true, scopes: ['admin'] }) });
  assert.is(status, 200);
  const refused =
    'http_server_request_duration_seconds_count{http_request_method="GET",url_scheme="http",' +
    'http_route="/metrics",http_response_status_code="401"} 2';
  assert.ok(samples(body, 'http_server').includes(refused), body);
});

Page('is absent when it is off', async () => {
  await using app = await served({ telemetry: { metrics: false } });
  assertRefused(await ask(`${app.url}/metrics`), 404, 'NotFound');
});

Page.run();
