// The rights of callers, with the whole application.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../../application/app.ts';
import { type Answer, ask as askAt, assertRefused, guardedApp, Input } from '../fixtures/guarded-app.ts';

const STRANGE = 'aana_000000000000000000000000000000000000000';

const Guarded = suite('requests with API keys');
let folder = '';
let app: AanaApp;
let url = '';
let admin = '';
const keys: Record<string, string> = {};

Guarded.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-api-keys-'));
  app = guardedApp(folder, { api_service: { enabled: true }, include_stacktrace: true });
  app.registerEndpoint({
    name: 'secret',
    path: '/secret',
    input: Input,
    output: z.any(),
    admin_required: true,
    run: async () => 'secret',
  });
  app.registerEndpoint({
    name: 'paid',
    path: '/paid',
    input: Input,
    output: z.any(),
    active_subscription_required: true,
    run: async () => 'paid',
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
  assert.ok(app.apiKeys);
  ({ apiKey: admin } = await app.apiKeys.create({ user_id: 'root', is_admin: true }));
  const made: Record<string, Parameters<typeof app.apiKeys.create>[0]> = {
    ann: { user_id: 'ann' },
    bob: { user_id: 'bob' },
    carl: { user_id: 'carl' },
    lapsed: { user_id: 'lapsed', is_subscription_active: false },
    echo: { user_id: 'ann', scopes: ['/echo'] },
    item: { user_id: 'ann', scopes: ['/items/{item}'] },
    seven: { user_id: 'ann', scopes: ['/items/7'] },
    tasks: { user_id: 'ann', scopes: ['tasks'] },
    limitedAdmin: { user_id: 'root', is_admin: true, scopes: ['endpoints'] },
  };
  for (const [name, input] of Object.entries(made)) keys[name] = (await app.apiKeys.create(input)).apiKey;
});
Guarded.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

const ask = (method: string, path: string, key?: string, body?: unknown, at = url): Promise<Answer> =>
  askAt(at + path, { key, body }, method);

Guarded('reach no route of the application without a key, whatever its routers match', async () => {
  const reached: string[] = [];
  const note = (ctx: Context): void => void (reached.push(`${ctx.method} ${ctx.path}`), (ctx.body = 'reached'));
  const router = new Router().all('/any', note).options('/own-options', note).all('/:a/x', note);
  app.registerRouter('all', router as never);
  try {
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const [method, path, headers] of [
      ['OPTIONS', '/any', {}],
      ['OPTIONS', '/any', preflight],
      ['OPTIONS', '/own-options', {}],
      ['OPTIONS', '/a/x', {}],
      ['OPTIONS', '/docs/x', {}],
      ['GET', '/docs/x', {}],
      ['GET', '/redoc/x', {}],
      ['POST', '/docs/x', {}],
      ['GET', '/docs/', {}],
      ['DELETE', '/docs', {}],
      ['GET', '/openapi.json/x', {}],
      ['GET', '/livez/x', {}],
    ] as const) {
      const response = await fetch(url + path, { method, headers });
      assert.not.match(await response.text(), 'reached', `${method} ${path}`);
    }
    assert.equal(reached, []);
    assert.is((await ask('OPTIONS', '/any', STRANGE)).status, 401);
    assert.is((await ask('OPTIONS', '/any', keys['ann'])).status, 200);
    assert.is(
      (await fetch(`${url}/any`, { method: 'OPTIONS', headers: { ...preflight, 'x-api-key': keys['ann'] ?? '' } }))
        .status,
      204,
      'a preflight is never a matter of a route',
    );
    assert.is(
      (await ask('GET', '/docs/x', keys['ann'])).status,
      404,
      'below a path of the host there is the host alone',
    );
    assert.equal(reached, ['OPTIONS /any']);
  } finally {
    app.unregisterRouter('all');
  }
});

Guarded('need a key for the root if a router of the application has it', async () => {
  app.registerRouter('home', new Router().get('/', (ctx) => void (ctx.body = 'welcome')) as never);
  try {
    assertRefused(await ask('GET', '/'), 401, 'ApiKeyNotProvided');
    assert.is((await ask('GET', '/', keys['ann'])).body, 'welcome');
  } finally {
    app.unregisterRouter('home');
  }
});

