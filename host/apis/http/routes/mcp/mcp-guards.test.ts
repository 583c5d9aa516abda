// Keys, scopes, rate limits, origins and hostile requests of `/mcp`, with the official client and over sockets.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { makeFolder } from '../../../../application/fixtures/test-app.ts';
import type { AanaApp } from 'aana-host';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { ask, guardedApp, Input } from '../../fixtures/guarded-app.ts';
import { rawPost } from '../../fixtures/test-server.ts';
import { connectClient, ERAS, type McpClient, toolError } from './fixtures/mcp-clients.ts';

const Guards = suite('guards of /mcp');
const folder = makeFolder();
let app: AanaApp;
let url = '';
const keys: Record<string, string> = {};

Guards.before(async () => {
  app = guardedApp(folder, {
    mcp: { enabled: true, endpoints: ['echo', 'other', 'secret', 'paid'] },
    api_service: { enabled: true },
    rate_limits: {
      endpoints: { '/other/*': { capacity: 2, interval_seconds: 3600 } },
      keys: { limited: { capacity: 6, interval_seconds: 3600 } },
    },
  });
  const output = z.any();
  const run = async (): Promise<string> => 'done';
  app.registerEndpoint({ name: 'secret', path: '/secret', input: Input, output, admin_required: true, run });
  app.registerEndpoint({ name: 'paid', path: '/paid', input: Input, output, active_subscription_required: true, run });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
  const made: Record<string, string[] | null> = {
    whole: null,
    endpoints: ['endpoints'],
    echo: ['/echo'],
    below: ['/other/*', 'tasks'],
    tasks: ['tasks'],
    model: ['model:llm_deployment'],
    limited: null,
  };
  for (const [name, scopes] of Object.entries(made))
    keys[name] = (await app.apiKeys!.create({ user_id: 'ann', key_id: name, scopes })).apiKey;
  keys['admin'] = (await app.apiKeys!.create({ user_id: 'root', is_admin: true })).apiKey;
  await app.apiKeys!.setSubscription('ann', false);
});
Guards.after(async () => {
  await app.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const clientWith = (key: string | undefined, era: (typeof ERAS)[number] = 'auto'): Promise<McpClient> =>
  connectClient(url, { era, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
const namesFor = async (key: string): Promise<string[]> => {
  await using client = await clientWith(keys[key]);
  return (await client.listTools()).tools.map(({ name }) => name).sort();
};

Guards('a missing or unknown key is refused, and a key without any endpoint', async () => {
  for (const era of ERAS) {
    for (const key of [undefined, 'aana_unknown', keys['tasks'], keys['model']])
      await errorOf(clientWith(key, era), Error);
  }
  for (const key of ['tasks', 'model']) {
    const refused = await ask(`${url}/mcp`, { key: keys[key], body: {} });
    assert.equal([refused.status, refused.body.error.data.error], [403, 'InsufficientScope']);
  }
  const { status, headers, body } = await ask(`${url}/mcp`, { body: {} });
  assert.equal([status, headers.get('www-authenticate')?.startsWith('Bearer')], [401, true]);
  const message = 'an API key is needed: send the header x-api-key, or Authorization: Bearer';
  const data = { error: 'ApiKeyNotProvided', data: { message } };
  assert.equal(body, { jsonrpc: '2.0', id: null, error: { code: -32_000, message, data } });
});

Guards('the tools of a key are the endpoints that it may run, of those that the configuration names', async () => {
  assert.equal(await namesFor('admin'), ['echo', 'other', 'paid', 'secret']);
  assert.equal(await namesFor('whole'), ['echo', 'other']);
  assert.equal(await namesFor('endpoints'), ['echo', 'other']);
  assert.equal(await namesFor('echo'), ['echo']);
  assert.equal(await namesFor('below'), ['other']);
  await using client = await clientWith(keys['echo']);
  assert.equal((await client.callTool({ name: 'echo', arguments: { n: 3 } })).structuredContent, { n: 3 });
  const refusals = { other: 'InsufficientScope', secret: 'InsufficientScope' };
  for (const [name, error] of Object.entries(refusals))
    assert.is(toolError(await client.callTool({ name, arguments: {} })).error, error);
  await errorOf(client.callTool({ name: 'who' }), Error); // no tool of this configuration
  await using whole = await clientWith(keys['whole']);
  assert.is(toolError(await whole.callTool({ name: 'secret' })).error, 'AdminOnlyAccess');
  assert.is(toolError(await whole.callTool({ name: 'paid' })).error, 'InactiveSubscription');
});

Guards('the limit of an endpoint counts its runs as a tool, and the limit of a key every request', async () => {
  await using client = await clientWith(keys['below']);
  const run = () => client.callTool({ name: 'other', arguments: {} });
  assert.equal((await run()).structuredContent, { n: 0 });
  const direct = await ask(`${url}/other/echo`, { key: keys['below'], body: {} });
  assert.equal([direct.status, direct.headers.get('ratelimit')?.startsWith('"/other/*";r=0')], [200, true]);
  const limited = toolError(await run());
  assert.equal([limited.error, limited.data], ['TooManyRequestsException', { rate_limit: 2, rate_duration: 3600 }]);
  assert.equal((await client.listTools()).tools.length, 1);

  const message = { key: keys['limited'], body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };
  let last = await ask(`${url}/mcp`, message);
  for (let n = 0; n < 6; n++) last = await ask(`${url}/mcp`, message);
  assert.equal([last.status, last.body.error.data.error], [429, 'TooManyRequestsException']);
});

Guards('a caller may have 32 subscriptions, and others have their own', async () => {
  const version = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const listen = (key: string, signal: AbortSignal): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': 'subscriptions/listen',
        'x-api-key': keys[key]!,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      }),
      signal,
    });
  const leaving = new AbortController();
  const open = await Promise.all(Array.from({ length: 32 }, () => listen('whole', leaving.signal)));
  assert.equal(new Set(open.map(({ status }) => status)), new Set([200]));
  const refused = await listen('endpoints', leaving.signal); // another key of the same user
  const { error } = (await refused.json()) as { error: { data: { error: string } } };
  assert.equal([refused.status, error.data.error], [429, 'TooManySubscriptions']);
  assert.is((await listen('admin', leaving.signal)).status, 200);
  leaving.abort();
  for (let status = 429; status === 429;) {
    const ending = new AbortController();
    ({ status } = await listen('whole', ending.signal));
    ending.abort();
  }
});

