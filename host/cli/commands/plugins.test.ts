import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { post, type RunningServer, serve, startServe, until } from '../../test/helpers/server.ts';
import { newPlugin } from './new-plugin.ts';
import { command, type CommandResult } from '../../test/helpers/command-line/command.ts';
import { buildTestPlugin, testCacheDir } from '../../endpoints/plugins/fixtures/build-test-plugin.ts';

const Plugins = suite('aana-host plugins, SIGHUP and aana-host dev');
let folder = '';
let plugin = '';
let env: NodeJS.ProcessEnv = {};

Plugins.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-p-'));
  plugin = join(folder, 'say-hello');
  await writeFile(join(folder, 'ffmpeg'), '#!/bin/sh\necho "ffmpeg version 9.0 fake"\n', { mode: 0o755 });
  env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
    AANA_CACHE_DIR: testCacheDir(), // with plugins only
    AANA_FFMPEG_PATH: join(folder, 'ffmpeg'),
  };
  await newPlugin(plugin);
  linkDependencies(plugin);
  await buildTestPlugin(plugin);
});
Plugins.after(() => rm(folder, { recursive: true, force: true }));

const start = (): Promise<RunningServer> =>
  serve({ plugins: [plugin], config: { deployments: {}, models: { offline: true } }, env });

const run = (...args: string[]): Promise<CommandResult> => command(args, { cwd: folder, env });

const loads = ({ output }: RunningServer): number => output().split('plugin loaded').length - 1;
const greeting = async ({ url }: RunningServer): Promise<unknown> =>
  (await post(`${url}/say-hello/greet`, { who: 'Ada' })).json();

Plugins('report in one sentence that no server is running, with exit code 2', async () => {
  assert.equal(await run('plugins'), {
    code: 2,
    out: '',
    err: 'error: no aana-host application of this user is running; start one with "aana-host serve"\n',
  });
  assert.equal(await run('plugins', 'reload', '--port', '9'), {
    code: 2,
    out: '',
    err: 'error: no aana-host application of this user is running on port 9\n',
  });
  assert.is((await run('plugins', '--port', 'x')).code, 2);
});

Plugins('are listed, and reloaded by command and by SIGHUP; the socket is removed with the server', async () => {
  await using server = await start();
  assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
  const [listed] = JSON.parse((await run('plugins', '--json')).out) as { digest: string; counters: object }[];
  assert.match(listed?.digest ?? '', /^[0-9a-f]{64}$/);
  assert.match(
    (await run('plugins')).out,
    new RegExp(
      String.raw`^say-hello 0\.1\.0` +
        String.raw`\n {2}state +running` +
        String.raw`\n {2}source +\/.*say-hello` +
        String.raw`\n {2}sha256 +[0-9a-f]{64}` +
        String.raw`\n {2}endpoints +\/say-hello\/greet` +
        String.raw`\n {2}limits +memory_bytes 134217728, .*` +
        String.raw`\n {2}process +\d+ MB of its own; .*; ended unexpectedly 0 times` +
        String.raw`\n {2}requests +running 0, queued 0, done 1, failed 0, denied calls 0, cpu \d+ ms\n$`,
    ),
  );
  assert.match((await run('plugins', 'reload')).out, /^say-hello: reloaded: version 0\.1\.0, [0-9a-f]{12}\n$/);
  assert.match(
    (await run('plugins', 'reload', 'say-hello', '--port', String(server.port))).out,
    /^say-hello: reloaded: /,
  );
  assert.equal(
    (await run('plugins', 'reload', 'other')).err,
    'error: there is no plugin other; there are: say-hello\n',
  );
  await until(async () => loads(server) === 3);
  server.process.kill('SIGHUP');
  await until(async () => loads(server) === 4);
  assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
  const component = join(plugin, 'dist/say-hello.wasm');
  const good = await readFile(component);
  await rm(join(plugin, 'src'), { recursive: true });
  await writeFile(component, 'broken');
  const broken = await run('plugins', 'reload');
  assert.is(broken.code, 1);
  assert.match(
    broken.out,
    /^say-hello: failed: plugin say-hello has a component that cannot be used: it is not WebAssembly\n$/,
  );
  assert.match((await run('plugins')).out, /\n {2}state +running\n {2}error +plugin say-hello has a component/);
  assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
  await writeFile(component, good);
  assert.is((await readdir(join(folder, 'run/aana-host'))).length, 2);
  assert.is(await server.stop('SIGTERM'), 0);
  assert.equal(await readdir(join(folder, 'run/aana-host')), []);
});

