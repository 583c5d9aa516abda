// Limits of requests, with the whole application.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { type AanaApp, RateLimitHandler } from 'aana-host';
import { type Answer, ask, assertRefused, guardedApp, Input } from '../fixtures/guarded-app.ts';

const Limited = suite('requests that come too often');
let folder = '';
let limited: AanaApp;
let at = '';
Limited.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-rate-limits-'));
  const hour = 3600;
  limited = guardedApp(folder, {
    rate_limits: {
      default: { capacity: 20, interval_seconds: hour },
      endpoints: {
        '/echo': { capacity: 2, interval_seconds: hour },
        '/items/{id}': { capacity: 2, interval_seconds: hour },
      },
      documentation: { capacity: 40, interval_seconds: hour },
    },
  });
  limited.registerEndpoint({
    name: 'once',
    path: '/once',
    input: Input,
    output: z.any(),
    event_handlers: [new RateLimitHandler(1, hour)],
    run: async () => 1,
  });
  await limited.listen({ host: '127.0.0.1', port: 0 });
  await limited.deploy();
  at = limited.url ?? '';
});
Limited.after(async () => {
  await limited.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

Limited('are told how much is left, and when to come again', async () => {
  const first = await ask(`${at}/echo`, { body: {} });
  assert.equal(
    [first.status, first.headers.get('ratelimit-policy'), first.headers.get('ratelimit')],
    [200, '"default";q=20;w=3600, "/echo";q=2;w=3600', '"default";r=19;t=180, "/echo";r=1;t=1800'],
  );
  assert.is((await ask(`${at}/echo`, { body: { n: 'bad' } })).status, 422, 'a request that does not match counts, too');
  const refused = await ask(`${at}/echo`, { body: {} });
  assertRefused(refused, 429, 'TooManyRequestsException');
  assert.equal(refused.body.data, { rate_limit: 2, rate_duration: 3600 });
  assert.match(
    refused.body.message,
    /^over the limit of 2 requests in 3600 seconds to \/echo: try again in 1\d{3} seconds$/,
  );
  assert.ok(Number(refused.headers.get('retry-after')) > 1700);
  assert.match(refused.headers.get('ratelimit') ?? '', /^"default";r=18;t=\d+, "\/echo";r=0;t=1\d{3}$/);
  assert.is((await ask(`${at}/other/echo`, { body: {} })).status, 200);
});

Limited('are counted together for all paths of an endpoint with parameters', async () => {
  limited.registerEndpoint({
    ...{ name: 'item', path: '/items/{id}', output: z.any() },
    input: z.strictObject({ id: z.string() }).meta({ 'x-aana-method': 'get' }),
    run: async ({ id }) => id,
  });
  const answers = await Promise.all(['1', '2', '3'].map((id) => ask(`${at}/items/${id}`)));
  assert.equal(answers.map(({ status }) => status).sort(), [200, 200, 429]);
  assert.match(answers.map(({ headers }) => headers.get('ratelimit')).join(), '"/items/{id}";r=0');
});

Limited('are refused before their body is read', async () => {
  const sending = request(`${at}/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 1_000_000 },
  });
  sending.on('error', () => {});
  sending.flushHeaders();
  const [response] = await once(sending, 'response');
  assert.is(response.statusCode, 429);
  sending.destroy();
});

Limited('of an endpoint with a handler count for all callers, and are not counted when they are deferred', async () => {
  assert.is((await ask(`${at}/once`, { body: {} })).status, 200);
  const refused = await ask(`${at}/once`, { body: {} });
  assertRefused(refused, 429, 'TooManyRequestsException');
  assert.equal(
    [refused.body.data, Number(refused.headers.get('retry-after')) > 3000],
    [{ rate_limit: 1, rate_duration: 3600 }, true],
  );
  assert.is((await ask(`${at}/once?defer=true`, { body: {} })).status, 200);
});

Limited('are described', async () => {
  const { paths, components } = (await ask(`${at}/openapi.json`)).body;
  for (const operation of [paths['/echo'].post, paths['/api/status'].get, paths['/tasks'].get])
    assert.equal(operation.responses['429'], { $ref: '#/components/responses/TooManyRequests' });
  assert.is(paths['/livez'].get.responses['429'], undefined);
  assert.equal(
    [Object.keys(components.responses.TooManyRequests.headers), Object.keys(components.securitySchemes ?? {})],
    [['Retry-After', 'RateLimit-Policy', 'RateLimit'], []],
  );
});

Limited(
  'do not keep a client from the documentation and the state of the host; the documentation has a limit of its own',
  async () => {
    let last: Answer;
    do last = await ask(`${at}/nowhere`);
    while (last.status !== 429);
    assert.is((await ask(`${at}/api/status`)).status, 429);
    const asked = async (): Promise<number[]> =>
      Promise.all(
        ['/openapi.json', '/docs', '/docs/init.js', '/docs/favicon-32x32.png'].map(
          async (path) => (await ask(at + path)).status,
        ),
      );
    assert.equal(await asked(), [200, 200, 200, 200]);
    for (let n = 1; n < 10; n += 1) await asked();
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/swagger-ui-bundle.js',
      '/redoc',
      '/redoc/redoc.standalone.js',
    ]) {
      const refused = await ask(at + path);
      assertRefused(refused, 429, 'TooManyRequestsException');
      assert.match(refused.body.message, /^over the limit of 40 requests in 3600 seconds to the documentation: /);
    }
    for (const path of ['/api/ready', '/readyz', '/health', '/ping', '/livez'])
      assert.is((await ask(at + path)).status, 200, path);
  },
);

Limited('of unknown API keys come without a setting: an address is refused before the database is asked', async () => {
  const keyed = guardedApp(join(folder, 'keyed'), { api_service: { enabled: true } });
  try {
    await keyed.listen({ host: '127.0.0.1', port: 0 });
    await keyed.deploy();
    const { apiKey = '' } = (await keyed.apiKeys?.create({ user_id: 'ann' })) ?? {};
    const guess = (n: number): Promise<Answer> => ask(`${keyed.url}/pages`, { key: `a-key-that-was-made-up-${n}` });
    assert.is((await ask(`${keyed.url}/pages`, { key: apiKey })).status, 200);
    for (let n = 0; n < 10; n += 1) await Promise.all(Array.from({ length: 10 }, (_, i) => guess(10 * n + i)));
    let refused: Answer;
    do refused = await guess(Math.random());
    while (refused.status !== 429); // one comes back in 0.6 seconds
    assertRefused(refused, 429, 'TooManyRequestsException');
    assert.match(
      refused.body.message,
      /^over the limit of 100 unknown API keys in 60 seconds: try again in \d+ seconds?$/,
    );
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.is((await ask(`${keyed.url}/pages`, { key: apiKey })).status, 200);
  } finally {
    await keyed.shutdown({ graceMs: 0 });
  }
});

Limited.run();
