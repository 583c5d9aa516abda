// A server whose output cannot be written, because the disk is full or the reader has gone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { freePort } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';

const Output = suite('output that cannot be written');
const MAIN = join(packageRoot, 'bundle/host/cli/main.js');
const FULL = '/dev/full';
let folder = '';
Output.before(async () => void (folder = await mkdtemp(join(tmpdir(), 'aana-output-'))));
Output.after(() => rm(folder, { recursive: true, force: true }));

interface Served extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts `serve` without models and plugins, like a shell with redirections. */
async function serveTo(
  stdout: number | 'pipe',
  stderr: number | 'pipe',
  flags: readonly string[] = [],
): Promise<Served> {
  const config = join(folder, 'config.json');
  await writeFile(config, '{"deployments":{}}');
  const port = await freePort();
  const env = { ...process.env, AANA_DATA_DIR: join(folder, 'data'), AANA_RUNTIME_DIR: join(folder, 'run') };
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--config', config, '--port', String(port), '--log-level', 'debug', ...flags],
    { stdio: ['ignore', stdout, stderr], env, cwd: folder },
  );
  const url = `http://127.0.0.1:${port}`;
  while ((await fetch(`${url}/api/ready`).catch(() => undefined))?.status !== 200) {
    assert.equal([child.exitCode, child.signalCode], [null, null], 'the server has ended');
    await delay(20);
  }
  return { child, url, [Symbol.asyncDispose]: async () => void (child.kill('SIGKILL') && (await once(child, 'exit'))) };
}

/** Requests are answered although log lines are lost, and the server ends with 0 on request. */
async function assertServes({ child, url }: Served): Promise<void> {
  for (let n = 0; n < 5; n += 1) {
    assert.is((await fetch(`${url}/livez`)).status, 200);
    assert.is((await fetch(`${url}/nothing`)).status, 404);
    await delay(20);
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.equal(await exited, [0, null]);
}

for (const flags of [[], ['--log-format', 'json']]) {
  Output(`on a full disk does not keep a server from serving: ${flags.at(-1) ?? 'text'}`, async () => {
    if (!existsSync(FULL)) return skip('output on a full disk', `there is no ${FULL}`);
    const full = openSync(FULL, 'w');
    try {
      await using server = await serveTo(full, full, flags);
      await assertServes(server);
    } finally {
      closeSync(full);
    }
  });
}

Output('without a reader does not end a server', async () => {
  await using server = await serveTo('pipe', 'pipe');
  server.child.stdout?.destroy();
  server.child.stderr?.destroy();
  await assertServes(server);
});

Output(
  'with a reader that does not read keeps a server serving, and says later how many lines are missing',
  async () => {
    await using server = await serveTo('pipe', 'pipe', ['--log-format', 'json']);
    const { stderr } = server.child;
    assert.ok(stderr);
    const longPath = `/${'x'.repeat(7000)}`;
    // More than the pipe, the stream and the queue of the host hold together.
    const dropped = async (): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return Number(/^aana_log_lines_dropped_total\{error_type="queue_full"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    while ((await dropped()) === 0)
      await Promise.all(Array.from({ length: 20 }, () => fetch(`${server.url}${longPath}`).then((one) => one.text())));
    const lines: { message: string; lines?: number; reason?: string }[] = [];
    let rest = '';
    const read = deferred();
    stderr.on('data', (data) => {
      const whole = `${rest}${String(data)}`.split('\n');
      rest = whole.pop() ?? '';
      lines.push(...whole.map((line) => JSON.parse(line) as { message: string }));
      if (lines.some(({ message }) => message === 'log lines dropped')) read.resolve();
    });
    await read.promise;
    const notice = lines.find(({ message }) => message === 'log lines dropped');
    assert.is(notice?.reason, 'queue_full');
    assert.ok((notice?.lines ?? 0) >= 1);
    await assertServes(server);
  },
);

Output('ends a command: silently if the reader has gone, else with the reason', async () => {
  const { stdout, exitCode } = await run(['config', '--all', '--json'], 'pipe');
  assert.equal([stdout.startsWith('['), exitCode], [true, 0]);
  if (!existsSync(FULL)) return skip('a command on a full disk', `there is no ${FULL}`);
  const full = openSync(FULL, 'w');
  try {
    const failed = await run(['config', '--all', '--json'], full);
    assert.is(failed.exitCode, 1);
    assert.match(failed.stderr, /^error: the output cannot be written: .*ENOSPC/);
  } finally {
    closeSync(full);
  }
});

async function run(
  args: readonly string[],
  stdout: number | 'pipe',
): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', stdout, 'pipe'], cwd: folder });
  const said = { stdout: '', stderr: '' };
  child.stdout?.on('data', (data) => (said.stdout += String(data)));
  child.stderr?.on('data', (data) => (said.stderr += String(data)));
  const [exitCode] = await once(child, 'close');
  return { ...said, exitCode: exitCode as number };
}

Output.run();
