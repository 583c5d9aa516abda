// Asynchronous code of plugins in the real sandbox.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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

/** Code that has the same result in a guest and in Node. Each of them is the body of an asynchronous function. */
const cases: Record<string, string> = {
  'jobs come in their order, before timers':
    `const out = []; setTimeout(() => out.push('timer')); queueMicrotask(() => out.push('job')); ` +
    `const done = (async () => { out.push('a'); await null; out.push('b'); })(); out.push('c'); await done; ` +
    `await new Promise((resolve) => setTimeout(resolve, 2)); return out`,
  'timers fire when they are due, in their order, and not when they were cleared':
    `const out = []; await new Promise((resolve) => { let left = 2; const done = () => --left || resolve(); ` +
    `setTimeout(() => { out.push(30); done(); }, 30); ` +
    `setTimeout(out.push.bind(out), 5, 'with an argument'); const cleared = setTimeout(() => out.push('never'), 1); ` +
    `clearTimeout(cleared); clearTimeout(undefined); let times = 0; const every = setInterval(() => { ` +
    `out.push('every'); if (++times === 3) done(clearInterval(every)); }, 4); }); return out.sort()`,
  'asynchronous generators end, fail and are left early':
    `const out = []; async function* numbers() { try { for (let n = 0; ; n++) { await null; yield n; } } ` +
    `finally { out.push('left'); } } for await (const n of numbers()) { out.push(n); if (n === 2) break; } ` +
    `const fails = async function* () { yield 1; throw new RangeError('no'); }; ` +
    `try { for await (const n of fails()) out.push(n); } catch (error) { out.push(error.name); } ` +
    `async function* both() { yield* numbers(); } const gen = both(); ` +
    `out.push((await gen.next()).value, (await gen.return(7)).value, (await gen.next()).done); return out`,
  'for await reads promises and ordinary iterables':
    'const out = []; for await (const n of [1, Promise.resolve(2), 3]) out.push(n); return out',
  'methods, arrow functions, arguments, defaults and super':
    `class A { async name(x) { await null; return 'A' + x; } static async make() { return new this(); } } ` +
    `class B extends A { #p = 1; async name(x, y = 5) { ` +
    `const f = async () => (await super.name(x)) + this.#p + arguments.length; return f(); } } ` +
    `const o = { async m() { await null; return this === o; } }; ` +
    `return [await new B().name('x'), await (await B.make()).name('y', 1), await o.m()]`,
  'all, allSettled, any, race, try and withResolvers':
    `const wait = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value)); ` +
    `const no = Promise.reject(new Error('no')); no.catch(() => {}); ` +
    `return [await Promise.all([1, wait(1, 2)]), (await Promise.allSettled([1, no])).map(({ status }) => status), ` +
    `await Promise.any([no, wait(1, 'any')]), await Promise.race([wait(20, 'slow'), wait(1, 'fast')]), ` +
    `await Promise.any([no]).catch((error) => [error.name, error.errors.length])]`,
  'errors keep their class and message through promises':
    `class Mine extends Error {} try { await (async () => { throw new Mine('a'); })(); } ` +
    `catch (error) { return [error instanceof Mine, error.message] }`,
  'finally runs after both ends':
    `const out = []; await Promise.resolve(1).finally(() => out.push('a')); ` +
    `await Promise.reject(2).finally(() => out.push('b')).catch((n) => out.push(n)); return out`,
  'a promise is a promise':
    `const p = (async () => 1)(); return [p instanceof Promise, Promise.resolve(p) === p, String(p), ` +
    `p.constructor === Promise, Promise.name, typeof Promise.prototype.then]`,
  'a subclass of promises': `class P extends Promise {} const p = new P((resolve) => resolve(3)).then((n) => n + 1);
     return [p instanceof P, await p, await P.all([1])]`,
  'AbortSignal.timeout aborts': `const signal = AbortSignal.timeout(5); const before = signal.aborted;
     await new Promise((resolve) => signal.addEventListener('abort', resolve));
     return [before, signal.aborted, signal.reason.name]`,
  'using and await using free what they hold':
    `const out = []; { await using a = { async [Symbol.asyncDispose]() { await null; out.push('a'); } }; ` +
    `using b = { [Symbol.dispose]() { out.push('b'); } }; out.push('in', typeof a, typeof b); } return out`,
};
/** Node 20 cannot read `using`. */
const inGuestOnly: Record<string, { readonly body: string; readonly result: unknown }> = {
  'using and await using free what they hold': {
    body: cases['using and await using free what they hold']!,
    result: ['in', 'object', 'object', 'b', 'a'],
  },
  'Array.fromAsync collects': {
    body:
      `return [await Array.fromAsync([1, Promise.resolve(2)]), ` +
      `await Array.fromAsync((async function* () { yield 1; })(), (n) => n * 2), ` +
      `await Array.fromAsync({ length: 1, 0: 5 })]`,
    result: [[1, 2], [2], [5]],
  },
};
for (const name of Object.keys(inGuestOnly)) delete cases[name];

