// Routers of the application, and the application as a part of another Koa application.
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { Router } from '@koa/router';
import Koa, { type Middleware } from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { type AanaApp, AanaError } from 'aana-host';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const Routers = suite('routers and mounting');
let folder = '';

Routers.before(() => {
  folder = makeFolder();
});
Routers.after(() => rmSync(folder, { recursive: true, force: true }));

const hello = {
  name: 'hello',
  path: '/hello',
  input: z.strictObject({ who: z.string().default('you') }),
  output: z.strictObject({ text: z.string() }),
  run: async ({ who }: { who: string }) => ({ text: `hello ${who}` }),
};

function pages(): Router {
  const router = new Router({ prefix: '/pages' });
  router.get('/:name', (ctx) => {
    if (ctx.params['name'] === 'none') ctx.throw(404, 'there is no such page', { headers: { 'x-reason': 'none' } });
    if (ctx.params['name'] === 'private') throw new AanaError('AdminOnlyAccess', 'denied', 'not for you');
    if (ctx.params['name'] === 'broken') throw new RangeError('out of ink');
    ctx.body = `page ${ctx.params['name']} of ${ctx.state['requestId']}`;
  });
  router.post('/:name', (ctx) => void (ctx.body = 'posted'));
  return router;
}

Routers('a route streams without a warning of Node, also where users have limits', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on('warning', onWarning);
  const router = new Router().post('/lines', (ctx) => void (ctx.body = Readable.from(['one\n', 'two\n'])));
  const limits = { user_limits: { max_requests: 2 } };
  await using app = await started(makeApp(folder, {}, limits).registerRouter('lines', router));
  assert.is(await (await postJson(`${app.url}/lines`)).text(), 'one\ntwo\n');
  process.off('warning', onWarning);
  assert.equal(warnings, []);
});

Routers('a router answers with the request id, and its errors have the usual form', async () => {
  await using app = await started(makeApp(folder).registerEndpoint(hello).registerRouter('pages', pages()));
  const response = await fetch(`${app.url}/pages/one`, { headers: { 'x-request-id': 'abc-1' } });
  assert.equal(
    [response.status, await response.text(), response.headers.get('x-request-id')],
    [200, 'page one of abc-1', 'abc-1'],
  );
  const errors = await Promise.all(
    ['none', 'private', 'broken'].map(async (name) => {
      const failed = await fetch(`${app.url}/pages/${name}`);
      const body = (await failed.json()) as { error: string; message: string };
      assert.equal(Object.keys(body), ['error', 'message', 'data', 'stacktrace']);
      return [failed.status, body.error, body.message, failed.headers.get('x-reason')];
    }),
  );
  assert.equal(errors, [
    [404, 'NotFoundError', 'there is no such page', 'none'],
    [403, 'AdminOnlyAccess', 'not for you', null],
    [500, 'RangeError', 'an unexpected error; the log of the server has it under the id of the request', null],
  ]);
  const wrong = await fetch(`${app.url}/pages/one`, { method: 'DELETE' });
  assert.equal([wrong.status, wrong.headers.get('allow')], [405, 'HEAD, GET, POST']);
  assert.is((await fetch(`${app.url}/elsewhere`)).status, 404);
  assert.is((await postJson(`${app.url}/hello`)).status, 200);
});

Routers('is not called before the application is deployed', async () => {
  await using app = makeApp(folder).registerRouter('pages', pages());
  await app.connect({ host: '127.0.0.1', port: 0 });
  assert.is((await fetch(`${app.url}/pages/one`)).status, 503);
  await app.deploy();
  assert.is((await fetch(`${app.url}/pages/one`)).status, 200);
});

