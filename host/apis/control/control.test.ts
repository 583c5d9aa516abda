import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { REPLICA_SOCKET, socketPathIn } from '../../base/core/net/unix-socket.ts';
import { skip } from '../../test/skip.ts';
import { EndpointRegistry } from '../../endpoints/registry/index.ts';
import { LIMITS } from '../http/fixtures/test-server.ts';
import { createHttpFace, type HttpAppOptions, RouterSet } from '../http/index.ts';
import { runningServers } from './addresses.ts';
import { askOperator, type Choice, chooseServer, ControlConnection, type ControlledApplication } from './index.ts';
import { controlHandlers, type ControlServer, startControl } from './server/index.ts';

const Control = suite('the control socket');
let folder = '';

Control.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-control-'));
});
Control.after.each(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  await rm(folder, { recursive: true, force: true });
});

/** The operations that these tests use. The tests of the client have a whole application. */
const app = {
  plugins: () => [],
  reloadPlugins: async (name = 'all') => {
    if (name === 'none') throw new AanaError('PluginNotFound', 'not-found', 'there is no plugin none');
    return [{ name, outcome: 'reloaded', detail: 'version 1' }];
  },
  openAudio: async () => ({ channels: [], sample_rate: 16_000, duration: 0, [Symbol.asyncDispose]: async () => {} }),
  watchDeployments: async function* () {
    yield { revision: 1, removed: [], changed: [] };
  },
};
const face = createHttpFace({
  ...{ title: 'control', version: '1.2.3', limits: LIMITS, tempDir: tmpdir(), log: silentLogger },
  ...{ registry: new EndpointRegistry(), routers: new RouterSet(), isDeployed: () => true, includeStacktrace: false },
  operations: { application: app } as unknown as HttpAppOptions['operations'],
} as unknown as HttpAppOptions);
const servers: ControlServer[] = [];
async function start(dir: string, port = 8000): Promise<ControlServer> {
  const at = { url: `http://127.0.0.1:${port}`, host: '127.0.0.1', port };
  const server = await startControl({
    ...{ dir, at, version: '1.2.3', callback: face.owner(), log: silentLogger },
    limits: { header_timeout_s: 5, request_timeout_s: 5, keep_alive_timeout_s: 5 },
    handlers: controlHandlers(app as unknown as ControlledApplication),
  });
  servers.push(server);
  return server;
}
const reload = async (dir: string, name?: string, choice: Choice = {}): Promise<unknown> =>
  (await askOperator({ runtimeDir: dir, ...choice }, 'post /api/plugins/reload', { query: { name } })).plugins;
const CLOSE = { id: 'none' };
const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(String, (error: Error) => `${error.name}: ${error.message}`);

/**
 * Opens a bare connection to the server of `folder`, past its greeting. Returns its answers, and whether it has ended.
 */
async function bare(): Promise<{ socket: Socket; received: () => Buffer; ended: Promise<unknown> }> {
  const { socket: path } = await chooseServer(folder);
  const socket = connect(path);
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part)).on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: aana-frames\r\n\r\n');
  while (!Buffer.concat(parts).includes('1.2.3')) await once(socket, 'data');
  return { socket, received: () => Buffer.concat(parts), ended: once(socket, 'close') };
}

function frame(type: number, json: string, length = 1 + Buffer.byteLength(json)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length);
  head.writeUInt8(type, 4);
  return Buffer.concat([head, Buffer.from(json)]);
}

Control('carries a command and its answer, or its error', async () => {
  await start(folder);
  assert.equal(await reload(folder, 'sample'), [{ name: 'sample', outcome: 'reloaded', detail: 'version 1' }]);
  assert.is(await reasonOf(reload(folder, 'none')), 'PluginNotFound: there is no plugin none');
});

Control('carries operations as frames', async () => {
  await start(folder);
  await using connection = await ControlConnection.open(await chooseServer(folder));
  assert.is(await connection.call('audio.close', CLOSE), null);
  const changes: unknown[] = [];
  for await (const batch of connection.stream('deployments.watch', {})) changes.push(...batch);
  assert.equal(changes, [{ revision: 1, removed: [], changed: [] }]);
  assert.match(
    await reasonOf(connection.call('stop' as 'audio.close', CLOSE)),
    /^ControlProtocolError: there is no operation stop; the application has another version/,
  );
  assert.match(
    await reasonOf(connection.call('deployments.watch' as 'audio.close', CLOSE)),
    /the operation deployments\.watch is a stream$/,
  );
  assert.match(
    await reasonOf(connection.call('audio.close', { id: 'x', all: true } as never)),
    /^ValidationError: audio\.close: all: /,
  );
});

