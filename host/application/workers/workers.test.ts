// One application with several processes behind one port, as `aana-host serve --workers 2` starts it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestOverTls, type RequestOptions as RequestOptionsOverTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CertificateFolder, hasOpenssl } from '../../base/certificates/fixtures/certificates.ts';
import { askOperator } from '../../apis/control/index.ts';
import { newPlugin } from '../../cli/commands/new-plugin.ts';
import { postgresDatabases } from '../../data/storage/fixtures/databases.ts';
import { buildTestPlugin } from '../../endpoints/plugins/fixtures/build-test-plugin.ts';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { skip } from '../../test/skip.ts';
import { type RunningServer, serve, startServe, until } from '../../test/helpers/server.ts';

const Serving = suite('an application with workers');
const APP = `${fileURLToPath(new URL('../fixtures/worker-app.js', import.meta.url))}:app`;
const folder = mkdtempSync(join(tmpdir(), 'aana-workers-'));
const databases = await postgresDatabases();

interface Answer {
  /** 0 for a connection that broke. */
  readonly status: number;
  readonly body: string;
  readonly requestId?: unknown;
}

/** Sends a request over a connection of its own, which goes to any of the processes. */
function send(
  server: Pick<RunningServer, 'url'>,
  path: string,
  body?: unknown,
  headers: object = {},
  method: string = body === undefined ? 'GET' : 'POST',
  options: RequestOptionsOverTls = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const sent = (server.url.startsWith('https:') ? requestOverTls : request)(`${server.url}${path}`, {
      ...{ agent: false, method },
      ...options,
      headers: { 'content-type': 'application/json', ...headers },
    });
    sent.on('response', async (answer) =>
      text(answer).then(
        (all) => resolve({ status: answer.statusCode ?? 0, body: all, requestId: answer.headers['x-request-id'] }),
        () => resolve({ status: 0, body: '' }),
      ),
    );
    sent.on('error', () => resolve({ status: 0, body: '' }));
    sent.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const pidOf = ({ body }: Answer): number => (JSON.parse(body) as { pid: number }).pid;
const who = (server: RunningServer): Promise<Answer> => send(server, '/who', {});

/** Starts the application. `config` is added to its configuration. */
async function started(config: object = {}, flags: readonly string[] = ['--workers', '2']): Promise<RunningServer> {
  const runtime_dir = mkdtempSync(join(folder, 'run-'));
  return serve({
    plugins: [],
    flags: [...flags, '--shutdown-grace', '20'],
    config: { app: APP, deployments: {}, runtime_dir, ...config },
  });
}

/** Returns the process ids that answer, the controller first. */
async function processes(server: RunningServer, count = 2): Promise<number[]> {
  const found = new Set<number>();
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => who(server)));
    for (const answer of answers) if (answer.status === 200) found.add(pidOf(answer));
    return found.size >= count;
  });
  const own = server.process.pid!;
  assert.ok(found.has(own));
  return [own, ...[...found].filter((pid) => pid !== own)];
}

/** Sends requests with `clients` at a time until `end` resolves. Returns their answers. */
async function load(server: RunningServer, end: Promise<unknown>, clients = 8): Promise<Answer[]> {
  const answers: Answer[] = [];
  let isOver = false;
  void end.then(() => (isOver = true));
  const client = async (): Promise<void> => {
    while (!isOver) answers.push(await who(server));
  };
  await Promise.all(Array.from({ length: clients }, client));
  return answers;
}

const failed = (answers: readonly Answer[]): readonly Answer[] => answers.filter(({ status }) => status !== 200);

Serving.after(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof databases !== 'string') await databases.end();
});

