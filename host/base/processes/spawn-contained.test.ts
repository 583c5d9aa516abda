import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../core/abort.ts';
import { AanaError } from '../core/errors.ts';
import { allowedProcessors } from '../core/machine/processors.ts';
import { boundsFiles } from '../../test/file-limit.ts';
import { skip } from '../../test/skip.ts';
import { launcherPath } from './launcher.ts';
import { spawnContained } from './spawn-contained.ts';

const Contained = suite('spawnContained');
const children: ChildProcess[] = [];
Contained.after.each(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const launcher = launcherPath();
/** Runs the same test with and without the launcher. */
const modes: readonly (readonly [string, string | false])[] = [
  ...(launcher ? [['through the launcher', launcher] as const] : []),
  ['without the launcher', false],
];

function keep<T extends ChildProcess>(child: T): T {
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the child ended without a line');
}

/** Polls until the condition is true. The runner's time limit fails the test otherwise. */
async function untilGone(pid: number): Promise<void> {
  for (; isRunning(pid); await delay(10));
}

/** Returns whether the process exists and is not a zombie. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Starts a process that starts a contained `sleep`, prints its pid, and waits. */
async function parentOfSleeper(): Promise<{ parent: ChildProcess; sleeper: number }> {
  const module = new URL('./spawn-contained.js', import.meta.url).href;
  const program = `import(${JSON.stringify(module)}).then(({ spawnContained }) => {
    const child = spawnContained('sleep', ['600'], { stdio: 'ignore' });
    console.log(child.pid);
    setInterval(() => {}, 1000);
  })`;
  const parent = keep(spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] }));
  const sleeper = Number(await firstLine(parent));
  for (; !readFileSync(`/proc/${sleeper}/comm`, 'utf8').startsWith('sleep'); await delay(5));
  return { parent, sleeper };
}

