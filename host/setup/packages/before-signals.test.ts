import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const Signals = suite('beforeSignals');

/** Sends SIGTERM to a program and returns its exit status or signal. Two parts of the program use `beforeSignals`. */
async function endOf(others: string): Promise<number | string> {
  const code = `
    import { beforeSignals } from ${JSON.stringify(new URL('./before-signals.js', import.meta.url).href)};
    ${others}
    for (let part = 0; part < 2; part += 1) {
      const release = beforeSignals((name, isAlone) => {
        if (!isAlone) return;
        release();
        process.kill(process.pid, name);
      });
    }
    setInterval(() => {}, 1000);
    process.stdout.write('ready');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return status ?? signal ?? '';
}

Signals('lets a program that listens decide about its end, also with once', async () => {
  const close = '() => setTimeout(() => process.exit(7), 50)';
  assert.is(await endOf(`process.on('SIGTERM', ${close});`), 7);
  assert.is(await endOf(`process.once('SIGTERM', ${close});`), 7);
});

Signals('tells several listeners that they are alone', async () => {
  assert.is(await endOf(''), 'SIGTERM');
});

Signals.run();