const fixture = join(packageRoot, 'host', 'endpoints', 'plugins', 'fixtures', 'async');

const Async = suite('asynchronous plugins');
let source = '';
let dir = '';
const ports = new FakePorts();
let host: PluginHost | undefined;
let plugin: LoadedPlugin;
let inNode: readonly (() => Promise<unknown>)[] = [];

const moduleOf = (name: string, bodies: readonly string[]): string =>
  `export const ${name} = [\n${bodies.map((body) => `async () => { ${body} },`).join('\n')}\n];\n`;

Async.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-async-'));
  await cp(fixture, dir, { recursive: true });
  source = await readFile(join(fixture, 'src/index.mjs'), 'utf8');
  await writeFile(join(dir, 'src/cases.mjs'), moduleOf('cases', Object.values(cases)));
  await writeFile(
    join(dir, 'src/more.mjs'),
    moduleOf(
      'more',
      Object.values(inGuestOnly).map(({ body }) => body),
    ),
  );
  ({ cases: inNode } = await import(pathToFileURL(join(dir, 'src/cases.mjs')).href));
  await buildTestPlugin(dir);
  const limits = { memoryBytes: 64 * 1024 * 1024 };
  host = new PluginHost({ sandbox: testSandbox, ports, cacheDir: testCacheDir(), log: silentLogger, limits });
  plugin = await host.load(dir);
});
Async.after(async () => {
  await host?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});
Async.before.each(() => {
  ports.waits.length = 0;
  ports.waiting = 0;
  ports.endless = 0;
});

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await delay(2);
};
/** The line of the plugin's source with a text. */
const lineOf = (text: string): number => source.split('\n').findIndex((line) => line.endsWith(text)) + 1;
/** Returns the stacks in the log of endpoints that failed. */
const stacks = (): string[] =>
  ports.lines.flatMap((line) => (JSON.parse(line) as { fields?: { stack?: string } }).fields?.stack ?? []);

for (const [n, name] of Object.keys(cases).entries())
  Async(name, async () => assert.equal(await runPlugin(plugin, 'case', { n }), await inNode[n]!()));
for (const [n, [name, { result }]] of Object.entries(inGuestOnly).entries())
  Async(name, async () => assert.equal(await runPlugin(plugin, 'more', { n }), result));

Async('calls of the host that are waited for together are at work at the same time', async () => {
  const run = runPlugin(plugin, 'together', { n: 6 });
  await until(() => ports.waiting === 3);
  for (const { go } of ports.waits.toReversed()) go.resolve();
  assert.equal(await run, ['waited', { at: 1 }, 'waited', { at: 3 }, 'waited', { at: 5 }]);
});

Async('more calls than may be at work at a time wait for their turn', async () => {
  const run = runPlugin(plugin, 'together', { n: 200 });
  await until(() => ports.waits.length === 32);
  await runPlugin(plugin, 'in_turn', { n: 3 });
  assert.is(ports.waits.length, 32);
  for (let released = 0; released < 100; released++) {
    await until(() => ports.waits.length > released);
    ports.waits[released]!.go.resolve();
  }
  assert.is(((await run) as unknown[]).length, 200);
});

Async('runs that wait do not hinder others', async () => {
  const waiting = Array.from({ length: 50 }, () => runPlugin(plugin, 'together', { n: 1 }));
  await until(() => ports.waiting === 50);
  assert.equal(await runPlugin(plugin, 'in_turn', { n: 3 }), [{ at: 0 }, { at: 1 }, { at: 2 }]);
  for (const { go } of ports.waits) go.resolve();
  await Promise.all(waiting);
});

Async('a timer wins against a call, which is cancelled at the end', async () => {
  ports.abortReason = undefined;
  assert.is(await runPlugin(plugin, 'race'), 'timer');
  await until(() => ports.abortReason !== undefined);
});

Async('errors of the host reject, with their class', async () => {
  assert.equal(await runPlugin(plugin, 'errors'), [[true, 'PromptTooLongException', 'too-large'], { a: 1 }]);
});

Async('ctx.wait waits in an ordinary function, for a call of the host only', async () => {
  assert.equal(await runPlugin(plugin, 'wait'), [{ a: 1 }, { a: 2 }]);
  assert.match((await errorOf(runPlugin(plugin, 'wait_for_another'))).message, /takes the promise that a call/);
});

