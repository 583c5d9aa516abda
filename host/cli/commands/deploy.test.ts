// deploy, migrate and build of an application, as a user runs them: from a folder outside of the repository.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { command, type CommandResult } from '../../test/helpers/command-line/command.ts';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { freePort } from '../../test/helpers/server.ts';

const Deploy = suite('aana-host deploy, migrate and build');
const program = join(packageRoot, 'bundle/host/cli/main.js');
const sample = new URL('../../inference/replicas/fixtures/sample.js', import.meta.url).href;
let folder = '';

const HELLO = `
import { AanaApp, Endpoint } from 'aana-host';
import * as z from 'zod';
const Input = z.strictObject({ who: z.string().default('you') });
const Output = z.strictObject({ text: z.string() });
class Hello extends Endpoint {
  input = Input;
  output = Output;
  async run({ who }) { return { text: \`hello \${who}\` }; }
}
export const app = new AanaApp({ name: 'greeter', migration_func: () => console.log('migrated') });
app.registerEndpoint({ name: 'hello', path: '/hello', summary: 'Greets', endpoint_cls: Hello });
export const version = 3;
`;
/** A deployment with the sample implementation, without a model. */
const SAMPLE = `
import { AanaApp } from 'aana-host';
import * as z from 'zod';
const any = z.record(z.string(), z.unknown());
const Sample = {
  name: 'Sample', maxOngoingRequests: () => 2, implementation: new URL('${sample}'),
  configSchema: z.strictObject({ start: z.string().optional(), size: z.int().default(1) }),
  methods: { spec: { description: '', input: z.strictObject({}), output: any, streaming: false } },
  prepare: async (config) => config,
};
export const app = new AanaApp({ name: 'sampler', definitions: [Sample] });
app.registerDeployment('sample', { type: 'Sample', user_config: { size: 2 }, num_replicas: 1 });
app.registerEndpoint({ name: 'spec', path: '/spec', input: z.strictObject({}), output: any,
  run: async () => app.handle('sample').call('spec', {}) });
`;

Deploy.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-deploy-'));
  linkDependencies(folder);
  symlinkSync(join(packageRoot, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  writeFileSync(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
  writeFileSync(join(folder, 'hello.js'), HELLO);
  writeFileSync(join(folder, 'sample.js'), SAMPLE);
});
Deploy.after(() => rmSync(folder, { recursive: true, force: true }));

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  AANA_CACHE_DIR: join(folder, 'cache'),
  AANA_DATA_DIR: join(folder, 'data'),
  XDG_RUNTIME_DIR: join(folder, 'run'),
});

/** Runs a command in a process of its own, because it would leave an application in this one. */
function runProgram(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: environment(),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { code: status, out: stdout, err: stderr };
}

const run = (...args: string[]): Promise<CommandResult> => command(args, { cwd: folder, env: environment() });

