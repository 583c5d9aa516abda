// A plugin says its secrets in every way that it has, in generated forms, and nothing that the host prints has them.
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Collector } from '../../base/telemetry/fixtures/collector.ts';
import { command } from '../helpers/command-line/command.ts';
import { post, type RunningServer, serve, until } from '../helpers/server.ts';
import { buildTestPlugin } from '../../endpoints/plugins/fixtures/build-test-plugin.ts';

const FORMS = ['raw', 'json', 'url', 'form', 'query', 'many'];
const WAYS = [
  ...['log', 'fields', 'console', 'progress', 'error', 'host_error', 'name', 'data'],
  ...['fetch', 'deployment', 'helper', 'setting', 'storage'],
];

const source = `
import { defineEndpoint, defineHelper, definePlugin, HostError, z } from 'aana-host/plugin';

const forms = {
  raw: (key) => key,
  json: (key) => JSON.stringify({ [key]: key }),
  url: (key) => '/' + encodeURIComponent(key) + '/',
  form: (key) => String(new URLSearchParams({ key })),
  query: (key) => new URL('https://a.example/?' + encodeURI(key)).href,
  many: (key) => Array(5_000).fill(key).join(),
};
const ways = {
  log: (text, ctx) => ['debug', 'info', 'warn', 'error'].map((level) => ctx.log[level](text)),
  fields: (text, ctx) => ctx.log.info('asking', { [text]: [{ text }], text, content: text }),
  console: (text) => console.error('failed', text, new Error(text), { [text]: text }),
  progress: (text, ctx) => ctx.progress(0.5, text),
  error: (text) => { throw new RangeError(text); },
  host_error: (text) => { throw new HostError('Refused', 'conflict', text); },
  name: (text) => { throw new HostError(text, 'internal', 'failed'); },
  data: (text) => { throw new HostError('Refused', 'bad-request', 'failed', { data: { [text]: [text] } }); },
  fetch: (text) => fetch('http://127.0.0.1:9/' + encodeURI(text) + '?text=' + encodeURIComponent(text)),
  deployment: (text, ctx) => ctx.deployment(text).call(text, { text }),
  helper: (text, ctx) => ctx.runRemote(fails, text),
  setting: (text, ctx) => ctx.settings.get(text),
  storage: (text, ctx) => ctx.storage.get(text),
};
const fails = defineHelper({
  name: 'fails', input: z.any(), output: z.any(),
  run: (text, ctx) => { ctx.log.warn(text); throw new HostError('Failed', 'conflict', text, { data: text }); },
});
const leak = defineEndpoint({
  name: 'leak', path: '/leak', summary: 'Leaks', uses: ['remote', 'storage'],
  input: z.strictObject({ setting: z.string(), form: z.string(), way: z.string() }), output: z.any(),
  async run({ setting, form, way }, ctx) {
    await ways[way](forms[form](ctx.settings.string(setting)), ctx);
    return ctx.settings.string(setting).length;
  },
});
export const endpoint = definePlugin([leak], { helpers: [fails] });
`;

const secret = { type: 'string', description: 'A secret.', secret: true, required: true };
const manifest = {
  ...{ name: 'leak', version: '1.0.0', capabilities: ['deployments', 'http', 'remote', 'storage'] },
  ...{ deployments: ['*'], hosts: ['127.0.0.1:9'] },
  settings: { literal: secret, variable: secret, file: secret },
};

/** Parts that stay the same in each form. */
const parts = Array.from({ length: 8 }, () => `planted${randomBytes(6).toString('hex')}`);
const [literal, variable, file, applied] = [
  `${parts[0]} !"#$%&'()*+,-./:;<=>?@[]^_\`{|}~ ${parts[1]}`,
  `${parts[2]}ä€😀\t\\${parts[3]}`,
  `-----BEGIN-----\n${parts[4]}+/==\n${parts[5]}\n-----END-----`,
  `${parts[6]}${parts[7]}`,
];

const Secrets = suite('secrets of plugins');
let folder = '';
let collector: Collector;
let server: RunningServer;
let env: NodeJS.ProcessEnv = {};
const config = {
  deployments: {},
  models: { offline: true },
  media: { allow_private_urls: true },
  plugin_grants: { leak: { capabilities: ['*'], deployments: ['*'], hosts: ['*', '127.0.0.1:9'] } },
  plugin_settings: { leak: { literal, variable_env: 'LEAK_VARIABLE', file_file: '' } },
};
/** All that was printed, by where. */
const printed = new Map<string, string>();
const print = (where: string, text: string): unknown => printed.set(where, `${printed.get(where) ?? ''}${text}\n`);

Secrets.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-secrets-'));
  const plugin = join(folder, 'leak');
  await mkdir(join(plugin, 'src'), { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'src/index.ts'), source);
  await buildTestPlugin(plugin);
  config.plugin_settings.leak.file_file = join(folder, 'secret');
  await writeFile(config.plugin_settings.leak.file_file, `${file}\n`);
  collector = await Collector.start();
  env = {
    ...process.env,
    LEAK_VARIABLE: variable,
    XDG_RUNTIME_DIR: join(folder, 'run'),
    AANA_DATA_DIR: join(folder, 'data'),
    AANA_LOG_LEVEL: 'debug',
    AANA_LOG_CONTENT: 'true',
    AANA_TRACES_SLOW_S: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BLRP_SCHEDULE_DELAY: '50',
    OTEL_METRIC_EXPORT_INTERVAL: '200',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
  };
  server = await serve({ plugins: [plugin], config, env });
});
Secrets.after(async () => {
  await server?.stop();
  await collector?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const ask = async (body: object, query = ''): Promise<string> => {
  const answer = await post(`${server.url}/leak${query}`, body);
  const text = await answer.text();
  print('answers', `${answer.status} ${[...answer.headers].join(' ')} ${text}`);
  return text;
};
const run = async (...args: string[]): Promise<string> => {
  const { out, err } = await command(args, { cwd: folder, env });
  print(args.join(' '), out + err);
  return out + err;
};

async function filesIn(where: string, dir: string): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) print(`${where} ${entry.name}`, await readFile(join(entry.parentPath, entry.name), 'latin1'));
}

