// Deferred requests over HTTP, with the whole application.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp, AanaError } from 'aana-host';
import { loadConfig } from '../../../../base/config/index.ts';
import { deferred } from '../../../../base/core/deferred.ts';
import { silentLogger } from '../../../../base/core/log/logger.ts';

const Input = z.strictObject({
  n: z.number().default(0),
  text: z.string().optional(),
  file: z.string().meta({ 'x-aana-file': true }).optional(),
});
const MISSING = '00000000-0000-4000-8000-000000000000';

interface Answer {
  readonly status: number;
  readonly body: ReturnType<typeof JSON.parse>;
}

interface Event {
  readonly id: number;
  readonly event: string;
  readonly data: unknown;
}

const Routes = suite('tasks over HTTP');
let folder = '';
let app: AanaApp;
let url = '';
/** Ends the requests to `/wait`. */
let release = deferred();

Routes.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-task-routes-'));
  const config = loadConfig({
    cwd: folder,
    env: {},
    base: {
      cache_dir: join(folder, 'cache'),
      data_dir: join(folder, 'data'),
      media: { temp_dir: folder },
      task_queue: { max_retries: 1 },
    },
  });
  app = new AanaApp({ config, log: silentLogger, progress: { write: () => true } });
  const output = z.any();
  app.registerEndpoint({
    name: 'double',
    path: '/double',
    input: Input,
    output,
    run: async ({ n }) => ({ doubled: n * 2 }),
  });
  app.registerEndpoint({
    name: 'stream',
    path: '/stream',
    input: Input,
    output,
    run: async function* ({ n }) {
      for (let i = 0; i < n; i += 1) yield { i };
    },
  });
  app.registerEndpoint({
    name: 'fail',
    path: '/fail',
    input: Input,
    output,
    run: async () => {
      throw new AanaError('VideoTooLongException', 'bad-request', 'too long', { data: { max_len: 1 } });
    },
  });
  app.registerEndpoint({
    name: 'always',
    path: '/always',
    input: Input,
    output,
    defer_option: 'always',
    run: async () => 1,
  });
  app.registerEndpoint({
    name: 'never',
    path: '/never',
    input: Input,
    output,
    defer_option: 'never',
    run: async () => 2,
  });
  app.registerEndpoint({
    name: 'wait',
    path: '/wait',
    input: Input,
    output,
    run: (_input, { signal }) =>
      new Promise((resolve, reject) => {
        void release.promise.then(resolve);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url ?? '';
});
Routes.after(async () => {
  await app.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

async function json(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, body: await response.json() };
}
const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  json(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
async function defer(path: string, body: object = {}, query = ''): Promise<string> {
  const answer = await post(`${path}?defer=true${query}`, body);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(Object.keys(answer.body), ['task_id']);
  return answer.body.task_id;
}

/** All events until the task has ended. */
async function eventsOf(id: string, headers: Record<string, string> = {}): Promise<Event[]> {
  const response = await fetch(`${url}/tasks/${id}/events`, { headers });
  assert.is(response.headers.get('content-type'), 'text/event-stream');
  return (await response.text())
    .split('\n\n')
    .filter((block) => block.startsWith('id: '))
    .map((block) => {
      const [, eventId, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      return { id: Number(eventId), event: event ?? '', data: JSON.parse(data ?? '') };
    });
}

Routes('a deferred request is answered with an id, and its result is there when it has run', async () => {
  const id = await defer('/double', { n: 21 });
  await eventsOf(id);
  const { status, body } = await json(`/tasks/${id}`);
  assert.is(status, 200);
  assert.equal(
    { ...body, created_at: '', assigned_at: '', completed_at: '' },
    {
      id,
      endpoint: '/double',
      data: { n: 21 },
      status: 'completed',
      result: { doubled: 42 },
      progress: 100,
      num_retries: 1,
      priority: 0,
      created_at: '',
      assigned_at: '',
      completed_at: '',
    },
  );
  assert.equal((await json(`/tasks/get/${id.replaceAll('-', '').toUpperCase()}`)).body, body);
});

Routes('what does not match is refused at once, and so is a query that cannot be', async () => {
  const bad = [
    await post('/double?defer=true', { n: 'x' }),
    await post('/double?defer=maybe', {}),
    await post('/double?defer=true&priority=high', {}),
    await post('/double?defer=true&execution_timeout=0', {}),
    await json('/tasks?page=0'),
    await json('/tasks?per_page=-1'),
    await json('/tasks?status=eaten'),
  ];
  assert.equal(
    bad.map(({ status, body }) => [status, body.error, body.data[0].loc.join('.')]),
    [
      [422, 'ValidationError', 'n'],
      [422, 'ValidationError', 'query.defer'],
      [422, 'ValidationError', 'query.priority'],
      [422, 'ValidationError', 'query.execution_timeout'],
      [422, 'ValidationError', 'query.page'],
      [422, 'ValidationError', 'query.per_page'],
      [422, 'ValidationError', 'query.status'],
    ],
  );
});

Routes('an endpoint may defer every request, or none', async () => {
  assert.equal(Object.keys((await post('/always?defer=false', {})).body), ['task_id']);
  assert.is((await post('/never?defer=true', {})).body, 2);
  assert.equal((await post('/double?defer=no', { n: 2 })).body, { doubled: 4 });
});

Routes(
  'a streaming endpoint keeps its chunks as events, which can be read from any on, and its list as the result',
  async () => {
    const id = await defer('/stream', { n: 3 });
    const events = await eventsOf(id);
    assert.equal(
      events.map(({ event }) => event),
      ['created', 'assigned', 'running', 'chunk', 'chunk', 'chunk', 'completed'],
    );
    assert.equal(
      events.filter(({ event }) => event === 'chunk').map(({ data }) => data),
      [{ i: 0 }, { i: 1 }, { i: 2 }],
    );
    assert.equal(
      (await eventsOf(id, { 'last-event-id': String(events[4]?.id) })).map(({ event }) => event),
      ['chunk', 'completed'],
    );
    assert.equal((await json(`/tasks/${id}`)).body.result, [{ i: 0 }, { i: 1 }, { i: 2 }]);
  },
);

Routes('a failed task says why, without a stack, and gets new attempts when somebody asks', async () => {
  const id = await defer('/fail');
  await eventsOf(id);
  const { body } = await json(`/tasks/${id}`);
  assert.equal(
    [body.status, body.result],
    ['failed', { error: 'VideoTooLongException', message: 'too long', data: { max_len: 1 }, stacktrace: null }],
  );
  const again = await json(`/tasks/${id}/retry`, { method: 'POST' });
  assert.equal([again.status, again.body.result, again.body.num_retries], [200, null, 0]);
  await eventsOf(id);
  const done = await defer('/double');
  await eventsOf(done);
  const refused = await json(`/tasks/${done}/retry`, { method: 'POST' });
  assert.equal([refused.status, refused.body.detail], [400, 'Only failed tasks can be retried']);
});

Routes('each attempt says who had it, when, and what became of it', async () => {
  const id = await defer('/fail');
  await eventsOf(id);
  await json(`/tasks/${id}/retry`, { method: 'POST' });
  await eventsOf(id);
  const { status, body } = await json(`/tasks/${id}/attempts`);
  assert.equal([status, body.attempts.length], [200, 2]);
  for (const [index, { host, started_at: from, ended_at: to, ...rest }] of body.attempts.entries()) {
    assert.equal(rest, {
      attempt: index + 1,
      outcome: 'failed',
      error: { error: 'VideoTooLongException', message: 'too long', data: { max_len: 1 }, stacktrace: null },
    });
    assert.ok(host.includes(`/${process.pid}/`) && new Date(from) <= new Date(to));
  }
  assert.equal((await json(`/tasks/${MISSING}/attempts`)).body.detail, 'Task not found');
});

Routes('failed tasks are found by their endpoint and error, and retried together', async () => {
  for (let count = 0; count < 3; count += 1) await eventsOf(await defer('/fail'));
  const failed = async (query: string): Promise<string[]> =>
    (await json(`/tasks?per_page=1000&${query}`)).body.tasks.map(({ id }: { id: string }) => id);
  const all = await failed('status=failed&endpoint=/fail&error=VideoTooLongException');
  assert.ok(all.length >= 3);
  assert.equal([await failed('error=None'), await failed('status=failed&endpoint=/double')], [[], []]);
  const retry = (query: string): Promise<Answer> => json(`/tasks/retry?${query}`, { method: 'POST' });
  assert.equal((await retry('error=None')).body, { count: 0, task_ids: [] });
  const one = (await retry('endpoint=/fail&limit=1')).body;
  assert.equal([one.count, one.task_ids], [1, [all.at(-1)]]);
  await eventsOf(one.task_ids[0]);
  const { count, task_ids: ids } = (await retry('endpoint=/fail&error=VideoTooLongException')).body;
  assert.equal([count, ids.toSorted()], [all.length, all.toSorted()]);
  for (const id of ids) assert.is((await eventsOf(id)).at(-1)?.event, 'failed');
  for (const query of ['limit=0', 'limit=1001', 'error=', 'endpoint=%00'])
    assert.is((await retry(query)).status, 422, query);
});

Routes('uploaded files are kept for the task', async () => {
  const form = new FormData();
  form.set('body', '{"file":"part"}');
  form.set('part', new Blob(['content']), 'a.txt');
  const { status, body } = await json('/double?defer=1', { method: 'POST', body: form });
  assert.is(status, 200, JSON.stringify(body));
  assert.is((await eventsOf(body.task_id)).at(-1)?.event, 'completed');
  const missing = new FormData();
  missing.set('body', '{"file":"none"}');
  assert.is((await json('/double?defer=1', { method: 'POST', body: missing })).body.error, 'UploadedFileNotFound');
  assert.equal(
    (await readdir(folder)).filter((name) => name.startsWith('upload-')),
    [],
  );
});

Routes('a running task is cancelled, cannot be deleted before, and can be after', async () => {
  release = deferred();
  const id = await defer('/wait');
  const watched = eventsOf(id);
  for await (const _ of fetchEvents(id, 'running')) break;
  const refused = await json(`/tasks/${id}`, { method: 'DELETE' });
  assert.equal([refused.status, refused.body.detail], [400, 'Cannot delete a running or assigned task.']);
  assert.is((await json(`/tasks/${id}/cancel`, { method: 'POST' })).body.status, 'cancelled');
  assert.is((await watched).at(-1)?.event, 'cancelled');
  const done = await defer('/double');
  await eventsOf(done);
  assert.is((await json(`/tasks/${done}/cancel`, { method: 'POST' })).status, 409);
  assert.is((await json(`/tasks/${id}`, { method: 'DELETE' })).body.id, id);
  assert.equal((await json(`/tasks/delete/${done}`)).body, { task_id: done });
  assert.is((await json(`/tasks/${id}`)).status, 404);
});

Routes('a GET that deletes is for programs and pages of this server', async () => {
  const browser = { 'user-agent': 'Mozilla/5.0 (X11) Chrome/140' };
  const cases: readonly [status: number, headers: Record<string, string>, method?: string][] = [
    [403, { 'sec-fetch-site': 'cross-site' }],
    [403, { 'sec-fetch-site': 'same-site', ...browser }],
    [403, { origin: 'https://evil.example' }],
    [403, browser],
    [403, { ...browser, referer: 'https://evil.example/' }],
    [403, { ...browser, referer: `https://evil.example/?${url}/` }],
    [405, { 'sec-fetch-site': 'same-origin' }, 'HEAD'],
    [200, {}],
    [200, { 'user-agent': 'curl/8' }],
    [200, { 'sec-fetch-site': 'same-origin', ...browser }],
    [200, { 'sec-fetch-site': 'none', ...browser }],
    [200, { ...browser, referer: `${url}/docs` }],
    [200, { ...browser, origin: url }],
  ];
  for (const [status, headers, method = 'GET'] of cases) {
    const id = await defer('/double');
    await eventsOf(id);
    const what = `${method} ${JSON.stringify(headers)}`;
    assert.is((await fetch(`${url}/tasks/delete/${id}`, { method, headers })).status, status, what);
    assert.is((await fetch(`${url}/tasks/${id}`)).status, status === 200 ? 404 : 200, what);
  }
});

/** Yields once when the event comes. */
async function* fetchEvents(id: string, wanted: string): AsyncGenerator<void> {
  const response = await fetch(`${url}/tasks/${id}/events`);
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(`event: ${wanted}\n`)) yield;
  }
}

Routes('tasks are listed without what is large, which the task alone has', async () => {
  const id = await defer('/double', { n: 1 });
  const [small] = (await json('/tasks?per_page=1')).body.tasks;
  assert.equal([small.id, small.data, 'omitted' in small], [id, { n: 1 }, false]);
  const text = 'x'.repeat(10_000);
  const large = await defer('/double', { n: 2, text });
  const [listed] = (await json('/tasks?per_page=1')).body.tasks;
  assert.equal([listed.id, listed.data, listed.omitted], [large, null, ['data']]);
  assert.equal(
    [(await json(`/tasks/${large}`)).body.data, 'omitted' in (await json(`/tasks/${large}`)).body],
    [{ n: 2, text }, false],
  );
});

Routes('tasks are listed with the newest first, page by page, and counted', async () => {
  const ids = [await defer('/double'), await defer('/double'), await defer('/double')].toReversed();
  const list = async (query: string): Promise<string[]> =>
    (await json(`/tasks?${query}`)).body.tasks.map(({ id }: { id: string }) => id);
  assert.equal([await list('per_page=2'), (await list('per_page=2&page=2'))[0]], [ids.slice(0, 2), ids[2]]);
  for (const id of ids) await eventsOf(id);
  const { body: counts } = await json('/tasks/count');
  assert.is(
    counts.total,
    Object.entries(counts).reduce((sum, [status, count]) => sum + (status === 'total' ? 0 : Number(count)), 0),
  );
  assert.is(counts.completed, (await list('status=completed&per_page=1000')).length);
});

Routes('what a request says of its task is checked also where it becomes none, and its key', async () => {
  const answers = [
    await post('/double?priority=1001', { n: 1 }),
    await post('/double?execution_timeout=soon', { n: 1 }),
    await post('/double?defer=true', { n: 1 }, { 'idempotency-key': 'k'.repeat(256) }),
  ];
  assert.equal(
    answers.map(({ status, body }) => [status, body.error, body.data?.[0]?.loc.join('.')]),
    [
      [422, 'ValidationError', 'query.priority'],
      [422, 'ValidationError', 'query.execution_timeout'],
      [422, 'ValidationError', 'header.idempotency-key'],
    ],
  );
});

Routes('the count is no task: it takes GET alone', async () => {
  const response = await fetch(`${url}/tasks/count`, { method: 'PUT' });
  assert.equal([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
});

Routes('one idempotency key is one task, and refused for another request', async () => {
  const send = (n: number): Promise<Answer> => post('/double?defer=true', { n }, { 'idempotency-key': 'once' });
  const [first, second, other] = [await send(1), await send(1), await send(2)];
  assert.equal(
    [second.body, other.status, other.body.error, other.body.data],
    [first.body, 409, 'IdempotencyKeyReused', { task_id: first.body.task_id }],
  );
});

Routes('what is not there is answered with 404, what is not taken with 405', async () => {
  for (const path of [`/tasks/${MISSING}`, '/tasks/none', `/tasks/get/${MISSING}`, `/tasks/${MISSING}/events`]) {
    const { status, body } = await json(path);
    assert.equal([status, body.error, body.detail], [404, 'NotFoundException', 'Task not found'], path);
  }
  const response = await fetch(`${url}/tasks/${MISSING}`, { method: 'PUT' });
  assert.equal([response.status, response.headers.get('allow')], [405, 'DELETE, GET, HEAD']);
});

Routes('the documentation has the routes and what a request may say', async () => {
  const { body } = await json('/openapi.json');
  assert.equal(Object.keys(body.paths).filter((path) => path.startsWith('/tasks')).length, 10);
  assert.equal(
    body.paths['/double'].post.parameters.map(({ name }: { name: string }) => name),
    ['defer', 'priority', 'execution_timeout', 'Idempotency-Key'],
  );
  assert.is(body.paths['/never'].post.parameters, undefined);
});

Routes('without a queue deferring is refused, and the rest is served', async () => {
  const config = loadConfig({
    cwd: folder,
    env: {},
    base: {
      cache_dir: join(folder, 'cache'),
      data_dir: join(folder, 'none'),
      media: { temp_dir: folder },
      task_queue: { enabled: false },
    },
  });
  await using plain = new AanaApp({ config, log: silentLogger, progress: { write: () => true } });
  plain.registerEndpoint({ name: 'double', path: '/double', input: Input, output: z.any(), run: async () => 1 });
  await plain.listen({ host: '127.0.0.1', port: 0 });
  await plain.deploy();
  const send = (query: string): Promise<Response> =>
    fetch(`${plain.url}/double${query}`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
  const refused = await send('?defer=true');
  assert.equal(
    [
      refused.status,
      ((await refused.json()) as { error: string }).error,
      (await send('')).status,
      (await fetch(`${plain.url}/tasks`)).status,
    ],
    [400, 'RuntimeError', 200, 404],
  );
  assert.equal(await readdir(folder).then((names) => names.includes('none')), false);
});

Routes.run();
