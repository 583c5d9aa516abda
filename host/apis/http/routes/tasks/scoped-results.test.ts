// What a key that is for some endpoints learns of the others, and runs of them, by way of tasks and webhooks.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../../../application/app.ts';
import { Receiver } from '../../../../data/webhooks/fixtures/receiver.ts';
import { type Answer, ask as askAt, assertRefused, guardedApp, Input } from '../../fixtures/guarded-app.ts';

const Scoped = suite('keys for some endpoints');
let folder = '';
let app: AanaApp;
let url = '';
let receiver: Receiver;
const keys: Record<string, string> = {};

Scoped.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-scoped-results-'));
  receiver = await Receiver.start();
  app = guardedApp(folder, {
    api_service: { enabled: true },
    webhook: { allow_private_urls: true, retry_delay: 0.05 },
  });
  app.registerEndpoint({
    name: 'fail_secret',
    path: '/secret/fail',
    input: Input,
    output: z.any(),
    admin_required: true,
    run: async () => Promise.reject(new Error('no')),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
  const made = {
    whole: null,
    webhooks: ['webhooks'],
    echoHooks: ['webhooks', '/echo'],
    tasks: ['tasks'],
    taskHooks: ['tasks', 'webhooks'],
    failTasks: ['tasks', '/fail'],
  };
  for (const [name, scopes] of Object.entries(made))
    keys[name] = (await app.apiKeys!.create({ user_id: 'ann', scopes })).apiKey;
  keys['admin'] = (await app.apiKeys!.create({ user_id: 'ann', is_admin: true })).apiKey;
});
Scoped.before.each(() => void (receiver.received.length = 0));
Scoped.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (method: string, path: string, key: string, body?: unknown): Promise<Answer> =>
  askAt(url + path, { key: keys[key], body }, method);

/** What the webhooks that stand just now are told of one request to each path, by path. */
async function told(...paths: string[]): Promise<Record<string, unknown>> {
  for (const path of paths) assert.is((await ask('POST', `${path}?defer=true`, 'whole', { n: 7 })).status, 200);
  await receiver.until(paths.length);
  return Object.fromEntries(receiver.received.map(({ payload }) => [payload.task_type, payload.result]));
}

Scoped('get the events of other endpoints by webhooks, and only results that they may read', async () => {
  const result = { n: 7 };
  for (const [key, expected] of [
    ['webhooks', { '/echo': null, '/other/echo': null }],
    ['echoHooks', { '/echo': result, '/other/echo': null }],
    ['taskHooks', { '/echo': result, '/other/echo': result }],
    ['whole', { '/echo': result, '/other/echo': result }],
  ] as const) {
    receiver.received.length = 0;
    const { status, body } = await ask('POST', '/webhooks', key, { url: receiver.url, events: ['task.completed'] });
    assert.is(status, 201, JSON.stringify(body));
    assert.equal(await told('/echo', '/other/echo'), expected, key);
    await ask('DELETE', `/webhooks/${body.id}`, 'whole');
  }
});

Scoped('cannot receive results that only another key may read', async () => {
  const { body: hook } = await ask('POST', '/webhooks', 'whole', {
    url: `${receiver.url}/first`,
    events: ['task.completed'],
  });
  assert.equal(await told('/echo'), { '/echo': { n: 7 } });
  assert.is(
    (await ask('PUT', `/webhooks/${hook.id}`, 'webhooks', { events: ['task.completed', 'task.failed'] })).status,
    200,
  );
  receiver.received.length = 0;
  assert.equal(
    await told('/echo'),
    { '/echo': { n: 7 } },
    'what is sent where the other key wanted it stays as it was',
  );
  assert.is((await ask('PUT', `/webhooks/${hook.id}`, 'webhooks', { url: receiver.url })).status, 200);
  receiver.received.length = 0;
  let delivery: { id: string; status: string };
  do {
    [delivery] = (await ask('GET', `/webhooks/${hook.id}/deliveries`, 'webhooks')).body.deliveries;
  } while (delivery.status !== 'delivered'); // The receiver has it before the host has written that down.
  await ask('POST', `/webhooks/${hook.id}/deliveries/${delivery.id}/replay`, 'webhooks');
  await receiver.until(1);
  assert.is(receiver.received[0]?.payload.result, null, 'nor by a replay');
  await ask('DELETE', `/webhooks/${hook.id}`, 'whole');
});

Scoped('run by a retry only the endpoints that they may run by a request', async () => {
  const failed = async (path: string, key: string): Promise<string> => {
    const { body } = await ask('POST', `${path}?defer=true`, key, {});
    while ((await ask('GET', `/tasks/${body.task_id}`, 'whole')).body.status !== 'failed')
      await new Promise((resolve) => setTimeout(resolve, 10));
    return body.task_id;
  };
  const [plain, secret] = [await failed('/fail', 'whole'), await failed('/secret/fail', 'admin')];
  assertRefused(await ask('POST', `/tasks/${plain}/retry`, 'tasks'), 403, 'InsufficientScope');
  assertRefused(await ask('POST', `/tasks/${secret}/retry`, 'whole'), 403, 'AdminOnlyAccess');
  assert.equal((await ask('POST', '/tasks/retry', 'tasks')).body, { count: 0, task_ids: [] });
  assert.equal((await ask('POST', '/tasks/retry', 'whole')).body, { count: 1, task_ids: [plain] });
  while ((await ask('GET', `/tasks/${plain}`, 'whole')).body.status !== 'failed')
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.is((await ask('POST', `/tasks/${plain}/retry`, 'failTasks')).status, 200);
  assert.is((await ask('POST', `/tasks/${secret}/retry`, 'admin')).status, 200);
});

Scoped.run();
