import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { artifactOf } from '../artifacts/index.ts';
import { deferred } from '../core/deferred.ts';
import { AanaError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { silentLogger } from '../core/log/logger.ts';
import { EndpointRegistry, hostEndpoint, type HostEndpointContext, type UploadedFile } from '../endpoints/index.ts';
import { sqliteDatabases, sqliteModule } from '../storage/fixtures/databases.ts';
import { HOST_MIGRATIONS, migrate, Storage, type StorageConfig, type TaskRecord } from '../storage/index.ts';
import { type DeferredRequest, TaskQueue, type TaskQueueConfig } from './index.ts';
import { queueConfig } from './fixtures/queue-config.ts';

interface Context {
  dir: string;
  database: StorageConfig;
  hosts: { storage: Storage; queue: TaskQueue }[];
}

const databases = sqliteDatabases();
const CONFIG = queueConfig({ num_workers: 2, retention: 3600 });
const NO_FILES: ReadonlyMap<string, UploadedFile> = new Map();

const Queue = suite<Context>('TaskQueue');
Queue.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-tasks-'));
  context.database = await databases.create();
  context.hosts = [];
});
Queue.after.each(async ({ hosts, dir }) => {
  for (const { queue, storage } of hosts) {
    await queue.stop(0);
    await storage.close();
  }
  await rm(dir, { recursive: true, force: true });
});
Queue.after(() => databases.end());

type Run = (
  input: { n: number; file?: string | undefined },
  context: HostEndpointContext,
) => Promise<unknown> | AsyncGenerator<unknown, void>;

/** A host with one endpoint, `/run`. */
function makeHost(
  context: Context,
  run: Run,
  config: Partial<TaskQueueConfig> = {},
  retryable?: readonly string[],
): { queue: TaskQueue; storage: Storage; defer: (input?: object, more?: Partial<DeferredRequest>) => Promise<string> } {
  const storage = new Storage({ config: context.database, log: silentLogger, sqliteModule });
  const endpoints = new EndpointRegistry();
  const endpoint = hostEndpoint({
    name: 'run',
    path: '/run',
    summary: 'Runs',
    input: z.strictObject({ n: z.number().default(0), file: z.string().meta({ 'x-aana-file': true }).optional() }),
    output: z.any(),
    run,
  });
  endpoints.add(endpoint);
  const queue = new TaskQueue({
    storage,
    endpoints,
    dir: join(context.dir, 'tasks'),
    config: { ...CONFIG, ...config },
    retryable,
    log: silentLogger,
    signal: new AbortController().signal,
  });
  context.hosts.push({ storage, queue });
  return {
    queue,
    storage,
    defer: (input = {}, more = {}) => queue.enqueue(endpoint, { input, files: NO_FILES, userId: null, ...more }),
  };
}

/** Waits for the end of a task. */
async function ended(queue: TaskQueue, id: string): Promise<TaskRecord> {
  for await (const _ of await queue.watch(id, null, { after: 0, signal: new AbortController().signal })) continue;
  return queue.get(id, null);
}

async function namesOf(queue: TaskQueue, id: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { event } of await queue.watch(id, null, { after: 0, signal: new AbortController().signal }))
    names.push(event);
  return names;
}

Queue('runs what was kept, and keeps its result', async (context) => {
  const { queue, defer } = makeHost(context, async ({ n }) => ({ doubled: n * 2 }));
  await queue.start();
  const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => defer({ n })));
  const results = await Promise.all(ids.map((id) => ended(queue, id)));
  assert.equal(
    results.map(({ status, result }) => `${status} ${result}`),
    [2, 4, 6, 8, 10].map((doubled) => `completed {"doubled":${doubled}}`),
  );
});

Queue('keeps nothing that does not match', async (context) => {
  const { queue, defer } = makeHost(context, async () => null);
  for (const bad of [defer({ n: 'one' }), defer({ file: 'video' })])
    assert.instance(await bad.catch((error: unknown) => error), AanaError);
  assert.equal(await queue.count(null), {});
  assert.equal(await readdir(join(context.dir, 'tasks')).catch(() => []), []);
});