Routers('is registered and unregistered while the application runs', async () => {
  await using app = await started(makeApp(folder));
  assert.is((await fetch(`${app.url}/pages/one`)).status, 404);
  app.registerRouter('pages', pages());
  assert.is((await fetch(`${app.url}/pages/one`)).status, 200);
  app.unregisterRouter('pages').unregisterRouter('never-there');
  assert.is((await fetch(`${app.url}/pages/one`)).status, 404);
  app.registerRouter('pages', pages());
  assert.is((await fetch(`${app.url}/pages/one`)).status, 200);
});

Routers('refuses a taken route in one sentence', () => {
  const app = makeApp(folder).registerEndpoint({ ...hello, path: '/pages/hello' });
  assert.throws(
    () => app.registerRouter('pages', pages()),
    /^router pages: the path \/pages\/hello already belongs to endpoint hello$/,
  );
  app.unregisterEndpoint('hello').registerRouter('pages', pages());
  assert.throws(
    () => app.registerEndpoint({ ...hello, path: '/pages/hello' }),
    /^endpoint hello: the path \/pages\/hello already belongs to router pages$/,
  );
  assert.throws(() => app.registerRouter('pages', new Router()), /^router pages: the name is already registered$/);
  assert.throws(
    () => app.registerRouter('more', pages()),
    /^router more: (GET|POST) \/pages\/:name already belongs to router pages$/,
  );
  assert.throws(
    () =>
      app.registerRouter(
        'own',
        new Router().get('/api/ready', () => {}),
      ),
    /^router own: the path \/api\/ready is the host's own$/,
  );
  assert.throws(() => app.registerRouter('none', {} as never), /^router none: it is not a router of @koa\/router$/);
});

Routers('a GET route can have the path of an endpoint', async () => {
  await using app = await started(
    makeApp(folder)
      .registerEndpoint(hello)
      .registerRouter(
        'form',
        new Router().get('/hello', (ctx) => void (ctx.body = 'a form')),
      ),
  );
  assert.is(await (await fetch(`${app.url}/hello`)).text(), 'a form');
  assert.equal(await (await postJson(`${app.url}/hello`)).json(), { text: 'hello you' });
  assert.is((await fetch(`${app.url}/hello`, { method: 'PUT' })).headers.get('allow'), 'POST, HEAD, GET');
});

for (const order of ['before', 'after'])
  Routers(`a route goes before an endpoint whose template it matches, registered ${order} it`, async () => {
    const app = makeApp(folder);
    const router = new Router().get('/items/new', (ctx) => void (ctx.body = 'a form'));
    if (order === 'before') app.registerRouter('form', router);
    for (const [name, path, method] of [
      ['item', '/items/{id}', 'get'],
      ['part', '/items/new/parts/{id}', 'post'],
    ] as const)
      app.registerEndpoint({
        ...{ name, path, output: z.any(), run: async ({ id }: { id: string }) => id },
        input: z.strictObject({ id: z.string() }).meta({ 'x-aana-method': method }),
      });
    if (order === 'after') app.registerRouter('form', router);
    await using served = await started(app);
    const read = async (path: string): Promise<string> => (await fetch(`${served.url}${path}`)).text();
    assert.equal(
      [await read('/items/new'), await read('/items/old'), await read('/items/ne%77')],
      [...['a form', '"old"', '"new"']],
    );
    assert.is((await fetch(`${served.url}/items/new`, { method: 'HEAD' })).status, 200);
    assert.is((await postJson(`${served.url}/items/new`)).status, 405);
    app.unregisterRouter('form');
    assert.is(await read('/items/new'), '"new"');
  });

/** Starts another Koa application around this one on a free port. */
async function within(
  app: AanaApp,
  middleware: Middleware,
): Promise<{ url: string; seen: string[] } & AsyncDisposable> {
  const seen: string[] = [];
  const outer = new Koa();
  outer.use(async (ctx, next) => {
    await next();
    seen.push(`${ctx.method} ${ctx.path} ${ctx.status}`);
  });
  outer.use(middleware);
  outer.use((ctx) => void (ctx.body = `outer ${ctx.path}`));
  const server = createServer(outer.callback()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await app.shutdown();
    },
  };
}

