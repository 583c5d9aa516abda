// Webhooks over HTTP, with the whole application.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp, AanaError } from 'aana-host';
import { loadConfig } from '../../../../base/config/index.ts';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import { isSigned, Receiver } from '../../../../data/webhooks/fixtures/receiver.ts';
import { ask, guardedApp } from '../../fixtures/guarded-app.ts';

const MISSING = '00000000-0000-4000-8000-000000000000';

interface Answer {
  readonly status: number;
  readonly body: ReturnType<typeof JSON.parse>;
}

const Routes = suite('webhooks over HTTP');
let folder = '';
let app: AanaApp;
let url = '';
let receiver: Receiver;

function makeApp(name: string, webhook: object): AanaApp {
  const base = {
    cache_dir: join(folder, 'cache'),
    data_dir: join(folder, name),
    media: { temp_dir: folder },
    task_queue: { max_retries: 1 },
    webhook,
  };
  const made = new AanaApp({
    config: loadConfig({ cwd: folder, env: {}, base }),
    log: silentLogger,
    progress: { write: () => true },
  });
  const Input = z.strictObject({ waits: z.boolean().default(false) });
  made.registerEndpoint({ name: 'echo', path: '/echo', input: z.any(), output: z.any(), run: async (input) => input });
  made.registerEndpoint({
    name: 'fail',
    path: '/fail',
    input: Input,
    output: z.any(),
    run: async () => {
      throw new AanaError('VideoTooLongException', 'bad-request', 'too long', { data: { max_len: 1 } });
    },
  });
  made.registerEndpoint({
    name: 'wait',
    path: '/wait',
    input: Input,
    output: z.any(),
    run: (_input, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  return made;
}

Routes.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-webhook-routes-'));
  receiver = await Receiver.start();
  app = makeApp('data', { allow_private_urls: true, retry_delay: 0.05 });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
});
Routes.before.each(() => {
  receiver.received.length = 0;
  receiver.answer = () => 200;
});
Routes.after.each(async () => {
  for (const { id } of (await json('/webhooks')).body.webhooks) await json(`/webhooks/${id}`, 'DELETE');
});
Routes.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

async function json(path: string, method = 'GET', body?: unknown): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: await response.json() };
}

