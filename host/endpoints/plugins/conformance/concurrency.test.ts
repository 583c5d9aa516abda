// The interface `concurrency` as hostile and mistaken guests use it.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

const fixture = join(packageRoot, 'host', 'endpoints', 'plugins', 'fixtures', 'concurrency');

const Concurrency = suite('calls that a guest starts');
let dir = '';
const ports = new FakePorts();
let host: PluginHost | undefined;
let plugin: LoadedPlugin;

Concurrency.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-concurrency-'));
  await cp(fixture, dir, { recursive: true });
  await buildTestPlugin(dir);
  host = new PluginHost({
    sandbox: testSandbox,
    ports,
    cacheDir: testCacheDir(),
    log: silentLogger,
    limits: { handles: 64, outputBytes: 4 * 1024 * 1024 },
  });
  plugin = await host.load(dir);
});
Concurrency.after(async () => {
  await host?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});

const run = (name: string, input: unknown = {}, signal?: AbortSignal): Promise<unknown> =>
  runPlugin(plugin, name, input, signal && { signal });
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await delay(2);
};

Concurrency('each call keeps its types, and calls of other kinds between them are not started', async () => {
  assert.equal(await run('typed'), [[1, 2, 3], 'request-1', ['{"a":1}', null, null], [1, 2]]);
});

Concurrency('a call that is taken before it has finished is waited for', async () => {
  ports.waits.length = 0;
  const taken = run('early');
  await until(() => ports.waits.length === 1);
  ports.waits[0]!.go.resolve();
  assert.is(await taken, '"waited"');
});

Concurrency('mistakes are errors that a guest can catch, and it goes on', async () => {
  const [unknown, other, ...rest] = (await run('misuse')) as [string[], string[], ...unknown[]];
  assert.equal(unknown, ['InvalidHandle', 'there is no started call 99']);
  assert.equal(other, ['InvalidHandle', 'the call 1 is one of deployments.call, not of storage.get']);
  assert.equal(rest, [
    ...['returned', 'InvalidHandle', 'InvalidArguments', 'InvalidHandle', 0],
    ...['CallStarted', 'returned', 'returned', null], // the last wish counts
  ]);
});

Concurrency('a call that is cancelled ends in the host', async () => {
  ports.abortReason = undefined;
  assert.equal(await run('cancel'), ['InvalidHandle', { b: 2 }]);
  assert.ok(ports.abortReason);
});

Concurrency('started calls count as handles', async () => {
  const [name, data] = (await run('hoard', { count: 200 })) as [string, string];
  assert.equal([name, JSON.parse(data)], ['TooManyHandles', { limit: 64 }]);
});

Concurrency('what answers hold is bounded, and given back when they are taken and when the run ends', async () => {
  for (let round = 0; round < 10; round++) {
    const [taken, refused, after] = (await run('hoard-answers', { size: 500_000 })) as [number, string, string];
    assert.ok(taken >= 7 && taken <= 9, String(taken));
    assert.equal([refused, after], ['HeldTooMuch', 'returned']);
  }
});

Concurrency(
  'arguments of calls at work are held, too, and a call that was given up has its place until its work ends',
  async () => {
    const [calls, name] = (await run('hoard-arguments', { size: 1_000_000 })) as [number, string];
    assert.equal([calls, name], [4, 'HeldTooMuch']);
    assert.equal(await run('cancel-much', { count: 1000 }), [64, 'TooManyHandles']);
    ports.stubborn.resolve();
  },
);

Concurrency('waiting often for the same calls costs nothing, and for too many is refused', async () => {
  const before = process.memoryUsage().heapUsed;
  assert.equal(await run('many-waits', { count: 20_000 }), ['InvalidArguments', 'InvalidArguments']);
  global.gc?.();
  assert.ok(process.memoryUsage().heapUsed - before < 100_000_000);
  assert.equal(await run('withdrawn'), { c: 3 });
});

Concurrency('reads of one stream at the same time lose and repeat nothing', async () => {
  assert.equal((await run('stream')) as number[], [0, 1, 2, 3, 4, 5]);
  assert.equal(await run('opened'), ['0']);
});

Concurrency('what is left at the end is cancelled', async () => {
  ports.abortReason = undefined;
  assert.is(await run('left'), 'request-1');
  await until(() => ports.abortReason !== undefined && ports.openStreams === 0);
});

Concurrency('a guest that sleeps is ended with its client', async () => {
  const client = new AbortController();
  const sleeping = run('sleeps', {}, client.signal);
  await delay(20);
  client.abort();
  assert.is((await errorOf(sleeping)).name, 'CancelledError');
});

Concurrency.run();
