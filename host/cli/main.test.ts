import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';
import { unreadConfigs } from './config-options.ts';
import { curlLine } from '../application/start/curl-line.ts';
import { pluginEndpoints } from '../endpoints/registry/index.ts';
import { command, type CommandResult } from '../test/helpers/command-line/command.ts';
import { watPlugin } from '../endpoints/plugins/fixtures/wat-plugin.ts';

const Cli = suite('the command line');
let folder = '';

Cli.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-cli-'));
});
Cli.after(() => rmSync(folder, { recursive: true, force: true }));

/** Otherwise the log would name files of killed servers. */
const environment = (): NodeJS.ProcessEnv => ({ HOME: folder, PATH: process.env['PATH'], TMPDIR: folder });
const run = (...args: string[]): Promise<CommandResult> => command(args, { cwd: folder, env: environment() });

Cli('prints its version, also as a program, which exits with the code of the command', async () => {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  assert.equal(await run('version'), { code: 0, out: `${version}\n`, err: '' });
  const asProgram = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [join(packageRoot, 'bundle/host/cli/main.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: environment(),
      timeout: 60_000,
    });
  assert.is(asProgram('--version').stdout, `${version}\n`);
  const wrong = asProgram('serve', 'none');
  assert.is(wrong.status, 2);
  assert.match(wrong.stderr, /^error: there is no folder .*none\n$/);
});

const WRONG: [title: string, args: string[], message: RegExp][] = [
  ['an unknown command', ['serv'], /unknown command 'serv'/],
  ['an unknown flag', ['serve', '--prot', '1'], /unknown option '--prot'/],
  ['a flag with a bad value', ['serve', '--port', 'eight'], /^error: --port: "eight" is not a number\n$/],
  [
    'a configuration file that is not there',
    ['serve', '--config', 'none.json'],
    /^error: .*none\.json: cannot be read: ENOENT\n$/,
  ],
  [
    'an allowed folder that is not there',
    ['serve', '--allow-path', 'none'],
    /^error: media\.allow_paths: there is no folder .*none\n$/,
  ],
  [
    'a host that is no address of the machine',
    ['serve', '--host', '192.0.2.1', '--port', '0'],
    /^error: 192\.0\.2\.1 is not an address of this machine: choose another address with --host\n$/,
  ],
  [
    'a folder for temporary files that is none',
    ['serve', '--port', '0', '--temp-dir', process.execPath],
    /^error: media\.temp_dir: .* cannot be used for temporary files \(EEXIST\); choose another with --temp-dir\n$/,
  ],
  [
    'a number of jobs that is none',
    ['build-native', '--jobs', 'zero'],
    /'zero' is invalid\. Expected a number of at least 1\./,
  ],
  ['a plugin folder that is not there', ['serve', 'none'], /^error: there is no folder .*none\n$/],
];
for (const [title, args, message] of WRONG) {
  Cli(`refuses ${title} in one sentence, with exit code 2`, async () => {
    const { code, err } = await run(...args);
    assert.is(code, 2, err);
    assert.match(err, message);
    assert.not.match(err, /\n\s+at /);
  });
}

Cli('migrate creates the tables once, and names an unusable database', async () => {
  const cache = process.env['AANA_CACHE_DIR'] ?? '';
  const first = await run('migrate', '--cache-dir', cache, '--data-dir', 'data');
  assert.is(first.code, 0, first.err);
  assert.match(first.out, /^applied aana-host 1 initial\n/);
  assert.equal(await run('migrate', '--cache-dir', cache, '--data-dir', 'data'), {
    code: 0,
    out: 'the database is up to date\n',
    err: '',
  });
  const bad = await run('migrate', '--cache-dir', cache, '--data-dir', '/dev/null');
  assert.is(bad.code, 1);
  assert.match(
    bad.err,
    /^error: the database \/dev\/null\/aana\.db cannot be opened: .*; set another one with DB_CONFIG\n$/,
  );
});

Cli('refuses a bad option of a deployment by its name, with exit code 2', async () => {
  writeFileSync(
    join(folder, 'bad.json'),
    JSON.stringify({ deployments: { asr: { type: 'WhisperDeployment', user_config: { model: 'base' } } } }),
  );
  const { code, err } = await run('serve', '--config', 'bad.json');
  assert.is(code, 2, err);
  assert.match(err, /^error: deployment asr: user_config: model: .*\n$/);
});

