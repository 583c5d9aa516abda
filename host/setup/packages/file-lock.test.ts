import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFileLock } from './file-lock.js';

/** Starts a process that takes the lock, reports it, and keeps it until it is killed or told to end. */
async function startHolder(lockPath: string): Promise<ChildProcess> {
  const code = `
    import { withFileLock } from ${JSON.stringify(new URL('./file-lock.js', import.meta.url).href)};
    await withFileLock(${JSON.stringify(lockPath)}, async () => {
      process.stdout.write('held');
      await new Promise((resolve) => process.stdin.once('data', resolve));
    });
    process.exit(0);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

const FileLock = suite<{ dir: string; lock: string }>('withFileLock');

FileLock.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-lock-'));
  context.lock = path.join(context.dir, 'below', 'x.lock');
});
FileLock.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

FileLock('returns the result of the function and leaves no file', async ({ lock }) => {
  const result = await withFileLock(lock, async () => {
    assert.ok(existsSync(lock));
    return 7;
  });
  assert.is(result, 7);
  assert.not.ok(existsSync(lock));
});

FileLock('is released when the function throws', async ({ lock }) => {
  const reason = new Error('broken');
  const error = await withFileLock(lock, () => Promise.reject(reason)).catch((thrown: unknown) => thrown);
  assert.is(error, reason);
  assert.not.ok(existsSync(lock));
});

FileLock('serialises callers of one process', async ({ lock }) => {
  let inside = 0;
  let most = 0;
  const one = (): Promise<void> =>
    withFileLock(lock, async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inside -= 1;
    });
  await Promise.all([one(), one(), one()]);
  assert.is(most, 1);
});

FileLock('waits for another process, and reports it once', async ({ lock }) => {
  const holder = await startHolder(lock);
  let told = 0;
  let got = false;
  const waiting = withFileLock(
    lock,
    async () => {
      got = true;
    },
    {
      onWait: ({ pid }) => {
        told += 1;
        assert.is(pid, holder.pid);
        setTimeout(() => {
          assert.not.ok(got);
          holder.stdin?.end('go');
        }, 250);
      },
    },
  );
  await waiting;
  assert.ok(got);
  assert.is(told, 1);
});

FileLock('breaks the lock of a process that was killed', async ({ lock }) => {
  const holder = await startHolder(lock);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  assert.ok(existsSync(lock));
  assert.is(await withFileLock(lock, async () => 'in'), 'in');
});

FileLock('breaks the lock of a process whose id another process has now', async ({ lock }) => {
  await withFileLock(lock, async () => {}); // makes the folder
  await writeFile(lock, JSON.stringify({ pid: process.pid, started: 'another time', host: hostname(), token: 't' }));
  assert.is(await withFileLock(lock, async () => 'in'), 'in');
});

FileLock('admits one caller at a time when several find a dead holder', async ({ dir }) => {
  const dead = [
    { pid: 999_999_999, started: '1' }, // no process has this id
    { pid: process.pid, started: '1' }, // this process came after the holder
  ];
  const locks = Array.from({ length: 200 }, (_, n) => ({
    file: path.join(dir, `${n}.lock`),
    inside: 0,
    most: 0,
    runs: 0,
  }));
  await Promise.all(
    locks.map(({ file }, n) => writeFile(file, JSON.stringify({ ...dead[n % 2], host: hostname(), token: 'dead' }))),
  );
  const hold = (lock: (typeof locks)[number]): Promise<void> =>
    withFileLock(lock.file, async () => {
      lock.inside += 1;
      lock.most = Math.max(lock.most, lock.inside);
      await delay(20);
      lock.inside -= 1;
      lock.runs += 1;
    });
  await Promise.all(locks.flatMap((lock) => [hold(lock), hold(lock), hold(lock)]));
  assert.is(Math.max(...locks.map(({ most }) => most)), 1);
  assert.ok(locks.every(({ runs }) => runs === 3));
});

FileLock(
  'respects the lock of another machine while its heartbeat continues, and breaks it afterwards',
  async ({ lock }) => {
    await withFileLock(lock, async () => {});
    await writeFile(lock, JSON.stringify({ pid: 1, started: '', host: 'elsewhere', token: 't' }));
    const error = await withFileLock(lock, async () => 'in', { signal: AbortSignal.timeout(300) }).catch(
      (thrown: unknown) => thrown,
    );
    assert.is(error instanceof Error && error.name, 'TimeoutError');
    const long = new Date(Date.now() - 120_000);
    await utimes(lock, long, long);
    assert.is(await withFileLock(lock, async () => 'in'), 'in');
  },
);

FileLock('stops waiting with the reason of the signal without disturbing the holder', async ({ lock }) => {
  const holder = await startHolder(lock);
  const reason = new Error('client went away');
  const controller = new AbortController();
  const waiting = withFileLock(lock, async () => 'in', {
    signal: controller.signal,
    onWait: () => controller.abort(reason),
  });
  assert.is(await waiting.catch((thrown: unknown) => thrown), reason);
  assert.ok(existsSync(lock));
  holder.stdin?.end('go');
  await once(holder, 'exit');
});

FileLock.run();