Plugins('say that a process has ended because nothing ran, until the next request', async () => {
  await using server = await serve({
    plugins: [plugin],
    config: { deployments: {}, models: { offline: true }, plugin_idle_s: 0.05, alerts: { interval_s: 1 } },
    env,
  });
  const listed = async (): Promise<string> => (await run('plugins')).out;
  const processes = async (): Promise<string> =>
    /^aana_plugin_processes\{.*\} (.*)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1] ?? '';
  for (let n = 0; n < 2; n++) {
    await until(async () => (await processes()) === '0');
    assert.match(await listed(), /\n {2}state +idle\n[^]*\n {2}process +ended because nothing ran; the next request/);
    assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
  }
  assert.not.match(server.output(), /plugin process ended|plugin_failed/);
  assert.is(await server.stop('SIGTERM'), 0);
});

Plugins('without media need no ffmpeg and no sample, until one asks for media', async () => {
  const cacheDir = join(folder, 'other-cache');
  const project = join(folder, 'say-hello-again');
  await cp(plugin, project, { recursive: true });
  const without = { ...env, AANA_CACHE_DIR: cacheDir, AANA_FFMPEG_PATH: join(folder, 'no-ffmpeg') };
  await using server = await serve({ plugins: [project], config: { deployments: {} }, env: without });
  assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
  assert.equal(
    (await readdir(cacheDir, { recursive: true })).filter((path) => /sample|ffmpeg/.test(path)),
    [],
  );
  const manifest = JSON.parse(await readFile(join(project, 'plugin.json'), 'utf8'));
  await writeFile(join(project, 'plugin.json'), JSON.stringify({ ...manifest, capabilities: ['media'] }));
  const reloaded = await run('plugins', 'reload', '--port', String(server.port));
  assert.match(reloaded.out, /^say-hello: failed: the configured ffmpeg .*no-ffmpeg does not run: /);
  assert.equal(await greeting(server), { greeting: 'Hello, Ada!' });
});

Plugins('are loaded completely when SIGHUP comes before the server is ready', async () => {
  const project = join(folder, 'to-be-built');
  await newPlugin(project);
  linkDependencies(project);
  // Plugins are loaded when ffmpeg has told its version.
  const [held, go] = [join(folder, 'held-ffmpeg'), join(folder, 'go')];
  const program = `#!/bin/sh\nwhile [ ! -e '${go}' ]; do sleep 0.05; done\necho "ffmpeg version 9.0 fake"\n`;
  await writeFile(held, program, { mode: 0o755 });
  const manifest = JSON.parse(await readFile(join(project, 'plugin.json'), 'utf8'));
  await writeFile(join(project, 'plugin.json'), JSON.stringify({ ...manifest, capabilities: ['media'] }));
  await using server = await startServe({
    plugins: [project],
    config: { deployments: {}, models: { offline: true } },
    env: { ...env, AANA_FFMPEG_PATH: held },
  });
  await until(() =>
    fetch(`${server.url}/api/ready`).then(
      () => true,
      () => false,
    ),
  );
  await until(async () => {
    server.process.kill('SIGHUP');
    return server.output().includes('plugins are not reloaded, because they are still being loaded');
  });
  await writeFile(go, '');
  await server.waitFor(/Deployed successfully\./);
  assert.is((await post(`${server.url}/to-be-built/greet`, { who: 'Ada' })).status, 200);
});

Plugins('dev builds, serves, shows the place of a mistake, and serves again when it is corrected', async () => {
  const project = join(folder, 'developed');
  await mkdir(project);
  await newPlugin(project);
  linkDependencies(project);
  const source = join(project, 'src/index.ts');
  const first = await readFile(source, 'utf8');
  await writeFile(source, first.replace('run({ who', 'run(({ who'));
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as { scripts: { dev: string } };
  assert.is(scripts.dev, 'aana-host dev .');
  await using server = await startServe({
    command: 'dev',
    plugins: [project],
    config: {
      deployments: { unused_deployment: { type: 'WhisperDeployment' } },
      strict: true,
      models: { offline: true },
    },
    env,
  });
  await server.waitFor(/Deployed successfully\./);
  assert.match(server.output(), /src\/index\.ts:12:\d+: /);
  const answer = async (): Promise<string> => (await post(`${server.url}/developed/greet`, { who: 'Ada' })).text();
  await writeFile(source, first);
  await until(async () => (await answer()) === '{"greeting":"Hello, Ada!"}', 120_000);
  await writeFile(source, first.replace("join(' ')", "join(' ')) +"));
  await server.waitFor(/src\/index\.ts:14:\d+: /);
  assert.is(await answer(), '{"greeting":"Hello, Ada!"}');
  await writeFile(source, first.replace('Hello', 'Good morning'));
  await until(async () => (await answer()) === '{"greeting":"Good morning, Ada!"}', 120_000);
});

Plugins.run();