Cli('refuses an unknown model with exit code 2', async () => {
  writeFileSync(
    join(folder, 'model.json'),
    JSON.stringify({
      models: { offline: true },
      deployments: { llm: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: 'nonsense' } } },
    }),
  );
  const { code, err } = await run('serve', '--config', 'model.json', '--port', '0');
  assert.is(code, 2, err);
  assert.match(err, /error: deployment llm failed: there is no model "nonsense": /);
});

Cli('names the ignored configuration of a plugin folder that is served from another folder', () => {
  const plugin = join(folder, 'with-config');
  mkdirSync(plugin);
  assert.equal(unreadConfigs([plugin, '.']), []);
  for (const one of [plugin, folder]) writeFileSync(join(one, 'aana.config.json'), '{}');
  assert.equal(unreadConfigs([plugin, process.cwd()]), [join(plugin, 'aana.config.json')]);
  rmSync(join(folder, 'aana.config.json'));
});

Cli('shows the stack of an error only with log level debug', async () => {
  assert.match((await run('serve', 'none', '--log-level', 'debug')).err, /\n\s+at /);
});

Cli('shows what a plugin asks for and would get, and why it would not be loaded', async () => {
  const plugin = join(packageRoot, 'host/endpoints/plugins/fixtures/attacks');
  const granted = await run('check', plugin);
  assert.is(granted.code, 0, granted.out + granted.err);
  assert.match(
    granted.out,
    /asks for +media, deployments \(model\), remote\n +would get +media, deployments \(model\), remote\n/,
  );
  assert.match(granted.out, /imports +aana:host\/log@0\.1\.0.* interfaces of WASI, which are empty or denied\n/);
  assert.match(granted.out, /would be started; the server then accepts or refuses the endpoints that it describes\n$/);
  writeFileSync(
    join(folder, 'grants.json'),
    JSON.stringify({ plugin_grants: { attacks: { capabilities: ['media'], limits: { handles: 3 } } } }),
  );
  const refused = await run('check', plugin, '--config', 'grants.json');
  assert.is(refused.code, 1);
  assert.match(
    refused.out,
    /would get +media\n.*handles 3,.*plugin attacks imports aana:host\/deployments, which plugin_grants does/s,
  );
});

Cli('a check lists the settings of a plugin, how they are given, and no value', async () => {
  const settings = {
    key: { type: 'string', description: 'A key.', secret: true, required: true },
    limit: { type: 'integer', description: 'A limit.', default: 3 },
  };
  const plugin = await watPlugin(join(folder, 'settled'), { go: '(i32.const 0)', manifest: { settings } });
  const given = { limit_env: 'SETTLED_LIMIT', kez: 'planted' };
  writeFileSync(join(folder, 'settings.json'), JSON.stringify({ plugin_settings: { wat: given } }));
  const { code, out, err } = await run('check', plugin, '--config', 'settings.json');
  assert.is(code, 0, out + err);
  assert.match(out, /\n {2}setting +key: missing; string, secret, required; A key\.\n/);
  assert.match(
    out,
    /\n {2}setting +limit: default \(environment variable SETTLED_LIMIT: it is not set\); integer; A limit\.\n/,
  );
  assert.match(out, /\n {2}setting +kez: undeclared \(configuration\)\n/);
  assert.not.match(out + err, 'planted');
});

Cli('a check runs nothing of a plugin, and refuses names that are there twice', async () => {
  const [one, other] = await Promise.all(
    ['one', 'other'].map((name) => watPlugin(join(folder, name), { go: '(i32.const 0)', describe: '(unreachable)' })),
  );
  const alone = await run('check', one!);
  assert.equal([alone.code, alone.err], [0, ''], alone.out);
  const both = await run('check', one!, other!);
  assert.is(both.code, 1);
  assert.is(both.out.match(/would not be loaded: plugin wat is there twice, in /g)?.length, 2, both.out);
});

Cli('refuses a grant of an unknown capability, and names its place', async () => {
  writeFileSync(join(folder, 'grants.json'), JSON.stringify({ plugin_grants: { a: { capabilities: ['medi'] } } }));
  const { code, err } = await run('check', join(packageRoot, 'plugins'), '--config', 'grants.json');
  assert.equal(
    [code, err],
    [
      2,
      'error: plugin_grants: "a.capabilities": there is no capability "medi"; there are media, deployments, asr, ' +
        'ocr, llm, storage, vectors, repositories, repositories-write, http, remote, and "*" for all\n',
    ],
  );
});

