import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import { callControl, type ControlHandlers, startControl } from './index.ts';

const Control = suite('the control socket');
let folder = '';

Control.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-control-'));
});
Control.after.each(() => rm(folder, { recursive: true, force: true }));

const handlers: ControlHandlers = {
  'plugins.list': async () => [],
  'plugins.reload': async ({ name = 'all' }) => {
    if (name === 'none') throw new AanaError('PluginNotFound', 'not-found', 'there is no plugin none');
    return [{ name, outcome: 'reloaded', detail: 'version 1' }];
  },
};
const start = (dir: string, port = 8000): Promise<() => Promise<void>> => startControl({ dir, url: `http://127.0.0.1:${port}`, handlers, log: silentLogger });
const reload = (dir: string, name?: string, port?: number): Promise<unknown> => callControl(dir, 'plugins.reload', name === undefined ? {} : { name }, { port });
const reasonOf = (promise: Promise<unknown>): Promise<string> => promise.then(String, (error: Error) => `${error.name}: ${error.message}`);

Control('carries a command and its answer, or its error', async () => {
  const end = await start(folder);
  assert.equal(await reload(folder, 'sample'), [{ name: 'sample', outcome: 'reloaded', detail: 'version 1' }]);
  assert.is(await reasonOf(reload(folder, 'none')), 'PluginNotFound: there is no plugin none');
  assert.match(await reasonOf(callControl(folder, 'stop' as 'plugins.list', {})), /^NotFound: there is no operation stop/);
  await end();
});

Control('is for this user alone, and leaves nothing', async () => {
  const dir = join(folder, 'new', 'run');
  const before = process.umask(0);
  const end = await start(dir).finally(() => process.umask(before));
  const files = await readdir(dir);
  assert.is(files.length, 2);
  for (const file of files) assert.is((await stat(join(dir, file))).mode & 0o777, 0o600, file);
  assert.is((await stat(dir)).mode & 0o777, 0o700);
  await end();
  assert.equal(await readdir(dir), []);
  assert.is(await reasonOf(reload(dir)), 'NotRunning: no aana-host server of this user runs: start one with "aana-host serve"');
});

Control('leaves the mode of a folder that was there before as it was', async () => {
  const dir = join(folder, 'shared');
  await mkdir(dir, { mode: 0o755 });
  await (await start(dir))();
  assert.is((await stat(dir)).mode & 0o777, 0o755);
});

Control('several servers are told apart by their ports', async () => {
  const ends = [await start(folder, 8000), await start(folder, 8001)];
  assert.match(await reasonOf(reload(folder)), /^SeveralRunning: several servers run \(http:\/\/127\.0\.0\.1:800\d, http:\/\/127\.0\.0\.1:800\d\): name one with --port$/);
  assert.ok(Array.isArray(await reload(folder, 'sample', 8001)));
  assert.is(await reasonOf(reload(folder, undefined, 9)), 'NotRunning: no aana-host server of this user runs on port 9');
  await ends[0]?.();
  assert.ok(Array.isArray(await reload(folder)));
  await ends[1]?.();
});

Control('what a killed server left is replaced, though its process id is used again', async () => {
  const socket = join(folder, 'dead.sock');
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(socket, resolve));
  await writeFile(join(folder, 'dead.json'), JSON.stringify({ pid: process.pid, url: 'http://127.0.0.1:7', socket: join(folder, 'moved.sock') }));
  await rename(socket, join(folder, 'moved.sock')); // closing removes the name that it listened on: this one stays, as after a kill
  await new Promise<void>((resolve) => dead.close(() => resolve()));
  assert.is((await readdir(folder)).length, 2);
  const end = await start(folder);
  assert.not((await readdir(folder)).some((name) => /dead|moved/.test(name)));
  assert.ok(Array.isArray(await reload(folder)));
  await end();
});

Control('works in a folder whose path is longer than the address of a socket can be', async () => {
  const dir = join(folder, ...Array<string>(8).fill('a-folder-with-a-long-name'));
  const end = await start(dir);
  assert.ok(Array.isArray(await reload(dir)));
  const [name] = await readdir(dir);
  const socket = join(tmpdir(), `aana-host-${name?.replace('.json', '.sock')}`);
  assert.is((await stat(socket)).mode & 0o777, 0o600);
  await end();
  assert.is(await stat(socket).catch(() => undefined), undefined);
});

Control.run();