Guarded('distinguish paths of the host by case', async () => {
  for (const path of ['/Tasks', '/API/keys', '/TASKS/count', '/Webhooks', '/Docs', '/OpenAPI.json'])
    assert.is((await ask('GET', path, admin)).status, 404, path);
});

Guarded(
  'need no key for the documentation and the state of the host, and one for all else, also for what is not there',
  async () => {
    for (const path of ['/', '/version', '/openapi.json', '/docs', '/docs/init.js', '/api/ready', '/health', '/ping'])
      assert.is((await ask('GET', path)).status, 200, path);
    for (const [method, path] of [
      ['POST', '/echo'],
      ['GET', '/tasks'],
      ['GET', '/pages'],
      ['GET', '/nowhere'],
      ['GET', '/api/status'],
      ['GET', '/api/keys'],
      ['GET', '/Docs'],
      ['GET', '/docs/../api/keys'],
      ['GET', '/api/ready/x'],
    ] as const) {
      const answer = await ask(method, path);
      assertRefused(answer, 401, 'ApiKeyNotProvided');
      assert.is(answer.headers.get('www-authenticate'), 'Bearer');
      assert.is(answer.body.stacktrace, null, 'nobody who is not known sees the inside');
    }
    assert.is((await ask('GET', '/nowhere', keys['ann'])).status, 404);
    assert.is((await ask('GET', '/pages', keys['ann'])).body, 'a page');
  },
);

Guarded('are documented: headers of keys, open paths, and the routes for keys', async () => {
  const { components, security, paths } = (await ask('GET', '/openapi.json')).body;
  assert.equal(Object.keys(components.securitySchemes), ['ApiKeyAuth', 'BearerAuth']);
  assert.equal(security, [{ ApiKeyAuth: [] }, { BearerAuth: [] }]);
  assert.equal(paths['/api/ready'].get.security, []);
  assert.equal([paths['/echo'].post.security, '401' in paths['/echo'].post.responses], [undefined, true]);
  assert.equal(
    Object.keys(paths)
      .filter((path) => path.startsWith('/api/'))
      .sort(),
    [
      '/api/alerts',
      '/api/application',
      '/api/application/events',
      '/api/application/load',
      '/api/configuration',
      '/api/configuration/apply',
      '/api/configuration/plan',
      '/api/configuration/rollback',
      '/api/deployments',
      '/api/deployments/changes',
      '/api/deployments/{deployment}/load',
      '/api/deployments/{deployment}/replicas',
      '/api/deployments/{deployment}/unload',
      '/api/drain',
      '/api/endpoints',
      '/api/keys',
      '/api/keys/{key_id}',
      '/api/logs',
      '/api/logs/events',
      '/api/logs/levels',
      '/api/models',
      '/api/models/{model_id}',
      '/api/models/{model_id}/pull',
      '/api/plugins/reload',
      '/api/profiles/cpu',
      '/api/profiles/heap',
      '/api/ready',
      '/api/status',
      '/api/subscriptions/{subscription_id}',
      '/api/tasks',
      '/api/tasks/count',
      '/api/tasks/{task_id}',
      '/api/tasks/{task_id}/attempts',
      '/api/tasks/{task_id}/cancel',
      '/api/tasks/{task_id}/events',
      '/api/tasks/{task_id}/retry',
      '/api/traces',
      '/api/traces/{trace_id}',
      '/api/webhooks',
      '/api/webhooks/{webhook_id}',
      '/api/webhooks/{webhook_id}/deliveries',
      '/api/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
      '/api/webhooks/{webhook_id}/enable',
    ],
  );
});

