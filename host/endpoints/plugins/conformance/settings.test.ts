// Settings of a plugin in TypeScript, in the real sandbox.
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

const SECRET = 'plantedX7-"0123" 456';

/** How many milliseconds an invocation has left when it has computed enough. */
const leftMs = 57_000;

const source = `
import { defineEndpoint, defineHelper, definePlugin, HostError, z } from 'aana-host/plugin';

const made = { input: z.strictObject({ name: z.optional(z.string()) }), output: z.any() };
const endpointOf = (name, run, more = {}) =>
  defineEndpoint({ ...made, ...more, name, path: '/news/' + name, summary: name, run });
const ofHelper = defineHelper({
  ...{ name: 'of_helper', input: z.any(), output: z.any() },
  run: (_, ctx) => ctx.settings.string('key').length,
});
const endpoints = [
  endpointOf('values', (_, { settings }) => ({
    ...{ key: settings.string('key').length, region: settings.get('region'), limit: settings.number('limit') },
    ...{ on: settings.boolean('on'), none: settings.get('none') ?? null },
  })),
  endpointOf('get', ({ name }, { settings }) => settings.get(name) ?? null),
  endpointOf('string', ({ name }, { settings }) => settings.string(name)),
  endpointOf('helper', (_, ctx) => ctx.runRemote(ofHelper, null), { uses: ['remote'] }),
  endpointOf('twice', async (_, ctx) => {
    const first = ctx.settings.string('key');
    await ctx.deployment('model').call('wait', {});
    return [first, ctx.settings.string('key')];
  }),
  endpointOf('computes', (_, ctx) => {
    const { length } = ctx.settings.string('key');
    ctx.log.info('began');
    while (ctx.remainingMs > ${leftMs});
    return length;
  }),
  endpointOf('fails', async ({ name }, ctx) => {
    const key = ctx.settings.string('key');
    const url = 'https://b.example/?key=' + encodeURIComponent(key);
    ctx.log.debug('asking with ' + key, { url, [key]: [key], json: JSON.stringify({ key }) });
    console.log('x'.repeat(16 * 1024 - 4) + key);
    ctx.progress(0.5, 'half of ' + key);
    const long = 'x'.repeat(16 * 1024 - 4) + key;
    if (name === 'host') throw new HostError(key, 'conflict', long, { data: { key, [key]: 1 } });
    if (name === 'fetch') return (await fetch(url)).text();
    if (name === 'deployment') return ctx.deployment(key).call('x', {});
    throw new RangeError('no answer to ' + key);
  }),
];
export const endpoint = definePlugin(endpoints, { helpers: [ofHelper] });
`;

const manifest = {
  name: 'news',
  version: '1.0.0',
  capabilities: ['deployments', 'http', 'remote'],
  deployments: ['*'],
  hosts: ['a.example'],
  settings: {
    key: { type: 'string', description: 'Key of the news.', secret: true, required: true },
    region: { type: 'string', description: 'Region.', default: 'eu' },
    limit: { type: 'integer', description: 'Limit.', default: 3 },
    on: { type: 'boolean', description: 'Whether.', default: false },
    none: { type: 'string', description: 'None.' },
  },
};

interface Context {
  host: PluginHost;
  plugin: LoadedPlugin;
  ports: FakePorts;
}

