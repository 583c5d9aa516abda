// The interface `concurrency` as hostile and mistaken guests use it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { buildPlugin } from '../build/build-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

const source = `
import { cancel, startNext, takeNext, wait } from 'aana:host/concurrency@0.1.0';
import { call, open } from 'aana:host/deployments@0.1.0';
import { get, set } from 'aana:host/storage@0.1.0';
import { forward } from 'aana:host/output@0.1.0';
import { requestId } from 'aana:host/invocation@0.1.0';

const errorOf = (work) => { try { return ['returned', work()]; } catch (error) { const { name, message } = error.payload ?? error; return [name, message]; } };
const nameOf = (work) => errorOf(work)[0];
const start = (work) => { startNext(); const [name, data] = (() => { try { return ['returned', work()]; } catch (error) { const { name, data } = error.payload ?? error; return [name, data]; } })(); return name === 'CallStarted' ? Number(data) : [name, data]; };
const take = (number, work) => { takeNext(number); return work(); };
const echo = (args = '{}') => call('model', 'echo', args, []);
const waitAll = (...calls) => [...wait(Uint32Array.from(calls), undefined)];

const actions = {
  typed() {
    const calls = [start(() => echo('{"a":1}')), start(() => get('k')), start(() => set('k', Uint8Array.of(1, 2)))];
    const other = requestId(); // not a call that can be started
    while (waitAll(...calls).length < 3);
    const taken = [take(calls[0], () => echo()), take(calls[1], () => get('')) ?? null, take(calls[2], () => set('', new Uint8Array())) ?? null];
    return [calls, other, taken, [...get('k')]];
  },
  early: () => take(start(() => call('model', 'wait', '{}', [])), () => echo()),
  misuse() {
    const one = start(() => echo());
    return [
      errorOf(() => take(99, echo)), errorOf(() => take(one, () => get('k'))), nameOf(() => take(one, echo)), nameOf(() => take(one, echo)),
      nameOf(() => wait(new Uint32Array(), undefined)), nameOf(() => wait(Uint32Array.of(7), 1)), wait(new Uint32Array(), 1).length,
      nameOf(() => (startNext(), startNext(), echo())), nameOf(() => (startNext(), takeNext(1), takeNext(2), echo())), nameOf(echo), cancel(12345) ?? null,
    ];
  },
  cancel() { const call_ = start(() => call('model', 'never', '{}', [])); cancel(call_); return [nameOf(() => wait(Uint32Array.of(call_), 1)), JSON.parse(echo('{"b":2}'))]; },
  'many-waits'({ count }) {
    const one = start(() => call('model', 'never', '{}', []));
    const same = new Uint32Array(64).fill(one);
    for (let n = 0; n < count; n++) wait(same, 0);
    return [nameOf(() => wait(new Uint32Array(65).fill(one), 0)), nameOf(() => wait(new Uint32Array(1e6).fill(one), 0))];
  },
  'hoard-arguments'({ size }) {
    const args = JSON.stringify({ text: 'x'.repeat(size) });
    for (let n = 0; ; n++) { const one = start(() => call('model', 'never', args, [])); if (typeof one !== 'number') return [n, one[0]]; }
  },
  'cancel-much'({ count }) {
    for (let n = 0; n < count; n++) { const one = start(() => call('model', 'stubborn', '{}', [])); if (typeof one !== 'number') return [n, one[0]]; cancel(one); }
  },
  withdrawn() { startNext(); cancel(0); return JSON.parse(echo('{"c":3}')); },
  hoard({ count }) { const names = []; for (let n = 0; n < count; n++) names.push(start(() => call('model', 'never', '{}', []))); return names.filter((name) => typeof name !== 'number')[0]; },
  'hoard-answers'({ size }) {
    const args = JSON.stringify({ text: 'x'.repeat(size) });
    const all = Array.from({ length: 20 }, () => start(() => echo(args)));
    const calls = all.filter((one) => typeof one === 'number');
    const done = new Set(); while (done.size < calls.length) for (const each of waitAll(...calls.filter((one) => !done.has(one)))) done.add(each);
    const names = calls.map((each) => nameOf(() => take(each, echo)));
    return [names.filter((name) => name === 'returned').length, all.find((one) => typeof one !== 'number')[0], nameOf(() => echo(args))];
  },
  stream() { using chunks = open('model', 'numbers', '{"count":6}', []); const calls = Array.from({ length: 10 }, () => start(() => chunks.next())); return calls.map((each) => take(each, () => chunks.next())).flat().map(Number); },
  opened() { const one = start(() => open('model', 'numbers', '{"count":3}', [])); waitAll(one); using chunks = take(one, () => open('', '', '', [])); return chunks.next(); },
  left() { start(() => call('model', 'never', '{}', [])); start(() => open('model', 'numbers', '{"count":1000000}', [])); return requestId(); },
  sleeps: () => [...wait(new Uint32Array(), 600000)],
};
export const endpoint = {
  describe: () => Object.keys(actions).map((name) => ({ name, path: '/c/' + name, summary: '', description: '', inputSchema: '{"type":"object"}', outputSchema: '{}', streaming: false })),
  run: (name, input) => { try { return JSON.stringify(actions[name](JSON.parse(input)) ?? null); } catch (error) { throw error.payload ?? error; } },
};
`;

const Concurrency = suite('calls that a guest starts');
let dir = '';
const ports = new FakePorts();
let host: PluginHost | undefined;
let plugin: LoadedPlugin;

Concurrency.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-concurrency-'));
  await mkdir(join(dir, 'src'));
  const manifest = { name: 'calls', version: '1.0.0', capabilities: ['deployments', 'storage'], deployments: ['*'] };
  await writeFile(join(dir, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(dir, 'src/index.ts'), source);
  await buildPlugin(dir, { log: silentLogger });
  host = new PluginHost({
    sandbox: testSandbox,
    ports,
    cacheDir: join(dir, 'cache'),
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
