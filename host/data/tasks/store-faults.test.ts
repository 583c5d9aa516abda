// The queue while its database is cut off, silent or locked, or refuses a write.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import type { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { EndpointRegistry, type UploadedFile } from '../../endpoints/registry/index.ts';
import { FolderStore } from '../objects/index.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { type Database, Storage, type StorageConfig, type TaskRecord } from '../storage/index.ts';
import { PostgresProxy } from '../../test/helpers/database/postgres-proxy.ts';
import { skip } from '../../test/skip.ts';
import { TaskQueue } from './index.ts';
import { ANYBODY, queueConfig } from './fixtures/queue-config.ts';
import { endpointOf, type Run } from './fixtures/queue-suite.ts';

interface Host {
  readonly queue: TaskQueue;
  readonly storage: Storage;
  readonly defer: (input: { n?: number; file?: string }, upload?: string) => Promise<string>;
}

class Context {
  dir = '';
  hosts: Host[] = [];

  async begin(): Promise<void> {
    this.dir = await mkdtemp(join(tmpdir(), 'aana-store-faults-'));
    this.hosts = [];
  }

  async end(): Promise<void> {
    await Promise.all(this.hosts.map(({ queue }) => queue.stop(0)));
    await Promise.all(this.hosts.map(({ storage }) => storage.close()));
    await rm(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  /** A host with one endpoint. */
  host(config: StorageConfig, run: Run, change: { heartbeat_timeout?: number; max_retries?: number } = {}): Host {
    const storage = new Storage({ config, log: silentLogger, sqliteModule });
    const endpoints = new EndpointRegistry();
    const endpoint = endpointOf(run);
    endpoints.add(endpoint);
    const limits = queueConfig({ num_workers: 16 });
    const queue = new TaskQueue({
      storage,
      endpoints,
      objects: new FolderStore(this.dir),
      config: { ...limits, ...change },
      log: silentLogger,
      signal: new AbortController().signal,
    });
    const defer: Host['defer'] = async (input, upload) => {
      const files = new Map<string, UploadedFile>();
      if (upload !== undefined) {
        const path = join(this.dir, `upload ${upload}`);
        await writeFile(path, upload);
        files.set('video', { path, bytes: upload.length });
      }
      return queue.as(ANYBODY).enqueue(endpoint, { input, files });
    };
    const host = { queue, storage, defer };
    this.hosts.push(host);
    return host;
  }

  /** Names of the folders of tasks. */
  async folders(): Promise<string[]> {
    return readdir(join(this.dir, 'tasks')).catch(() => []);
  }
}

async function ended(
  { queue }: Host,
  id: string,
): Promise<{ task: TaskRecord; events: string[]; outcomes: (string | null)[] }> {
  const events: string[] = [];
  const more = { after: 0, signal: new AbortController().signal };
  for await (const { event } of await queue.as(ANYBODY).watch(id, more)) events.push(event);
  return {
    task: await queue.as(ANYBODY).get(id),
    events,
    outcomes: (await queue.as(ANYBODY).attempts(id)).map(({ outcome }) => outcome),
  };
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

function postgresTests(databases: TestDatabases): void {
  const Faults = suite<{
    context: Context;
    proxy: PostgresProxy;
    direct: Database;
    config: StorageConfig;
    directAddress: { readonly host: string; readonly port: number };
  }>('tasks in PostgreSQL behind a bad network');
  Faults.before.each(async (given) => {
    const direct = await databases.create();
    await using storage = new Storage({ config: direct, log: silentLogger, sqliteModule });
    await storage.migrate();
    given.direct = await databases.open(direct);
    given.directAddress = direct.datastore_config;
    given.proxy = await PostgresProxy.start(direct.datastore_config);
    given.config = {
      ...direct,
      connection_timeout: 1,
      query_timeout: 2,
      datastore_config: { ...direct.datastore_config, port: given.proxy.port },
    };
    given.context = new Context();
    await given.context.begin();
  });
  Faults.after.each(async ({ context, proxy, direct }) => {
    proxy.forget();
    proxy.resume();
    await context.end();
    await direct.close();
    await proxy[Symbol.asyncDispose]();
  });
  Faults.after(() => databases.end());

  Faults(
    'are accepted once, with their files, when the connection is lost at their COMMIT',
    async ({ context, proxy, config }) => {
      const host = context.host(config, async (_input, { files }) => readFile(files.get('video')?.path ?? '', 'utf8'));
      await host.storage.migrate();
      const ids: string[] = [];
      for (const at of ['answer', 'commit'] as const) {
        const cut = proxy.cutNext(at);
        ids.push(await host.defer({ file: 'video' }, `alone, ${at}`));
        await cut;
        const second = proxy.cutNext(at, 1); // the transaction of the first one ends well; all others share the next
        ids.push(
          ...(await Promise.all(
            times(10, 0).map((_, index) => host.defer({ file: 'video' }, `together ${index}, ${at}`)),
          )),
        );
        await second;
      }
      assert.equal(await host.queue.as(ANYBODY).count(), { created: 22 });
      await host.queue.start();
      const results = await Promise.all(ids.map(async (id) => (await ended(host, id)).task.result));
      assert.equal(
        results,
        ['answer', 'commit'].flatMap((at) => [
          `"alone, ${at}"`,
          ...times(10, 0).map((_, index) => `"together ${index}, ${at}"`),
        ]),
      );
    },
  );

  Faults(
    'that could not be stored leave no files, and tasks whose commit is unknown keep theirs',
    async ({ context, proxy, config }) => {
      const host = context.host(config, async () => null);
      await host.storage.migrate();
      void proxy.cutNext('statement', 1);
      assert.is(await host.defer({ file: 'video' }, 'cut').catch((error: AanaError) => error.kind), 'unavailable');
      assert.equal(await context.folders(), []);
      const id = host.defer({ file: 'video' }, 'unknown');
      await proxy.cutNext('answer');
      proxy.silence();
      await delay(3000); // the queue searches for its task and does not learn the outcome
      const [folder = ''] = await context.folders();
      assert.equal(await readdir(join(context.dir, 'tasks', folder)), ['0']);
      proxy.resume();
      assert.is(await id, folder);
    },
  );

  Faults('run once, and each value is stored once, with a cut at every COMMIT', async ({ context, proxy, config }) => {
    const runs: number[] = [];
    const host = context.host(config, async function* ({ n }) {
      runs.push(n);
      for (let index = 0; index < 60; index += 1) {
        await delay(10);
        yield index;
      }
    });
    await host.storage.migrate();
    const ids = [await host.defer({ n: 1 }), await host.defer({ n: 2 })];
    const stopping = new AbortController();
    const cutting = (async () => {
      for (let cuts = 0; !stopping.signal.aborted; cuts += 1) {
        await Promise.race([
          proxy.cutNext(cuts % 2 ? 'commit' : 'answer'),
          new Promise((resolve) => stopping.signal.addEventListener('abort', resolve)),
        ]);
        await proxy.cutNext('answer', 3);
      }
    })();
    void cutting;
    await host.queue.start();
    const all = await Promise.all(ids.map((id) => ended(host, id)));
    stopping.abort();
    proxy.forget();
    for (const { task, events, outcomes } of all) {
      assert.equal(
        [task.status, JSON.parse(task.result ?? ''), outcomes],
        ['completed', times(60, 0).map((_, index) => index), ['completed']],
      );
      assert.equal(events.filter((event) => event === 'chunk').length, 60);
    }
    assert.equal(runs.sort(), [1, 2]);
  });

  Faults('that were claimed without an answer run on the host that has them', async ({ context, proxy, config }) => {
    let runs = 0;
    const host = context.host(config, async () => (runs += 1), { max_retries: 1 });
    await host.storage.migrate();
    const id = await host.defer({});
    const cut = proxy.cutNext('answer'); // the claim is the only one that commits
    await host.queue.start();
    await cut;
    const { task, outcomes } = await ended(host, id);
    assert.equal([task.status, outcomes, runs], ['completed', ['completed'], 1]);
  });

  Faults(
    'keep their host through a silence longer than their lease, whether they end during or after it',
    async ({ context, proxy, config, directAddress }) => {
      const runs: number[] = [];
      const begun = [deferred(), deferred()];
      const go = [deferred(), deferred()];
      const run: Run = async ({ n }) => {
        runs.push(n);
        begun[n]?.resolve();
        await go[n]?.promise;
        return n;
      };
      const host = context.host(config, run, { heartbeat_timeout: 1 });
      await host.queue.start();
      const ids = [await host.defer({ n: 0 }), await host.defer({ n: 1 })];
      await Promise.all(begun.map(({ promise }) => promise));
      await using second = await PostgresProxy.start(directAddress);
      const other = context.host(
        { ...config, datastore_config: { ...config.datastore_config, port: second.port } },
        run,
        { heartbeat_timeout: 1 },
      );
      await other.queue.start();
      for (const one of [proxy, second]) one.silence();
      await delay(4000);
      go[0]?.resolve();
      await delay(500);
      second.resume();
      await delay(2500); // the other host reaches the database first, and sees expired leases
      proxy.resume();
      const early = await ended(host, ids[0] ?? '');
      await delay(1000);
      go[1]?.resolve();
      const late = await ended(host, ids[1] ?? '');
      await other.queue.stop(0);
      await other.storage.close();
      assert.equal(
        [early, late].map(({ task, outcomes }) => [task.status, task.result, outcomes]),
        [
          ['completed', '0', ['completed']],
          ['completed', '1', ['completed']],
        ],
      );
      assert.equal(runs.sort(), [0, 1]);
    },
  );

  Faults('fail at once when the database refuses their result', async ({ context, config, direct }) => {
    const refuse = (name: string, table: string, condition: string): Promise<void> =>
      direct.write((connection) =>
        connection.script(`create function ${name}() returns trigger language plpgsql as $$
            begin raise exception 'no such ${name}' using errcode = 'check_violation'; end $$;
          create trigger ${name} before insert or update on ${table}
            for each row when (${condition}) execute function ${name}()`),
      );
    await refuse('value', 'task_events', "new.event = 'chunk' and new.data::text = '13'");
    await refuse('result', 'tasks', "new.result::text = '[14]'");
    const ending = deferred<unknown>();
    const host = context.host(
      config,
      async function* ({ n }, { signal }) {
        yield n;
        if (n === 14) return;
        signal.addEventListener('abort', () => ending.resolve(signal.reason));
        await new Promise(() => {}); // an hour of work
      },
      { max_retries: 1 },
    );
    await host.queue.start();
    const streaming = await ended(host, await host.defer({ n: 13 }));
    assert.equal([streaming.task.status, JSON.parse(streaming.task.result ?? '').error], ['failed', 'DatabaseFault']);
    assert.match(String(await ending.promise), 'no such value');
    const single = await ended(host, await host.defer({ n: 14 }));
    assert.equal([single.task.status, JSON.parse(single.task.result ?? '').error], ['failed', 'ResultNotStored']);
  });

  Faults.run();
}

const databases = sqliteDatabases();
const Locked = suite<{ context: Context }>('tasks in SQLite that another process has locked');
Locked.before.each(async (given) => {
  given.context = new Context();
  await given.context.begin();
});
Locked.after.each(({ context }) => context.end());
Locked.after(() => databases.end());

Locked('end when it is unlocked, and do not run twice', async ({ context }) => {
  const config = { ...(await databases.create()), connection_timeout: 2 };
  const [begun, go] = [deferred(), deferred()];
  let runs = 0;
  const host = context.host(
    config,
    async function* () {
      runs += 1;
      yield 1;
      begun.resolve();
      await go.promise;
      yield 2;
    },
    { heartbeat_timeout: 1, max_retries: 1 },
  );
  await host.queue.start();
  const id = await host.defer({});
  await begun.promise;
  await using backup = await databases.open(config);
  await backup.write(async () => {
    go.resolve();
    await delay(3000); // longer than the lease
    assert.is(await host.defer({ file: 'video' }, 'late').catch((error: AanaError) => error.kind), 'unavailable');
    assert.equal(await context.folders(), []);
  });
  const { task, events, outcomes } = await ended(host, id);
  assert.equal([task.status, task.result, outcomes, runs], ['completed', '[1,2]', ['completed'], 1]);
  assert.is(events.filter((event) => event === 'chunk').length, 2);
});

const postgres = await postgresDatabases();
Locked.run();
if (typeof postgres === 'string') skip('faults of PostgreSQL', postgres);
else postgresTests(postgres);
