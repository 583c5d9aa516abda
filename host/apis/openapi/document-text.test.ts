import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { EndpointRegistry, hostEndpoint, pluginEndpoints } from '../../endpoints/registry/index.ts';
import { startServer } from '../http/fixtures/test-server.ts';
import { OpenApiText } from './document-text.ts';

const Texts = suite('the text of the OpenAPI document');

/** Counts how often an example of its input is checked, which is when documentation is made. */
function counted(name: string): { endpoint: Parameters<EndpointRegistry['add']>[0]; checks: () => number } {
  let checks = 0;
  const endpoint = hostEndpoint({
    name,
    path: `/${name}`,
    summary: name,
    input: z.strictObject({ n: z.int().min(3) }),
    output: z.unknown(),
    run: async () => 1,
  });
  return {
    endpoint: { ...endpoint, validate: (input) => ((checks += 1), endpoint.validate(input)) },
    checks: () => checks,
  };
}

Texts('is made once for each change of the endpoints, for all clients', async () => {
  const registry = new EndpointRegistry();
  const [one, two] = [counted('one'), counted('two')];
  registry.add(one.endpoint);
  await using at = await startServer({ registry });
  const paths = async (): Promise<string[]> =>
    Object.keys(((await (await fetch(`${at.url}/openapi.json`)).json()) as { paths: object }).paths).filter(
      (path) => path === '/one' || path === '/two',
    );
  assert.equal(await paths(), ['/one']);
  const checks = one.checks();
  assert.ok(checks > 0);
  for (let n = 0; n < 5; n += 1) await paths();
  for (const host of ['a.example', 'b.example:99', 'c.example'])
    await fetch(`${at.url}/openapi.json`, { headers: { host } });
  assert.is(one.checks(), checks);
  registry.add(two.endpoint);
  assert.equal(await paths(), ['/one', '/two']);
  assert.ok(one.checks() > checks);
  registry.remove('one');
  assert.equal(await paths(), ['/two']);
});

Texts('has no example for a schema that needs a huge value', async () => {
  const registry = new EndpointRegistry();
  const huge: Record<string, object> = {
    text: { type: 'string', minLength: 1e9 },
    list: { type: 'array', minItems: 1e9, items: {} },
    object: { type: 'object', minProperties: 1e9 },
  };
  const endpoints = Object.entries(huge).map(([name, schema]) => ({
    name,
    path: `/${name}`,
    summary: '',
    description: '',
    inputSchema: { type: 'object', properties: { a: schema }, required: ['a'] },
    outputSchema: {},
    streaming: false,
  }));
  for (const endpoint of pluginEndpoints({ name: 'p', endpoints, run: async () => '{}' })) registry.add(endpoint);
  await using at = await startServer({ registry });
  const response = await fetch(`${at.url}/openapi.json`);
  const text = await response.text();
  assert.ok(response.status === 200 && text.length < 100_000, `${response.status}, ${text.length} characters`);
  const { paths } = JSON.parse(text) as { paths: Record<string, { post: Record<string, unknown> }> };
  for (const name of Object.keys(huge)) assert.is(paths[`/${name}`]?.post['x-codeSamples'], undefined, name);
});

Texts('is not sent again to a client that has it', async () => {
  const registry = new EndpointRegistry();
  registry.add(counted('one').endpoint);
  await using at = await startServer({ registry });
  const first = await fetch(`${at.url}/openapi.json`);
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^"[\w-]{20,}"$/);
  assert.equal(
    [first.status, first.headers.get('cache-control'), (await first.text()).length > 1000],
    [200, 'no-cache', true],
  );
  const again = await fetch(`${at.url}/openapi.json`, { headers: { 'if-none-match': etag } });
  assert.equal([again.status, again.headers.get('etag'), await again.text()], [304, etag, '']);
  registry.add(counted('two').endpoint);
  const changed = await fetch(`${at.url}/openapi.json`, { headers: { 'if-none-match': etag } });
  assert.equal([changed.status, changed.headers.get('etag') === etag], [200, false]);
});

