// Node, which `aana-sandbox confine` has started, runs threads and WebAssembly, and cannot leave.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sandbox } from './fixtures/serve-component.ts';

const Confined = suite('a program that the sandbox confines');

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  /** What it wrote to descriptor 4. */
  readonly sent: string;
}

/** Runs a script in Node, confined. It gets the path of its folder, and the arguments. */
async function runConfined(script: string, args: readonly string[] = []): Promise<Ended> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'aana-confined-')));
  const secret = await open(join(folder, 'secret'), 'w');
  try {
    await writeFile(join(folder, 'script.mjs'), script);
    const settings = ['descriptors=5', `total-bytes=${4 * 2 ** 30}`, `read=${join(folder, 'script.mjs')}`];
    const child = spawn(
      sandbox.program,
      ['confine', ...settings, '--', process.execPath, join(folder, 'script.mjs'), folder, ...args],
      { stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'pipe', secret.fd], env: { SECRET: 'of the host' } },
    );
    let [stderr, sent] = ['', ''];
    child.stderr!.on('data', (data: Buffer) => (stderr += data.toString()));
    (child.stdio[4] as Socket).on('data', (data: Buffer) => (sent += data.toString()));
    return await new Promise((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal, stderr, sent })),
    );
  } finally {
    await secret.close();
    await rm(folder, { recursive: true, force: true });
  }
}

Confined('Node runs threads, WebAssembly, timers and its socket', async () => {
  const script = `
    import { isMainThread, parentPort, Worker } from 'node:worker_threads';
    import { randomBytes } from 'node:crypto';
    import { Socket } from 'node:net';
    if (isMainThread) {
      const worker = new Worker(new URL(import.meta.url), { resourceLimits: { codeRangeSizeMb: 16 } });
      const [pages] = await new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      await new Promise((resolve) => setTimeout(resolve, 1));
      await worker.terminate();
      const facts = { pages, random: randomBytes(8).length, environment: process.env };
      new Socket({ fd: 4 }).end(JSON.stringify(facts));
    } else {
      await WebAssembly.compile(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 100 });
      memory.grow(99);
      new Uint8Array(memory.buffer).fill(1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      parentPort.postMessage([memory.buffer.byteLength / 65536]);
    }`;
  const { code, signal, stderr, sent } = await runConfined(script);
  assert.equal([code, signal, stderr], [0, null, '']);
  const { pages, random, environment } = JSON.parse(sent) as Record<string, Record<string, string>>;
  assert.equal([pages, random], [100, 8]);
  const { AANA_CONFINEMENT: facts, ...rest } = environment!;
  assert.equal(rest, { OPENSSL_CONF: '/dev/null' });
  const { landlock, ...others } = JSON.parse(facts!) as Record<string, unknown>;
  assert.equal(others, { 'no-new-privileges': true, seccomp: true, 'memory-limit': true });
  assert.type(landlock, 'number');
});

Confined('code in Node reads no files, writes nothing, and reaches no other process', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const script = `
    import { spawnSync } from 'node:child_process';
    import { readdirSync, readFileSync, readlinkSync, unlinkSync, writeFileSync } from 'node:fs';
    import { connect, createServer, Socket } from 'node:net';
    const [folder, port] = process.argv.slice(2);
    const said = {};
    const attempt = (name, action) => {
      try {
        action();
        said[name] = 'it worked';
      } catch (error) {
        said[name] = error.code;
      }
    };
    const event = (name, emitter, good) =>
      new Promise((resolve) => {
        emitter.on(good, () => resolve((said[name] = 'it worked')));
        emitter.on('error', (error) => resolve((said[name] = error.code)));
      });
    const landlock = JSON.parse(process.env.AANA_CONFINEMENT).landlock;
    if (landlock > 0) {
      attempt('read a file', () => readFileSync('/etc/passwd'));
      attempt('read its folder', () => readdirSync(folder));
      attempt('read of the host', () => readFileSync('/proc/' + process.ppid + '/environ'));
    }
    attempt('write a file', () => writeFileSync(folder + '/new', 'x'));
    attempt('change the script', () => writeFileSync(folder + '/script.mjs', 'x'));
    attempt('remove the script', () => unlinkSync(folder + '/script.mjs'));
    attempt('signal the host', () => process.kill(process.ppid, 0));
    await event('connect', connect(Number(port), '127.0.0.1'), 'connect');
    await event('listen', createServer().listen(0), 'listening');
    await event('listen in a folder', createServer().listen(folder + '/socket'), 'listening');
    for (const program of ['/bin/true', process.execPath])
      for (const stdio of ['inherit', 'pipe'])
        said['start ' + program + ' ' + stdio] = spawnSync(program, ['-v'], { stdio }).error?.code ?? 'it worked';
    const open = [];
    for (let n = 0; n < 64; n++) {
      try {
        open.push(readlinkSync('/proc/self/fd/' + n));
      } catch {}
    }
    said.inherited = open.filter((path) => path.startsWith(folder));
    process.kill(process.pid, 0);
    new Socket({ fd: 4 }).end(JSON.stringify(said));`;
  const { port } = server.address() as AddressInfo;
  const { code, signal, stderr, sent } = await runConfined(script, [String(port)]);
  server.close();
  assert.equal([code, signal, stderr], [0, null, '']);
  const { inherited, ...attempts } = JSON.parse(sent) as Record<string, unknown>;
  assert.equal(inherited, []);
  assert.ok(Object.keys(attempts).length >= 9);
  for (const [name, result] of Object.entries(attempts))
    assert.ok(result === 'EPERM' || result === 'EACCES', `${name}: ${String(result)}`);
});

Confined('a program that cannot be run is named', async () => {
  const child = spawn(sandbox.program, ['confine', '--', '/nowhere/node'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal([code, said], [3, '/nowhere/node cannot be run: No such file or directory\n']);
});

Confined.run();