const create = async (body: object): Promise<ReturnType<typeof JSON.parse>> => {
  const answer = await json('/webhooks', 'POST', body);
  assert.is(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};
const defer = async (path: string, input: object = {}): Promise<string> =>
  (await json(`${path}?defer=true`, 'POST', input)).body.task_id;
const deliveries = async (
  id: string,
  isDone: (all: { status: string }[]) => boolean,
): Promise<ReturnType<typeof JSON.parse>> => {
  for (;;) {
    const { body } = await json(`/webhooks/${id}/deliveries`);
    if (isDone(body.deliveries)) return body.deliveries;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

Routes('a webhook is made, listed, read, changed and removed, with the keys of the original', async () => {
  const { secret, ...made } = await create({ url: 'http://example.org', events: ['task.failed'] });
  assert.match(secret, /^whsec_/);
  assert.equal(made, {
    id: made.id,
    url: 'http://example.org/',
    events: ['task.failed'],
    enabled: true,
    disabled_at: null,
    disabled_reason: null,
  });
  assert.equal((await json('/webhooks')).body, { webhooks: [made] });
  assert.equal((await json(`/webhooks/${made.id}`)).body, made);
  assert.equal((await json(`/webhooks/${made.id.replaceAll('-', '').toUpperCase()}`)).body, made);
  const changed = (await json(`/webhooks/${made.id}`, 'PUT', { url: 'https://example.org/b', events: null })).body;
  assert.equal(changed, { ...made, url: 'https://example.org/b' });
  const off = (await json(`/webhooks/${made.id}`, 'PUT', { enabled: false, events: [] })).body;
  assert.equal([off.enabled, off.disabled_reason, off.events], [false, 'by request', []]);
  assert.equal((await json(`/webhooks/${made.id}`, 'PUT', { enabled: true })).body, { ...changed, events: [] });
  assert.equal((await json(`/webhooks/${made.id}`, 'DELETE')).body.id, made.id);
  assert.equal((await json('/webhooks')).body, { webhooks: [] });
  const own = await create({ url: 'http://example.org', secret: 'a secret of one’s own'.replace('’', "'") });
  assert.equal([own.events, 'secret' in own], [[], false]);
});

Routes('what cannot be a webhook is refused with its place', async () => {
  const cases: [body: unknown, type: string, loc: string[]][] = [
    [{}, 'missing', ['url']],
    [{ url: 'http://example.org/', extra: 1 }, 'extra_forbidden', ['extra']],
    [{ url: 'http://example.org/', events: null }, 'list_type', ['events']],
    [{ url: 'http://example.org/', events: ['task.eaten'] }, 'literal_error', ['events', '0']],
    [{ url: 7 }, 'string_type', ['url']],
    [{ url: 'example.org' }, 'url_parsing', ['url']],
    [{ url: 'ftp://example.org/' }, 'url_scheme', ['url']],
    [{ url: 'http://me:secret@example.org/' }, 'url_credentials', ['url']],
    [{ url: `http://example.org/${'x'.repeat(2100)}` }, 'url_too_long', ['url']],
    [{ url: 'http://example.org/', secret: 'short' }, 'string_too_short', ['secret']],
    [{ url: 'http://example.org/', secret: 'whsec_###################' }, 'value_error', ['secret']],
    [[], 'model_type', []],
  ];
  for (const [body, type, loc] of cases) {
    const { status, body: error } = await json('/webhooks', 'POST', body);
    assert.equal(
      [
        status,
        error.error,
        error.data.map((entry: { type: string; loc: unknown[] }) => [entry.type, entry.loc.map(String)]),
      ],
      [422, 'ValidationError', [[type, loc]]],
      JSON.stringify(body),
    );
    assert.not.match(JSON.stringify(error), /secret@|###/);
  }
  assert.is((await json('/webhooks')).body.webhooks.length, 0);
  assert.is(
    (await fetch(`${url}/webhooks`, { method: 'POST', body: new URLSearchParams({ url: receiver.url }) })).status,
    415,
  );
});

Routes('a redirect is not followed, and no reason shows the URL', async () => {
  receiver.answer = (_, before) =>
    before === 0 ? { status: 307, headers: { location: `${receiver.url}/elsewhere` } } : 200;
  const { id } = await create({ url: `${receiver.url}?token=secret`, events: ['task.completed'] });
  await defer('/echo');
  const [delivery] = await deliveries(id, ([one]) => one?.status === 'delivered');
  assert.equal(
    delivery.attempts.map((one: { error: string | null }) => one.error),
    ['the target redirects (307), which is not followed', null],
  );
  await receiver.close();
  await defer('/echo');
  const [refused] = await deliveries(
    id,
    ([one]) => (one as unknown as { attempts: unknown[] }).attempts.length > 0 && one?.status === 'pending',
  );
  await receiver.listen();
  assert.is(refused.attempts[0].error, 'the connection was refused');
});

Routes('what is not there is answered with 404, what is not taken with 405', async () => {
  const { id } = await create({ url: receiver.url });
  const gone: [path: string, method: string, detail: string][] = [
    [`/webhooks/${MISSING}`, 'GET', 'Webhook not found'],
    ['/webhooks/none', 'DELETE', 'Webhook not found'],
    [`/webhooks/${MISSING}/deliveries`, 'GET', 'Webhook not found'],
    [`/webhooks/${id}/deliveries/${MISSING}/replay`, 'POST', 'Delivery not found'],
    [`/webhooks/${id}/deliveries/none/replay`, 'POST', 'Delivery not found'],
  ];
  for (const [path, method, detail] of gone) {
    const { status, body } = await json(path, method);
    assert.equal([status, body.error, body.detail], [404, 'NotFoundException', detail], path);
  }
  assert.is((await json(`/webhooks/${MISSING}`, 'PUT', {})).status, 404);
  assert.is((await fetch(`${url}/webhooks/${id}`, { method: 'PATCH' })).status, 405);
  assert.is((await json(`/webhooks/${id}/deliveries?page=0`)).status, 422);
  assert.is((await json(`/webhooks/${id}/deliveries?status=eaten`)).status, 422);
});

Routes('deferred requests are told of to the end, signed, and in the log', async () => {
  const { id, secret } = await create({ url: receiver.url });
  const done = await defer('/echo', { text: 'Grüße ☃' });
  const failed = await defer('/fail');
  const cancelled = await defer('/wait');
  await receiver.until(5);
  await json(`/tasks/${cancelled}/cancel`, 'POST');
  const log = await deliveries(id, (all) => all.length === 6 && all.every(({ status }) => status === 'delivered'));
  for (const message of receiver.received) assert.ok(await isSigned(message, secret));
  const of = (task: string): unknown =>
    receiver.received
      .filter(({ payload }) => payload.task_id === task)
      .map(({ event, payload }) => [event, payload.task_type, payload.result])
      .sort();
  assert.equal(of(done), [
    ['task.completed', '/echo', { text: 'Grüße ☃' }],
    ['task.started', '/echo', null],
  ]);
  assert.equal(of(failed), [
    [
      'task.failed',
      '/fail',
      { error: 'VideoTooLongException', message: 'too long', data: { max_len: 1 }, stacktrace: null },
    ],
    ['task.started', '/fail', null],
  ]);
  assert.equal(of(cancelled), [
    ['task.cancelled', '/wait', null],
    ['task.started', '/wait', null],
  ]);
  const [newest] = log;
  assert.equal(
    [
      newest.event,
      newest.task_id,
      newest.next_attempt_at,
      newest.attempts.length,
      newest.attempts[0].response_status,
      newest.attempts[0].error,
    ],
    ['task.cancelled', cancelled, null, 1, 200, null],
  );
  const page = (await json(`/webhooks/${id}/deliveries?page=2&per_page=4`)).body.deliveries;
  assert.equal(
    page.map(({ id: one }: { id: string }) => one),
    log.slice(4).map(({ id: one }: { id: string }) => one),
  );
  assert.equal((await json(`/webhooks/${id}/deliveries?status=failed`)).body, { deliveries: [] });
});

Routes('a task that takes too long is told of as expired and failed', async () => {
  await create({ url: receiver.url, events: ['task.expired', 'task.failed'] });
  await json('/wait?defer=true&execution_timeout=0.1', 'POST', {});
  await receiver.until(2);
  assert.equal(
    receiver.received
      .map(({ event, payload }) => [event, payload.status, (payload.result as { error: string }).error])
      .sort(),
    [
      ['task.expired', 'failed', 'TimeoutError'],
      ['task.failed', 'failed', 'TimeoutError'],
    ],
  );
});

Routes('a delivery is sent once more when it is asked for', async () => {
  const { id } = await create({ url: receiver.url, events: ['task.completed'] });
  await defer('/echo');
  const [first] = await deliveries(id, ([one]) => one?.status === 'delivered');
  assert.is((await json(`/webhooks/${id}/deliveries/${first.id}/replay`, 'POST')).body.status, 'pending');
  await receiver.until(2);
  assert.is(receiver.received[1]?.headers['webhook-id'], first.id);
  await json(`/webhooks/${id}`, 'PUT', { enabled: false });
  await deliveries(id, ([one]) => one?.status === 'delivered');
  const refused = await json(`/webhooks/${id}/deliveries/${first.id}/replay`, 'POST');
  assert.equal([refused.status, refused.body.error], [409, 'WebhookDisabled']);
});

Routes('private addresses are refused when a webhook is made, and when it is sent', async () => {
  await using guarded = makeApp('guarded', { retry_delay: 0.05, retry_attempts: 1 });
  await guarded.listen({ host: '127.0.0.1', port: 0 });
  await guarded.deploy();
  const send = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${guarded.url}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: response.status, body: await response.json() };
  };
  const { port } = new URL(receiver.url);
  for (const host of [
    '127.0.0.1',
    '2130706433',
    'localhost',
    'x.localhost',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '169.254.169.254',
    '0.0.0.0',
  ]) {
    const { status, body } = await send('POST', '/webhooks', { url: `http://${host}:${port}/` });
    assert.equal([status, body.error], [403, 'PrivateAddressException'], host);
    assert.match(body.message, 'WEBHOOK__ALLOW_PRIVATE_URLS=true');
  }
  // One that was allowed when it was made: names are looked at when they are used.
  const { id } = await guarded.storage.write(({ webhooks }) =>
    webhooks.save({ user_id: null, url: receiver.url, events: ['task.completed'], secret: 'secret' }),
  );
  await send('POST', '/echo?defer=true', {});
  for (;;) {
    const [delivery] = (await send('GET', `/webhooks/${id}/deliveries`)).body.deliveries;
    if (delivery?.status !== 'failed') {
      await new Promise((resolve) => setTimeout(resolve, 10));
      continue;
    }
    assert.match(delivery.attempts[0].error, 'WEBHOOK__ALLOW_PRIVATE_URLS=true');
    break;
  }
  assert.is(receiver.received.length, 0);
});

Routes('with API keys, each user has webhooks of their own, signed with the secret of their key', async () => {
  await using guarded = guardedApp(join(folder, 'keys'), {
    api_service: { enabled: true },
    include_stacktrace: true,
    webhook: { allow_private_urls: true },
  });
  await guarded.listen({ host: '127.0.0.1', port: 0 });
  await guarded.deploy();
  assert.ok(guarded.apiKeys);
  const secret = 'the secret of ann, not bob';
  const { apiKey: ann } = await guarded.apiKeys.create({ user_id: 'ann', hmac_secret: secret });
  const { apiKey: bob } = await guarded.apiKeys.create({ user_id: 'bob' });
  const body = { url: receiver.url, events: ['task.failed'] };
  const made = (await ask(`${guarded.url}/webhooks`, { key: ann, body })).body;
  const others = (await ask(`${guarded.url}/webhooks`, { key: bob, body })).body;
  assert.equal(['secret' in made, 'secret' in others], [false, true]);
  assert.equal(
    (await ask(`${guarded.url}/webhooks`, { key: ann })).body.webhooks.map(({ id }: { id: string }) => id),
    [made.id],
  );
  assert.is((await ask(`${guarded.url}/webhooks/${made.id}`, { key: bob })).status, 404);
  assert.is((await ask(`${guarded.url}/webhooks/${made.id}/deliveries`, { key: bob })).status, 404);
  await ask(`${guarded.url}/fail?defer=true`, { key: ann, body: {} });
  await receiver.until(1);
  const [message] = receiver.received;
  assert.ok(message && (await isSigned(message, secret)));
  assert.is((message.payload.result as { stacktrace: unknown }).stacktrace, null, 'users do not see the inside');
  assert.is((await ask(`${guarded.url}/webhooks/${others.id}/deliveries`, { key: bob })).body.deliveries.length, 0);
});

Routes('the documentation has the routes', async () => {
  const { body } = await json('/openapi.json');
  assert.equal(
    Object.keys(body.paths).filter((path) => path.startsWith('/webhooks')),
    [
      '/webhooks',
      '/webhooks/{webhook_id}',
      '/webhooks/{webhook_id}/deliveries',
      '/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
    ],
  );
  assert.equal(Object.keys(body.webhooks.task.post.requestBody.content['application/json'].schema.properties), [
    'event',
    'payload',
  ]);
  assert.equal(
    body.paths['/webhooks'].post.requestBody.content['application/json'].schema.properties.events.items.enum,
    [
      'task.started',
      'task.completed',
      'task.failed',
      'task.expired',
      'task.cancelled',
      'alert.firing',
      'alert.resolved',
    ],
  );
});

Routes.run();
