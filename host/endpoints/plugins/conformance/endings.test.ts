// How runs of a plugin in TypeScript end at a limit or because they must, in the real sandbox.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

const source = `
import { defineEndpoint, defineHelper, definePlugin, HostError, z } from 'aana-host/plugin';

const fill = (make) => { const all = []; for (;;) all.push(make(all.length)); };
const greedy = defineHelper({ name: 'greedy', input: z.int(), output: z.int(),
  run: () => fill(() => new Uint8Array(1 << 20)) });
const of = (name, run, more) =>
  defineEndpoint({ name, path: '/' + name, summary: '', input: z.strictObject({}), output: z.any(), run, ...more });
const never = (ctx) => ctx.deployment('model').call('never', {});
const told = (ctx, what) => ctx.log.info(what, { aborted: ctx.signal.aborted, reason: ctx.signal.reason.name });

export const endpoint = definePlugin([
  of('bytes', () => fill(() => new Uint8Array(1 << 20))),
  of('objects', () => fill((n) => ({ n }))),
  of('texts', async () => fill((n) => 'text'.repeat(100_000) + n)),
  of('one', () => new Uint8Array(2 ** 31 - 1).length),
  of('helper', (_, ctx) => ctx.runRemote(greedy, 1), { uses: ['remote'] }),
  of('caught', () => { try { fill(() => new Uint8Array(1 << 20)); }
    catch ({ name, message }) { return [name, message]; } }),
  of('own', () => { throw new HostError('InternalError', 'bad-request', 'out of memory'); }),
  of('kind', (_, { signal }) => {
    const any = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
    signal.throwIfAborted();
    return [signal instanceof AbortSignal, String(signal), signal.aborted, signal.reason === undefined, any.aborted];
  }),
  of('listens', async (_, ctx) => {
    ctx.signal.addEventListener('abort', ({ type, target }) => told(ctx, type + ' ' + (target === ctx.signal)));
    ctx.signal.onabort = () => told(ctx, 'onabort');
    await never(ctx);
  }),
  of('any', async (_, ctx) => {
    const any = AbortSignal.any([ctx.signal, AbortSignal.timeout(60_000)]);
    await Promise.allSettled([never(ctx)]);
    ctx.log.info('any', { aborted: any.aborted, reason: any.reason.name });
  }),
  of('timer', async (_, ctx) => {
    const gone = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 60_000))]);
    told(ctx, 'timer');
  }),
  of('waits', (_, ctx) => {
    ctx.signal.addEventListener('abort', () => told(ctx, 'waits'));
    try { ctx.wait(never(ctx)); } catch { /* told */ }
  }),
  of('polls', (_, ctx) => {
    const { signal } = ctx;
    let n = 0;
    while (!signal.aborted) n++;
    told(ctx, 'polls');
  }),
  of('request', async (_, ctx) => {
    const error = await fetch('http://a.example/never', { signal: ctx.signal }).catch((reason) => reason);
    ctx.log.info('request', { aborted: ctx.signal.aborted, reason: error === ctx.signal.reason && error.name });
  }),
  of('others', async (_, ctx) => {
    const failure = await ctx.deployment('model').call('late', {}).catch((reason) => reason);
    return [failure.kind, ctx.signal.aborted];
  }),
  of('passes', (_, ctx) => ctx.deployment('model').call('full', {})),
  of('answers', async (_, ctx) => {
    const { kind, data } = await ctx.deployment('model').call('full', {}).catch((reason) => reason);
    throw new HostError('ModelBusy', kind, 'the model is busy', { data: { retry_after_s: data.retry_after_s } });
  }),
], { helpers: [greedy] });
`;

const memoryBytes = 64 * 1024 * 1024;
const Endings = suite('endings of plugins');
let dir = '';
const ports = new FakePorts();
let host: PluginHost | undefined;
let plugin: LoadedPlugin;