Serving('answers in all of its processes, which share the replicas', async () => {
  await using server = await started();
  await processes(server);
  const answers = await Promise.all(Array.from({ length: 40 }, () => who(server)));
  assert.equal(failed(answers), []);
  assert.ok(answers.every(({ body }) => (JSON.parse(body) as { said: string }).said === 'hello'));
  for (let i = 0; i < 6; i += 1) {
    const { body: metrics } = await send(server, '/metrics');
    assert.match(metrics, /^http_server_request_duration_seconds_count\{worker="0",.*http_route="\/who"/m);
    assert.match(metrics, /^http_server_request_duration_seconds_count\{worker="1",.*http_route="\/who"/m);
    const replicas = metrics.match(/^aana_deployment_replicas\{.*state="ready".* 1$/gm) ?? [];
    assert.is(replicas.length, 1, metrics.match(/^aana_deployment_replicas.*/gm)?.join('\n'));
    const { status, deployments } = JSON.parse((await send(server, '/api/status')).body) as {
      status: string;
      deployments: Record<string, { status: string }>;
    };
    assert.equal([status, deployments['talk']?.status], ['RUNNING', 'RUNNING']);
    assert.is((await send(server, '/api/ready?deployment=talk')).status, 200);
    assert.is((await send(server, '/api/ready?deployment=none')).status, 404);
    assert.is((await send(server, '/who', { text: 1 })).status, 422);
  }
  assert.is(await server.stop(), 0);
});

Serving('goes on when a worker is killed, loses only its running requests, and starts it again', async () => {
  await using server = await started();
  const [, worker] = (await processes(server)) as [number, number];
  const clients = 8;
  const killed = (async () => {
    await until(async () => (await who(server)).status === 200);
    process.kill(worker, 'SIGKILL');
    await until(async () => {
      const answer = await who(server);
      return answer.status === 200 && ![worker, server.process.pid].includes(pidOf(answer));
    });
  })();
  const answers = await load(server, killed, clients);
  const lost = failed(answers);
  assert.ok(
    lost.every(({ status }) => status === 0),
    JSON.stringify(lost[0]),
  );
  assert.ok(lost.length <= clients, `${lost.length} of ${answers.length} lost`);
  assert.ok(answers.length > 50);
  assert.is(await server.stop(), 0);
});

Serving('loses no request when a worker is told to end, and when the application is', async () => {
  await using server = await started();
  const [controller, worker] = (await processes(server)) as [number, number];
  const restarted = (async () => {
    process.kill(worker, 'SIGTERM');
    await until(async () => {
      const answer = await who(server);
      return answer.status === 200 && ![worker, controller].includes(pidOf(answer));
    });
  })();
  assert.equal(failed(await load(server, restarted)), []);

  const file = join(folder, 'let-go');
  const held: Promise<Answer>[] = [];
  const POSTS = /^http_server_active_requests\{worker="(\d)",.*"POST".* (\d+)$/gm;
  await until(async () => {
    held.push(send(server, '/hold', { file }));
    const active = [...(await send(server, '/metrics')).body.matchAll(POSTS)].filter(([, , count]) => count !== '0');
    const sum = active.reduce((all, [, , count]) => all + Number(count), 0);
    return new Set(active.map(([, process]) => process)).size === 2 && sum === held.length;
  });
  server.process.kill('SIGTERM');
  await until(async () => (await who(server)).status !== 200);
  writeFileSync(file, '');
  const answers = await Promise.all(held);
  assert.equal(failed(answers), []);
  assert.is(new Set(answers.map(pidOf)).size, 2, 'both processes had requests');
  assert.is(await server.ended(), 0);
});

Serving('answers while a worker is stopped', async () => {
  await using server = await started();
  const [, worker] = (await processes(server)) as [number, number];
  process.kill(worker, 'SIGSTOP');
  const answers = await Promise.all(Array.from({ length: 16 }, () => send(server, '/metrics')));
  assert.equal(failed(answers), []);
  assert.equal(failed(await Promise.all(Array.from({ length: 16 }, () => who(server)))), []);
  process.kill(worker, 'SIGCONT');
  await until(async () => (await send(server, '/metrics')).body.includes('{worker="1"'));
  assert.not.match(server.output(), 'MaxListeners');
  assert.is(await server.stop(), 0);
});

Serving('ends its workers with it, also when it is killed', async () => {
  await using server = await started({}, ['--workers', '3']);
  const workers = (await processes(server, 3)).slice(1);
  assert.is(await server.stop('SIGKILL'), 'SIGKILL');
  await until(async () => workers.every((pid) => !isRunning(pid)));
});

const kinds: [string, () => Promise<object>][] = [['SQLite', async () => ({})]];
if (typeof databases === 'string')
  Serving('shares a PostgreSQL database', () => skip('workers on PostgreSQL', databases));
else kinds.push(['PostgreSQL', async () => ({ db_config: await databases.create() })]);
for (const [kind, database] of kinds)
  Serving(`counts limits and tasks for all of its processes, on ${kind}`, async () => {
    await using server = await started({
      ...(await database()),
      rate_limits: { endpoints: { '/who': { capacity: 40, interval_seconds: 100_000 } } },
      task_queue: { num_workers: 4 },
    });
    const file = join(folder, `tasks of ${kind}`);
    const ids = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { body } = await send(server, '/hold?defer=true', { file });
        return (JSON.parse(body) as { task_id: string }).task_id;
      }),
    );
    const count = async (status: string): Promise<number> =>
      (JSON.parse((await send(server, '/tasks/count')).body) as Record<string, number>)[status] ?? 0;
    const stateOf = async (id: string): Promise<{ status: string; result: { pid: number } | null }> =>
      JSON.parse((await send(server, `/tasks/get/${id}`)).body) as never;
    await until(async () => (await count('running')) === 4);
    writeFileSync(file, '');
    await until(async () => (await Promise.all(ids.map(stateOf))).every(({ status }) => status === 'completed'));
    const pids = (await Promise.all(ids.map(stateOf))).map(({ result }) => result?.pid);
    assert.is(new Set(pids).size, 2, 'both processes ran tasks');

    const statuses: number[] = [];
    await until(async () => {
      statuses.push((await who(server)).status);
      return statuses.length > 80 && statuses.slice(-40).every((status) => status === 429);
    });
    const allowed = statuses.filter((status) => status === 200).length;
    assert.ok(allowed >= 40 && allowed <= 60, `${allowed} allowed`);
    assert.is(await server.stop(), 0);
  });

Serving('shows and changes the application at any of its processes, to admins alone', async () => {
  const runtimeDir = mkdtempSync(join(folder, 'run-'));
  const config = { runtime_dir: runtimeDir, api_service: { enabled: true } };
  await using server = await started(config);
  const keyOf = (user: string, isAdmin: boolean) =>
    askOperator({ runtimeDir }, 'post /api/keys', { body: { user_id: user, is_admin: isAdmin } });
  const [admin, user] = [await keyOf('ann', true), await keyOf('bob', false)];
  const headersOf = ({ api_key: key }: { readonly api_key: string }) => ({ 'x-api-key': key });
  /** Asks until both processes have answered often, and returns the different answers. */
  const everywhere = async (path: string, headers: object, body?: unknown): Promise<Answer[]> => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => send(server, path, body, headers)));
    return [...new Map(answers.map((answer) => [answer.status + answer.body, answer])).values()];
  };
  const logged = async (): Promise<{ message: string; fields: Record<string, unknown> }[]> =>
    (await askOperator({ runtimeDir }, 'get /api/logs', { query: { lines: 1000 } })).records;
  const put = (path: string, body: unknown): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      ...{ method: 'PUT', body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', connection: 'close', ...headersOf(admin) },
    });

  for (const path of ['/api/application', '/api/logs', '/api/configuration', '/api/models', '/api/alerts']) {
    assert.equal(
      (await everywhere(path, headersOf(user))).map(({ status }) => status).every((one) => one === 403),
      true,
      path,
    );
    assert.ok(
      (await everywhere(path, headersOf(admin))).every(({ status }) => status === 200),
      path,
    );
  }
  const unknown = await everywhere('/api/deployments?deployment=none', headersOf(admin));
  assert.ok(
    unknown.every(({ status, body }) => status === 404 && !body.includes('.ts')),
    JSON.stringify(unknown[0]),
  );

  const ids = (
    await Promise.all(Array.from({ length: 24 }, () => send(server, '/api/alerts', undefined, headersOf(admin))))
  ).map(({ requestId }) => requestId);
  await until(async () => {
    const known = new Set((await logged()).map(({ fields }) => fields['requestId']));
    return ids.every((id) => known.has(id));
  });

  // A body of a request that has none does not become a request of its own at the controller.
  const inner = 'POST /api/stop HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';
  for (let i = 0; i < 8; i += 1) {
    const headers = { 'transfer-encoding': 'chunked', ...headersOf(admin) };
    assert.is((await send(server, '/api/alerts', inner, headers, 'GET')).status, 200);
  }

  for (const level of ['debug', 'info', 'debug']) {
    assert.is((await put('/api/logs/levels', { level })).status, 200);
    assert.equal(
      (await everywhere('/api/logs/levels', headersOf(admin))).map(
        ({ body }) => (JSON.parse(body) as { level: string }).level,
      ),
      [level],
    );
  }
  await until(async () => {
    await send(server, '/who', {}, headersOf(user));
    const records = await logged();
    const of = (worker: number | undefined) =>
      records.some(({ fields }) => fields['path'] === '/who' && fields['worker'] === worker);
    return of(undefined) && of(1);
  });
  for (const worker of [0, 1]) {
    const answer = await send(server, `/api/logs?worker=${worker}`, undefined, headersOf(admin));
    const { records } = JSON.parse(answer.body) as { records: { fields: { worker?: number } }[] };
    assert.ok(records.length > 0 && records.every(({ fields }) => (fields.worker ?? 0) === worker));
  }
  assert.is((await send(server, '/api/logs?worker=one', undefined, headersOf(admin))).status, 422);
  const { application } = await askOperator({ runtimeDir }, 'get /api/application', {});
  assert.equal(
    application.workers.map(({ worker, pid }) => [worker, isRunning(pid)]),
    [[1, true]],
  );

  assert.is((await put('/api/deployments/talk/replicas', { replicas: 2 })).status, 200);
  await until(async () => {
    const { body } = await send(server, '/metrics', undefined, headersOf(admin));
    return /^aana_deployment_replicas\{.*state="ready".* 2$/m.test(body);
  });

  const limits = { endpoints: { '/who': { capacity: 1, interval_seconds: 100_000 } } };
  const next = { app: APP, deployments: {}, ...config, rate_limits: limits };
  const applied = await send(server, '/api/configuration/apply', next, headersOf(admin));
  assert.match(applied.body, '"applied"');
  await until(async () => (await everywhere('/who', headersOf(user), {})).every(({ status }) => status === 429));

  const { status } = await fetch(`${server.url}/api/keys/${user.key_id}`, {
    ...{ method: 'DELETE', headers: { connection: 'close', ...headersOf(admin) } },
  });
  assert.is(status, 200);
  const refused = await everywhere('/who', headersOf(user), {});
  assert.ok(
    refused.every((one) => one.status === 401),
    JSON.stringify(refused),
  );
  assert.is(await server.stop(), 0);
});

