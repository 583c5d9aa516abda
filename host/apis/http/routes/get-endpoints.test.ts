import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaError } from '../../../base/core/errors.ts';
import { EndpointRegistry, hostEndpoint } from '../../../endpoints/registry/index.ts';
import { buildOpenApi } from '../../openapi/index.ts';
import { CLOSED } from '../guards/cors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startServer, type TestServer } from '../fixtures/test-server.ts';

const Get = suite('endpoints with GET, and paths with parameters');
const get = { 'x-aana-method': 'get' };
const Kind = z.enum(['a', 'b']).meta({ id: 'Kind' });

const Item = z
  .strictObject({
    id: z.int().describe('Which item'),
    shelf: z.string(),
    limit: z.number().default(10),
    full: z.boolean().optional(),
    tags: z.array(z.int()).optional(),
    kind: Kind.nullable().optional(),
  })
  .meta(get);
const registry = new EndpointRegistry();
const texts = { summary: 'Reads', output: z.any() };
registry.add(
  hostEndpoint({
    ...texts,
    name: 'item',
    path: '/shelves/{shelf}/items/{id}',
    input: Item,
    run: async (input) => input,
  }),
);
registry.add(
  hostEndpoint({
    ...texts,
    ...{ name: 'values', path: '/values', output: z.int() },
    input: z.strictObject({ to: z.int() }).meta(get),
    async *run({ to }) {
      for (let n = 0; n < to; n++) yield n;
    },
  }),
);
registry.add(
  hostEndpoint({
    ...{ ...texts, name: 'rename', path: '/items/{id}/name' },
    input: z.strictObject({ id: z.int(), name: z.string() }),
    run: async (input) => input,
  }),
);

let server: TestServer;
Get.before(async () => void (server = await startServer({ registry })));
Get.after(async () => server?.[Symbol.asyncDispose]());
const ask = async (
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; body: unknown; headers: Headers }> => {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
};
const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const entries = ({ body }: { body: unknown }): unknown =>
  (body as { data: { type: string; loc: unknown }[] }).data.map(({ type, loc }) => [type, loc]);

Get('have their input in the path and the query, converted by the schema', async () => {
  const { status, body, headers } = await ask(
    '/shelves/a%2Fb%20%E2%82%AC/items/7?limit=2.5&full=true&tags=1&tags=2&kind=b',
  );
  assert.equal([status, headers.get('cache-control')], [200, 'no-store']);
  assert.equal(body, { id: 7, shelf: 'a/b €', limit: 2.5, full: true, tags: [1, 2], kind: 'b' });
  const plain = await ask('/shelves/12/items/7?tags=3');
  assert.equal(plain.body, { id: 7, shelf: '12', limit: 10, tags: [3] });
});

Get('are refused with an entry for each mistake', async () => {
  const wrong = await ask('/shelves/s/items/x?limit=many&full=yes&tags=a&kind=c&more=1');
  assert.is(wrong.status, 422);
  assert.equal((entries(wrong) as [string, string[]][]).map(([, loc]) => loc.join('.')).sort(), [
    ...['full', 'id', 'kind', 'limit', 'more', 'tags.0'],
  ]);
  const twice = await ask('/shelves/s/items/1?id=2&shelf=t');
  assert.equal(entries(twice), [
    ['extra_forbidden', ['shelf']],
    ['extra_forbidden', ['id']],
  ]);
  assert.is((await ask('/shelves/s/items/1?limit=1&limit=2')).status, 422);
  assert.is((await ask('/shelves/s/items/1?__proto__=2')).status, 422);
});

Get('lose no digits of what may be a text, and take no number that has lost some for an integer', async () => {
  const loose = new EndpointRegistry();
  loose.add(
    hostEndpoint({
      ...{ ...texts, name: 'loose', path: '/loose' },
      input: z.strictObject({ any: z.union([z.int(), z.string()]).optional(), int: z.int().optional() }).meta(get),
      run: async (input) => input,
    }),
  );
  await using at = await startServer({ registry: loose });
  const answer = async (query: string): Promise<unknown> => {
    const response = await fetch(`${at.url}/loose?${query}`);
    return response.status === 200 ? response.json() : response.status;
  };
  for (const text of ['007', '9007199254740993', '1.0', '1e3', '-0', '0.1234567890123456789', '1e999', ' 7', '7 '])
    assert.equal(await answer(new URLSearchParams({ any: text }).toString()), { any: text });
  for (const text of ['7', '-7', '9007199254740991', '0'])
    assert.equal(await answer(`any=${text}`), { any: Number(text) });
  for (const text of ['9007199254740993', '-9007199254740993', '1e999']) assert.is(await answer(`int=${text}`), 422);
});