Guarded('are refused in documented ways: by every operation that needs a key, with shared responses', async () => {
  const { paths } = (await ask('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, { security?: unknown; tags: string[]; responses: Record<string, unknown> }>>;
  };
  const operations = Object.values(paths).flatMap((item) => Object.values(item).filter(({ responses }) => responses));
  const guarded = operations.filter(({ security }) => security === undefined);
  assert.ok(guarded.length > 15, `${guarded.length} operations`);
  const expected = { 401: 'Unauthenticated', 403: 'Forbidden', 429: 'TooManyRequests', 503: 'Unavailable' };
  const others: Record<string, string> = { openai: 'OpenAIError', anthropic: 'AnthropicError' };
  for (const { tags, responses } of guarded) {
    const other = others[tags[0]!];
    for (const [status, name] of Object.entries(expected))
      assert.equal(responses[other === 'AnthropicError' && status === '503' ? '529' : status], {
        $ref: `#/components/responses/${other ?? name}`,
      });
  }
  const failures = operations.flatMap(({ security, responses }) =>
    security ? [] : Object.entries(responses).filter(([status]) => Number(status) >= 400),
  );
  const unshared = failures.filter(([, response]) => !('$ref' in (response as object)));
  assert.equal(
    unshared.map(([status, response]) => [status, (response as { description: string }).description]),
    [['404', 'No such model.']], // the contract of the original has it
  );
});

Guarded('use the key from either header, x-api-key first', async () => {
  const send = async (headers: Record<string, string>): Promise<number> =>
    (
      await fetch(`${url}/echo`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', ...headers },
      })
    ).status;
  const key = keys['ann'] ?? '';
  assert.is(await send({ authorization: `Bearer ${key}` }), 200);
  assert.is(await send({ authorization: `bearer   ${key} ` }), 200);
  assert.is(await send({ 'x-api-key': key, authorization: 'Bearer nothing' }), 200);
  assert.is(await send({ 'x-api-key': STRANGE, authorization: `Bearer ${key}` }), 401);
  assert.is(await send({ authorization: `Basic ${key}` }), 401);
  assert.is(await send({ authorization: key }), 401);
  assert.is((await ask('POST', `/echo?api_key=${key}`, undefined, {})).status, 401, 'never in a URL, which is logged');
});