Serving('has the last lines of a worker in its log', async () => {
  const runtimeDir = mkdtempSync(join(folder, 'run-'));
  await using server = await started({ runtime_dir: runtimeDir });
  const [, worker] = (await processes(server)) as [number, number];
  process.kill(worker, 'SIGTERM');
  await server.waitFor(/worker ended; it starts again/);
  const { records } = await askOperator({ runtimeDir }, 'get /api/logs', { query: { lines: 1000 } });
  const said = records.filter(({ fields }) => fields['worker'] === 1).map(({ message }) => message);
  assert.ok(said.includes('shut down'), said.join('\n'));
  assert.is(await server.stop(), 0);
});

Serving('gives a worker that starts the plugins that are reloaded meanwhile', async () => {
  const plugin = join(folder, 'say-hello');
  await newPlugin(plugin);
  linkDependencies(plugin);
  await buildTestPlugin(plugin);
  rmSync(join(plugin, 'src'), { recursive: true }); // so that no new version is built
  const hold = join(folder, 'hold');
  const runtimeDir = mkdtempSync(join(folder, 'run-'));
  await using server = await serve({
    ...{ plugins: [plugin], flags: ['--workers', '2'], env: { AANA_TEST_HOLD: hold } },
    config: { app: APP, deployments: {}, runtime_dir: runtimeDir },
  });
  const [, worker] = (await processes(server)) as [number, number];
  const loads = (): number => server.output().match(/plugin loaded worker=1 /g)?.length ?? 0;
  assert.is(loads(), 1);
  writeFileSync(hold, '');
  process.kill(worker, 'SIGKILL');
  await until(async () => loads() === 2);
  const manifest = join(plugin, 'plugin.json');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('0.1.0', '0.2.0'));
  await askOperator({ runtimeDir }, 'post /api/plugins/reload', {});
  rmSync(hold);
  await server.waitFor(/plugin loaded worker=1 .*version=0\.2\.0/);
  assert.is(await server.stop(), 0);
});