const application = (): AanaApp => makeApp(folder).registerEndpoint(hello).registerRouter('pages', pages());

Routers('another Koa application can mount the application, which passes unknown paths on', async () => {
  const app = await application().deploy();
  await using outer = await within(app, app.middleware());
  assert.equal(await (await postJson(`${outer.url}/hello`, { who: 'Ada' })).json(), { text: 'hello Ada' });
  assert.is((await fetch(`${outer.url}/api/ready`)).status, 200);
  assert.match(await (await fetch(`${outer.url}/pages/one`)).text(), 'page one');
  assert.is(await (await fetch(`${outer.url}/`)).text(), 'outer /');
  assert.is(await (await postJson(`${outer.url}/hello/more`)).text(), 'outer /hello/more');
  assert.is((await fetch(`${outer.url}/hello`)).status, 405);
  assert.equal(
    ((await (await postJson(`${outer.url}/hello`, { whom: 1 })).json()) as { error: string }).error,
    'ValidationError',
  );
});

Routers('below a prefix only its paths are answered, and its documentation has the prefix', async () => {
  const app = await application().deploy();
  await using outer = await within(app, app.middleware({ prefix: '/ai' }));
  assert.equal(await (await postJson(`${outer.url}/ai/hello`)).json(), { text: 'hello you' });
  for (const path of ['/hello', '/ai', '/ai/none', '/aim/hello', '/docs'])
    assert.is(await (await fetch(`${outer.url}${path}`)).text(), `outer ${path}`);
  const { servers, paths } = (await (await fetch(`${outer.url}/ai/openapi.json`)).json()) as {
    servers: unknown;
    paths: Record<string, { post: { 'x-codeSamples': { source: string }[] } }>;
  };
  assert.equal(servers, [{ url: '/ai' }]);
  assert.match(paths['/hello']?.post['x-codeSamples'][0]?.source ?? '', `${outer.url}/ai/hello`);
  assert.match(await (await fetch(`${outer.url}/ai/docs/init.js`)).text(), "url: 'openapi.json'");
  assert.ok(outer.seen.includes('POST /ai/hello 200'));
  assert.throws(() => app.middleware({ prefix: 'ai/' }), /expected a path prefix such as "\/ai", got "ai\/"/);
});

Routers('a router of another application can mount the application, too', async () => {
  const app = await application().deploy();
  const mount: Middleware = async (ctx, next) => {
    if (!ctx.path.startsWith('/v2/')) return next();
    const { path } = ctx;
    ctx.path = path.slice(3);
    await app.middleware()(ctx, async () => {
      ctx.path = path;
      await next();
    });
    ctx.path = path;
  };
  await using outer = await within(app, mount);
  assert.equal(await (await postJson(`${outer.url}/v2/hello`)).json(), { text: 'hello you' });
  assert.is(await (await fetch(`${outer.url}/v2/none`)).text(), 'outer /v2/none');
  const { servers } = (await (await fetch(`${outer.url}/v2/openapi.json`)).json()) as { servers: unknown };
  assert.equal(servers, [{ url: '/v2' }]);
});

Routers('a stream passes through the other application, and ends when its client leaves', async () => {
  let ended = (): void => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const app = makeApp(folder).registerEndpoint({
    name: 'ticks',
    path: '/ticks',
    input: z.strictObject({}),
    output: z.number(),
    async *run(_input, { signal }) {
      signal.addEventListener('abort', ended);
      for (let n = 0; ; n++) {
        signal.throwIfAborted();
        yield n;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  });
  await app.deploy();
  await using outer = await within(app, app.middleware({ prefix: '/ai' }));
  const client = new AbortController();
  const response = await fetch(`${outer.url}/ai/ticks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    signal: client.signal,
  });
  await response.body?.getReader().read();
  client.abort();
  await end;
});

Routers.run();
