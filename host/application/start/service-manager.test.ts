// Runs an application under a real notify socket, as systemd would, and reads what it is told.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { takeServiceManager } from '../../base/config/index.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { ServiceManager } from './service-manager.ts';

const Manager = suite('ServiceManager');

/** Prints each datagram as one line of JSON. */
const RECEIVER = `
import json, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
while True: print(json.dumps(receiver.recv(4096).decode()), flush=True)
`;
/** The endpoint tells which variables of systemd it sees. */
const APPLICATION = `
import { AanaApp, z } from 'aana-host';
export const app = new AanaApp({ name: 'watched' });
app.registerEndpoint({ name: 'seen', path: '/seen', input: z.strictObject({}), output: z.unknown(),
  run: async () => Object.keys(process.env).filter((name) => /^(NOTIFY|WATCHDOG)_/.test(name)) });
`;

let folder = '';
const children: ChildProcess[] = [];
Manager.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-notify-'));
});
Manager.after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const logTo = (lines: string[]) =>
  createLogger({ level: 'debug', format: 'text', write: (line) => void lines.push(line) });

Manager('sends nothing without a notify socket', async () => {
  const lines: string[] = [];
  const env: NodeJS.ProcessEnv = { WATCHDOG_USEC: '1000' };
  const manager = new ServiceManager({
    log: logTo(lines),
    address: takeServiceManager(env),
    command: join(folder, 'missing'),
  });
  manager.starting();
  manager.ready();
  manager.stopping();
  await manager.close();
  assert.equal(lines, []);
});

Manager('reports a missing command once and takes the variables out of the environment', async () => {
  const lines: string[] = [];
  const env = { NOTIFY_SOCKET: join(folder, 'none'), WATCHDOG_USEC: '1000000', WATCHDOG_PID: '1', PATH: '/bin' };
  const address = takeServiceManager(env);
  assert.equal(env, { PATH: '/bin' });
  assert.is(address?.watchdogMs, undefined, 'another process is watched');
  const manager = new ServiceManager({ log: logTo(lines), address, command: join(folder, 'missing') });
  manager.starting();
  manager.ready();
  await manager.close();
  assert.is(lines.length, 1);
  assert.match(lines[0] ?? '', /cannot notify the service manager.*ENOENT/);
});

if (spawnSync('systemd-notify', ['--version']).status === 0 && spawnSync('python3', ['--version']).status === 0) {
  Manager('tells systemd that the application starts, serves, lives and stops', async () => {
    const socket = join(folder, 'notify.sock');
    const receiver = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(receiver);
    let received = '';
    receiver.stdout.on('data', (data) => (received += data));
    await until(async () => existsSync(socket));

    linkDependencies(folder);
    await symlink(join(packageRoot, 'node_modules/zod'), join(folder, 'node_modules/zod')).catch(() => {});
    await writeFile(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
    await writeFile(join(folder, 'watched.js'), APPLICATION);
    const program = join(packageRoot, 'bundle/host/cli/main.js');
    const flags = ['--skip-migrations', '--no-dashboard', '--listen', `unix:${join(folder, 'http.sock')}`];
    const server = spawn(process.execPath, [program, 'deploy', 'watched.js:app', ...flags], {
      cwd: folder,
      env: {
        ...process.env,
        NOTIFY_SOCKET: socket,
        WATCHDOG_USEC: '400000',
        AANA_DATA_DIR: join(folder, 'data'),
        XDG_RUNTIME_DIR: join(folder, 'run'),
        TASK_QUEUE__ENABLED: 'false',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(server);
    let output = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (output += data));
    const watched = (): number => received.split('WATCHDOG=1').length - 1;
    await until(async () => {
      assert.is(server.exitCode, null, output);
      return watched() >= 2;
    });
    const seen = spawnSync(
      'curl',
      ['-s', '--unix-socket', join(folder, 'http.sock'), 'http://localhost/seen', '-F', 'body={}'],
      { encoding: 'utf8' },
    );
    if (seen.error === undefined) assert.is(seen.stdout, '[]');
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
    assert.is(server.exitCode, 0, output);
    await until(async () => received.includes('STOPPING=1'));

    const messages = received
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as string).split('\n').filter((part) => part !== '' && part !== 'BARRIER=1'))
      .filter((parts) => parts.length > 0);
    assert.equal(messages[0], ['EXTEND_TIMEOUT_USEC=90000000', 'STATUS=starting']);
    const names = messages.map(([first]) => first);
    assert.ok(names.indexOf('READY=1') > 0);
    assert.ok(names.indexOf('WATCHDOG=1') > names.indexOf('READY=1'));
    assert.ok(names.indexOf('STOPPING=1') > names.indexOf('WATCHDOG=1'));
  });
} else {
  skip('ServiceManager tells systemd its states', 'systemd-notify or python3 is missing');
}

Manager.run();