Async('an asynchronous generator streams, and streams run side by side', async () => {
  const chunks: string[] = [];
  const write = async (chunk: string): Promise<void> => void chunks.push(chunk);
  assert.is(await runPlugin(plugin, 'yields', {}, { write }), null);
  assert.equal(chunks.map(Number), [1, 0, 1, 2, 3]);
  chunks.length = 0;
  await runPlugin(plugin, 'yields_in_turn', {}, { write });
  assert.equal(chunks.map(Number), [0, 1, 2]);
  chunks.length = 0;
  await runPlugin(plugin, 'writes_later', {}, { write });
  assert.equal(chunks.map(Number), [1, 2]);
  assert.equal(await runPlugin(plugin, 'two_streams'), [1225, 1225]);
  assert.is(ports.openStreams, 0);
});

Async('a promise that nothing settles ends the run with the reason and the line', async () => {
  ports.lines.length = 0;
  assert.match((await errorOf(runPlugin(plugin, 'never'))).message, /a promise that nothing settles/);
  assert.match(stacks().join('\n'), `src/index.mjs:${lineOf('// here: never')}:`);
});

Async('an `await` that is missing ends the run with the reason and the line', async () => {
  const names = [
    ...['forgets', 'forgets_in_an_ordinary_function', 'answers_with_a_promise', 'forgets_a_function'],
    'forgets_a_function_in_an_ordinary_one',
  ];
  for (const name of names) {
    ports.lines.length = 0;
    assert.match((await errorOf(runPlugin(plugin, name))).message, /"await" is missing/, name);
    assert.match(stacks().join('\n'), `src/index.mjs:${lineOf(`// here: ${name}`)}:`);
  }
  const error = await errorOf(runPlugin(plugin, 'looks_away'));
  assert.equal([error.name, error.message], ['RangeError', 'nobody looks']);
  assert.is((await errorOf(runPlugin(plugin, 'throws_in_a_timer'))).message, 'in a timer');
  const late = await errorOf(runPlugin(plugin, 'throws_in_a_forgotten_function'));
  assert.is(late.message, 'in a forgotten function');
});

Async('calls that do not reach the host leave the next ones alone, and what lost a race is left', async () => {
  assert.equal(await runPlugin(plugin, 'after_broken_calls'), [
    ['InvalidDataUrl', 'InvalidDataUrl', 'TypeError', 'TypeError'],
    { a: 1 },
    [{ a: 2 }, { a: 3 }],
  ]);
  assert.equal(await runPlugin(plugin, 'leaves_losers'), ['cached', 'early', 'PromptTooLongException']);
  assert.equal(await runPlugin(plugin, 'changes_its_bytes'), [1]);
});

Async('what was awaited does not stay in memory', async () => {
  assert.is(await runPlugin(plugin, 'large_in_turn', { n: 100 }), 100_000_000);
});

Async('functions may call themselves some hundred times, and yield* takes any expression', async () => {
  assert.is(await runPlugin(plugin, 'deep', { n: 250 }), 250);
  const chunks: string[] = [];
  await runPlugin(plugin, 'yields_a_sequence', {}, { write: async (chunk) => void chunks.push(chunk) });
  assert.equal(chunks.map(Number), [3, 4, 9]);
});

Async('a function that calls itself too often is named as the reason', async () => {
  for (const [name, n] of [
    ['deep', 20_000],
    ['deep_function', 1_000_000],
  ] as const) {
    const error = await errorOf(runPlugin(plugin, name, { n }));
    assert.is(error.name, 'PluginTrapError');
    assert.ok(error.message.includes('the stack is full: a function calls itself too often'), error.message);
  }
});

Async('a listener that throws fails the run, and the others are told', async () => {
  assert.equal(await runPlugin(plugin, 'abort_listeners'), [1, 2, 3, 4]);
  for (const n of [1, 2, 3, 4]) {
    ports.lines.length = 0;
    const error = await errorOf(runPlugin(plugin, 'abort_listeners', { n }));
    assert.match(error.message, 'of a listener');
    assert.ok(
      ports.lines.some((line) => line.includes('1,2,3,4')),
      ports.lines.join(),
    );
  }
});

Async('a run that waits for a timer, or for ever, ends when its client leaves', async () => {
  for (const [name, input] of [
    ['sleeps', { n: 600_000 }],
    ['timer_for_ever', {}],
    ['never_awaits', {}],
    ['race', {}],
  ] as const) {
    const client = new AbortController();
    const run = runPlugin(plugin, name, input, { signal: client.signal });
    await delay(name === 'race' ? 0 : 20);
    client.abort();
    const ended = await run.then(
      () => undefined,
      (error: Error) => error,
    );
    if (name !== 'race') assert.is(ended?.name, 'CancelledError', name);
  }
  assert.is(await runPlugin(plugin, 'sleeps', { n: 1 }), 1);
});

Async.run();