if (launcher) {
  Contained('kills the child when its parent is killed', async () => {
    const { parent, sleeper } = await parentOfSleeper();
    parent.kill('SIGKILL');
    await untilGone(sleeper);
  });

  Contained('kills a stopped child when its parent is killed', async () => {
    const { parent, sleeper } = await parentOfSleeper();
    process.kill(sleeper, 'SIGSTOP');
    for (; !/^\d+ \(sleep\) T/.test(readFileSync(`/proc/${sleeper}/stat`, 'utf8')); await delay(5));
    parent.kill('SIGKILL');
    await untilGone(sleeper);
  });

  Contained('does not start the command when the parent is already gone', async () => {
    const child = keep(
      spawn(launcher, ['--parent', '1', '--', 'echo', 'started'], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    const [code] = await once(child, 'exit');
    assert.is(code, 125);
    assert.is(child.stdout.read(), null);
  });

  Contained('says in one sentence that a command cannot be run, and exits with 127', async () => {
    const child = keep(spawnContained('no-such-command-anywhere', [], { stdio: ['ignore', 'ignore', 'pipe'] }));
    const text: Buffer[] = [];
    child.stderr?.on('data', (data: Buffer) => text.push(data));
    const [code] = await once(child, 'close');
    assert.is(code, 127);
    assert.match(Buffer.concat(text).toString(), /^aana-launcher: cannot run no-such-command-anywhere: .+\n$/);
  });

  Contained('limits CPU time', async () => {
    const child = keep(spawnContained(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore', cpuSeconds: 1 }));
    const [, signal] = await once(child, 'exit');
    assert.ok(signal === 'SIGXCPU' || signal === 'SIGKILL', String(signal));
  });

  if (boundsFiles()) {
    Contained('limits the size of written files', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
      const file = join(folder, 'out');
      const child = keep(
        spawnContained('sh', ['-c', 'exec head -c 1000000 /dev/zero > "$0"', file], {
          stdio: 'ignore',
          fileBytes: 4096,
        }),
      );
      await once(child, 'exit');
      assert.is(statSync(file).size, 4096);
      rmSync(folder, { recursive: true });
    });
  } else {
    skip('spawnContained limits the size of written files', 'this file system does not bound them');
  }

  Contained('limits address space, open files and core dumps', async () => {
    const child = keep(
      spawnContained('sh', ['-c', 'echo $(ulimit -v) $(ulimit -n) $(ulimit -c)'], {
        addressBytes: 2 ** 30,
        openFiles: 40,
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    assert.is(await firstLine(child), `${2 ** 20} 40 0`);
  });

  Contained('binds the child and its threads to processors', async () => {
    const [first = 0] = allowedProcessors()?.map(({ id }) => id) ?? [];
    const child = keep(
      spawnContained('sh', ['-c', 'sh -c "grep Cpus_allowed_list: /proc/self/status"'], {
        processors: [first],
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    assert.is(await firstLine(child), `Cpus_allowed_list:\t${first}`);
  });

  for (const [list, reason] of [
    ['8000', /^aana-launcher: --affinity 8000: /],
    ['', /^aana-launcher: --affinity must be followed by processors such as 0-3,8\n$/],
    ['1-', /--affinity must be followed by processors/],
    ['2-1', /--affinity must be followed by processors/],
    ['0-8192', /--affinity must be followed by processors/],
  ] as const)
    Contained(`starts nothing on the processors "${list}"`, async () => {
      const child = keep(spawn(launcher, ['--affinity', list, '--', 'echo', 'started']));
      const text: Buffer[] = [];
      child.stderr.on('data', (data: Buffer) => text.push(data));
      const [code] = await once(child, 'close');
      assert.is(code, 126);
      assert.match(Buffer.concat(text).toString(), reason);
    });
} else {
  for (const title of ['parent death', 'limits'])
    skip(`spawnContained: ${title}`, 'the launcher is not built, or this is not Linux');
}

for (const [mode, launcherOption] of modes) {
  Contained(`${mode}: applies niceness`, async () => {
    const child = keep(spawnContained('sh', ['-c', 'read line; nice'], { nice: 7, launcher: launcherOption }));
    for (let tries = 0; tries < 1000 && getPriority(child.pid) !== 7; tries++) await delay(5);
    child.stdin?.write('\n');
    assert.is(await firstLine(child), '7');
  });

  Contained(`${mode}: passes arguments, working directory and environment unchanged`, async () => {
    const args = ['--nice', '--', 'two words', '$HOME'];
    const child = keep(
      spawnContained('sh', ['-c', 'printf "%s|" "$@" "$FLAG" "$PWD"', 'sh', ...args], {
        cwd: '/',
        env: { FLAG: 'set', PATH: process.env['PATH'] },
        stdio: ['ignore', 'pipe', 'inherit'],
        launcher: launcherOption,
      }),
    );
    assert.is(await firstLine(child), '--nice|--|two words|$HOME|set|/|');
  });

  Contained(`${mode}: carries an IPC channel`, async () => {
    const program = 'process.on("message", (m) => process.send({ echo: m }, () => process.disconnect()))';
    const child = keep(
      spawnContained(process.execPath, ['-e', program], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        launcher: launcherOption,
      }),
    );
    child.send('hello');
    assert.equal((await once(child, 'message'))[0], { echo: 'hello' });
    await once(child, 'exit');
  });

  Contained(`${mode}: an abort ends the child with SIGTERM`, async () => {
    const controller = new AbortController();
    const child = keep(
      spawnContained('sh', ['-c', 'echo ready; exec sleep 600'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        signal: controller.signal,
        launcher: launcherOption,
      }),
    );
    await firstLine(child);
    controller.abort();
    assert.is((await once(child, 'exit'))[1], 'SIGTERM');
  });

  Contained(`${mode}: an abort kills a child that ignores SIGTERM`, async () => {
    const controller = new AbortController();
    const program = 'process.on("SIGTERM", () => {}); console.log("ready"); setInterval(() => {}, 1000)';
    const child = keep(
      spawnContained(process.execPath, ['-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
        signal: controller.signal,
        graceMs: 50,
        launcher: launcherOption,
      }),
    );
    await firstLine(child);
    controller.abort();
    assert.is((await once(child, 'exit'))[1], 'SIGKILL');
  });
}

Contained('refuses an absolute path that does not exist, and names it', () => {
  assert.throws(
    () => spawnContained('/no/such/program', []),
    (error: unknown) =>
      error instanceof AanaError && error.name === 'CommandNotFound' && error.message.includes('/no/such/program'),
  );
});

Contained('starts nothing when its signal is already aborted', () => {
  const reason = new Error('too late');
  const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
  const file = join(folder, 'out');
  assert.throws(
    () => spawnContained('touch', [file], { signal: AbortSignal.abort(reason) }),
    (error: unknown) => error === reason,
  );
  assert.not.ok(existsSync(file));
  rmSync(folder, { recursive: true });
});

Contained('refuses a file that is not executable', () => {
  assert.throws(() => spawnContained(fileURLToPath(import.meta.url), []), /not executable/);
});

if (process.platform !== 'win32') {
  for (const [how, given] of modes) {
    Contained(`a child with a group of its own takes with it what it started, ${how}`, async () => {
      for (const ending of ['by itself', 'killed'] as const) {
        const client = new AbortController();
        const child = keep(
          spawnContained('sh', ['-c', `sleep 600 & echo $!; ${ending === 'killed' ? 'wait' : 'exit 3'}`], {
            ownGroup: true,
            launcher: given,
            signal: client.signal,
            graceMs: 0,
          }),
        );
        const ended = once(child, 'exit');
        const sleeper = Number(await firstLine(child));
        if (ending === 'killed') client.abort(new Error('gone'));
        assert.equal(await ended, ending === 'killed' ? [null, 'SIGKILL'] : [3, null]);
        await untilGone(sleeper);
      }
    });
  }
}

Contained.run();
