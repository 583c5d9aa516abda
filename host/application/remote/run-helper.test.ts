// Helpers of endpoint classes, in real processes.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AanaApp, Endpoint, type HostEndpointContext, z } from 'aana-host';
import { isAlive, until } from '../../inference/replicas/fixtures/sample-sets.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { busy, failing, nested, parent, square } from '../fixtures/helpers.ts';
import { makeApp, makeFolder, postJson, started } from '../fixtures/test-app.ts';

const Helpers = suite('helpers of endpoint classes');
const folder = makeFolder();
let app: AanaApp;
let count = 0;

const Wanted = z.strictObject({ helper: z.enum(['square', 'failing', 'busy']), input: z.any() });

class Remote extends Endpoint<typeof Wanted> {
  readonly input = Wanted;
  readonly output = z.any();

  async run({ helper, input }: z.output<typeof Wanted>, context: HostEndpointContext): Promise<unknown> {
    const helpers = { square, failing, busy };
    return this.runRemote(helpers[helper] as typeof square, input, context);
  }
}

Helpers.before(async () => {
  app = makeApp(folder, {}, {}, {});
  await started(app.registerEndpoint({ name: 'remote', path: '/remote', endpoint_cls: Remote }));
});
Helpers.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const ask = (helper: string, input: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(`${app.url}/remote`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ helper, input }) },
    ...(signal && { signal }),
  });
/** Files of a busy helper. */
const files = () => ({ begun: join(folder, `begun-${(count += 1)}`), end: join(folder, `end-${count}`) });
const pidOf = (begun: string): number => Number(readFileSync(begun, 'utf8'));

Helpers('run in a process each, on checked input with defaults, and what they print is no result', async () => {
  const answers = await Promise.all(
    [ask('square', { n: 4 }), ask('square', {})].map(async (one) => (await one).json()),
  );
  const [four, three] = answers as { square: number; pid: number }[];
  assert.equal([four?.square, three?.square], [16, 9]);
  assert.is(new Set([four?.pid, three?.pid, process.pid]).size, 3);
});

Helpers('answer the error that a helper throws', async () => {
  const response = await ask('failing', 'aana');
  const { error, message, data } = (await response.json()) as Record<string, unknown>;
  assert.equal([response.status, error, message, data], [404, 'NoWords', 'there are no words', { words: 0 }]);
  for (const [how, name, text] of [
    ['error', 'RangeError', /^out of range$/],
    ['late', 'RangeError', /^too late$/],
    ['crash', 'HelperError', /^helper failing: its process was ended by SIGKILL before it had a result$/],
    ['output', 'HelperError', /^the output of helper failing: Input should be a valid string$/],
    ['no such way', 'HelperError', /^the input of helper failing: /],
  ] as const) {
    const thrown = await app.runRemote(failing, how as 'late').then(
      () => assert.unreachable(how) as never,
      (reason: Error) => reason,
    );
    assert.equal([thrown.name, text.test(thrown.message)], [name, true], thrown.message);
  }
});

Helpers('do not hold up other requests, and end when the client leaves', async () => {
  const client = new AbortController();
  const { begun, end } = files();
  const gone = ask('busy', { begun, end }, client.signal).catch(() => {});
  await until(() => existsSync(begun) && pidOf(begun) > 0, 'it computes');
  assert.is((await postJson(`${app.url}/remote`, { helper: 'square', input: {} })).status, 200);
  client.abort();
  await gone;
  await until(() => !isAlive(pidOf(begun)), 'its process has ended');
});

Helpers('run four at a time, and a caller that leaves while it waits never starts one', async () => {
  const all = Array.from({ length: 5 }, files);
  const runs = all.slice(0, 4).map((one) => ask('busy', one));
  await until(() => all.slice(0, 4).every(({ begun }) => existsSync(begun)), 'four compute');
  const signal = AbortSignal.abort(new Error('left'));
  const fifth = app.runRemote(busy, all[4]!);
  const left = files();
  const controller = new AbortController();
  const waiting = app.runRemote(busy, left, { signal: controller.signal });
  controller.abort(new Error('left'));
  for (const one of [waiting, app.runRemote(busy, left, { signal })])
    assert.is((await errorOf(one, Error)).message, 'left');
  assert.not(existsSync(all[4]!.begun));
  for (const { end } of all) writeFileSync(end, '');
  assert.equal(new Set((await Promise.all(runs)).map(({ status }) => status)), new Set([200]));
  assert.type(await fifth, 'number');
  assert.not(existsSync(left.begun));
});

Helpers('take turns between users', async () => {
  const first = Array.from({ length: 4 }, files);
  const runs = first.map((one) => app.runRemote(busy, one));
  await until(() => first.every(({ begun }) => existsSync(begun)), 'four compute');
  const ended: string[] = [];
  const waiting = ['a', 'a', 'a', 'a', 'a', 'b'].map(async (userId) => {
    const context = { userId, signal: undefined };
    await app.runRemote(square, {}, context);
    ended.push(userId);
  });
  writeFileSync(first[0]!.end, ''); // the others run one after the other in its place
  await Promise.all(waiting);
  assert.ok(ended.indexOf('b') < 2, ended.join());
  for (const { end } of first) writeFileSync(end, '');
  await Promise.all(runs);
});

Helpers('end with what they have started, which does not spoil their result', async () => {
  for (const waits of [false, true]) {
    const { begun } = files();
    const controller = new AbortController();
    const run = app.runRemote(parent, { begun, waits }, { signal: controller.signal });
    await until(() => existsSync(begun) && pidOf(begun) > 0, 'it has started a process');
    if (waits) {
      controller.abort(new Error('left'));
      assert.is((await errorOf(run, Error)).message, 'left');
    } else assert.is(await run, 7);
    await until(() => !isAlive(pidOf(begun)), 'what it started has ended');
  }
});

Helpers('start no helpers, as a module does that runs one when it is imported', async () => {
  assert.is((await errorOf(app.runRemote(nested, {}))).name, 'NestedHelper');
});

Helpers('end when the application shuts down', async () => {
  const stopped = makeApp(folder, {}, {}, {});
  const all = Array.from({ length: 5 }, files);
  const runs = all.map((one) => errorOf(stopped.runRemote(busy, one)));
  await until(() => all.slice(0, 4).every(({ begun }) => existsSync(begun) && pidOf(begun) > 0), 'four compute');
  await stopped.shutdown({ graceMs: 0 });
  for (const { begun } of all.slice(0, 4)) assert.not(isAlive(pidOf(begun)));
  for (const run of runs) assert.is((await run).name, 'ShuttingDown');
  assert.is((await errorOf(stopped.runRemote(square, {}))).name, 'ShuttingDown');
});

Helpers('name the module that has no such helper, or cannot be imported', async () => {
  const { message } = await errorOf(app.runRemote({ ...square, name: 'other' }, {}));
  assert.match(message, /helper other: .*helpers\.js exports no helper of this name$/);
  const gone = await errorOf(app.runRemote({ ...square, module: `${square.module}x` }, {}));
  assert.match(gone.message, /helper square: .*helpers\.jsx cannot be imported: /);
  for (const module of ['x', 'https://a/b.js', 'file://b/c.js', undefined as never])
    assert.match((await errorOf(app.runRemote({ ...square, module }, {}))).message, /must be the import\.meta\.url/);
});

Helpers.run();