const Settings = suite<Context>('settings through the SDK');
let dir = '';
Settings.before(async (context) => {
  dir = await mkdtemp(join(tmpdir(), 'aana-settings-'));
  await mkdir(join(dir, 'src'));
  await writeFile(join(dir, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(dir, 'src', 'index.ts'), source);
  const ports = (context.ports = new FakePorts());
  await buildTestPlugin(dir);
  context.host = new PluginHost({
    sandbox: testSandbox,
    ports,
    cacheDir: testCacheDir(),
    isFast: true,
    log: ports.log,
  });
  context.plugin = await context.host.load(dir);
});
Settings.after(async ({ host }) => {
  await (host as PluginHost | undefined)?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});
Settings.before.each(({ ports, host }) => {
  ports.lines.length = 0;
  host.configureSettings({ news: { key: SECRET } });
});

Settings(
  'a plugin without a required setting is loaded, and answers with its name until it is given',
  async (context) => {
    const { host, plugin } = context;
    host.configureSettings({ news: { region: 'us' }, other: { key: SECRET } });
    const error = await errorOf(runPlugin(plugin, 'values'));
    assert.equal(
      [error.name, error.kind, error.data],
      ['PluginNotConfigured', 'unavailable', { plugin: 'news', settings: ['key'] }],
    );
    assert.match(error.message, 'key (Key of the news.) has no value');
    host.configureSettings({ news: { key: 'abcde', limit: 9, on: true } });
    assert.equal(await runPlugin(plugin, 'values'), { key: 5, region: 'eu', limit: 9, on: true, none: null });
    assert.is(await runPlugin(plugin, 'helper'), 5, 'helpers have them, too');
  },
);

Settings('only declared settings can be read, and with their types', async ({ plugin }) => {
  for (const name of ['other', 'key_file', '__proto__', '']) {
    const error = await errorOf(runPlugin(plugin, 'get', { name }));
    assert.equal([error.name, error.data], ['SettingDenied', { setting: name }]);
  }
  assert.is((await errorOf(runPlugin(plugin, 'string', { name: 'none' }))).name, 'PluginNotConfigured');
  assert.is(
    (await errorOf(runPlugin(plugin, 'string', { name: 'limit' }))).message,
    'the setting limit is not of the type string, but number',
  );
});

Settings('a changed file is read by the next invocation, and not by one that runs', async ({ host, plugin, ports }) => {
  const file = join(dir, 'key');
  await writeFile(file, 'one-one\n');
  host.configureSettings({ news: { key_file: file } });
  const running = runPlugin(plugin, 'twice');
  while (ports.waits.length === 0) await delay(1);
  await writeFile(`${file}.new`, 'two-two\n');
  await rename(`${file}.new`, file);
  assert.is(await runPlugin(plugin, 'get', { name: 'key' }), 'two-two');
  ports.waits[0]!.go.resolve();
  assert.equal(await running, ['one-one', 'one-one']);
  await rm(file);
  assert.is((await errorOf(runPlugin(plugin, 'values'))).name, 'PluginNotConfigured');
  assert.equal(plugin.settings().map(({ name, state, origin, problem }) => [name, state, origin, problem])[0], [
    'key',
    'invalid',
    `file ${file}`,
    'it cannot be read (ENOENT)',
  ]);
});

Settings('an invocation that has read settings only runs again when its process is lost', async (context) => {
  const { plugin, ports } = context;
  const begun = (): number => ports.lines.filter((line) => line.includes('"began"')).length;
  const computing = runPlugin(plugin, 'computes', {}, { deadlineMs: leftMs + 1_500 });
  while (begun() < 1) await delay(2);
  process.kill(plugin.pid!, 'SIGKILL');
  assert.is(await computing, SECRET.length);
  assert.is(begun(), 2);
});

Settings('secrets are in no line and no error, also where a text is cut', async ({ plugin, ports }) => {
  const progress: string[] = [];
  const errors: Record<string, string> = {};
  for (const name of ['host', 'fetch', 'deployment', 'throws']) {
    const {
      name: kind,
      message,
      data,
      stack,
      logFields,
    } = await errorOf(runPlugin(plugin, 'fails', { name }, { onProgress: (_, text) => progress.push(text) }));
    errors[name] = JSON.stringify([kind, message, data, stack, logFields]);
  }
  const said = [...ports.lines, ...progress, ...Object.values(errors)].join('\n');
  for (const part of ['planted', '0123', encodeURIComponent(SECRET)]) assert.not.match(said, part);
  assert.match(said, 'asking with …');
  assert.match(said, 'https://b.example/?key=…');
  assert.equal([...new Set(progress)], ['half of …']);
  assert.match(errors['host'] ?? '', '"…"');
  assert.match(errors['fetch'] ?? '', 'HostDenied');
  assert.match(errors['deployment'] ?? '', 'DeploymentNotFound');
  assert.match(errors['throws'] ?? '', 'no answer to …');
});

Settings.run();
