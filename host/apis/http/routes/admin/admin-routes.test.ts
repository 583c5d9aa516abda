// The rights of admins over tasks and webhooks of other users, with the whole application.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../../../application/app.ts';
import type { ConfigInput } from '../../../../base/config/index.ts';
import { Receiver } from '../../../../data/webhooks/fixtures/receiver.ts';
import { type Answer, ask as askAt, assertRefused, guardedApp, Input } from '../../fixtures/guarded-app.ts';

const MISSING = '00000000-0000-4000-8000-000000000000';
const SECRET_URL = 'https://hooks.example.org/services/T0/secret-path?token=secret-query';

const Admin = suite('routes for admins');
let folder = '';

Admin.before(async () => void (folder = await mkdtemp(join(tmpdir(), 'aana-admin-routes-'))));
Admin.after(() => rm(folder, { recursive: true, force: true }));

interface Asking {
  readonly app: AanaApp;
  ask(method: string, path: string, user: string, body?: unknown): Promise<Answer>;
  /** The id of a task of a user, when it has the status. */
  task(user: string, path: string, status: string): Promise<string>;
}

async function asking(name: string, apiService: object = {}, config: ConfigInput = {}): Promise<Asking> {
  const app = guardedApp(folder, {
    data_dir: join(folder, name),
    api_service: { enabled: true, ...apiService },
    ...config,
  });
  app.registerEndpoint({
    name: 'count',
    path: '/count',
    input: Input,
    output: z.any(),
    run: async function* () {
      yield 1;
    },
  });
  app.registerEndpoint({
    name: 'wait',
    path: '/wait',
    input: Input,
    output: z.any(),
    run: (_input, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  const keys: Record<string, string> = {};
  for (const user of ['ann', 'bob', 'root'])
    keys[user] = (await app.apiKeys!.create({ user_id: user, is_admin: user === 'root' })).apiKey;
  keys['tasksOfRoot'] = (await app.apiKeys!.create({ user_id: 'root', is_admin: true, scopes: ['tasks'] })).apiKey;
  const ask: Asking['ask'] = (method, path, user, body) =>
    askAt(`${app.url}${path}`, { key: keys[user], body }, method);
  return {
    app,
    ask,
    async task(user, path, status) {
      const { body } = await ask('POST', `${path}?defer=true`, user, { n: 41_414_141 });
      while ((await ask('GET', `/tasks/${body.task_id}`, user)).body.status !== status)
        await new Promise((resolve) => setTimeout(resolve, 10));
      return body.task_id;
    },
  };
}

Admin('list tasks of all users, by user, without their contents', async () => {
  const { app, ask, task } = await asking('tasks');
  await using _ = app;
  const [done, broken] = [await task('ann', '/echo', 'completed'), await task('bob', '/fail', 'failed')];
  const { status, body } = await ask('GET', '/api/tasks', 'root');
  assert.is(status, 200);
  assert.equal(
    body.tasks.map(({ id, user_id: user, endpoint, status: is, error }: Record<string, unknown>) => [
      id,
      user,
      endpoint,
      is,
      error,
    ]),
    [
      [broken, 'bob', '/fail', 'failed', 'Error'],
      [done, 'ann', '/echo', 'completed', null],
    ],
  );
  assert.not.match(JSON.stringify(body), /41414141|broken|"data"|"result"|"message"/);
  assert.equal(
    (await ask('GET', '/api/tasks?user_id=ann', 'root')).body.tasks.map(({ id }: { id: string }) => id),
    [done],
  );
  assert.equal(
    (await ask('GET', '/api/tasks?status=failed&error=Error&per_page=1', 'root')).body.tasks.map(
      ({ id }: { id: string }) => id,
    ),
    [broken],
  );
  assert.equal(
    [
      (await ask('GET', '/api/tasks/count', 'root')).body,
      (await ask('GET', '/api/tasks/count?user_id=ann', 'root')).body,
    ],
    [
      { completed: 1, failed: 1, total: 2 },
      { completed: 1, total: 1 },
    ],
  );
  const one = await ask('GET', `/api/tasks/${done}`, 'root');
  assert.equal([one.body.user_id, 'data' in one.body, 'result' in one.body], ['ann', false, false]);
  assert.equal((await ask('GET', '/tasks', 'root')).body, { tasks: [] }, 'an admin’s own tasks are the admin’s own');
});

Admin('end and remove tasks of any user', async () => {
  const { app, ask, task } = await asking('ending');
  await using _ = app;
  const running = await task('ann', '/wait', 'running');
  assertRefused(await ask('DELETE', `/api/tasks/${running}`, 'root'), 400, 'TaskIsActive');
  const ended = await ask('POST', `/api/tasks/${running}/cancel`, 'root');
  assert.equal(
    [ended.status, ended.body.status, ended.body.user_id, 'data' in ended.body],
    [200, 'cancelled', 'ann', false],
  );
  assert.is((await ask('GET', `/tasks/${running}`, 'ann')).body.status, 'cancelled');
  assert.is((await ask('DELETE', `/api/tasks/${running}`, 'root')).status, 200);
  assert.is((await ask('GET', `/tasks/${running}`, 'ann')).status, 404);
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/cancel'],
  ] as const)
    assertRefused(await ask(method, `/api/tasks/${MISSING}${path}`, 'root'), 404, 'NotFoundException');
});

Admin('list and remove webhooks of all users, without the secrets in their URLs', async () => {
  const { app, ask } = await asking('webhooks');
  await using _ = app;
  const { body: made } = await ask('POST', '/webhooks', 'ann', { url: SECRET_URL, events: ['task.failed'] });
  await ask('POST', '/webhooks', 'bob', { url: 'https://bob.example.org:8443/x' });
  const { body } = await ask('GET', '/api/webhooks', 'root');
  assert.equal(
    body.webhooks.map(({ user_id: user, url }: Record<string, unknown>) => [user, url]),
    [
      ['ann', 'https://hooks.example.org'],
      ['bob', 'https://bob.example.org:8443'],
    ],
  );
  assert.not.match(JSON.stringify(body), /secret/);
  assert.is((await ask('GET', '/api/webhooks?user_id=bob&per_page=1', 'root')).body.webhooks.length, 1);
  assert.is((await ask('DELETE', `/api/webhooks/${made.id}`, 'root')).body.user_id, 'ann');
  assert.equal((await ask('GET', '/webhooks', 'ann')).body, { webhooks: [] });
  assertRefused(await ask('DELETE', `/api/webhooks/${made.id}`, 'root'), 404, 'NotFoundException');
});

Admin('show attempts and events of tasks of any user, without their contents', async () => {
  const { app, ask, task } = await asking('attempts');
  await using _ = app;
  const broken = await task('bob', '/fail', 'failed');
  const { body } = await ask('GET', `/api/tasks/${broken}/attempts`, 'root');
  assert.equal(
    body.attempts.map(({ attempt, outcome, error }: Record<string, unknown>) => [attempt, outcome, error]),
    [[1, 'failed', { error: 'Error' }]],
  );
  assert.match(body.attempts[0].host, `/${process.pid}/`);
  const counted = await task('ann', '/count', 'completed');
  const events = (await ask('GET', `/api/tasks/${counted}/events`, 'root')).body as string;
  assert.equal(
    [...events.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event, data]) => [event, data]),
    [
      ['created', '{}'],
      ['assigned', '{"attempt":1}'],
      ['running', '{"attempt":1}'],
      ['chunk', 'null'],
      ['completed', '{"attempt":1}'],
    ],
  );
  const after = (await ask('GET', `/api/tasks/${counted}/events?last_event_id=999999999`, 'root')).body as string;
  assert.is(after.replaceAll(/^: ?$/gm, '').trim(), '');
  for (const part of ['attempts', 'events'])
    assertRefused(await ask('GET', `/api/tasks/${MISSING}/${part}`, 'root'), 404, 'NotFoundException');
  assertRefused(await ask('POST', `/api/tasks/${counted}/retry`, 'root'), 400, 'TaskNotFailed');
});

