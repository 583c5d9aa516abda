// Hosts in separate processes that share a database and are killed.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../storage/fixtures/databases.ts';
import type { StorageConfig } from '../storage/index.ts';
import { skip } from '../../test/skip.ts';

interface Host {
  readonly child: ChildProcess;
  readonly url: string;
}

const script = new URL('fixtures/slow-host.js', import.meta.url);

function hostTests(databases: TestDatabases): void {
  const Hosts = suite<{ folder: string; config: StorageConfig; hosts: Host[] }>(`hosts that share ${databases.title}`);
  Hosts.before.each(async (context) => {
    context.folder = await mkdtemp(join(tmpdir(), 'aana-hosts-'));
    context.config = await databases.createMigrated();
    context.hosts = [];
  });
  Hosts.after.each(async ({ folder, hosts }) => {
    for (const { child } of hosts) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.disconnect();
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  Hosts.after(() => databases.end());

  const start = async ({
    folder,
    config,
    hosts,
  }: {
    folder: string;
    config: StorageConfig;
    hosts: Host[];
  }): Promise<Host> => {
    const child = fork(script, [folder], {
      env: { ...process.env, DB_CONFIG: JSON.stringify(config) },
      execArgv: ['--enable-source-maps'],
    });
    const [url] = (await once(child, 'message')) as [string];
    const host = { child, url };
    hosts.push(host);
    return host;
  };
  const defer = async ({ url }: Host, waits: boolean): Promise<string> => {
    const response = await fetch(`${url}/slow?defer=true`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ waits }),
    });
    const body = (await response.json()) as { task_id: string };
    assert.is(response.status, 200, JSON.stringify(body));
    return body.task_id;
  };
  /** Returns the text of all events until the task has ended or `wanted` has come. */
  const watch = async ({ url }: Host, id: string, wanted?: string): Promise<string> => {
    let text = '';
    for await (const chunk of (await fetch(`${url}/tasks/${id}/events`)).body ?? []) {
      text += Buffer.from(chunk).toString();
      if (wanted !== undefined && text.includes(`event: ${wanted}\n`)) break;
    }
    return text;
  };
  const taskOf = async ({ url }: Host, id: string): Promise<{ status: string; result: number; num_retries: number }> =>
    (await fetch(`${url}/tasks/${id}`)).json() as never;

  Hosts('finish tasks that a killed host had begun or accepted, once each', async (context) => {
    const first = await start(context);
    const running = await Promise.all([1, 2, 3, 4].map(() => defer(first, true))); // as many as it has workers
    const waiting = await Promise.all([1, 2, 3].map(() => defer(first, false)));
    await Promise.all(running.map((id) => watch(first, id, 'running')));
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');

    await writeFile(join(context.folder, 'go'), '');
    const second = await start(context);
    for (const [id, attempts] of [
      ...running.map((one) => [one, 2] as const),
      ...waiting.map((one) => [one, 1] as const),
    ]) {
      await watch(second, id);
      const { status, result, num_retries: taken } = await taskOf(second, id);
      assert.equal([status, result, taken], ['completed', second.child.pid, attempts]);
    }
    assert.equal((await (await fetch(`${second.url}/tasks/count`)).json()) as object, { completed: 7, total: 7 });
  });

  Hosts('share the work, and see and cancel each other’s tasks', async (context) => {
    const [one, two] = [await start(context), await start(context)];
    const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => defer(index % 2 ? one : two, true)));
    await Promise.all(ids.map((id) => watch(one, id, 'running'))); // four workers each
    await writeFile(join(context.folder, 'go'), '');
    await Promise.all(ids.map((id) => watch(one, id)));
    const workers = await Promise.all(ids.map(async (id) => (await taskOf(two, id)).result));
    assert.equal([...new Set(workers)].sort(), [one.child.pid, two.child.pid].sort());
    await rm(join(context.folder, 'go'));
    const long = await defer(one, true);
    await watch(two, long, 'running');
    await fetch(`${two.url}/tasks/${long}/cancel`, { method: 'POST' });
    assert.match(await watch(one, long), 'event: cancelled');
  });

  Hosts.run();
}

const postgres = await postgresDatabases();
hostTests(sqliteDatabases());
if (typeof postgres === 'string') skip('hosts that share PostgreSQL', postgres);
else hostTests(postgres);