Guards('pages of other origins and names of other servers are refused, also without keys', async () => {
  const open = guardedApp(makeFolder(), { mcp: { enabled: true } });
  await open.listen({ host: '127.0.0.1', port: 0 });
  await open.deploy();
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const page = await fetch(`${open.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'http://evil.example' },
    body: JSON.stringify(list),
  });
  const { error } = (await page.json()) as { error: { data: { error: string } } };
  assert.equal([page.status, error.data.error], [403, 'OriginNotAllowed']);
  const socket = await rawPost(Number(new URL(open.url!).port), '/mcp', list, ['connection: close']); // its Host is x
  let text = '';
  for await (const part of socket) text += String(part);
  assert.match(text, /^HTTP\/1\.1 421 .*"HostNotAllowed"/s);
  await open.shutdown({ graceMs: 0 });
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const call = (params: unknown): object => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });

const REFUSED: [what: string, status: number, body: unknown][] = [
  ['nothing', 400, ''],
  ['no JSON', 400, '{"jsonrpc":'],
  ['64 MB', 413, JSON.stringify(call({ name: 'x'.repeat(64 * 1024 * 1024) }))],
  ['a depth of 10,000', 400, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${nested(10_000)}}`],
  ['a list of messages', 400, [call({ name: 'echo' }), call({ name: 'echo' })]],
  ['a text', 400, '"tools/call"'],
  ['an id that is an object', 400, { jsonrpc: '2.0', id: {}, method: 'tools/list' }],
  ['a method that is a number', 400, { jsonrpc: '2.0', id: 1, method: 5 }],
  ['a message of another protocol', 400, { hello: 'world' }],
  [
    'a version without an envelope',
    400,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
    },
  ],
];
/** Requests that are answered with an error of the protocol. */
const WRONG: [what: string, body: unknown][] = [
  ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'tools/destroy' }],
  ['arguments that are a list', call({ name: 'echo', arguments: [1] })],
  ['a name that is an object', call({ name: { a: 1 } })],
  ['no parameters', { jsonrpc: '2.0', id: 1, method: 'tools/call' }],
  ['an unknown tool with a long name', call({ name: 'x'.repeat(100_000) })],
];

Guards('hostile requests are refused, and the server goes on', async () => {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-api-key': keys['whole']!,
  };
  const post = (body: unknown, more: object = {}): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  for (const [what, status, body] of REFUSED) {
    const response = await post(body);
    const text = await response.text();
    assert.is(response.status, status, `${what}: ${text.slice(0, 300)}`);
    const { jsonrpc, error } = JSON.parse(text);
    assert.is(jsonrpc, '2.0', what);
    assert.ok(error.message.length > 0 && text.length < 5000, `${what}: ${text.slice(0, 1000)}`);
  }
  for (const [what, body] of WRONG) {
    const response = await post(body);
    const text = await response.text();
    assert.is(response.status, 200, `${what}: ${text.slice(0, 300)}`);
    const [, data = ''] = /^data: (.*)$/m.exec(text) ?? [];
    assert.type(JSON.parse(data).error?.code, 'number', `${what}: ${text.slice(0, 300)}`);
  }
  const form = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'x-api-key': keys['whole']! },
    body: new URLSearchParams({ body: '{}' }),
  });
  assert.is(form.status, 415);
  const listening = await fetch(`${url}/mcp`, { headers: { ...headers, accept: 'text/event-stream' } });
  assert.equal([listening.status, listening.headers.get('allow')], [405, 'POST']);
  const unknown = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } };
  assert.is((await post(unknown, { 'mcp-session-id': 'of somebody else' })).status, 202);
  assert.equal((await namesFor('whole')).length, 2);
});

Guards('a server without the setting says what to set', async () => {
  const off = guardedApp(makeFolder(), {});
  await off.listen({ host: '127.0.0.1', port: 0 });
  await off.deploy();
  const { status, body } = await ask(`${off.url}/mcp`, { body: {} });
  assert.equal([status, /mcp\.enabled/.test(body.error.message)], [404, true]);
  await off.shutdown({ graceMs: 0 });
});

Guards.run();