Guarded('are refused with unknown, mistyped or expired keys, and no answer repeats the key', async () => {
  assert.ok(app.apiKeys);
  const { apiKey: expired, record } = await app.apiKeys.create({ user_id: 'ann' });
  await app.storage.write(({ apiKeys }) => apiKeys.update(record.key_id, { expired_at: Date.now() - 1000 }));
  for (const [key, error] of [
    [STRANGE, 'ApiKeyNotFound'],
    ['some-other-key-0123456789', 'ApiKeyNotFound'],
    [(keys['ann'] ?? '').slice(0, -1), 'ApiKeyNotFound'],
    ['x'.repeat(5000), 'ApiKeyNotFound'],
    [expired, 'ApiKeyExpired'],
  ] as const) {
    const answer = await ask('POST', '/echo', key, {});
    assertRefused(answer, 401, error);
    assert.is(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
    assert.not.ok(JSON.stringify(answer.body).includes(key));
  }
});

Guarded('reach paths for admins only with keys of admins', async () => {
  for (const [method, path] of [
    ['GET', '/api/status'],
    ['GET', '/API/status'],
    ['GET', '/api/keys'],
    ['POST', '/api/keys'],
    ['DELETE', '/api/keys/x'],
    ['POST', '/secret'],
  ] as const)
    assertRefused(
      await ask(method, path, keys['ann'], method === 'POST' ? { user_id: 'x' } : undefined),
      403,
      'AdminOnlyAccess',
    );
  assert.is((await ask('GET', '/api/status', admin)).body.status, 'RUNNING');
  assert.is((await ask('POST', '/secret', admin, {})).body, 'secret');
  assertRefused(await ask('GET', '/api/status', keys['limitedAdmin']), 403, 'InsufficientScope');
  assert.is((await ask('POST', '/secret', keys['limitedAdmin'], {})).status, 200);
});

Guarded('reach the paths with parameters that a scope of their key names', async () => {
  for (const [name, path] of [
    ['item', '/items/{id}'],
    ['name', '/items/{id}/name'],
  ] as const)
    app.registerEndpoint({
      ...{ name, path, output: z.any() },
      input: z.strictObject({ id: z.string() }).meta({ 'x-aana-method': 'get' }),
      run: async ({ id }) => id,
    });
  const statuses = async (key: string): Promise<number[]> =>
    Promise.all(
      ['/items/7', '/items/a%2Fb', '/items/%37', '/items/7/name', '/items/7/', '/echo'].map(
        async (path) => (await ask('GET', path, keys[key])).status,
      ),
    );
  assert.equal(await statuses('item'), [200, 200, 200, 403, 403, 403]);
  assert.equal(await statuses('seven'), [200, 403, 403, 403, 403, 403]);
  assert.equal(await statuses('echo'), [403, 403, 403, 403, 403, 405]);
  assert.is((await ask('GET', '/items/%ff', keys['item'])).status, 403);
});

Guarded('reach the paths in the scopes of their key', async () => {
  assert.is((await ask('POST', '/echo', keys['echo'], { n: 1 })).status, 200);
  for (const path of ['/other/echo', '/tasks', '/webhooks', '/pages', '/nowhere']) {
    const answer = await ask('POST', path, keys['echo'], {});
    assertRefused(answer, 403, 'InsufficientScope');
    assert.is(answer.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"');
  }
  assert.is((await ask('GET', '/tasks', keys['tasks'])).status, 200);
  assertRefused(await ask('POST', '/echo', keys['tasks'], {}), 403, 'InsufficientScope');
});

Guarded('tell an endpoint its user, also in a task', async () => {
  assert.equal((await ask('POST', '/who', keys['ann'], {})).body, { userId: 'ann' });
  const { task_id: id } = (await ask('POST', '/who?defer=true', keys['carl'], {})).body;
  assert.equal((await ended(id, keys['carl'])).body.result, { userId: 'carl' });
});

Guarded('show internals of errors only to admins', async () => {
  assert.is((await ask('POST', '/fail', keys['ann'], {})).body.stacktrace, null);
  assert.match((await ask('POST', '/fail', admin, {})).body.stacktrace, /broken/);
});

/** The task when it has ended. */
async function ended(id: string, key: string | undefined): Promise<Answer> {
  const response = await fetch(`${url}/tasks/${id}/events`, { headers: { 'x-api-key': key ?? '' } });
  await response.text();
  return ask('GET', `/tasks/${id}`, key);
}

Guarded('that are deferred become tasks of their user, which no other user and no admin sees', async () => {
  const defer = async (key: string | undefined, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(`${url}/fail?defer=true`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-api-key': key ?? '', ...headers },
    });
    return ((await response.json()) as { task_id: string }).task_id;
  };
  const id = await defer(keys['ann'], { 'idempotency-key': 'one' });
  assert.is((await ended(id, keys['ann'])).body.status, 'failed');
  assert.is((await ask('GET', `/tasks/${id}`, keys['tasks'])).status, 200, 'another key of the same user');
  for (const key of [keys['bob'], admin]) {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/retry'],
      ['POST', '/cancel'],
      ['GET', '/events'],
    ] as const)
      assert.is((await ask(method, `/tasks/${id}${path}`, key)).status, 404, path);
    assert.equal((await ask('GET', '/tasks', key)).body, { tasks: [] });
    assert.equal((await ask('GET', '/tasks/count', key)).body, { total: 0 });
  }
  assert.is(
    await defer(keys['ann'], { 'idempotency-key': 'one' }),
    id,
    "a key for repeated requests is the user's own",
  );
  assert.is.not(await defer(keys['bob'], { 'idempotency-key': 'one' }), id);
  assert.is((await ask('GET', `/tasks/${id}`, keys['ann'])).body.result.stacktrace, null);
  const own = await defer(admin);
  assert.match((await ended(own, admin)).body.result.stacktrace, /broken/);
  const hostOf = async (task: string, key: string | undefined): Promise<string> =>
    (await ask('GET', `/tasks/${task}/attempts`, key)).body.attempts[0].host;
  const [machine, pid, process_] = (await hostOf(own, admin)).split('/');
  assert.equal([machine, pid], [hostname(), String(process.pid)]);
  assert.is(await hostOf(id, keys['ann']), process_, 'users see nothing of the machine');
});