Queue('runs no more at a time than there are workers', async (context) => {
  const both = deferred();
  let [running, most] = [0, 0];
  const { queue, defer } = makeHost(context, async () => {
    running += 1;
    most = Math.max(most, running);
    if (running === 2) both.resolve();
    await both.promise;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  });
  await queue.start();
  const ids = await Promise.all(Array.from({ length: 8 }, () => defer()));
  await Promise.all(ids.map((id) => ended(queue, id)));
  assert.is(most, 2);
});

Queue('keeps what an endpoint streams as events, and the list of it as the result', async (context) => {
  const { queue, defer } = makeHost(context, async function* ({ n }, { progress }) {
    for (let i = 0; i < n; i += 1) {
      yield { i };
      progress(i / n);
    }
  });
  await queue.start();
  const id = await defer({ n: 600 });
  const values: unknown[] = [];
  const names = new Set<string>();
  let half = 0;
  for await (const { id: event, event: name, data } of await queue.watch(id, null, {
    after: 0,
    signal: new AbortController().signal,
  })) {
    names.add(name);
    if (name === 'chunk') values.push(JSON.parse(data));
    if (values.length === 300 && half === 0) half = event;
  }
  const expected = Array.from({ length: 600 }, (_, i) => ({ i }));
  assert.equal(values, expected);
  assert.equal([...names].sort(), ['assigned', 'chunk', 'completed', 'created', 'progress', 'running']);
  assert.equal(JSON.parse((await queue.get(id, null)).result ?? ''), expected);
  const rest: unknown[] = [];
  for await (const { event, data } of await queue.watch(id, null, {
    after: half,
    signal: new AbortController().signal,
  }))
    if (event === 'chunk') rest.push(JSON.parse(data));
  assert.equal(rest, expected.slice(300));
});

Queue('shows a watcher events of many megabytes', async (context) => {
  const text = 'ü'.repeat(400_000);
  const { queue, defer } = makeHost(context, async function* ({ n }) {
    for (let index = 0; index < n; index += 1) yield { index, text };
  });
  await queue.start();
  const id = await defer({ n: 6 });
  await ended(queue, id);
  const seen: unknown[] = [];
  for await (const { event, data } of await queue.watch(id, null, { after: 0, signal: new AbortController().signal }))
    if (event === 'chunk') seen.push(JSON.parse(data));
  assert.equal(
    seen,
    [0, 1, 2, 3, 4, 5].map((index) => ({ index, text })),
  );
});

Queue('gives files to the run, and removes them after it', async (context) => {
  const upload = join(context.dir, 'upload');
  await writeFile(upload, 'content');
  let path = '';
  const { queue, defer } = makeHost(context, async (_input, { files }) => {
    path = files.get('video')?.path ?? '';
    return [await readFile(path, 'utf8'), files.get('video')?.filename];
  });
  const file = { path: upload, bytes: 7, filename: '../../evil' };
  const id = await defer({ file: 'video' }, { files: new Map([['video', file]]) });
  await queue.start();
  assert.is((await ended(queue, id)).result, '["content","../../evil"]');
  assert.ok(path.startsWith(join(context.dir, 'tasks', id)), path);
  await queue.stop(10_000);
  assert.equal(await readdir(join(context.dir, 'tasks')), []);
});

Queue('fails with the name of a file part that is gone or was changed, and runs nothing', async (context) => {
  let runs = 0;
  const { queue, defer } = makeHost(context, async () => (runs += 1), { num_workers: 1 });
  const damages: readonly ((path: string) => Promise<void>)[] = [
    (path) => rm(path),
    (path) => writeFile(path, 'cut'),
    (path) => writeFile(path, 'changed'),
    (path) => rm(path).then(() => mkdir(path)),
  ];
  const ids: string[] = [];
  for (const damage of damages) {
    const upload = join(context.dir, 'upload');
    await writeFile(upload, 'content');
    const artifact = await artifactOf(context.dir, upload, createHash('sha256').update('content').digest('hex'));
    const id = await defer(
      { file: 'my video' },
      { files: new Map([['my video', { path: upload, artifact, bytes: 7 }]]) },
    );
    await damage(join(context.dir, 'tasks', id, '0'));
    ids.push(id);
  }
  await queue.start();
  for (const id of ids) {
    const { status, error, result, num_retries: attempts } = await ended(queue, id);
    const { message, data } = JSON.parse(result ?? '') as { message: string; data: unknown };
    assert.equal([status, error, attempts, data], ['failed', 'UploadedFileLost', 1, { content: 'my video' }]);
    assert.match(message, /the uploaded file part "my video" of this task cannot be used: .*send the request again/);
  }
  assert.is(runs, 0);
});

