import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CLOSED, type CorsOptions } from './cors.ts';
import { startServer, type TestServer } from '../fixtures/test-server.ts';

const Cors = suite('pages of other origins');
const APP = 'https://app.example.org';
const OTHER = 'https://evil.example';

const allowing = (options: Partial<CorsOptions>): CorsOptions => ({ ...CLOSED, ...options });
const NAMED = allowing({ allow_origins: [APP] });

function echo(at: TestServer, headers: Record<string, string>): Promise<Response> {
  const form = new FormData();
  form.set('body', '{"text":"x"}');
  return fetch(`${at.url}/echo`, { method: 'POST', body: form, headers });
}

function preflight(
  at: TestServer,
  origin: string,
  headers: Record<string, string> = {},
  path = '/echo',
): Promise<Response> {
  return fetch(`${at.url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-api-key,content-type',
      ...headers,
    },
  });
}

const allowed = (response: Response): string | null => response.headers.get('access-control-allow-origin');

Cors('may neither read answers nor send requests unless the configuration says so', async () => {
  await using at = await startServer();
  const response = await echo(at, { origin: OTHER });
  assert.is(response.status, 403);
  assert.is(allowed(response), null);
  const body = (await response.json()) as Record<string, unknown>;
  assert.is(body['error'], 'OriginNotAllowed');
  assert.equal(Object.keys(body), ['error', 'message', 'data', 'stacktrace']);
  assert.is(allowed(await preflight(at, OTHER)), null);
  const read = await fetch(`${at.url}/api/status`, { headers: { origin: OTHER } });
  assert.is(read.status, 200); // the browser keeps it from the page
  assert.is(allowed(read), null);
});

Cors('are recognised by the headers of browsers, and else by the name of the server', async () => {
  await using at = await startServer({ trustedProxies: ['loopback'] });
  const cases: readonly [Record<string, string>, number][] = [
    [{}, 200],
    [{ origin: at.url }, 200],
    [{ origin: at.url, 'sec-fetch-site': 'same-origin' }, 200],
    // A proxy that keeps the name for itself.
    [{ origin: 'https://api.example.org', 'sec-fetch-site': 'same-origin' }, 200],
    [{ origin: 'https://api.example.org', 'x-forwarded-host': 'api.example.org' }, 200],
    [{ origin: 'https://api.example.org' }, 403],
    [{ origin: at.url, 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: at.url, 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: `http://127.0.0.1:${at.port + 1}` }, 403],
  ];
  for (const [headers, status] of cases) assert.is((await echo(at, headers)).status, status, JSON.stringify(headers));
});

Cors('that are allowed can read answers, errors and streams', async () => {
  await using at = await startServer({ cors: NAMED });
  const answers = [
    await echo(at, { origin: APP }),
    await fetch(`${at.url}/nothing`, { method: 'POST', headers: { origin: APP } }),
    await fetch(`${at.url}/fail`, {
      method: 'POST',
      headers: { origin: APP, 'content-type': 'application/json' },
      body: '{"kind":"unknown"}',
    }),
    await fetch(`${at.url}/count_stream`, {
      method: 'POST',
      headers: { origin: APP, 'content-type': 'application/json' },
      body: '{"until":2}',
    }),
  ];
  assert.equal(
    answers.map(({ status }) => status),
    [200, 404, 500, 200],
  );
  for (const response of answers) {
    assert.is(allowed(response), APP);
    assert.match(response.headers.get('vary') ?? '', 'Origin');
    assert.match(response.headers.get('access-control-expose-headers') ?? '', 'x-request-id');
    assert.is(response.headers.get('access-control-allow-credentials'), null);
    await response.text();
  }
  const other = await echo(at, { origin: OTHER });
  assert.is(other.status, 403);
  assert.is(allowed(other), null);
  assert.match(other.headers.get('vary') ?? '', 'Origin');
  assert.match((await echo(at, {})).headers.get('vary') ?? '', 'Origin'); // so that no cache gives it to the page
});

Cors('send a preflight, and get the allowed methods and headers', async () => {
  await using at = await startServer({ cors: NAMED });
  const response = await preflight(at, APP);
  assert.is(response.status, 204);
  assert.is(allowed(response), APP);
  assert.is(response.headers.get('access-control-allow-headers'), 'x-api-key,content-type');
  assert.match(response.headers.get('access-control-allow-methods') ?? '', /\bPOST\b.*\bDELETE\b/);
  assert.is(response.headers.get('access-control-max-age'), '600');
  assert.is(response.headers.get('access-control-allow-private-network'), null);
  assert.is((await preflight(at, APP, {}, '/nothing')).status, 204);
  const other = await preflight(at, OTHER);
  assert.is(other.status, 403);
  assert.is(allowed(other), null);
});

Cors('are all allowed with a star, without credentials', async () => {
  await using at = await startServer({ cors: allowing({ allow_origins: ['*'] }) });
  for (const origin of [APP, OTHER, 'null']) {
    const response = await echo(at, { origin });
    assert.is(response.status, 200);
    assert.is(allowed(response), '*');
    assert.is(response.headers.get('access-control-allow-credentials'), null);
  }
});

Cors('must match the whole expression', async () => {
  await using at = await startServer({
    cors: allowing({
      allow_origin_regex: 'https://[a-z]+\\.example\\.org',
      allow_credentials: true,
      allow_headers: ['X-Api-Key'],
      allow_methods: ['POST'],
    }),
  });
  const response = await preflight(at, 'https://two.example.org');
  assert.is(allowed(response), 'https://two.example.org');
  assert.is(response.headers.get('access-control-allow-credentials'), 'true');
  assert.is(response.headers.get('access-control-allow-headers'), 'X-Api-Key');
  assert.is(response.headers.get('access-control-allow-methods'), 'POST');
  for (const origin of [
    'https://two.example.org.evil.example',
    'https://evil.example/https://two.example.org',
    'http://two.example.org',
  ])
    assert.is((await echo(at, { origin })).status, 403, origin);
});

Cors('get security headers with every answer, also with errors', async () => {
  await using at = await startServer({ hstsMaxAgeS: 600 });
  for (const path of ['/api/status', '/nothing', '/docs']) {
    const { headers } = await fetch(`${at.url}${path}`);
    assert.is(headers.get('x-content-type-options'), 'nosniff', path);
    assert.is(headers.get('x-frame-options'), 'DENY', path);
    assert.is(headers.get('referrer-policy'), 'same-origin', path);
    assert.is(headers.get('cross-origin-resource-policy'), 'same-origin', path);
    assert.is(headers.get('strict-transport-security'), 'max-age=600', path);
    assert.match(headers.get('content-security-policy') ?? '', "frame-ancestors 'none'", path);
    for (const name of ['server', 'x-powered-by']) assert.is(headers.get(name), null, path);
  }
  await using plain = await startServer();
  assert.is((await fetch(`${plain.url}/api/status`)).headers.get('strict-transport-security'), null);
});

Cors.run();