Cli('lists models without a network', async () => {
  const { code, out } = await run('models', 'list');
  assert.is(code, 0);
  assert.match(out, /^whisper-base /m);
});

Cli('writes a curl line that a shell accepts unchanged', () => {
  const schema = {
    type: 'object',
    properties: { video: { type: 'object', properties: { content: { type: 'string', 'x-aana-file': true } } } },
    required: ['video'],
  };
  const info = { summary: '', description: '', inputSchema: schema, outputSchema: {}, streaming: false };
  const endpoints = pluginEndpoints({
    name: 'p',
    endpoints: [
      { ...info, name: 'summarize', path: '/s' },
      { ...info, name: 'transcribe_video', path: '/t' },
    ],
    run: async () => '',
  });
  const line = curlLine(endpoints, { url: 'http://h:1' }, "/it's/a b.wav");
  assert.is(line, `curl -s -F 'body={"video":{"content":"video"}}' -F 'video=@/it'\\''s/a b.wav' http://h:1/t`);
  const { stdout } = spawnSync('sh', ['-c', (line ?? '').replace('curl', "printf '%s\\n'")], { encoding: 'utf8' });
  assert.equal(stdout.split('\n').slice(0, 5), [
    '-s',
    '-F',
    'body={"video":{"content":"video"}}',
    '-F',
    "video=@/it's/a b.wav",
  ]);
  assert.match(
    curlLine(endpoints, { url: 'http://h:1', asksForKey: true }, undefined) ?? '',
    ' -H "x-api-key: $AANA_API_KEY" ',
  );
  const file = { type: 'object', properties: { table: { type: 'string', 'x-aana-file': true } }, required: ['table'] };
  const reads = { ...info, inputSchema: file, name: 'reads', path: '/r' };
  const tables = pluginEndpoints({ name: 'q', endpoints: [reads], run: async () => '' });
  assert.is(
    curlLine(tables, { url: 'http://h:1' }, '/a/speech.wav'),
    `curl -s -F 'body={"table":"file"}' -F file=@your-file http://h:1/r`,
  );
  const content = schema.properties.video;
  const images = [
    { properties: { image: content }, required: ['image'] },
    { properties: { images: { type: 'array', items: content, minItems: 1 } }, required: ['images'] },
  ];
  for (const given of images) {
    const looks = { ...info, inputSchema: { type: 'object', ...given }, name: 'looks', path: '/l' };
    const looking = pluginEndpoints({ name: 'l', endpoints: [looks], run: async () => '' });
    assert.match(curlLine(looking, { url: 'http://h:1' }, '/a/speech.wav') ?? '', / -F \w+=@image\.png /);
  }
  assert.is(curlLine([], { url: 'http://h:1' }, undefined), undefined);
});

Cli('the curl line tries an endpoint that can work with the deployments that serve', () => {
  const info = { summary: '', description: '', inputSchema: { type: 'object' }, outputSchema: {}, streaming: false };
  const plugin = (name: string, deployments?: readonly string[]) =>
    pluginEndpoints({
      name,
      ...(deployments && { deployments }),
      endpoints: [{ ...info, name: name === 'hears' ? 'transcribe_video' : name, path: `/${name}` }],
      run: async () => '',
    });
  const endpoints = [
    ...plugin('hears', ['asr_deployment']),
    ...plugin('chats', ['asr_deployment', 'ocr_deployment', 'llm_deployment']),
    ...plugin('reads', ['ocr_deployment']),
  ];
  for (const [serving, path, all = endpoints] of [
    [['ocr_deployment'], '/reads'],
    [['asr_deployment'], '/hears'],
    [['ocr_deployment', 'asr_deployment', 'llm_deployment'], '/hears'],
    [['llm_deployment'], '/chats'],
    [['other'], undefined],
    [[], '/own', [...endpoints, ...plugin('own')]],
  ] as const) {
    const line = curlLine(all, { url: 'http://h:1', deployments: new Set(serving) }, undefined);
    assert.is(line?.split('http://h:1')[1], path, serving.join());
  }
});

Cli.run();