Queue(
  'runs tasks with files that an earlier version kept without checksums, when their length is the same',
  async (context) => {
    const folder = join(context.dir, 'migrations');
    await mkdir(folder);
    for (const name of await readdir(HOST_MIGRATIONS.folder))
      if (name < '0010') await copyFile(join(HOST_MIGRATIONS.folder, name), join(folder, name));
    const [whole, cut] = [newId(), newId()];
    {
      await using database = await databases.open(context.database);
      await migrate(database, [{ ...HOST_MIGRATIONS, folder }]);
      for (const id of [whole, cut]) {
        await mkdir(join(context.dir, 'tasks', id), { recursive: true });
        await writeFile(join(context.dir, 'tasks', id, '0'), id === whole ? 'content' : 'cont');
        const files = JSON.stringify([{ name: 'video', path: `${id}/0`, bytes: 7, filename: 'a.mp4' }]);
        await database.write((connection) =>
          connection.query(
            `insert into tasks (id, endpoint, data, files, status, priority, timeout_ms, max_attempts, request_hash, available_at, created_at, updated_at)
          values ($1, '/run', '{"file":"video"}', $2, 'created', 0, 60000, 3, 'h', 1, 1, 1)`,
            [id, files],
          ),
        );
      }
    }
    const { queue, storage } = makeHost(context, async (_input, { files }) => [
      await readFile(files.get('video')?.path ?? '', 'utf8'),
      files.get('video')?.artifact ?? null,
    ]);
    await storage.migrate();
    await queue.start();
    assert.equal(
      [await ended(queue, whole), await ended(queue, cut)].map(({ status, result, error }) => [
        status,
        error,
        error ? null : result,
      ]),
      [
        ['completed', null, '["content",null]'],
        ['failed', 'UploadedFileLost', null],
      ],
    );
  },
);

Queue(
  'removes files that a killed host left: of tasks that it had not accepted, and of those that had ended',
  async (context) => {
    const { queue, defer } = makeHost(context, async ({ n }) => {
      if (n === 1) throw new AanaError('VideoReadingException', 'bad-request', 'no video');
    });
    await queue.start();
    const [done, failed] = [await defer(), await defer({ n: 1 })];
    for (const id of [done, failed]) await ended(queue, id);
    await queue.stop(10_000);
    const swept = deferred();
    const next = makeHost(context, () => swept.promise);
    const running = await next.defer();
    const [unknown, young] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
    for (const id of [done, failed, running, unknown, young])
      await mkdir(join(context.dir, 'tasks', id), { recursive: true });
    for (const id of [done, failed, running, unknown]) await utimes(join(context.dir, 'tasks', id), 1, 1);
    await next.queue.start();
    const kept = (): Promise<string[]> => readdir(join(context.dir, 'tasks'));
    while ((await kept()).some((id) => id === done || id === unknown))
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal((await kept()).sort(), [failed, running, young].sort());
    swept.resolve();
    await ended(next.queue, running);
  },
);