Get('match whole segments only', async () => {
  for (const path of [
    '/shelves/s/items',
    '/shelves/s/items/',
    '/shelves//items/1',
    '/shelves/s/items/1/2',
    '/shelves/%ff/items/1',
  ])
    assert.is((await ask(path)).status, 404, path);
});

Get('take HEAD, and no other method', async () => {
  const head = await ask('/shelves/s/items/1', { method: 'HEAD' });
  assert.equal(
    [head.status, head.body, head.headers.get('content-length')],
    [200, undefined, String(JSON.stringify({ id: 1, shelf: 's', limit: 10 }).length)],
  );
  assert.is((await ask('/values?to=2', { method: 'HEAD' })).status, 200);
  const refused = await ask('/shelves/s/items/1', post({ id: 1 }));
  assert.equal([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD']);
  assert.is((await ask('/items/1/name')).status, 405);
});

Get('are logged with their template: neither the parameters nor the query', async () => {
  const lines: string[] = [];
  const note = (message: string, fields?: object): void => void lines.push(JSON.stringify({ message, ...fields }));
  const log = { ...silentLogger, debug: note, info: note, warn: note, error: note };
  const failing = new EndpointRegistry();
  failing.add(
    hostEndpoint({
      ...{ ...texts, name: 'reset', path: '/reset/{token}', output: z.int() },
      input: z.strictObject({ token: z.string(), at: z.int().default(0) }).meta(get),
      async *run({ at }) {
        yield 1;
        if (at > 0) throw new Error('broken');
      },
    }),
  );
  await using logged = await startServer({ registry: failing, log });
  const paths = ['/reset/ab%2Fcd', '/reset/abcd?at=1', '/reset/abcd?at=x', '/reset/abcd?more=abcd'];
  for (const path of paths) await (await fetch(`${logged.url}${path}`)).text();
  await (await fetch(`${logged.url}/reset/abcd`, { method: 'POST' })).text();
  await eventually(() => logged.seen.closed === 5, 'five answers');
  const requests = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'request');
  assert.equal(
    requests.map(({ path, status }) => `${status} ${path}`).sort(),
    ['200', '200', '405', '422', '422'].map((status) => `${status} /reset/{token}`),
  );
  assert.ok(lines.some((line) => line.includes('stream failed')));
  for (const line of lines) assert.not.match(line, /ab(cd|%2F)/);
});

Get('stream', async () => {
  const stream = await fetch(`${server.url}/values?to=3`, { headers: { accept: 'application/x-ndjson' } });
  assert.is(await stream.text(), '0\n1\n2\n');
});

Get('have no deferred requests: the query is theirs', async () => {
  const { status, body } = await ask('/shelves/s/items/1?defer=true');
  assert.equal([status, entries({ body })], [422, [['extra_forbidden', ['defer']]]]);
});

Get('are not run by a page of another origin', async () => {
  const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
  assert.is((await ask('/shelves/s/items/1', foreign)).status, 403);
  assert.is((await ask('/shelves/s/items/1', { headers: { 'sec-fetch-site': 'same-origin' } })).status, 200);
});

Get('are run by links and images of an allowed page', async () => {
  const cors = { ...CLOSED, allow_origins: ['https://app.example.org'] };
  await using at = await startServer({ registry, cors });
  const run = async (headers: Record<string, string>, method = 'GET'): Promise<unknown> => {
    const { status, headers: answer } = await fetch(`${at.url}/shelves/s/items/1`, {
      ...{ method, referrerPolicy: 'unsafe-url' },
      headers: { 'sec-fetch-site': 'cross-site', ...headers },
    });
    return [status, answer.get('cross-origin-resource-policy')];
  };
  for (const referer of ['https://app.example.org/', 'https://app.example.org/a?b'])
    for (const method of ['GET', 'HEAD']) assert.equal(await run({ referer }, method), [200, 'cross-origin']);
  for (const referer of [
    'https://evil.example/https://app.example.org/',
    'https://app.example.org.evil.example/',
    'https://app.example.org@evil.example/',
    'http://app.example.org/',
    'app.example.org',
    '',
  ])
    assert.equal(await run({ referer }), [403, 'same-origin'], referer);
  const both = { referer: 'https://app.example.org/', origin: 'https://evil.example' };
  assert.equal(await run(both), [403, 'same-origin'], 'Origin says more');
  const send = { referer: 'https://app.example.org/', 'content-type': 'application/json' };
  const posted = await fetch(`${at.url}/items/7/name`, {
    ...post({ name: 'n' }),
    headers: { ...send, 'sec-fetch-site': 'cross-site' },
  });
  assert.is(posted.status, 403, 'a form has an Origin');
});

Get('with POST have the parameters of the path, and the other keys in the body', async () => {
  assert.equal((await ask('/items/7/name', post({ name: 'n' }))).body, { id: 7, name: 'n' });
  const twice = await ask('/items/7/name', post({ name: 'n', id: 8 }));
  assert.equal([twice.status, entries(twice)], [422, [['extra_forbidden', ['id']]]]);
});

Get('have their parameters in the documentation', () => {
  const { paths } = buildOpenApi(registry.list(), {
    title: 't',
    version: '1',
    baseUrl: '',
    routes: [],
    hasKeys: false,
  });
  const item = paths!['/shelves/{shelf}/items/{id}']!.get!;
  assert.is(item.requestBody, undefined);
  assert.equal(
    (item.parameters as { name: string; in: string; required?: boolean }[]).map((one) => [
      one.name,
      one.in,
      one.required,
    ]),
    [
      ['shelf', 'path', true],
      ['id', 'path', true],
      ['limit', 'query', undefined],
      ['full', 'query', undefined],
      ['tags', 'query', undefined],
      ['kind', 'query', undefined],
    ],
  );
  assert.is((item.parameters![1] as { description?: string }).description, 'Which item');
  const rename = paths!['/items/{id}/name']!.post!;
  assert.equal(
    (rename.parameters as { name: string }[]).map(({ name }) => name),
    ['id'],
  );
});

const route =
  (path: string, input: z.ZodObject, name = 'other') =>
  () =>
    registry.add(hostEndpoint({ ...texts, name, path, input, run: async () => 1 }));
const Id = z.strictObject({ id: z.string() });
const refusals: readonly (readonly [what: string, add: () => void, message: RegExp])[] = [
  ['a template that another path matches', route('/shelves/{id}/items/first', Id), /already belongs to item/],
  ['the same path with another method', route('/values', Id), /already belongs to values/],
  ['a parameter at the place of a path of the host', route('/asr/{id}', Id.meta(get)), /the host's own/],
  ['a parameter at the beginning', route('/{id}', Id.meta(get)), /is not a path/],
  ['a parameter that is a part of a segment', route('/a/x{id}', Id), /is not a path/],
  ['a parameter without a key', route('/a/{other}', Id), /no key other/],
  ['two parameters of one name', route('/a/{id}/{id}', Id), /two parameters of one name/],
  ['a parameter that is an object', route('/a/{o}', z.strictObject({ o: z.strictObject({}) })), /no text, number/],
  ['an object in the query', route('/a', z.strictObject({ o: z.strictObject({}) }).meta(get)), /cannot be in a query/],
  ['lists of objects', route('/a', z.strictObject({ o: z.array(Id) }).meta(get)), /cannot be in a query/],
  [
    'files with GET',
    route('/a', z.strictObject({ f: z.string().meta({ 'x-aana-file': true }) }).meta(get)),
    /has no files/,
  ],
  ['another method', route('/a', Id.meta({ 'x-aana-method': 'put' })), /get or post/],
];
for (const [what, add, message] of refusals)
  Get(`are refused when they are added: ${what}`, () => {
    assert.throws(add, (error: unknown) => error instanceof AanaError && message.test(error.message));
  });

Get.run();
