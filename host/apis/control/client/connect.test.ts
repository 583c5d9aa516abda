// Handles, logs and the shutdown of an application in another process, over the real socket.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { AanaApp, AanaError, loadConfig } from '../../../index.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { DescribedHandle } from '../../../inference/deployments/index.ts';
import { descendants, until } from '../../../test/helpers/server.ts';
import { serveSample, type Served } from './fixtures/serve-sample.ts';
import { connect, type RunningApplication } from './index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Client = suite('a process that attaches to an application');

type Methods = Readonly<
  Record<string, (args?: object, options?: { signal?: AbortSignal }) => Promise<unknown> & AsyncIterable<number>>
>;

let folder = '';
let served: Served;
let app: RunningApplication;
let sample: DescribedHandle & Methods;

const attach = (): Promise<RunningApplication> => connect({ runtime_dir: served.runtimeDir });
const ongoing = async (): Promise<number> =>
  (await app.status()).deployments.find(({ name }) => name === 'sample')?.replicas[0]?.ongoing ?? -1;

Client.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-client-'));
  served = await serveSample(folder);
  app = await attach();
  sample = (await app.handle('sample')) as typeof sample;
});
Client.after(async () => {
  await app.close();
  await served.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

Client('calls methods by name; the application checks arguments and fills in defaults', async () => {
  assert.equal(await sample['echo']?.({ text: 'hello' }), { text: 'hello', times: 1 });
  assert.equal(await sample.call('echo', { text: 'hello', times: 3 }), { text: 'hello', times: 3 });
  const error = await errorOf(sample.call('echo', { text: 7 }));
  assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
  assert.match(error.message, /^sample\.echo: text: /);
});

Client('passes the progress of a call on to the caller who asks for it', async () => {
  const reports: unknown[] = [];
  const onProgress = (report: unknown): void => void reports.push(report);
  assert.is(await sample.call('report', { fractions: [0.25, 0.5] }, { onProgress }), true);
  assert.equal(
    reports,
    [0.25, 0.5].map((fraction) => ({ stage: 'running', fraction, text: '' })),
  );
  assert.is(await sample.call('report', { fractions: [0.25] }), false);
});

Client('lists deployments and their methods', async () => {
  assert.equal(
    (await app.deployments()).map(({ name }) => name),
    ['sample', 'narrow'],
  );
  assert.is(sample.methods['count']?.streaming, true);
  assert.is(sample.methods['echo']?.description, 'Returns its arguments.');
  assert.match(JSON.stringify(sample.methods['echo']?.inputSchema), /"required":\["text"\]/);
  const error = await errorOf(app.handle('none'));
  assert.equal(
    [error.name, error.kind, error.message],
    ['DeploymentNotFound', 'not-found', 'there is no deployment none; deployments are: sample, narrow'],
  );
  assert.match(
    (await errorOf(sample.call('sing', {}))).message,
    /^deployment sample has no method sing; its methods are: echo, /,
  );
});

Client('gets errors of the deployment unchanged', async () => {
  const error = await errorOf(sample.call('failInference', {}));
  assert.instance(error, AanaError);
  assert.equal(
    [error.name, error.kind, error.message, error.data],
    ['InferenceException', 'internal', 'CUDA error 700', { model_name: 'sample' }],
  );
});

Client('reads streams value by value, up to their end or error', async () => {
  const values: number[] = [];
  for await (const value of sample['count']?.({ to: 500 }) ?? []) values.push(value);
  assert.equal(
    values,
    Array.from({ length: 500 }, (_, n) => n),
  );
  const some: number[] = [];
  const read = async (): Promise<void> => {
    for await (const value of sample['countThenFail']?.({ to: 3 }) ?? []) some.push(value);
  };
  assert.is((await errorOf(read())).name, 'InferenceException');
  assert.equal(some, [0, 1, 2]);
});

Client('receives values of the same moment in one frame', async () => {
  const batches: number[] = [];
  for await (const batch of sample.stream('count', { to: 1000 })) batches.push(batch.length);
  assert.is(
    batches.reduce((sum, length) => sum + length, 0),
    1000,
  );
  assert.ok(batches.length < 200, `${batches.length} batches for 1000 values`);
});

Client('pauses a stream that it does not read, and cancels one that it leaves', async () => {
  const before = Number(await sample.call('made', {}));
  const stream = sample.stream('count', { to: 1_000_000 })[Symbol.asyncIterator]();
  await stream.next();
  const made = async (): Promise<number> => Number(await sample.call('made', {})) - before;
  let last = -1;
  await until(async () => last === (last = await made())); // it stands still
  assert.ok(last < 1000, `${last} values were made for a reader that took the first ones`);
  await stream.return?.();
  await until(async () => (await ongoing()) === 0);
});

Client('runs many calls at the same time over one connection', async () => {
  const results = await Promise.all(
    Array.from({ length: 300 }, (_, times) => sample.call('echo', { text: 'x', times })),
  );
  assert.equal(
    results.map((result) => (result as { times: number }).times),
    Array.from({ length: 300 }, (_, times) => times),
  );
});

Client('cancels a call when its signal aborts, with the reason of the signal', async () => {
  const controller = new AbortController();
  const call = sample.call('untilCancelled', {}, { signal: controller.signal }).catch((thrown: unknown) => thrown);
  await until(async () => (await ongoing()) === 1);
  const reason = new Error('enough');
  controller.abort(reason);
  assert.is(await call, reason);
  await until(async () => (await ongoing()) === 0);
});

for (const method of ['untilCancelled', 'count']) {
  Client(`a process that is killed in the middle of ${method} leaves nothing running`, async () => {
    const child = spawn(
      process.execPath,
      [join(packageRoot, 'dist/host/apis/control/client/fixtures/attached.js'), served.runtimeDir, method],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(child.stdout, 'data');
    await until(async () => (await ongoing()) === 1);
    child.kill('SIGKILL');
    await until(async () => (await ongoing()) === 0);
  });
}

Client(
  "keeps to the operator's limits: a full deployment is unavailable, also for a handle that repeats everything",
  async () => {
    const narrow = await app.handle('narrow', { retry_exceptions: true, num_retries: 1, retry_delay: 0 });
    const controller = new AbortController();
    const first = narrow.call('untilCancelled', {}, { signal: controller.signal }).catch((thrown: unknown) => thrown);
    await until(async () => (await app.status()).deployments[1]?.replicas[0]?.ongoing === 1);
    const error = await errorOf(narrow.call('echo', { text: 'x' }));
    assert.equal([error.name, error.kind], ['DeploymentFull', 'unavailable']);
    controller.abort();
    assert.is(await first, controller.signal.reason);
  },
);

Client('retries a call whose replica was lost as often as its handle allows', async () => {
  const impatient = await app.handle('sample', { num_retries: 0 });
  assert.is((await errorOf(impatient.call('crash', {}))).name, 'ReplicaLostError');
  const pid = Number(await sample.call('pid', {}));
  const patient = (await app.handle('sample', { num_retries: 10, retry_max_delay: 0.5 }))
    .call('untilCancelled', {}, { signal: AbortSignal.timeout(60_000) })
    .catch(() => {});
  await until(async () => (await ongoing()) === 1);
  process.kill(pid, 'SIGKILL');
  await until(async () => (await ongoing()) === 1 && Number(await sample.call('pid', {})) !== pid);
  assert.match(
    (await errorOf(app.handle('sample', { retries: 3 } as never))).message,
    /^handle of deployment sample: retries: /,
  );
  void patient;
});

Client('reads the log of one deployment and follows it', async () => {
  const seen: string[] = [];
  for await (const { message, fields } of app.logs({ lines: 1000, deployment: 'narrow' })) {
    assert.is(fields['deployment'], 'narrow');
    seen.push(message);
  }
  assert.ok(seen.includes('replica ready'), seen.join('\n'));
  const following = app.logs({ lines: 0, follow: true, deployment: 'sample' });
  const next = following.next();
  await errorOf((await app.handle('sample', { num_retries: 0 })).call('crash', {}));
  const { value } = await next;
  assert.is(value?.fields['deployment'], 'sample');
  await following.return();
});

Client('names a missing file, and refuses a source without one', async () => {
  assert.match((await errorOf(app.openAudio({ path: join(folder, 'none.wav') }))).message, /none\.wav/);
  assert.match(
    (await errorOf(app.openAudio({} as never))).message,
    /^audio\.open: source: .*Exactly one of 'path' and 'url' must be provided\.$/,
  );
});

Client('does not keep a script running that waits for nothing', async () => {
  const script = join(folder, 'script.mjs');
  await writeFile(
    script,
    `import { connect } from ${JSON.stringify(join(packageRoot, 'dist/host/apis/control/client/index.js'))};
const { handle } = await connect({ runtime_dir: ${JSON.stringify(served.runtimeDir)}, show_logs: true });
const sample = await handle('sample');
console.log(JSON.stringify(await sample.echo({ text: 'from a script' })));\n`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [[output], [code]] = await Promise.all([once(child.stdout, 'data'), once(child, 'exit')]);
  assert.equal([JSON.parse(String(output)), code], [{ text: 'from a script', times: 1 }, 0]);
});

Client('does not keep a script running that cannot reach replicas', async () => {
  const script = join(folder, 'unreachable.mjs');
  await writeFile(
    script,
    `import { connect } from ${JSON.stringify(join(packageRoot, 'dist/host/apis/control/client/index.js'))};
await connect({ runtime_dir: ${JSON.stringify(served.runtimeDir)} });\n`,
  );
  const sockets = (await readdir(served.runtimeDir)).filter((name) => name.endsWith('.replica'));
  assert.is(sockets.length, 2);
  const move = (from: string, to: string): Promise<unknown> =>
    Promise.all(
      sockets.map((name) => rename(join(served.runtimeDir, name + from), join(served.runtimeDir, name + to))),
    );
  await move('', '.away');
  const child = spawn(process.execPath, [script], { stdio: 'inherit', timeout: 20_000 });
  const [code] = await once(child, 'exit');
  await move('.away', '');
  assert.is(code, 0);
});

Client('copies the log of the application to the standard error on request', async () => {
  const script = join(folder, 'show-logs.mjs');
  await writeFile(
    script,
    `import { connect } from ${JSON.stringify(join(packageRoot, 'dist/host/apis/control/client/index.js'))};
const { handle } = await connect({ runtime_dir: ${JSON.stringify(served.runtimeDir)}, show_logs: true });
const sample = await handle('sample', { num_retries: 0 });
await sample.crashLater({ ms: 1 }).catch(({ name }) => console.log(name));
setInterval(() => {}, 1000);\n`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'pipe'] });
  let lines = '';
  for await (const text of child.stderr.setEncoding('utf8')) {
    lines += String(text);
    if (/WARN {2}replica lost, restarting .*deployment=sample /.test(lines)) break;
  }
  assert.not.match(lines, /Deployed successfully/, 'what was logged before');
  child.kill('SIGKILL');
  await once(child, 'exit');
});

Client(
  'an application object attaches without arguments or to the address of a running application, and otherwise ' +
    'listens there',
  async () => {
    const config = loadConfig({
      cwd: folder,
      env: {},
      base: { cache_dir: join(folder, 'cache'), data_dir: join(folder, 'data'), media: { temp_dir: folder } },
    });
    const port = Number(new URL(served.url).port);
    for (const address of [undefined, { port }, { host: 'localhost', port }]) {
      await using attached = await new AanaApp({ config, log: silentLogger }).connect(address);
      assert.is(attached.attached?.url, served.url);
      assert.equal(await attached.handle('sample').call('echo', { text: 'a' }), { text: 'a', times: 1 });
      assert.throws(() => attached.handle('none'), /there is no deployment none; deployments are: sample, narrow/);
      assert.match((await errorOf(attached.deploy())).message, /is already deployed; use its handles/);
      assert.is((await errorOf(attached.connect())).name, 'AlreadyConnected');
    }
    await using other = await new AanaApp({ config, log: silentLogger }).connect({ port: 0 });
    assert.is(other.attached, undefined);
    assert.is((await errorOf(attach())).name, 'SeveralRunning');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const error = await errorOf(
      new AanaApp({ config, log: silentLogger }).connect({ port: (taken.address() as AddressInfo).port }),
    );
    assert.equal([error.name, error.message.split('\n').length], ['ListenError', 1]);
    taken.close();
    const nowhere = loadConfig({ cwd: folder, env: {}, base: { cache_dir: join(folder, 'empty') } });
    const none = await errorOf(new AanaApp({ config: nowhere, log: silentLogger }).connect());
    assert.equal(
      [none.name, none.message],
      ['NotRunning', 'no aana-host application of this user is running; start one with "aana-host serve"'],
    );
  },
);

Client(
  'gets a clear error for each call when the application is killed, and the next command finds no application',
  async () => {
    const dir = await mkdtemp(join(folder, 'killed-'));
    const other = await serveSample(dir);
    const running = await connect({ runtime_dir: other.runtimeDir });
    const handle = await running.handle('sample');
    const calls = [handle.call('untilCancelled', {}), handle.call('untilCancelled', {})].map((call) => errorOf(call));
    const stream = handle.stream('count', { to: 1_000_000 })[Symbol.asyncIterator]();
    await stream.next();
    const children = await descendants(other.process.pid ?? 0);
    assert.ok(children.length >= 2);
    await other.end('SIGKILL');
    for (const error of await Promise.all(calls)) {
      assert.equal(
        [error.name, error.kind, error.message],
        ['ConnectionLost', 'unavailable', `the application at ${running.url} has ended`],
      );
    }
    const rest = async (): Promise<void> => {
      while ((await stream.next()).done !== true);
    };
    assert.is((await errorOf(rest())).name, 'ConnectionLost');
    assert.is((await errorOf(running.status())).name, 'ConnectionLost');
    // Replicas end with the application, and the sockets of those that have ended are removed.
    await until(async () => {
      assert.is((await errorOf(connect({ runtime_dir: other.runtimeDir }))).name, 'NotRunning');
      return (await readdir(other.runtimeDir)).length === 0;
    });
  },
);

Client('shuts the application down and receives its last log line', async () => {
  const dir = await mkdtemp(join(folder, 'stopped-'));
  const other = await serveSample(dir);
  const running = await connect({ runtime_dir: other.runtimeDir });
  const lines: string[] = [];
  const reading = (async () => {
    for await (const { message } of running.logs({ lines: 0, follow: true })) lines.push(message);
  })();
  const exited = once(other.process, 'exit');
  await running.shutdown({ graceMs: 1000 });
  await reading;
  assert.is(lines.at(-1), 'shut down');
  assert.equal(await readdir(other.runtimeDir), []);
  assert.equal(await exited, [0, null]);
});

Client.run();