Queue('repeats what may pass, and not what will not', async (context) => {
  const runs = new Map<number, number>();
  const { queue, defer } = makeHost(context, async ({ n }) => {
    const run = (runs.get(n) ?? 0) + 1;
    runs.set(n, run);
    if (n === 1) throw new AanaError('VideoReadingException', 'bad-request', 'no video', { data: { video: 'x' } });
    if (run < 2) throw new AanaError('InferenceException', 'internal', 'the engine failed');
    return run;
  });
  await queue.start();
  const [final, passing] = await Promise.all([defer({ n: 1 }), defer({ n: 2 })]);
  const failed = await ended(queue, final);
  assert.equal(
    { ...JSON.parse(failed.result ?? ''), stacktrace: '' },
    { error: 'VideoReadingException', message: 'no video', data: { video: 'x' }, stacktrace: '' },
  );
  assert.equal([failed.status, failed.num_retries], ['failed', 1]);
  const done = await ended(queue, passing);
  assert.equal([done.status, done.result, done.num_retries], ['completed', '2', 2]);
  assert.equal(await namesOf(queue, passing), [
    'created',
    'assigned',
    'running',
    'not_finished',
    'assigned',
    'running',
    'completed',
  ]);
  assert.equal((await queue.retry(final, null)).status, 'created');
  assert.is((await ended(queue, final)).status, 'failed');
  for (const id of [passing, 'none'])
    assert.instance(await queue.retry(id, null).catch((error: unknown) => error), AanaError);
});

Queue('repeats the errors that it is told to', async (context) => {
  let runs = 0;
  const { queue, defer } = makeHost(
    context,
    async () => {
      runs += 1;
      throw new AanaError(runs === 1 ? 'QuotaError' : 'InferenceException', 'internal', 'not now');
    },
    {},
    ['QuotaError'],
  );
  await queue.start();
  const failed = await ended(queue, await defer());
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error, runs], ['failed', 'InferenceException', 2]);
});

Queue('ends an attempt whose time is up, and fails when none is left', async (context) => {
  const { queue, defer } = makeHost(
    context,
    (_input, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { max_retries: 1 },
  );
  await queue.start();
  const failed = await ended(queue, await defer({}, { executionTimeoutS: 0.05 }));
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error], ['failed', 'TimeoutError']);
});

Queue('ends attempts at streaming endpoints, too, and those that do not look at their signal', async (context) => {
  const streaming = makeHost(
    context,
    async function* () {
      yield 1;
      await new Promise(() => {});
    },
    { max_retries: 1 },
  );
  await streaming.queue.start();
  const failed = await ended(streaming.queue, await streaming.defer({}, { executionTimeoutS: 0.05 }));
  assert.equal([failed.status, JSON.parse(failed.result ?? '').error], ['failed', 'TimeoutError']);
  assert.equal(await namesOf(streaming.queue, failed.id), ['created', 'assigned', 'running', 'chunk', 'failed']);
});

Queue(
  'takes the time of an attempt from the request, else from the endpoint, else from the configuration',
  async (context) => {
    const { queue, storage, defer } = makeHost(context, async () => null, { execution_timeout: 77 });
    const endpoint = hostEndpoint({
      name: 'slow',
      path: '/slow',
      summary: 'Runs',
      input: z.strictObject({}),
      output: z.any(),
      executionTimeoutS: 5,
      run: async () => null,
    });
    await Promise.all([
      defer({}, { executionTimeoutS: 3 }),
      defer(),
      queue.enqueue(endpoint, { input: {}, files: NO_FILES, userId: null }),
      queue.enqueue(endpoint, { input: {}, files: NO_FILES, userId: null, executionTimeoutS: 7200 }),
    ]);
    const claimed = await storage.write(({ tasks }) =>
      tasks.claim({ owner: 'me', endpoints: ['/run', '/slow'], limit: 9, leaseMs: 1000, activeOfUser: 25 }),
    );
    assert.equal(
      claimed.map(({ timeout_ms: ms }) => ms).sort((a, b) => a - b),
      [3000, 5000, 77_000, 7_200_000],
    );
  },
);

