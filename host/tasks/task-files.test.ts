import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../test/skip.ts';

const exec = promisify(execFile);
const Files = suite('files of tasks');
const script = fileURLToPath(new URL('fixtures/accept-one.js', import.meta.url));

/**
 * System calls in the order in which they returned, each as it was called; a call of one thread may be interrupted by
 * those of others in the trace.
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
  Files('are on the disk with all folders that name them before the row of their task is written', async () => {
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

Files.run();
