// The influence of one user of the queue on another, with the whole application and API keys.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../../../application/app.ts';
import { deferred } from '../../../../base/core/deferred.ts';
import { type Answer, ask as askAt, assertRefused, guardedApp, Input } from '../../fixtures/guarded-app.ts';

const Tenants = suite('users of one task queue');
let folder = '';
let app: AanaApp;
let url = '';
let release = deferred();
const keys: Record<string, string> = {};

Tenants.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-task-tenants-'));
  const users = {
    trusted: { maximum_priority: 1000, maximum_waiting_tasks_per_user: 9 },
    keeper: { maximum_stored_bytes_per_user: 100_000 },
    free: { maximum_stored_bytes_per_user: 0 },
  };
  app = guardedApp(folder, {
    api_service: { enabled: true },
    task_queue: {
      num_workers: 2,
      max_retries: 1,
      maximum_waiting_tasks_per_user: 3,
      maximum_watchers_per_user: 2,
      maximum_stored_bytes_per_user: 10_000_000,
      users,
    },
  });
  app.registerEndpoint({
    name: 'wait',
    path: '/wait',
    input: Input,
    output: z.any(),
    run: (_input, { signal }) =>
      new Promise((resolve, reject) => {
        void release.promise.then(resolve);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  app.registerEndpoint({
    name: 'keep',
    path: '/keep',
    input: z.strictObject({
      file: z.string().meta({ 'x-aana-file': true }).optional(),
      chars: z.int().default(0),
      fail: z.boolean().default(false),
    }),
    output: z.any(),
    run: async ({ chars, fail }) => {
      if (fail) throw new Error('broken');
      return 'x'.repeat(chars);
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
  for (const user of ['ann', 'bob', 'trusted', 'watcher', 'keeper', 'free'])
    keys[user] = (await app.apiKeys!.create({ user_id: user })).apiKey;
  keys['root'] = (await app.apiKeys!.create({ user_id: 'root', is_admin: true })).apiKey;
});
Tenants.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

const ask = (method: string, path: string, user: string, body?: unknown): Promise<Answer> =>
  askAt(url + path, { key: keys[user], body }, method);
const defer = (user: string, query = ''): Promise<Answer> => ask('POST', `/wait?defer=true${query}`, user, {});
const statusOf = async (user: string, id: string): Promise<string> =>
  (await ask('GET', `/tasks/${id}`, user)).body.status;
async function until(user: string, id: string, status: string): Promise<void> {
  while ((await statusOf(user, id)) !== status) await new Promise((resolve) => setTimeout(resolve, 20));
}

Tenants('get no more priority and time than the operator allows', async () => {
  for (const [user, query, field] of [
    ['ann', '&priority=101', 'priority'],
    ['ann', '&execution_timeout=7201', 'execution_timeout'],
    ['trusted', '&execution_timeout=7201', 'execution_timeout'],
  ] as const) {
    const refused = await defer(user, query);
    assertRefused(refused, 422, 'ValidationError');
    assert.equal([refused.body.data[0].loc, refused.body.data[0].type], [['query', field], 'less_than_equal']);
  }
  release.resolve();
  for (const [user, query] of [
    ['ann', '&priority=100&execution_timeout=7200'],
    ['trusted', '&priority=1000'],
    ['root', '&priority=1000&execution_timeout=604800'],
  ] as const) {
    const { status, body } = await defer(user, query);
    assert.is(status, 200, JSON.stringify(body));
    await until(user, body.task_id, 'completed');
  }
});

Tenants('leave a worker to each other, and have a limit of waiting tasks', async () => {
  release = deferred();
  const ids: string[] = [];
  for (let count = 0; count < 4; count += 1) {
    const { status, body } = await defer('ann', '&priority=100');
    assert.is(status, 200, JSON.stringify(body));
    ids.push(body.task_id);
    if (count === 0) await until('ann', body.task_id, 'running');
  }
  const full = await defer('ann');
  assertRefused(full, 429, 'TooManyTasks');
  assert.equal(full.body.data, { max_waiting: 3 });
  assert.match(full.body.message, /3 tasks of this user already wait/);
  const { body } = await defer('bob', '&priority=-1000');
  await until('bob', body.task_id, 'running');
  assert.is((await ask('GET', '/tasks/count', 'ann')).body.running, 1, 'one worker of two is left to others');
  await ask('POST', `/tasks/${ids[3]}/cancel`, 'ann');
  assert.is((await defer('ann')).status, 200, 'there is room again');
  release.resolve();
  for (const id of ids.slice(0, 3)) await until('ann', id, 'completed');
});

Tenants('have a limit of watched tasks', async () => {
  release = deferred();
  const { body } = await defer('watcher');
  await until('watcher', body.task_id, 'running');
  const ends = new AbortController();
  const watch = (user: string): Promise<Response> =>
    fetch(`${url}/tasks/${body.task_id}/events`, { headers: { 'x-api-key': keys[user] ?? '' }, signal: ends.signal });
  assert.equal([(await watch('watcher')).status, (await watch('watcher')).status], [200, 200]);
  const third = await ask('GET', `/tasks/${body.task_id}/events`, 'watcher');
  assertRefused(third, 429, 'TooManyWatchers');
  assert.is((await watch('bob')).status, 404, 'the limit of one user says nothing to another');
  ends.abort();
  const watchAgain = (): Promise<Response> =>
    fetch(`${url}/tasks/${body.task_id}/events`, { headers: { 'x-api-key': keys['watcher'] ?? '' } });
  let { status } = third;
  while (status === 429) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const response = await watchAgain();
    ({ status } = response);
    await response.body?.cancel();
  }
  assert.is(status, 200, 'a stream that has ended counts no more');
  release.resolve();
});

async function keep(user: string, input: object, bytes = 0): Promise<Answer> {
  const form = new FormData();
  if (bytes > 0) form.set('upload', new Blob([new Uint8Array(bytes)]));
  form.set('body', JSON.stringify(bytes > 0 ? { file: 'upload', ...input } : input));
  const response = await fetch(`${url}/keep?defer=true`, {
    method: 'POST',
    headers: { 'x-api-key': keys[user] ?? '' },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

Tenants('have a limit of stored bytes, independent of other users', async () => {
  const failed = await keep('keeper', { fail: true }, 60_000);
  await until('keeper', failed.body.task_id, 'failed'); // its upload stays, because it may be retried
  const full = await keep('keeper', {}, 60_000);
  assertRefused(full, 429, 'TaskStorageFull');
  const { max_bytes: most, used_bytes: used } = full.body.data;
  assert.ok(most === 100_000 && used > 120_000 && used < 130_000, JSON.stringify(full.body.data));
  assert.match(
    full.body.message,
    /may keep at most 100000 \(task_queue\.maximum_stored_bytes_per_user\); delete ended tasks/,
  );
  assert.equal(await ask('GET', '/tasks/count', 'keeper').then(({ body }) => body), { failed: 1, total: 1 });
  for (const user of ['bob', 'free']) assert.is((await keep(user, {}, 60_000)).status, 200, user);

  const large = await keep('keeper', { chars: 50_000 });
  await until('keeper', large.body.task_id, 'failed');
  const { result } = (await ask('GET', `/tasks/${large.body.task_id}`, 'keeper')).body;
  assert.equal([result.error, result.data.max_bytes], ['TaskStorageFull', 100_000]);

  assert.is((await ask('DELETE', `/tasks/${failed.body.task_id}`, 'keeper')).status, 200);
  assert.is((await ask('POST', `/tasks/${large.body.task_id}/retry`, 'keeper')).status, 200);
  await until('keeper', large.body.task_id, 'completed');
  assert.is((await ask('GET', `/tasks/${large.body.task_id}`, 'keeper')).body.result.length, 50_000);
});

Tenants.run();
