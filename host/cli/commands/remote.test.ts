// Commands of operators for an application over HTTP and HTTPS, with real servers and keys.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../application/app.ts';
import { makeApp, makeFolder } from '../../application/fixtures/test-app.ts';
import { CertificateFolder, hasOpenssl } from '../../base/certificates/fixtures/certificates.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { deferred } from '../../base/core/deferred.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { SampleDeployment } from '../../inference/deployments/fixtures/sample-deployment.ts';
import { command, type CommandResult } from '../../test/helpers/command-line/command.ts';

const Remote = suite('commands for an application on another machine');
const folder = makeFolder();
const runtimeDir = join(folder, 'run');
const NONE = '00000000-0000-4000-8000-000000000000';
const lines: string[] = [];
let app: AanaApp;
let [url, admin, ordinary, scoped] = ['', '', '', ''];

Remote.before(async () => {
  const log = createLogger({ level: 'debug', format: 'json', write: (line) => void lines.push(line) });
  app = makeApp(folder, { log }, { api_service: { enabled: true }, runtime_dir: runtimeDir, log: { level: 'debug' } });
  app.registerDeployment('sample', SampleDeployment.options({ user_config: { model: join(folder, 'a') } }));
  Object.assign(app.models, { pull: async (id: string) => ({ path: id }) });
  app.registerEndpoint({
    name: 'now',
    path: '/now',
    input: z.strictObject({}),
    output: z.any(),
    run: async () => 'now',
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url!;
  admin = (await app.apiKeys!.create({ user_id: 'root', key_id: 'root-1', is_admin: true })).apiKey;
  scoped = (await app.apiKeys!.create({ user_id: 'root', is_admin: true, scopes: ['tasks'] })).apiKey;
  ordinary = (await app.apiKeys!.create({ user_id: 'ann', key_id: 'ann-1' })).apiKey;
});
Remote.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const environment = (own: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...{ HOME: folder, PATH: process.env['PATH'], TMPDIR: folder, AANA_RUNTIME_DIR: join(folder, 'none') },
  ...own,
});
const run = (args: readonly string[], own: NodeJS.ProcessEnv = {}): Promise<CommandResult> =>
  command(args, { cwd: folder, env: environment(own) });
const runThere = (args: readonly string[], key: string | undefined = admin): Promise<CommandResult> =>
  run(args, { AANA_URL: url, ...(key !== undefined && { AANA_API_KEY: key }) });
/** Requests in the log since the last call, with the name of their key. */
const requests = (): string[] =>
  lines
    .splice(0)
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ message, msg }) => (message ?? msg) === 'request')
    .map(({ method, path, keyId }) => `${method} ${path} ${keyId}`);

/** Resolves when a command has sent the request that a server does not answer. */
const { promise: hasAsked, resolve: asked } = deferred<void>();