Control('answers curl, which needs no key', async () => {
  await start(folder);
  const { socket } = await chooseServer(folder);
  const curl = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await promisify(execFile)('curl', ['-sS', '--unix-socket', socket, ...args]);
    return JSON.parse(stdout);
  };
  const [first] = await promisify(execFile)('curl', ['--version']).then(
    ({ stdout }) => [stdout],
    () => [],
  );
  if (first === undefined) return skip('curl on the control socket', 'there is no curl');
  assert.equal(await curl('http://aana/version'), { version: '1.2.3' });
  assert.equal(await curl('-X', 'POST', 'http://aana/api/plugins/reload?name=sample'), {
    plugins: [{ name: 'sample', outcome: 'reloaded', detail: 'version 1' }],
  });
  const { error } = (await curl('http://aana/tasks')) as { error: string };
  assert.is(error, 'NotFound', 'the socket has only the routes of operators');
});

Control('says that an application without a route has another version', async () => {
  await start(folder);
  assert.is(
    await reasonOf(askOperator({ runtimeDir: folder }, 'get /api/songs' as 'get /api/alerts', {})),
    'OtherVersion: the application at http://127.0.0.1:8000 has no get /api/songs: it has another version, or ' +
      'that part of it is off',
  );
});

for (const [what, bytes] of [
  ['a frame over the limit', frame(2, '', 2 ** 31)],
  ['a frame of no bytes', frame(2, '', 0)],
  ['a frame of an unknown type', frame(99, '{}')],
  ['a call that is not JSON', frame(2, '{"id":')],
  ['a call without arguments', frame(2, '{"id":1,"method":"audio.close"}')],
  ['a frame that only servers send', frame(20, '{"id":1}')],
  ['a request of HTTP', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
] as const) {
  Control(`${what} ends its connection, and no other`, async () => {
    await start(folder);
    const other = await ControlConnection.open(await chooseServer(folder));
    const { socket, ended } = await bare();
    socket.write(bytes);
    await ended;
    assert.is(await other.call('audio.close', CLOSE), null);
    await other.close();
  });
}

Control('a connection that sends half a frame affects nobody else, and ends with the server', async () => {
  const server = await start(folder);
  const { socket, ended } = await bare();
  socket.write(frame(2, '{"id":1,').subarray(0, 9));
  assert.ok(Array.isArray(await reload(folder)));
  await server.close();
  await ended;
});

Control('a call whose number is in use is refused, and the first call is answered', async () => {
  await start(folder);
  const { socket, received, ended } = await bare();
  const call = frame(2, JSON.stringify({ id: 1, method: 'audio.close', args: CLOSE, stream: false }));
  socket.write(Buffer.concat([call, call]));
  while (!/call number 1 is already in use/.test(received().toString()) || !/"value":null/.test(received().toString()))
    await once(socket, 'data');
  socket.destroy();
  await ended;
});

for (const [what, says, why] of [
  ['accepts and closes connections', '', 'it closed the connection'],
  ['does not speak HTTP', '\0\0\0\x05ready', 'it has another version'],
] as const)
  Control(`reports that a server which ${what} does not answer`, async () => {
    const path = join(folder, 'still.sock');
    const still = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end(says),
    );
    await new Promise<void>((resolve) => still.listen(path, resolve));
    await writeFile(
      join(folder, 'still.json'),
      JSON.stringify({ pid: process.pid, url: 'http://127.0.0.1:7', host: '127.0.0.1', port: 7, socket: path }),
    );
    const expected = `NotRunning: the application at http://127.0.0.1:7 does not answer: ${why}`;
    assert.is(await reasonOf(reload(folder)), expected);
    assert.is(await reasonOf(chooseServer(folder).then(ControlConnection.open)), expected);
    await new Promise<void>((resolve) => still.close(() => resolve()));
  });

Control('ignores address files of other users', async () => {
  if (process.getuid?.() !== 0) return skip('an address file of another user', 'this user cannot give files away');
  await start(folder);
  for (const file of await readdir(folder)) await chown(join(folder, file), 12_345, 12_345);
  assert.match(await reasonOf(reload(folder)), /^NotRunning: no aana-host application/);
  assert.is((await readdir(folder)).length, 2, 'and removes none');
});