interface Running extends AsyncDisposable {
  readonly url: string;
  output(): { out: string; err: string };
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command that serves, and waits until it is ready. */
async function start(
  args: readonly string[],
  { cwd = folder, port }: { cwd?: string; port?: number } = {},
): Promise<Running> {
  const chosen = port ?? (await freePort());
  const child = spawn(process.execPath, [...args, ...(port === undefined ? ['--port', String(chosen)] : [])], {
    cwd,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ((await exited) as [number | null])[0];
  };
  const url = `http://127.0.0.1:${chosen}`;
  while (
    (await fetch(`${url}/api/ready`).catch(() => undefined))?.status !== 200 ||
    !/API documentation|"message":"serving"/.test(out)
  ) {
    assert.ok(child.exitCode === null && child.signalCode === null, `it ended: ${out}${err}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url, output: () => ({ out, err }), end, [Symbol.asyncDispose]: async () => void (await end('SIGKILL')) };
}

const ask = async (url: string, body: unknown = {}): Promise<unknown> => {
  const form = new FormData();
  form.set('body', JSON.stringify(body));
  return (await fetch(url, { method: 'POST', body: form })).json();
};

Deploy('serves an application, and prints where', async () => {
  await using server = await start([program, 'deploy', 'hello:app']);
  assert.equal(await ask(`${server.url}/hello`, { who: 'Ada' }), { text: 'hello Ada' });
  const { out, err } = server.output();
  const dashboard = /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}\n/m;
  assert.match(out, dashboard);
  assert.is(
    out.replace(dashboard, ''),
    `migrated\nAPI documentation: ${server.url}/docs\nTry it:\n  curl -s -F 'body={"who":"you"}' ${server.url}/hello\n`,
  );
  assert.match(err, /INFO {2}Deployed successfully\. area=application deployments=0 endpoints=1/);
  assert.is(await server.end('SIGTERM'), 0);
});

Deploy('prints only JSON where the log is JSON', async () => {
  await using server = await start([program, 'deploy', 'hello:app', '--skip-migrations', '--log-format', 'json']);
  const { out, err } = server.output();
  const lines = `${out}${err}`
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const serving = lines.find(({ message }) => message === 'serving');
  assert.match(String(serving?.['dashboard']), /#token=/);
  assert.is(serving?.['url'], server.url);
  assert.is(lines.filter((line) => JSON.stringify(line).includes('#token=')).length, 1, 'no line of the log has it');
});

Deploy('hides log lines, skips migrations, and ends with 0 at SIGINT', async () => {
  await using server = await start([
    program,
    'deploy',
    'hello:app',
    '--hide-logs',
    '--skip-migrations',
    '--sequential-deploy',
  ]);
  await ask(`${server.url}/hello`);
  assert.match(server.output().out, /^Deployed successfully\.\nAPI documentation: /);
  assert.is(await server.end('SIGINT'), 0);
  assert.is(server.output().err, '');
});

Deploy('the application has the configuration of the command line', async () => {
  writeFileSync(join(folder, 'other.json'), '{"limits":{"max_json_bytes":20}}');
  await using server = await start([program, 'deploy', 'hello:app', '--config', 'other.json']);
  assert.is(
    ((await ask(`${server.url}/hello`, { who: 'somebody with a long name' })) as { error: string }).error,
    'RequestTooLarge',
  );
});

Deploy('accepts an application of another copy of the package', async () => {
  const copy = join(folder, 'copy/node_modules/aana-host');
  const built = readdirSync(join(packageRoot, 'build')).filter((name) => /^sqlite3-\w+$/.test(name));
  for (const part of [
    'bundle',
    'dist/host',
    'dist/native',
    'dist/wit',
    'host/data/storage',
    'native/sqlite3',
    'package.json',
    'wit',
    ...built.map((name) => `build/${name}`),
  ])
    cpSync(join(packageRoot, part), join(copy, part), {
      recursive: true,
      filter: (path) => !/\.map$|[\\/](fixtures|test|bench)$|\.test\.js$/.test(path),
    });
  symlinkSync(join(packageRoot, 'node_modules'), join(copy, 'node_modules'));
  symlinkSync(join(packageRoot, 'node_modules/zod'), join(folder, 'copy/node_modules/zod'));
  writeFileSync(join(folder, 'copy/hello.js'), HELLO);
  await using server = await start([program, 'deploy', 'copy/hello:app']);
  assert.equal(await ask(`${server.url}/hello`), { text: 'hello you' });
});

Deploy('a script that connects, migrates and deploys prints the same lines', async () => {
  writeFileSync(
    join(folder, 'script.js'),
    `import { app } from './hello.js';\nawait app.migrate();\nawait app.connect({ host: '127.0.0.1', port: ` +
      `Number(process.argv.at(-1)), show_logs: false });\nawait app.deploy({ blocking: true });\n`,
  );
  await using server = await start([join(folder, 'script.js')]);
  assert.equal(await ask(`${server.url}/hello`), { text: 'hello you' });
  assert.is(
    server.output().out,
    `migrated\nDeployed successfully.\nAPI documentation: ${server.url}/docs\nTry it:\n  curl -s -F ` +
      `'body={"who":"you"}' ${server.url}/hello\n`,
  );
  assert.is(await server.end('SIGTERM'), 0);
});

Deploy('build writes a configuration with which serve starts the same application, from any folder', async () => {
  const port = await freePort();
  writeFileSync(join(folder, 'aana.config.json'), '{"limits":{"max_files":3}}');
  const { code, out } = await run('build', 'sample:app', '--host', '127.0.0.1', '--port', String(port));
  const file = join(folder, 'aana.config.json');
  assert.equal([code, out], [0, `${file}\n`]);
  const config = JSON.parse(readFileSync(file, 'utf8')) as {
    deployments: { sample: { type: string; user_config: { size: number } } };
  };
  assert.is(config.deployments.sample.type, 'Sample');
  assert.equal(
    { ...config, deployments: config.deployments.sample.user_config },
    {
      limits: { max_files: 3 },
      name: 'sampler',
      host: '127.0.0.1',
      port,
      app: './sample.js:app',
      deployments: { size: 2 },
    },
  );
  {
    await using server = await start([program, 'serve', '--config', file], { cwd: tmpdir(), port });
    assert.equal(await ask(`${server.url}/spec`), { size: 2 });
    assert.is(
      ((await (await fetch(`${server.url}/openapi.json`)).json()) as { info: { title: string } }).info.title,
      'sampler',
    );
  }
  config.deployments.sample.user_config.size = 7;
  writeFileSync(file, JSON.stringify(config));
  await using changed = await start([program, 'serve'], { port }); // the file of the working directory
  assert.equal(await ask(`${changed.url}/spec`), { size: 7 });
  assert.is(await changed.end('SIGTERM'), 0);
  rmSync(file);
});

Deploy('a failed deployment ends with 1, the state of each deployment and the reason', () => {
  writeFileSync(join(folder, 'failing.js'), SAMPLE.replace('size: 2', "start: 'reject'"));
  const { code, err } = runProgram('deploy', 'failing:app', '--port', '0', '--log-level', 'error');
  assert.is(code, 1, err);
  assert.match(
    err,
    /^sampler +DEPLOY_FAILED\n {2}sample +DEPLOY_FAILED: .*model\.bin is trunc.*\n(.*\n)*error: .*model\.bin is trunc/m,
  );
});

Deploy('migrate only runs migrations', async () => {
  const { code, out, err } = await run('migrate', 'hello:app');
  assert.equal([code, err], [0, '']);
  assert.match(out, /^migrated\n(applied aana-host \d+ [a-z]+\n)+$|^migrated\nthe database is up to date\n$/);
});

const MISTAKES: readonly [title: string, args: string[], message: RegExp][] = [
  ['no argument', ['deploy'], /^error: missing required argument 'module:app'$/],
  [
    'an export that is not there',
    ['deploy', 'hello:none'],
    /^error: Could not import none from .*hello\.js: the module exports app, version$/,
  ],
  ['a flag with a wrong value', ['deploy', 'hello:app', '--port', 'eighty'], /^error: --port.*eighty/],
  [
    'a configuration file that is elsewhere',
    ['build', 'hello:app', '--config-name', '../there.json'],
    /^error: "\.\.\/there\.json" is not a valid name of a configuration file, such as aana\.config\.json$/,
  ],
];
for (const [title, args, message] of MISTAKES) {
  Deploy(`refuses ${title} in one sentence, with exit code 2`, async () => {
    const { code, out, err } = await run(...args);
    assert.equal([code, out], [2, ''], err);
    assert.match(err.trimEnd(), message);
  });
}

Deploy('refuses an application that its module has deployed', () => {
  writeFileSync(
    join(folder, 'deployed.js'),
    "import { AanaApp, silentLogger } from 'aana-host';\nexport const app = await new AanaApp({ log: silentLogger " +
      '}).deploy();\n',
  );
  const refused = { code: 2, out: '', err: 'error: the application is already deployed\n' };
  assert.equal(runProgram('deploy', 'deployed:app'), refused);
});

Deploy('a port in use is one sentence, with exit code 2', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const { code, err } = runProgram('deploy', 'hello:app', '--port', String(port));
  taken.close();
  assert.equal(
    [code, err],
    [
      2,
      `error: port ${port} on 127.0.0.1 is already in use: stop the program that uses it, or choose another port ` +
        `with --port\n`,
    ],
  );
});

Deploy.run();