Admin('see deliveries of any webhook, replay them, and enable the webhook', async () => {
  const receiver = await Receiver.start();
  const { app, ask, task } = await asking('deliveries', {}, { webhook: { allow_private_urls: true } });
  await using _ = app;
  try {
    const { body: made } = await ask('POST', '/webhooks', 'ann', { url: receiver.url, events: ['task.completed'] });
    const of = (path: string): string => `/api/webhooks/${made.id}/${path}`;
    await task('ann', '/echo', 'completed');
    await receiver.until(1);
    const status = async (): Promise<string> => (await ask('GET', of('deliveries'), 'root')).body.deliveries[0].status;
    while ((await status()) !== 'delivered') await new Promise((resolve) => setTimeout(resolve, 10));
    const [delivery] = (await ask('GET', of('deliveries?status=delivered'), 'root')).body.deliveries;
    assert.equal([delivery.event, delivery.attempts.length], ['task.completed', 1]);
    assert.equal((await ask('GET', of('deliveries?status=failed'), 'root')).body, { deliveries: [] });
    const again = await ask('POST', of(`deliveries/${delivery.id}/replay`), 'root');
    assert.equal([again.status, again.body.id], [200, delivery.id]);
    await receiver.until(2);
    await ask('PUT', `/webhooks/${made.id}`, 'ann', { enabled: false });
    while ((await status()) !== 'delivered') await new Promise((resolve) => setTimeout(resolve, 10));
    assertRefused(await ask('POST', of(`deliveries/${delivery.id}/replay`), 'root'), 409, 'WebhookDisabled');
    const enabled = await ask('POST', of('enable'), 'root');
    assert.equal([enabled.body.enabled, enabled.body.user_id, enabled.body.disabled_reason], [true, 'ann', null]);
    assert.not.match(JSON.stringify(enabled.body), '/hook');
    assert.equal((await ask('GET', `/api/webhooks/${made.id}`, 'root')).body, enabled.body);
    assertRefused(await ask('POST', of(`deliveries/${MISSING}/replay`), 'root'), 404, 'NotFoundException');
    assertRefused(await ask('GET', of('deliveries?status=odd'), 'root'), 422, 'ValidationError');
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['POST', '/enable'],
    ] as const)
      assertRefused(await ask(method, `/api/webhooks/${MISSING}${path}`, 'root'), 404, 'NotFoundException');
  } finally {
    await receiver.close();
  }
});