Texts('is compressed as the client accepts it, with a tag for each form', async () => {
  await using at = await startServer();
  const get = async (
    encoding: string | undefined,
    etag?: string,
  ): Promise<{ readonly headers: IncomingHttpHeaders; readonly status: number | undefined; readonly body: Buffer }> => {
    const headers = { ...(encoding && { 'accept-encoding': encoding }), ...(etag && { 'if-none-match': etag }) };
    const [response] = (await once(request(`${at.url}/openapi.json`, { headers }).end(), 'response')) as [
      IncomingMessage,
    ];
    return { headers: response.headers, status: response.statusCode, body: Buffer.concat(await response.toArray()) };
  };
  const plain = await get(undefined);
  assert.equal([plain.headers['content-encoding'], plain.headers.vary], [undefined, 'Accept-Encoding']);
  const tags = new Set([plain.headers.etag]);
  const forms = [
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br;q=0, gzip;q=0.5, *;q=0.1', 'gzip', gunzipSync],
  ] as const;
  for (const [accepted, encoding, read] of forms) {
    const { headers, body } = await get(accepted);
    assert.equal([headers['content-encoding'], headers.vary], [encoding, 'Accept-Encoding'], accepted);
    assert.ok(body.length * 4 < plain.body.length, `${body.length} of ${plain.body.length} bytes`);
    assert.ok(read(body).equals(plain.body));
    tags.add(headers.etag);
    const again = await get(accepted, headers.etag);
    assert.equal([again.status, again.headers.etag, again.body.length], [304, headers.etag, 0]);
    assert.is(again.headers.vary, 'Accept-Encoding');
    assert.is((await get(accepted, plain.headers.etag)).status, 200, 'another form is not the same');
  }
  assert.is(tags.size, 3);
  for (const accepted of ['identity', 'deflate', 'identity;q=0', 'br;q=nonsense']) {
    const { headers, body } = await get(accepted);
    assert.equal([headers['content-encoding'], body.equals(plain.body)], [undefined, true], accepted);
  }
});

Texts('has the address that the client used, and is kept for few of them', () => {
  let builds = 0;
  const text = new OpenApiText({
    version: () => 1,
    build: (origin, mount) => ((builds += 1), { url: `${origin}${mount}/echo`, quoted: `'${origin}'` }),
  });
  const at = (origin: string, mount = ''): unknown => JSON.parse(text.at(origin, mount).body.toString());
  for (const origin of ['http://127.0.0.1:8000', 'https://aana.example.org', 'http://[::1]:8000'])
    assert.equal(at(origin, '/ai'), { url: `${origin}/ai/echo`, quoted: `'${origin}'` });
  for (let n = 0; n < 1000; n += 1) at(`http://h${n}.example`);
  assert.is(builds, 3, 'once for each way of quoting and each place that it is mounted at');
  for (const odd of ['http://a"b', "http://a'b", 'http://$&', 'http://a b', 'http://'])
    assert.equal(at(odd), { url: 'http://localhost/echo', quoted: "'http://localhost'" });
});

Texts('and the files of its pages are read once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-redoc-'));
  const file = join(folder, 'redoc.js');
  let asked = 0;
  try {
    await using at = await startServer({ redocBundle: async () => ((asked += 1), file) });
    const script = (headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${at.url}/redoc/redoc.standalone.js`, { headers });
    assert.is((await script()).status, 500, 'there is no file yet');
    await new Promise((resolve) => setTimeout(resolve, 1100)); // a failure is remembered for a second
    await writeFile(file, 'window.Redoc = "https://cdn.redoc.ly/redoc/logo-mini.svg";');
    const first = await script();
    const body = await first.text();
    assert.match(body, /^window\.Redoc = "data:image/);
    await rm(file);
    const before = asked;
    const again = await script();
    assert.equal(
      [again.status, await again.text(), again.headers.get('etag'), asked],
      [200, body, first.headers.get('etag'), before],
    );
    assert.is((await script({ 'if-none-match': first.headers.get('etag') ?? '' })).status, 304);
    const whole = { headers: { 'accept-encoding': 'identity' } };
    const bundle = await fetch(`${at.url}/docs/swagger-ui-bundle.js`, whole);
    assert.is(
      (
        await fetch(`${at.url}/docs/swagger-ui-bundle.js`, {
          headers: { ...whole.headers, 'if-none-match': bundle.headers.get('etag') ?? '' },
        })
      ).status,
      304,
    );
    assert.is(bundle.headers.get('content-length'), String((await bundle.arrayBuffer()).byteLength));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

Texts.run();