Endings.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-endings-'));
  await mkdir(join(dir, 'src'));
  await writeFile(join(dir, 'src/index.ts'), source);
  const wanted = { capabilities: ['deployments', 'http', 'remote'], deployments: ['model'], hosts: ['a.example'] };
  await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'ends', version: '1.0.0', ...wanted }));
  await buildTestPlugin(dir);
  ports.http.open = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      ports.endless++;
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  host = new PluginHost({
    ...{
      sandbox: testSandbox,
      ports,
      cacheDir: testCacheDir(),
      log: silentLogger,
      limits: { memoryBytes, graceMs: 5000 },
    },
    grants: { ends: { hosts: ['a.example'] } },
  });
  plugin = await host.load(dir);
});
Endings.after(async () => {
  await host?.close();
  await rm(dir, { recursive: true, force: true });
});
Endings.before.each(() => {
  ports.lines.length = 0;
  ports.endless = 0;
});

for (const name of ['bytes', 'objects', 'texts', 'one', 'helper'])
  Endings(`memory beyond the limit is an error that says where the limit is set: ${name}`, async () => {
    const error = await errorOf(runPlugin(plugin, name));
    assert.equal([error.name, error.kind, error.data], ['OutOfMemory', 'too-large', { limit: memoryBytes }]);
    assert.match(error.message, 'plugin ends needs more memory than 67108864 bytes');
    assert.match(error.message, /memory_bytes in plugin_limits .* plugin_grants .* plugin\.json/);
    assert.match(ports.lines.join(), /src\/index\.ts:\d+/);
    assert.equal(await runPlugin(plugin, 'caught'), ['InternalError', 'out of memory']);
  });

Endings('an error of the author that looks like it is not taken for it', async () => {
  const error = await errorOf(runPlugin(plugin, 'own'));
  assert.equal([error.name, error.kind], ['InternalError', 'bad-request']);
});

Endings('the signal of a run is an AbortSignal', async () => {
  assert.equal(await runPlugin(plugin, 'kind'), [true, '[object AbortSignal]', false, true, false]);
});

interface Told {
  readonly message: string;
  readonly fields?: { readonly aborted: boolean; readonly reason: string };
}
/** Returns what the plugin has logged once it is ready. */
const toldBy = (): (readonly [string, boolean, string])[] =>
  ports.lines.flatMap((line) => {
    const { message, fields } = JSON.parse(line) as Told;
    return fields?.aborted === undefined ? [] : [[message, fields.aborted, fields.reason] as const];
  });

const waiting: Readonly<Record<string, readonly string[]>> = {
  listens: ['onabort', 'abort true'],
  any: ['any'],
  timer: ['timer'],
  waits: ['waits'],
  polls: ['polls'],
  request: ['request'],
};
for (const [name, messages] of Object.entries(waiting)) {
  const callsHost = name !== 'timer' && name !== 'polls';
  if (callsHost)
    Endings(`the signal is aborted when the client leaves: ${name}`, async () => {
      const client = new AbortController();
      const running = errorOf(runPlugin(plugin, name, {}, { signal: client.signal }));
      await until(async () => ports.endless === 1);
      client.abort();
      assert.is((await running).kind, 'cancelled');
      assert.equal(
        toldBy(),
        messages.map((message) => [message, true, 'CancelledError']),
      );
    });

  Endings(`the signal is aborted when the time is over: ${name}`, async () => {
    const error = await errorOf(runPlugin(plugin, name, {}, { deadlineMs: 1000 }));
    assert.is(error.kind, 'deadline-exceeded');
    const reason = name === 'polls' ? 'CancelledError' : 'InvocationTimeout';
    assert.equal(
      toldBy(),
      messages.map((message) => [message, true, reason]),
    );
  });
}

Endings('a time limit of something else does not abort it', async () => {
  Object.assign(ports.tooLong, { kind: 'deadline-exceeded' });
  assert.equal(await runPlugin(plugin, 'others'), ['deadline-exceeded', false]);
});

Endings('an error of a deployment that says when to come back is passed on, or used for another one', async () => {
  const data = { deployment: 'model', max_queued_requests: 1, retry_after_s: 7 };
  Object.assign(ports.tooLong, { name: 'DeploymentFull', kind: 'unavailable', data });
  const passed = await errorOf(runPlugin(plugin, 'passes'));
  assert.equal([passed.name, passed.kind, passed.data], ['DeploymentFull', 'unavailable', data]);
  const own = await errorOf(runPlugin(plugin, 'answers'));
  assert.equal([own.name, own.kind, own.data], ['ModelBusy', 'unavailable', { retry_after_s: 7 }]);
});

Endings.run();
