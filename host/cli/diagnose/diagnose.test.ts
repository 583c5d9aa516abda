// The commands in their own processes, beside a host with secrets everywhere.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp } from 'aana-host';
import { loadConfig, redactorOf } from '../../base/config/index.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';

const Diagnose = suite('aana-host diagnose and profile');
let folder = '';
let app: AanaApp;
let log = '';

/** Every planted secret and every content of a request has this text. */
const PLANTED = 'plantedX7';
const secret = (name: string): string => `${name}-${PLANTED}-0123456789`;

const env = {
  HF_TOKEN: secret('hub'),
  AWS_SECRET_ACCESS_KEY: secret('cloud'),
  DATABASE_URL: `postgres://admin:${secret('url')}@db.example.org/x`,
  DB_CONFIG: JSON.stringify({ datastore_config: { password: secret('group') } }),
};

async function run(args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(
    process.execPath,
    [join(packageRoot, 'bundle/host/cli/main.js'), ...args, '--config', 'aana.config.json'],
    {
      cwd: folder,
      env: {
        HOME: folder,
        PATH: process.env['PATH'],
        TMPDIR: folder,
        AANA_CACHE_DIR: process.env['AANA_CACHE_DIR'],
        ...env,
      },
      timeout: 120_000,
    },
  );
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, out, err };
}

