import { createHash } from 'node:crypto';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { artifactOf } from '../../io/artifacts/index.ts';
import { deferred } from '../../base/core/deferred.ts';
import { AanaError } from '../../base/core/errors.ts';
import { skip } from '../../test/skip.ts';
import { ended, makeHost, queueSuite } from './fixtures/queue-suite.ts';

const Files = queueSuite('files of tasks');

Files('passes files to the run, and removes them after it', async (context) => {
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

Files('fails with the name of a missing or changed file part, and runs nothing', async (context) => {
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

Files('compares only the length of files that came without a checksum', async (context) => {
  const { queue, defer } = makeHost(context, async (_input, { files }) => [
    await readFile(files.get('video')?.path ?? '', 'utf8'),
    files.get('video')?.artifact ?? null,
  ]);
  const [whole, cut] = [await deferVideo(), await deferVideo()];
  async function deferVideo(): Promise<string> {
    const upload = join(context.dir, 'upload');
    await writeFile(upload, 'content');
    return defer({ file: 'video' }, { files: new Map([['video', { path: upload, bytes: 7 }]]) });
  }
  await writeFile(join(context.dir, 'tasks', whole, '0'), 'CONTENT');
  await writeFile(join(context.dir, 'tasks', cut, '0'), 'cont');
  await queue.start();
  assert.equal(
    [await ended(queue, whole), await ended(queue, cut)].map(({ status, result, error }) => [
      status,
      error,
      error ? null : result,
    ]),
    [
      ['completed', null, '["CONTENT",null]'],
      ['failed', 'UploadedFileLost', null],
    ],
  );
});

Files('removes files that a killed host left: of tasks that were not stored, and of ended tasks', async (context) => {
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
  for (const id of [done, failed, running, unknown, young]) {
    await mkdir(join(context.dir, 'tasks', id), { recursive: true });
    await writeFile(join(context.dir, 'tasks', id, '0'), 'left');
  }
  for (const id of [done, failed, running, unknown]) await utimes(join(context.dir, 'tasks', id, '0'), 1, 1);
  await next.storage.write(({ connection }) => connection.query('delete from sweeps')); // an hour later
  await next.queue.start();
  const kept = (): Promise<string[]> => readdir(join(context.dir, 'tasks'));
  while ((await kept()).some((id) => id === done || id === unknown))
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await kept()).sort(), [failed, running, young].sort());
  swept.resolve();
  await ended(next.queue, running);
});

Files.run();

const exec = promisify(execFile);
const Disk = suite('files of tasks on the disk');
const script = fileURLToPath(new URL('fixtures/accept-one.js', import.meta.url));

/**
 * Returns the system calls in the order of their returns. In the trace, calls of other threads may interrupt a call.
 */
function returnedCalls(trace: string): string[] {
  const open = new Map<string, string>();
  return trace.split('\n').flatMap((line) => {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) {
      open.set(thread, text);
      return [];
    }
    return [text.startsWith('<... ') ? `${open.get(thread)} ${text}` : text];
  });
}

const canTrace = process.platform === 'linux' && spawnSync('strace', ['-f', 'true']).status === 0;
if (!canTrace) skip('the order in which files reach the disk', 'strace is not there, or may not trace');
else {
  Disk('are on the disk with all folders that name them before the row of their task is written', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'aana-sync-')));
    try {
      const trace = join(folder, 'trace');
      const { stdout: id } = await exec('strace', [
        '-f',
        '-y',
        '-s',
        '32',
        '-e',
        'trace=fsync,fdatasync,pwrite64,rename',
        '-o',
        trace,
        process.execPath,
        script,
        folder,
      ]);
      const calls = returnedCalls(await readFile(trace, 'utf8'));
      const moved = calls.findIndex((call) => call.startsWith('rename(') && call.includes(`${id}/0"`));
      assert.ok(moved > 0, 'the upload was moved');
      const later = calls.slice(moved);
      const written = later.findIndex((call) => call.startsWith('pwrite64(') && call.includes('aana.db-wal>'));
      assert.ok(written > 0, 'the row was written');
      const synced = later.slice(0, written).flatMap((call) => /^fsync\(\d+<([^>]+)>.* = 0$/.exec(call)?.[1] ?? []);
      const task = join(folder, 'data', 'tasks', id);
      for (const path of [join(task, '0'), task, join(folder, 'data', 'tasks'), join(folder, 'data'), folder])
        assert.ok(synced.includes(path), `${path} is synced; synced are ${synced.join(', ')}`);
      assert.ok(
        later.slice(written).some((call) => /^f(data)?sync\(\d+<.*aana\.db-wal>/.test(call)),
        'and then the row',
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

Disk.run();