Control('is accessible for this user only, and leaves no files', async () => {
  const dir = join(folder, 'new', 'run');
  const before = process.umask(0);
  const { close: end } = await start(dir).finally(() => process.umask(before));
  const files = await readdir(dir);
  assert.is(files.length, 2);
  for (const file of files) assert.is((await stat(join(dir, file))).mode & 0o777, 0o600, file);
  assert.is((await stat(dir)).mode & 0o777, 0o700);
  await end();
  assert.equal(await readdir(dir), []);
  assert.is(
    await reasonOf(reload(dir)),
    'NotRunning: no aana-host application of this user is running; start one with "aana-host serve"',
  );
});

Control('keeps the mode of an existing folder', async () => {
  const dir = join(folder, 'shared');
  await mkdir(dir, { mode: 0o755 });
  await (await start(dir)).close();
  assert.is((await stat(dir)).mode & 0o777, 0o755);
});

Control('several servers are selected by their ports and addresses', async () => {
  const [first] = [await start(folder, 8000), await start(folder, 8001)];
  assert.is(
    await reasonOf(reload(folder)),
    'SeveralRunning: several applications are running (http://127.0.0.1:8000, http://127.0.0.1:8001); name one by ' +
      'its port or its socket',
  );
  assert.ok(Array.isArray(await reload(folder, 'sample', { port: 8001 })));
  assert.ok(Array.isArray(await reload(folder, 'sample', { port: 8001, host: 'localhost' })));
  assert.is(
    await reasonOf(reload(folder, undefined, { port: 8001, host: '10.0.0.1' })),
    'NotRunning: no aana-host application of this user is running on 10.0.0.1 on port 8001',
  );
  assert.is(
    await reasonOf(reload(folder, undefined, { port: 9 })),
    'NotRunning: no aana-host application of this user is running on port 9',
  );
  await first.close();
  assert.ok(Array.isArray(await reload(folder)));
});

/** Listens on a socket and closes without removing it, as a process that is killed. */
async function leaveSocket(at: string): Promise<void> {
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(`${at}~`, resolve));
  await rename(`${at}~`, at); // closing removes the name that it listened on
  await new Promise<void>((resolve) => dead.close(() => resolve()));
}

Control('sockets of killed replicas are removed also where their path was too long', async () => {
  const long = join(folder, ...Array<string>(8).fill('a-folder-with-a-long-name'));
  await mkdir(long, { recursive: true });
  const [dead, deadLong, foreign, living] = [
    socketPathIn(folder, `dead${REPLICA_SOCKET}`),
    socketPathIn(long, `${basename(folder)}-dead${REPLICA_SOCKET}`),
    socketPathIn(long, `${basename(folder)}-foreign${REPLICA_SOCKET}`),
    socketPathIn(long, `${basename(folder)}-living${REPLICA_SOCKET}`),
  ] as const;
  assert.is(dirname(deadLong), tmpdir());
  for (const socket of [dead, deadLong, foreign]) await leaveSocket(socket);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(foreign, 12_345, 12_345);
  const replica = createServer();
  await new Promise<void>((resolve) => replica.listen(living, resolve));
  try {
    assert.equal(await runningServers(long), []);
    const isThere = (socket: string): Promise<boolean> => stat(socket).then(Boolean, () => false);
    assert.equal(await Promise.all([deadLong, foreign, living].map(isThere)), [false, isRoot, true]);
    assert.equal(await runningServers(folder), []);
    assert.is(await isThere(dead), false);
  } finally {
    await rm(foreign, { force: true });
    await new Promise<void>((resolve) => replica.close(() => resolve()));
  }
});

Control('files of a killed server are replaced although its process id is in use again', async () => {
  const socket = join(folder, 'dead.sock');
  await leaveSocket(socket);
  await writeFile(
    join(folder, 'dead.json'),
    JSON.stringify({ pid: process.pid, url: 'http://127.0.0.1:7', host: '127.0.0.1', port: 7, socket }),
  );
  assert.is((await readdir(folder)).length, 2);
  await start(folder);
  assert.not((await readdir(folder)).some((name) => /dead/.test(name)));
  assert.ok(Array.isArray(await reload(folder)));
});

Control('works in a folder whose path is too long for a socket address', async () => {
  const dir = join(folder, ...Array<string>(8).fill('a-folder-with-a-long-name'));
  const { close: end } = await start(dir);
  assert.ok(Array.isArray(await reload(dir)));
  const [name] = await readdir(dir);
  const socket = join(tmpdir(), `aana-host-${name?.replace('.json', '.sock')}`);
  assert.is((await stat(socket)).mode & 0o777, 0o600);
  await end();
  assert.is(await stat(socket).catch(() => undefined), undefined);
});

Control.run();