Diagnose.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-diagnose-'));
  const config = {
    runtime_dir: 'run',
    data_dir: 'data',
    port: 0,
    api_service: { enabled: true },
    webhook: { hmac_secret: secret('hmac') },
    dashboard: { port: 0, token: secret('dashboard') },
    outgoing: {},
    models: { hf_endpoint: `https://me:${secret('mirror')}@models.example.org` },
    telemetry: {
      traces: { slow_s: 0 },
      otlp: { headers: [`x-collector=${secret('header')}`] },
    },
    deployments: {
      remote: {
        type: 'OpenAiTextGenerationDeployment',
        user_config: { base_url: 'http://127.0.0.1:9/v1', model: 'm', api_key: secret('remote') },
      },
    },
  };
  await writeFile(join(folder, 'aana.config.json'), JSON.stringify(config));
  const all = { ...env, AANA_CACHE_DIR: process.env['AANA_CACHE_DIR'], HOME: folder };
  const loaded = loadConfig({ cwd: folder, env: all });
  app = new AanaApp({
    config: { ...loaded, deployments: {} },
    log: createLogger({ level: 'info', format: 'text', write: (line) => void (log += line) }),
    progress: { write: () => true },
  });
  app.registerEndpoint({
    name: 'ask',
    path: '/ask',
    input: z.strictObject({ prompt: z.string(), fails: z.boolean().default(false) }),
    output: z.any(),
    run: async ({ prompt, fails }) => {
      if (fails) throw new Error(`no answer to ${prompt}`);
      return { transcript: prompt };
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  const { apiKey } = await app.apiKeys!.create({ user_id: 'ann', key_id: 'ann-1' }, secret('api-key'));
  const headers = {
    'x-api-key': apiKey,
    authorization: `Bearer ${secret('bearer')}`,
    'content-type': 'application/json',
  };
  const send = (path: string, body: object): Promise<Response> =>
    fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await send(`/ask?access_token=${secret('query')}`, { prompt: secret('prompt') });
  await send('/ask', { prompt: secret('prompt') });
  await send('/ask', { prompt: secret('prompt'), fails: true });
  await send('/webhooks', {
    url: `https://user:${secret('hook')}@hooks.example.org/${PLANTED}`,
    events: [],
    secret: secret('webhook'),
  });
});
Diagnose.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

async function unpacked(file: string): Promise<ReadonlyMap<string, string>> {
  const into = await mkdtemp(join(folder, 'unpacked-'));
  await tar.extract({ file: join(folder, file), cwd: into });
  const names = (await readdir(into, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      names.map(async ({ parentPath, name }): Promise<[string, string]> => {
        const path = join(parentPath, name);
        return [path.slice(into.length + 1), await readFile(path, 'utf8')];
      }),
    ),
  );
}

Diagnose('write what a helper needs, and no secrets or contents', async () => {
  const made = await run(['diagnose', '--output', 'bundle.tar.gz']);
  assert.is(made.code, 0, made.err);
  assert.is((await stat(join(folder, 'bundle.tar.gz'))).mode & 0o777, 0o600);
  const files = await unpacked('bundle.tar.gz');
  assert.equal([...files.keys()].sort(), [
    'application/configuration.json',
    'application/log.txt',
    'application/metrics.txt',
    'application/plugins.json',
    'application/status.json',
    'application/traces.json',
    'configuration.json',
    'doctor.json',
    'doctor.txt',
    'versions.json',
  ]);
  const leaks = [...files].flatMap(([name, content]) =>
    content
      .split('\n')
      .filter((line) => line.includes(PLANTED))
      .map((line) => `${name}: ${line}`),
  );
  assert.equal(leaks, []);
  assert.match(files.get('application/metrics.txt') ?? '', 'http_server_request_duration_seconds');
  assert.match(files.get('application/traces.json') ?? '', 'POST /ask');
  assert.match(files.get('application/log.txt') ?? '', 'Deployed successfully.');
  assert.match(files.get('application/status.json') ?? '', `"pid": ${process.pid}`);
  assert.match(files.get('configuration.json') ?? '', 'models.example.org');
  assert.match(files.get('doctor.txt') ?? '', /^ok +configuration/);
  assert.match(log, 'Deployed successfully.', 'the log was written as always');

  const again = await run(['diagnose', '--output', 'bundle.tar.gz']);
  assert.is(again.code, 2);
  assert.match(again.err, /bundle\.tar\.gz exists; name another file/);
});

Diagnose('write profiles that only this user can read', async () => {
  const cpu = await run(['profile', 'cpu', '--seconds', '0.3', '--output', 'a.cpuprofile']);
  assert.is(cpu.code, 0, cpu.err);
  assert.is((await stat(join(folder, 'a.cpuprofile'))).mode & 0o777, 0o600);
  const profile = JSON.parse(await readFile(join(folder, 'a.cpuprofile'), 'utf8')) as { nodes: unknown[] };
  assert.ok(profile.nodes.length > 1);
  const heap = await run(['profile', 'heap', '--output', 'a.heapsnapshot']);
  assert.is(heap.code, 0, heap.err);
  assert.is((await stat(join(folder, 'a.heapsnapshot'))).mode & 0o777, 0o600);
  const snapshot = JSON.parse(await readFile(join(folder, 'a.heapsnapshot'), 'utf8')) as { nodes: unknown[] };
  assert.ok(snapshot.nodes.length > 10_000);
  assert.not.ok((await readdir(folder)).some((name) => name.endsWith('.partial')));
});

Diagnose('say in the bundle that no application runs', async () => {
  await app.shutdown({ graceMs: 0 });
  const made = await run(['diagnose', '--output', 'alone.tar.gz']);
  assert.is(made.code, 0, made.err);
  const files = await unpacked('alone.tar.gz');
  assert.match(files.get('application.txt') ?? '', 'no aana-host application of this user is running');
  assert.not.match([...files.values()].join(''), PLANTED);
});

Diagnose('remove secrets of every form from every text', () => {
  const redact = redactorOf(undefined, { MY_API_KEY: 'variable-secret', LANG: 'en_GB.UTF-8' });
  const cases: readonly [given: string, expected: string][] = [
    ['failed with variable-secret', 'failed with …'],
    ['https://ann:pw@x.org/a and http://bob:pw@y.org', 'https://…@x.org/a and http://…@y.org'],
    ['GET /a?api_key=abc&n=1', 'GET /a?api_key=…&n=1'],
    ['http://127.0.0.1:8265/#token=abcdef', 'http://127.0.0.1:8265/#token=…'],
    ['authorization: Bearer abcdefgh.ijk', 'authorization: Bearer …'],
    ['the key aana_0123456789abcdef', 'the key …'],
    ['en_GB.UTF-8 stays', 'en_GB.UTF-8 stays'],
  ];
  assert.equal(
    cases.map(([given]) => redact(given)),
    cases.map(([, expected]) => expected),
  );
  assert.equal(redact({ a: [{ b: 'variable-secret' }, 1, null] }), { a: [{ b: '…' }, 1, null] });
});

Diagnose.run();
