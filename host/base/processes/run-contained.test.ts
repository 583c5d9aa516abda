import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../core/abort.ts';
import { AanaError } from '../core/errors.ts';
import { skip } from '../../test/skip.ts';
import { launcherPath } from './launcher.ts';
import { runContained } from './run-contained.ts';
import { continueChild, endChild, pauseChild, spawnContained } from './spawn-contained.ts';

const Run = suite('runContained');

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.unreachable('it did not reject'),
    (error: unknown) => error,
  );
}

async function aanaFailure(promise: Promise<unknown>): Promise<AanaError> {
  const error = await failure(promise);
  if (!(error instanceof AanaError)) throw error;
  return error;
}

async function failureName(promise: Promise<unknown>): Promise<string> {
  return (await aanaFailure(promise)).name;
}

Run('returns the exit code, stdout and stderr', async () => {
  const { code, signal, stdout, stderr } = await runContained('sh', ['-c', 'echo out; echo err >&2; exit 3']);
  assert.equal(
    { code, signal, stdout: stdout.toString(), stderr },
    { code: 3, signal: null, stdout: 'out\n', stderr: 'err\n' },
  );
});

Run('keeps the end of a long stderr', async () => {
  const { stderr } = await runContained('sh', ['-c', 'seq 1 20000 >&2'], { stderrTailBytes: 12 });
  assert.is(stderr, '19999\n20000\n');
});

Run('gives the child an empty stdin', async () => {
  assert.is((await runContained('cat', [])).stdout.length, 0);
});

Run('reports the signal that ended the child', async () => {
  const { code, signal } = await runContained('sh', ['-c', 'kill -SEGV $$']);
  assert.equal({ code, signal }, { code: null, signal: 'SIGSEGV' });
});

Run('ends a child that writes too much', async () => {
  assert.is(
    await failureName(runContained('sh', ['-c', 'exec yes'], { maxStdoutBytes: 1000 })),
    'ProcessOutputTooLarge',
  );
});

if (process.platform === 'linux') {
  Run('ends a child that takes too much memory, and not one that reserves it', async () => {
    const limits = { residentBytes: 2 ** 28, graceMs: 0 };
    assert.is(
      await failureName(
        runContained(
          process.execPath,
          ['-e', 'const kept = []; setInterval(() => kept.length < 60 && kept.push(Buffer.alloc(1e7, 1)), 1)'],
          limits,
        ),
      ),
      'ProcessMemoryTooLarge',
    );
    const reserving =
      'new WebAssembly.Memory({ initial: 1, maximum: 65536 }); const kept = new ArrayBuffer(2 ** 30); setTimeout(() ' +
      '=> process.exit(7), 300)';
    assert.is((await runContained(process.execPath, ['-e', reserving], limits)).code, 7);
  });
} else {
  skip('runContained ends a child that takes too much memory', 'nobody looks at the memory of a process here');
}

Run('ends a child that runs too long', async () => {
  assert.is(await failureName(runContained('sleep', ['600'], { timeoutMs: 50, graceMs: 0 })), 'ProcessTimeout');
});

Run('rejects with the reason of the signal after the child has ended', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
  const [started, touched] = [join(folder, 'started'), join(folder, 'touched')];
  const controller = new AbortController();
  const program = `const fs = require('fs');
    process.on('SIGTERM', () => { fs.writeFileSync(${JSON.stringify(touched)}, ''); process.exit(); });
    fs.writeFileSync(${JSON.stringify(started)}, ''); setInterval(() => {}, 1000);`;
  const running = failure(
    runContained(process.execPath, ['-e', program], { signal: controller.signal, graceMs: 60_000 }),
  );
  for (; !existsSync(started); await delay(5));
  const reason = new Error('client went away');
  controller.abort(reason);
  assert.is(await running, reason);
  assert.ok(existsSync(touched));
  rmSync(folder, { recursive: true });
});

Run('does not wait for a grandchild that holds the output open after an abort', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
  const pidFile = join(folder, 'pid');
  const controller = new AbortController();
  const running = failure(
    runContained('sh', ['-c', 'sleep 600 & echo $! > "$0"; wait', pidFile], { signal: controller.signal }),
  );
  let grandchild = 0;
  for (; grandchild === 0; await delay(5)) grandchild = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
  const reason = new Error('client went away');
  controller.abort(reason);
  assert.is(await running, reason);
  assert.ok(process.kill(grandchild, 'SIGKILL')); // still there, so nobody waited for it
  rmSync(folder, { recursive: true });
});

for (const launcher of [launcherPath(), false] as const) {
  if (launcher === undefined) continue;
  Run(`names a command that is not there (${launcher ? 'through the launcher' : 'without the launcher'})`, async () => {
    const error = await aanaFailure(runContained('no-such-command-anywhere', [], { launcher }));
    assert.is(error.name, 'CommandNotFound');
    assert.match(error.message, /^cannot run no-such-command-anywhere: /);
  });
}

if (process.platform === 'linux') {
  Run('a paused child is stopped until it continues, and ends all the same', async () => {
    const child = spawnContained('sh', ['-c', 'read -r line; echo "$line"; read -r line'], { ownGroup: true });
    const isStopped = (): boolean => /\) T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'));
    assert.is(pauseChild(child), true);
    for (; !isStopped(); await delay(5));
    child.stdin!.write('hello\n');
    continueChild(child);
    assert.is(String((await once(child.stdout!, 'data'))[0]), 'hello\n');
    assert.is(pauseChild(child), true);
    for (; !isStopped(); await delay(5));
    endChild(child, 0);
    await once(child, 'exit');
    assert.is(pauseChild(child), false);
  });
}

Run('returns an exit code of 127 of the command itself', async () => {
  assert.is((await runContained('sh', ['-c', 'exit 127'])).code, 127);
});

Run.run();