Admin('refuse other users, and keys of admins without the scope', async () => {
  const { app, ask, task } = await asking('others');
  await using _ = app;
  const id = await task('ann', '/echo', 'completed');
  for (const [method, path] of [
    ['GET', '/api/tasks'],
    ['GET', '/API/tasks'],
    ['GET', '/api/tasks/count'],
    ['GET', `/api/tasks/${id}`],
    ['DELETE', `/api/tasks/${id}`],
    ['POST', `/api/tasks/${id}/cancel`],
    ['GET', `/api/tasks/${id}/attempts`],
    ['GET', `/api/tasks/${id}/events`],
    ['GET', '/api/webhooks'],
    ['GET', `/api/webhooks/${MISSING}/deliveries`],
    ['POST', `/api/webhooks/${MISSING}/deliveries/${MISSING}/replay`],
    ['POST', `/api/webhooks/${MISSING}/enable`],
    ['DELETE', `/api/webhooks/${MISSING}`],
  ] as const) {
    assertRefused(await ask(method, path, 'bob'), 403, 'AdminOnlyAccess');
    assertRefused(await ask(method, path, 'tasksOfRoot'), 403, 'InsufficientScope');
  }
  assert.is((await ask('GET', `/tasks/${id}`, 'ann')).status, 200);
});

Admin('show contents if the operator allows it', async () => {
  const { app, ask, task } = await asking('contents', { admins_see_contents: true });
  await using _ = app;
  const id = await task('ann', '/echo', 'completed');
  await ask('POST', '/webhooks', 'ann', { url: SECRET_URL });
  const { body } = await ask('GET', `/api/tasks/${id}`, 'root');
  assert.equal([body.data, body.result], [{ n: 41_414_141 }, { n: 41_414_141 }]);
  assert.is((await ask('GET', '/api/webhooks', 'root')).body.webhooks[0].url, SECRET_URL);
});

Admin.run();