/** Fails when something has a part of a secret, and names the places. */
function requireNoSecrets(): void {
  for (const [where, text] of printed) {
    assert.ok(text.length > 1, `${where} is empty`);
    const lines = text.split('\n').filter((line) => parts.some((part) => line.includes(part)));
    assert.equal(
      lines.map((line) => line.slice(0, 500)),
      [],
      where,
    );
  }
}

Secrets('are in nothing that is printed, stored or exported', async () => {
  for (const setting of Object.keys(manifest.settings))
    for (const form of FORMS) for (const way of WAYS) await ask({ setting, form, way });
  const { task_id: id } = JSON.parse(await ask({ setting: 'file', form: 'json', way: 'data' }, '?defer=true')) as {
    task_id: string;
  };
  const task = async (): Promise<string> => (await fetch(`${server.url}/tasks/${id}`)).text();
  await until(async () => (await task()).includes('"Refused"'));
  print('task', await task());

  for (const path of ['/metrics', '/openapi.json', '/api/application'])
    print(path, await (await fetch(`${server.url}${path}`)).text());
  await writeFile(join(folder, 'aana.config.json'), JSON.stringify(config));
  assert.match(await run('config'), 'LEAK_VARIABLE');
  await run('config', '--json');
  const shown = await run('plugins');
  assert.match(shown, /setting +literal: set \(configuration\); string, secret, required; A secret\.\n/);
  assert.match(shown, /setting +variable: set \(environment variable LEAK_VARIABLE\)/);
  assert.match(shown, new RegExp(`setting +file: set \\(file ${folder}/secret\\)`));
  await run('plugins', '--json');
  await run('status', '--json');
  await run('check', join(folder, 'leak'));
  const failing = JSON.stringify({ setting: 'variable', form: 'json', way: 'data' });
  assert.match(await run('invoke', join(folder, 'leak'), 'leak', failing), 'Refused');
  await run('doctor');
  await run('logs', '--lines', '100000');
  await run('traces', '--json');
  await run('tasks');
  await run('diagnose', '--output', 'bundle.tar.gz');
  await mkdir(join(folder, 'bundle'));
  await tar.extract({ file: join(folder, 'bundle.tar.gz'), cwd: join(folder, 'bundle') });
  await filesIn('bundle', join(folder, 'bundle'));
  await filesIn('stored', join(folder, 'data'));

  const seen = collector.metrics.length;
  await until(async () => collector.metrics.length > seen + 1);
  print('spans', JSON.stringify(collector.exports));
  print('exported lines', JSON.stringify(collector.logExports));
  print('exported metrics', JSON.stringify(collector.metrics));
  print('log', server.output());
  requireNoSecrets();
  assert.match(printed.get('log') ?? '', 'RangeError');
  assert.match(printed.get('log') ?? '', 'https://a.example/?…');
  assert.match(printed.get('exported lines') ?? '', 'asking');
});

Secrets('are changed by applying a configuration, and by the file, without a restart', async () => {
  config.plugin_settings.leak.literal = applied;
  await writeFile(join(folder, 'aana.config.json'), JSON.stringify(config));
  assert.match(await run('apply', '--yes'), 'plugin_settings');
  assert.is(await ask({ setting: 'literal', form: 'raw', way: 'log' }), String(applied.length));
  await writeFile(join(folder, 'secret.new'), 'short');
  await rename(join(folder, 'secret.new'), join(folder, 'secret'));
  assert.is(await ask({ setting: 'file', form: 'raw', way: 'log' }), '5');
  await rm(join(folder, 'secret'));
  assert.match(await ask({ setting: 'literal', form: 'raw', way: 'log' }), '"error":"PluginNotConfigured"');
  assert.match(await run('plugins'), /setting +file: invalid \(file .*secret: it cannot be read \(ENOENT\)\)/);
  await run('diagnose', '--output', 'second.tar.gz');
  await tar.extract({ file: join(folder, 'second.tar.gz'), cwd: join(folder, 'bundle') });
  await filesIn('second bundle', join(folder, 'bundle'));
  print('log', server.output());
  requireNoSecrets();
});

Secrets('in the wrong place of a configuration are not in its errors', async () => {
  const wrong: object[] = [
    { literal_env: literal },
    { file_file: literal },
    { literal, literal_env: 'LEAK_VARIABLE' },
    { literal: [literal] },
    { literal: { value: literal } },
    { literal: null },
    { 'a-b': literal },
  ];
  for (const leak of [...wrong, literal]) {
    await writeFile(join(folder, 'aana.config.json'), JSON.stringify({ ...config, plugin_settings: { leak } }));
    assert.match(await run('config'), /error: .*aana\.config\.json: "plugin_settings\.leak/);
  }
  for (const text of [
    JSON.stringify({ leak: wrong[0] }),
    literal,
    JSON.stringify(literal),
    `{"leak":{"x":"${literal}`,
  ]) {
    const { out, err } = await command(['config'], { cwd: tmpdir(), env: { ...env, AANA_PLUGIN_SETTINGS: text } });
    print('errors of the variable', out + err);
    assert.match(err, /error: environment variable AANA_PLUGIN_SETTINGS/);
  }
  requireNoSecrets();
});

Secrets.run();