Queue('runs as many tasks of one user at a time as may be, and those of another one beside them', async (context) => {
  const [go, both] = [deferred(), deferred()];
  const running: number[] = [];
  const { queue, defer } = makeHost(
    context,
    async ({ n }) => {
      running.push(n);
      if (running.length === 2) both.resolve();
      await go.promise;
    },
    { num_workers: 8, maximum_active_tasks_per_user: 1 },
  );
  const of = (userId: string, n: number): Promise<string> => defer({ n }, { userId });
  const ids = [await of('u', 1), await of('u', 2), await of('v', 3), await of('v', 4)];
  await queue.start();
  await both.promise;
  assert.equal(
    [running.toSorted(), await queue.count('u'), await queue.count('v')],
    [[1, 3], { created: 1, running: 1 }, { created: 1, running: 1 }],
  );
  go.resolve();
  for (const id of ids) assert.is((await ended(queue, id)).status, 'completed');
  assert.is(await queue.get(ids[0] ?? '', 'v').catch((error: AanaError) => error.name), 'NotFoundException');
});

Queue('cancels a waiting task, and a running one down to its signal', async (context) => {
  const [started, reason] = [deferred(), deferred<unknown>()];
  const { queue, defer } = makeHost(
    context,
    (_input, { signal }) => {
      started.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reason.resolve(signal.reason);
          reject(signal.reason);
        });
      });
    },
    { num_workers: 1 },
  );
  await queue.start();
  const running = await defer();
  await started.promise;
  const waiting = await defer();
  assert.is((await queue.cancel(waiting, null)).status, 'cancelled');
  assert.is((await queue.cancel(running, null)).status, 'cancelled');
  assert.is(((await reason.promise) as AanaError).kind, 'cancelled');
  assert.is((await queue.cancel(running, null)).status, 'cancelled');
  await queue.stop(10_000);
  assert.equal(await queue.count(null), { cancelled: 2 });
});

Queue('puts running tasks back when it stops, and the next host finishes them', async (context) => {
  const started = deferred();
  const first = makeHost(context, (_input, { signal }) => {
    started.resolve();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  await first.queue.start();
  const id = await first.defer();
  await started.promise;
  await first.queue.stop(0);
  assert.equal(
    [(await first.queue.get(id, null)).status, await first.queue.count(null)],
    ['not_finished', { not_finished: 1 }],
  );
  const second = makeHost(context, async () => 'done');
  await second.queue.start();
  assert.equal([(await ended(second.queue, id)).result, (await second.queue.get(id, null)).num_retries], ['"done"', 2]);
});

Queue('runs again what a host had that is not heard of any more', async (context) => {
  const { queue, storage, defer } = makeHost(context, async () => 'again', { heartbeat_timeout: 1 });
  const id = await defer();
  const [lease] = await storage.write(({ tasks }) =>
    tasks.claim({ owner: 'dead', endpoints: ['/run'], limit: 1, leaseMs: -1, activeOfUser: 25 }),
  );
  assert.is(lease?.id, id);
  await queue.start();
  assert.equal(
    [(await ended(queue, id)).result, await namesOf(queue, id)],
    ['"again"', ['created', 'assigned', 'not_finished', 'assigned', 'running', 'completed']],
  );
});

Queue('keeps the lease of a task that takes longer than it', async (context) => {
  const { queue, defer } = makeHost(context, () => new Promise((resolve) => setTimeout(resolve, 2500, 'slow')), {
    heartbeat_timeout: 1,
  });
  const other = makeHost(context, async () => 'stolen', { heartbeat_timeout: 1 });
  await queue.start();
  const id = await defer();
  for await (const { event } of await queue.watch(id, null, { after: 0, signal: new AbortController().signal }))
    if (event === 'running') break;
  await other.queue.start();
  assert.equal([(await ended(queue, id)).result, (await queue.get(id, null)).num_retries], ['"slow"', 1]);
});

Queue('leaves tasks of endpoints that it has not to others', async (context) => {
  const { queue, storage, defer } = makeHost(context, async () => 'here');
  await storage.write(({ tasks }) =>
    tasks.enqueue({
      id: 'elsewhere',
      endpoint: '/elsewhere',
      data: '{}',
      files: [],
      priority: 9,
      user_id: null,
      timeout_ms: 1000,
      max_attempts: 3,
      idempotency_key: null,
      request_hash: '',
    }),
  );
  await queue.start();
  assert.is((await ended(queue, await defer())).result, '"here"');
  assert.is((await queue.get('elsewhere', null)).status, 'created');
});

Queue.run();
