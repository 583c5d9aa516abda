// Runs the receivers of docs/webhooks.md and checks that they accept signed deliveries and nothing else.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { transform } from 'rolldown/utils';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { sqliteDatabases } from '../../data/storage/fixtures/databases.ts';
import { ANYBODY } from '../../data/tasks/fixtures/queue-config.ts';
import { makeHost, runTask, type TestHost } from '../../data/webhooks/fixtures/hosts.ts';
import { blocksOf } from '../helpers/guide.ts';
import { freePort } from '../helpers/server.ts';
import { skip } from '../skip.ts';

const Guide = suite('docs/webhooks.md');
const blocks = blocksOf(await readFile(join(packageRoot, 'docs/webhooks.md'), 'utf8'));
const databases = sqliteDatabases();
let folder = '';
let host: TestHost;
let child: ChildProcess | undefined;

Guide.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-guide-'));
  host = makeHost(await databases.create());
  await host.webhooks.start();
});
Guide.after.each(async () => {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
});
Guide.after(async () => {
  await host.webhooks.stop(0);
  await host.storage.close();
  await databases.end();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the receiver of a block and waits until it listens. Returns its URL. */
async function start(name: string, secret: string, command: string): Promise<string> {
  const block = blocks.find(({ about }) => about === name);
  if (!block) throw new Error(`block ${name} is missing`);
  const isTypeScript = name.endsWith('.ts');
  const file = join(folder, isTypeScript ? 'receiver.mjs' : name);
  await writeFile(file, isTypeScript ? (await transform(name, block.text)).code : block.text);
  const port = await freePort();
  child = spawn(command, [file], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}/`;
  for (;;) {
    const answer = await fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined);
    if (answer) {
      assert.is(answer.status, 401);
      return url;
    }
    if (child.exitCode !== null) throw new Error(`${name} exited with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const receivers: [name: string, command: string][] = [['receiver.ts', process.execPath]];
if (
  await new Promise((resolve) =>
    spawn('python3', ['--version'])
      .on('error', () => resolve(false))
      .on('exit', (code) => resolve(code === 0)),
  )
)
  receivers.push(['receiver.py', 'python3']);
else skip('receiver.py', 'python3 is missing');

for (const [name, command] of receivers) {
  Guide(`${name} accepts each delivery once, and refuses unsigned requests`, async () => {
    for (const secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'a secret as text, as in the original']) {
      const url = await start(name, secret, command);
      const { webhook } = await host.webhooks.as(ANYBODY).create({ url, events: ['task.completed'], secret });
      const task = await runTask(host.storage, { kind: 'complete', result: '{"text":"Grüße ☃"}' });
      if (!child?.stdout) throw new Error('the receiver has no output');
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      assert.is(line, `task.completed ${task} completed`);
      await host.webhooks.as(ANYBODY).delete(webhook.id);
      child.kill();
      await once(child, 'exit');
    }
  });
}

Guide.run();
