import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HttpServer } from './http-server.ts';

const Listening = suite('listening on a Unix socket');
const LIMITS = { header_timeout_s: 5, request_timeout_s: 5, keep_alive_timeout_s: 5 };

interface Folder extends Disposable {
  readonly path: string;
}

function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'aana-listen-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const newServer = (): HttpServer => new HttpServer((req, res) => void res.end(`at ${req.url}`), LIMITS);

async function get(socketPath: string, path: string): Promise<string> {
  const [response] = (await once(request({ socketPath, path, agent: false }).end(), 'response')) as [
    NodeJS.ReadableStream,
  ];
  return text(response);
}

async function refusal(path: string): Promise<string> {
  const server = newServer();
  const error = await server.listenOnSocket(path, 0o600).then(
    () => server.close(0).then(() => new Error('it listens')),
    (thrown: unknown) => thrown as Error,
  );
  return `${error.name}: ${error.message}`;
}

Listening('answers on a socket with the given mode, and leaves nothing behind', async () => {
  using at = folder();
  for (const mode of [0o600, 0o660, 0o666]) {
    const path = join(at.path, 'http.sock');
    const server = newServer();
    assert.equal(await server.listenOnSocket(path, mode), { host: `unix:${path}`, port: 0, url: `unix:${path}` });
    assert.is(statSync(path).mode & 0o777, mode);
    assert.is(await get(path, '/x'), 'at /x');
    await server.close(1000);
    assert.not.ok(existsSync(path));
  }
});

Listening('replaces a socket that a killed server left', async () => {
  using at = folder();
  const path = join(at.path, 'http.sock');
  const program =
    `require('node:net').createServer().listen(${JSON.stringify(path)}, () => ` +
    `process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', program]), 'exit');
  assert.ok(statSync(path).isSocket());
  const server = newServer();
  await server.listenOnSocket(path, 0o600);
  assert.is(await get(path, '/x'), 'at /x');
  await server.close(0);
});

Listening('keeps a file that is not a socket, and a socket on which a server answers', async () => {
  using at = folder();
  const file = join(at.path, 'file');
  writeFileSync(file, 'mine');
  assert.is(
    await refusal(file),
    `InvalidAddress: ${file} exists and is not a socket: remove it, or choose another path with --listen`,
  );
  assert.is(statSync(file).size, 4);
  const path = join(at.path, 'http.sock');
  const first = newServer();
  await first.listenOnSocket(path, 0o600);
  assert.is(
    await refusal(path),
    `ListenError: another program listens on ${path}: stop it, or choose another path with --listen`,
  );
  assert.is(await get(path, '/x'), 'at /x');
  await first.close(0);
});

Listening('names the problem with a path in one sentence', async () => {
  using at = folder();
  const missing = join(at.path, 'none', 'http.sock');
  assert.is(
    await refusal(missing),
    `InvalidAddress: the folder of ${missing} does not exist: create it, or choose another path with --listen`,
  );
  const long = join(at.path, 'x'.repeat(120));
  assert.match(await refusal(long), /^InvalidAddress: the path of a Unix socket has at most 103 bytes, .* has \d+$/);
});

Listening('lets running requests finish when the server closes, and ends idle connections', async () => {
  using at = folder();
  const path = join(at.path, 'http.sock');
  let answer = (): void => {};
  let arrived = (): void => {};
  const held = new Promise<void>((resolve) => (arrived = resolve));
  const server = new HttpServer((_, res) => {
    answer = () => void res.end('finished');
    arrived();
  }, LIMITS);
  await server.listenOnSocket(path, 0o600);
  const idle = connect(path);
  await once(idle, 'connect');
  const running = get(path, '/x');
  await held;
  const closed = server.close(600_000);
  await once(idle.resume(), 'close');
  answer();
  assert.is(await running, 'finished');
  await closed;
});

Listening.run();