Serving('encrypts in all of its processes', async () => {
  if (!hasOpenssl) return skip('workers with a certificate', 'openssl is missing');
  using certificates = new CertificateFolder();
  const { cert, key } = certificates.make('server');
  await using server = await started({ tls: { cert, key } });
  const encrypted = { url: server.url.replace('http:', 'https:') };
  const pids = new Set<number>();
  await until(async () => {
    const ask = () => send(encrypted, '/who', {}, {}, 'POST', { ca: readFileSync(cert) });
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    assert.equal(failed(answers), []);
    for (const answer of answers) pids.add(pidOf(answer));
    return pids.size === 2;
  });
  assert.is(await server.stop(), 0);
});

Serving('refuses what only works in one process', async () => {
  for (const [config, flags, key] of [
    [{}, ['--workers', '2', '--watch'], 'watch'],
    [{ listen: `unix:${folder}/http.sock` }, ['--workers', '2'], 'listen'],
    [{ openai: { on_demand: { models: ['smollm2-135m-instruct'] } } }, ['--workers', '2'], 'openai.on_demand.models'],
  ] as const) {
    await using server = await startServe({ plugins: [], flags, config: { app: APP, deployments: {}, ...config } });
    assert.is(await server.ended(), 2);
    assert.match(server.output(), `error: ${key} cannot be used with 2 workers`);
  }
});

Serving('refuses to start as one process where it cannot have a control socket', async () => {
  const file = join(folder, 'a file');
  writeFileSync(file, '');
  const config = { app: APP, deployments: {}, runtime_dir: file };
  await using server = await startServe({ plugins: [], flags: ['--workers', '2'], config });
  assert.is(await server.ended(), 2);
  assert.match(server.output(), 'error: runtime_dir: 2 workers need a control socket');
});

Serving('divides no limits where no workers start', async () => {
  const file = join(folder, 'let go of tasks');
  await using server = await serve({
    ...{ command: 'deploy', plugins: [APP], flags: ['--workers', '4'] },
    config: { deployments: {}, runtime_dir: mkdtempSync(join(folder, 'run-')), task_queue: { num_workers: 4 } },
  });
  for (let i = 0; i < 4; i += 1) assert.is((await send(server, '/hold?defer=true', { file })).status, 200);
  await until(async () => (await send(server, '/tasks/count')).body.includes('"running":4'));
  writeFileSync(file, '');
  assert.match(server.output(), 'only aana-host serve starts workers');
  assert.is(await server.stop(), 0);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

Serving.run();