/** A server that is no application. */
async function withServer(answer: (response: ServerResponse) => void, work: (at: string) => Promise<void>) {
  const seen: IncomingHttpHeaders[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(request.headers);
    answer(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  return seen;
}

Remote('do and print the same as on the machine itself', async () => {
  for (const args of [['deployments'], ['log-levels'], ['tasks'], ['webhooks'], ['plugins'], ['alerts']]) {
    const here = await run(args, { AANA_RUNTIME_DIR: runtimeDir });
    assert.is(here.code, 0, here.err);
    assert.equal(await runThere(args), here, args.join(' '));
  }
  const { code, out } = await run(['status', '--url', `${url}/`, '--api-key', admin]);
  assert.is(code, 0);
  assert.match(out, /^\S* ?app at http:\/\/127\.0\.0\.1:\d+: RUNNING\n/);
  assert.match((await runThere(['endpoints'])).out, /^\/now +- +0 /m);
  assert.is((await runThere(['scale', 'sample', '2'])).out, 'sample has 2 replicas\n');
  assert.is((await runThere(['deployments', 'unload', 'sample', '--grace', '0'])).code, 0);
  assert.is((await runThere(['deployments', 'load', 'sample'])).out, 'sample is loaded\n');
  assert.is((await runThere(['log-levels', 'media=warn'])).out, 'debug\nmedia=warn\n');
  assert.match((await runThere(['logs', '-n', '1'])).out, /\n$/);
  assert.is((await runThere(['tasks', 'show', NONE])).err, `error: there is no task "${NONE}"\n`);
  writeFileSync(join(folder, 'next.json'), JSON.stringify({ deployments: {}, rate_limits: { documentation: null } }));
  assert.is((await runThere(['apply', 'next.json', '--yes'])).code, 0);
  assert.match(
    (await runThere(['apply', '--previous', '--yes'])).out,
    /^~ rate_limits\.documentation\n[\s\S]*applied\n$/,
  );
});

Remote('of keys use the routes, here and there', async () => {
  writeFileSync(join(folder, 'broken.json'), '{');
  for (const [own, by, data] of [
    // A configuration of this machine does not matter.
    [{ AANA_URL: url, AANA_API_KEY: admin }, 'root-1', ['--config', 'broken.json']],
    [{ AANA_RUNTIME_DIR: runtimeDir }, 'command', ['--data-dir', join(folder, 'data')]],
    [{ AANA_URL: url, AANA_RUNTIME_DIR: runtimeDir }, 'command', ['--data-dir', join(folder, 'data')]],
  ] as const) {
    const keys = (...args: string[]): Promise<CommandResult> => run(['keys', ...args, ...data], own);
    requests();
    const made = await keys('create', '--user', 'bob', '--id', 'bob-1');
    assert.match(made.out, /^aana_\w{38}\n$/, made.err);
    assert.not.match(made.err, /do not require keys/);
    assert.ok(requests().includes(`POST /api/keys ${by}`));
    assert.match((await keys('list', '--user', 'bob')).out, /^bob-1 {2}user bob, never used\n$/);
    assert.match(
      (await keys('update', 'bob-1', '--scope', 'tasks')).out,
      /^bob-1 {2}user bob, for tasks, never used\n$/,
    );
    assert.match((await keys('subscription', 'bob', 'off')).out, /inactive: 1 key\n$/);
    assert.is((await keys('revoke', 'bob-1')).code, 0);
    assert.is((await keys('revoke', 'bob-1')).err, 'error: there is no api_key "bob-1"\n');
    assert.match((await keys('create', '--user', 'bob', '--scope', 'all')).err, /^error: (body\.)?scopes\.0: /);
    assert.match((await keys('create', '--user', 'a', '--id', 'root-1')).err, /^error: there is already an API key/);
    assert.ok(requests().includes(`DELETE /api/keys/bob-1 ${by}`));
  }
});

Remote('of keys use the database where no application has it', async () => {
  const other = ['--data-dir', join(folder, 'other')];
  for (const own of [{}, { AANA_RUNTIME_DIR: runtimeDir }]) {
    const cached = { ...own, AANA_CACHE_DIR: process.env['AANA_CACHE_DIR'] ?? '' };
    requests();
    const made = await run(['keys', 'create', '--user', 'eve', ...other], cached);
    assert.match(made.out, /^aana_\w{38}\n$/, made.err);
    assert.not.ok(requests().some((request) => request.startsWith('POST')));
  }
  assert.equal(await app.apiKeys!.list('eve'), []);
  const given = await runThere(['keys', 'create', '--user', 'eve', '--stdin']);
  assert.equal([given.code, given.err], [2, 'error: --stdin stores a key in the database, so it takes no --url\n']);
});

Remote('refuse wrong keys in one sentence that does not repeat them', async () => {
  const strange = 'aana_strange-key-0123456789';
  for (const [key, message] of [
    [strange, /^error: .*API key.*\n$/],
    [undefined, /^error: .*API key.*\n$/],
    [scoped, /^error: .*scope.*\n$/],
    [ordinary, /^error: \/api\/application is only for admins: it needs an API key of an admin\n$/],
    ['with a space', /^error: the API key has characters that no key has\n$/],
  ] as const) {
    const { code, out, err } = await run(['status'], { AANA_URL: url, ...(key && { AANA_API_KEY: key }) });
    assert.equal([code, out], [2, '']);
    assert.match(err, message);
    const debugged = await run(['status', '--log-level', 'debug'], {
      AANA_URL: url,
      ...(key && { AANA_API_KEY: key }),
    });
    if (key) assert.not.ok(`${err}${debugged.err}`.includes(key), err);
  }
  for (const key of [admin, ordinary, strange]) assert.not.ok(lines.some((line) => line.includes(key)));
});

Remote('say which setting is missing where API keys are off', async () => {
  const own = join(folder, 'open');
  mkdirSync(own);
  await using open = makeApp(own, {}, {});
  await open.listen({ host: '127.0.0.1', port: 0 });
  const { code, err } = await run(['status', '--url', open.url!]);
  assert.is(code, 1);
  assert.match(err, /has no get \/api\/application: .*; routes for admins need api_service.enabled there\n$/);
});

Remote('warn of a key that goes to another machine without encryption', async () => {
  const status = async (address: string, key = admin) =>
    (await run(['status'], { AANA_URL: address, AANA_API_KEY: key })).err;
  assert.match(await status('http://0.0.0.0:1'), /^warning: the API key goes to 0\.0\.0\.0:1 without .*\nerror: /);
  for (const address of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1', 'https://0.0.0.0:1'])
    assert.match(await status(address), /^error: /);
  assert.match(await status('http://0.0.0.0:1', ''), /^error: /);
});

Remote('say what is at the address if it is no application', async () => {
  const at = (address: string): Promise<CommandResult> => run(['status'], { AANA_URL: address, AANA_API_KEY: admin });
  const gone = await at('http://127.0.0.1:1');
  assert.is(gone.code, 2);
  assert.match(gone.err, /^error: the application at http:\/\/127\.0\.0\.1:1 does not answer: .*ECONNREFUSED.*\n$/);
  for (const status of [200, 404, 502])
    for (const body of ['<html>', '{}', 'null', '[1]', '{"detail":"Not Found"}', '{"version":1}'])
      await withServer(
        (response) => void response.writeHead(status).end(body),
        async (address) => {
          const { code, err } = await at(address);
          const why = `its answer with status ${status} is not one of aana-host`;
          assert.equal([code, err], [2, `error: the application at ${address} does not answer: ${why}\n`]);
        },
      );
  await withServer(
    (response) =>
      response.req.url === '/version'
        ? void response.end('{"version":"0.6.0"}')
        : void response.writeHead(404).end('{"detail":"Not Found"}'),
    async (address) => assert.match((await at(address)).err, /its answer with status 404 is not one of aana-host/),
  );
  const reached = await withServer(
    (response) => void response.end('{}'),
    (target) =>
      withServer(
        (response) => void response.writeHead(307, { location: `${target}/version` }).end(),
        async (address) => assert.match((await at(address)).err, /its answer with status 307 is not one of aana-host/),
      ).then(() => {}),
  );
  assert.equal(reached, [], 'a redirect gets no key');
});

Remote('take the address from a file that is named, and not from .env', async () => {
  const variables = `AANA_URL=${url}\nAANA_API_KEY=${admin}\n`;
  writeFileSync(join(folder, 'there.env'), variables);
  const named = await run(['status', '--env-file', 'there.env']);
  assert.is(named.code, 0, named.err);
  writeFileSync(join(folder, '.env'), variables);
  try {
    const { code, err } = await run(['status']);
    assert.equal(
      [code, err],
      [2, 'error: no aana-host application of this user is running; start one with "aana-host serve"\n'],
    );
  } finally {
    rmSync(join(folder, '.env'));
  }
});

Remote('end at the first signal while a server does not answer', async () => {
  await withServer(
    (response) => {
      if (response.req.url === '/version') response.end('{"version":"1.0.0"}');
      else asked();
    },
    async (address) => {
      const child = spawn(process.execPath, [join(packageRoot, 'bundle/host/cli/main.js'), 'keys', 'list'], {
        env: environment({ AANA_URL: address, AANA_API_KEY: admin }),
        cwd: folder,
      });
      const closed = once(child, 'close');
      await hasAsked;
      child.kill('SIGINT');
      const [code] = await closed;
      assert.is(code, 1);
    },
  );
});

Remote('refuse options that do not fit', async () => {
  for (const [args, message] of [
    [['status', '--url', 'ftp://h'], 'the address of an application begins with http:// or https://'],
    [['status', '--url', 'h:80'], 'the address of an application begins with http:// or https://'],
    [
      ['status', '--url', 'http://u:secret@h'],
      'the address of an application has no user, password, query or fragment',
    ],
    [['status', '--api-key', 'k'], '--api-key needs --url'],
    [
      ['status', '--url', url, '--port', '1'],
      'give --url, or --port, --listen, --runtime-dir or --data-dir for an application of this machine',
    ],
  ] as const) {
    const { code, err } = await run(args);
    assert.equal([code, err], [2, `error: ${message}\n`]);
  }
  assert.is((await run(['stop', '--url', url])).code, 2, 'only the user of the process may stop it');
  assert.match((await runThere(['stop'])).err, /^error: AANA_URL is set, and this command is only for applications of/);
  const local = await run(['status', '--port', '1'], { AANA_URL: url });
  assert.is(local.err, 'error: no aana-host application of this user is running on port 1\n');
});

if (hasOpenssl)
  Remote('check the certificate of HTTPS', async () => {
    using certificates = new CertificateFolder();
    certificates.make('here');
    const own = join(folder, 'secure');
    mkdirSync(own);
    await using secure = makeApp(
      own,
      {},
      {
        api_service: { enabled: true },
        tls: { cert: certificates.file('here.pem'), key: certificates.file('here.key') },
      },
    );
    await secure.listen({ host: '127.0.0.1', port: 0 });
    await secure.deploy();
    const key = (await secure.apiKeys!.create({ user_id: 'root', is_admin: true })).apiKey;
    const status = async (trusted: object) => {
      const child = spawn(process.execPath, [join(packageRoot, 'bundle/host/cli/main.js'), 'status'], {
        env: environment({ AANA_URL: secure.url!, AANA_API_KEY: key, ...trusted }),
        cwd: folder,
      });
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { code, out, err };
    };
    assert.match(secure.url!, /^https:/);
    const refused = await status({});
    assert.equal([refused.code, refused.out], [2, '']);
    assert.match(refused.err, /does not answer: .*certificate\n$/);
    const { code, out } = await status({ NODE_EXTRA_CA_CERTS: certificates.file('here.pem') });
    assert.is(code, 0);
    assert.match(out, /: RUNNING\n/);
  });

Remote.run();