Guarded('of users without a subscription are accepted unless the endpoint needs one; their tasks wait', async () => {
  const key = keys['lapsed'];
  assertRefused(await ask('POST', '/paid', key, {}), 403, 'InactiveSubscription');
  assert.is((await ask('POST', '/echo', key, {})).status, 200);
  const { task_id: id } = (await ask('POST', '/echo?defer=true', key, { n: 5 })).body;
  const { task_id: later } = (await ask('POST', '/echo?defer=true', keys['bob'], { n: 6 })).body;
  assert.is((await ended(later, keys['bob'])).body.status, 'completed');
  assert.is((await ask('GET', `/tasks/${id}`, key)).body.status, 'created');
  assert.equal((await ask('PUT', '/api/subscriptions/lapsed', admin, { is_active: true })).body, {
    subscription_id: 'lapsed',
    is_active: true,
    keys: 1,
  });
  assert.equal((await ended(id, key)).body.result, { n: 5 });
  assert.is((await ask('POST', '/paid', key, {})).body, 'paid');
});

Guarded('of admins make, list, change and revoke keys', async () => {
  const made = await ask('POST', '/api/keys', admin, {
    user_id: 'eve',
    key_id: 'eve-1',
    scopes: ['endpoints'],
    expired_at: '2100-01-01T00:00:00+01:00',
  });
  assert.is(made.status, 201);
  assert.is(made.headers.get('cache-control'), 'no-store');
  const { api_key: key, ...info } = made.body;
  assert.match(key, /^aana_/);
  assert.is(info.expired_at, '2099-12-31T23:00:00.000Z');
  assert.equal((await ask('GET', '/api/keys/eve-1', admin)).body, info);
  assert.equal((await ask('GET', '/api/keys?user_id=eve', admin)).body, { keys: [info] });
  assert.is((await ask('GET', '/api/keys?per_page=2&page=2', admin)).body.keys.length, 2);
  assert.not.ok(JSON.stringify((await ask('GET', '/api/keys', admin)).body).includes(key));
  assert.is((await ask('POST', '/echo', key, {})).status, 200);
  assert.equal((await ask('PUT', '/api/keys/eve-1', admin, { scopes: ['tasks'], expired_at: null })).body.scopes, [
    'tasks',
  ]);
  assert.is((await ask('POST', '/echo', key, {})).status, 403);
  assert.equal((await ask('DELETE', '/api/keys/eve-1', admin)).body, { key_id: 'eve-1' });
  assert.is((await ask('POST', '/echo', key, {})).status, 401, 'at once');
  assertRefused(await ask('DELETE', '/api/keys/eve-1', admin), 404, 'NotFoundException');
  assertRefused(await ask('POST', '/api/keys', admin, { user_id: 'ann', scopes: ['all'] }), 422, 'ValidationError');
  assertRefused(await ask('PUT', '/api/keys/nobody', admin, { is_admin: true }), 404, 'NotFoundException');
  await ask('POST', '/api/keys', admin, { user_id: 'eve', key_id: 'eve-2' });
  assertRefused(await ask('POST', '/api/keys', admin, { user_id: 'eve', key_id: 'eve-2' }), 409, 'ApiKeyAlreadyExists');
});

Guarded('are refused while the database is away', async () => {
  assert.ok(app.apiKeys);
  const { apiKey } = await app.apiKeys.create({ user_id: 'new' });
  await app.storage.write(({ connection }) => connection.script('alter table api_keys rename to away'));
  const answer = await ask('POST', '/echo', apiKey, {});
  await app.storage.write(({ connection }) => connection.script('alter table away rename to api_keys'));
  assertRefused(answer, 503, 'ApiKeyValidationFailed');
  assert.is(answer.headers.get('retry-after'), '1');
  assert.is((await ask('POST', '/echo', apiKey, {})).status, 200);
});

Guarded('are checked in an application that is mounted in another one', async () => {
  const koa = new Koa();
  koa.use(app.middleware({ prefix: '/ai' }));
  const server = createServer(koa.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assertRefused(await ask('POST', '/ai/echo', undefined, {}, at), 401, 'ApiKeyNotProvided');
  assertRefused(await ask('GET', '/ai/api/keys', keys['ann'], undefined, at), 403, 'AdminOnlyAccess');
  assert.is((await ask('POST', '/ai/echo', keys['echo'], {}, at)).status, 200);
  assert.is((await ask('GET', '/ai/openapi.json', undefined, undefined, at)).status, 200);
  server.close();
  server.closeAllConnections();
});

Guarded.run();
