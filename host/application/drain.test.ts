// Drains real hosts under load, as an operator does before a stop.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../apis/control/client/index.ts';
import { askOperator } from '../apis/control/index.ts';
import { applicationStatus, drainApplication } from '../cli/commands/application.ts';
import { type RunningServer, serve, until } from '../test/helpers/server.ts';

const Draining = suite('a host that drains');
const APP = `${fileURLToPath(new URL('fixtures/worker-app.js', import.meta.url))}:app`;
const folder = mkdtempSync(join(tmpdir(), 'aana-drain-'));
Draining.after(() => rmSync(folder, { recursive: true, force: true }));

interface Host extends AsyncDisposable {
  readonly server: RunningServer;
  readonly runtimeDir: string;
}

interface Answer {
  /** 0 for a connection that broke. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function started(flags: readonly string[] = [], config: object = {}): Promise<Host> {
  const runtimeDir = mkdtempSync(join(folder, 'run-'));
  const server = await serve({
    plugins: [],
    flags: [...flags, '--shutdown-grace', '20'],
    config: { app: APP, deployments: {}, runtime_dir: runtimeDir, task_queue: { num_workers: 2 }, ...config },
    env: { AANA_DATA_DIR: join(folder, 'data') },
  });
  return { server, runtimeDir, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Sends a POST, or a GET without a body. Without `agent` it has a connection of its own. */
function send({ server }: Host, path: string, body?: unknown, agent: Agent | false = false): Promise<Answer> {
  return new Promise((resolve) => {
    const broken = (): void => resolve({ status: 0, headers: {}, body: '' });
    const sent = request(`${server.url}${path}`, {
      ...{ agent, method: body === undefined ? 'GET' : 'POST', headers: { 'content-type': 'application/json' } },
    });
    sent.on('response', async (answer) =>
      text(answer).then(
        (all) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: all }),
        broken,
      ),
    );
    sent.on('error', broken);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const many = <T>(count: number, ask: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, ask));
const valueOf = <T>({ body }: Answer): T => JSON.parse(body) as T;
const isRefused = ({ status, headers, body }: Answer): boolean =>
  status === 503 &&
  headers['retry-after'] === '1' &&
  headers.connection === 'close' &&
  (JSON.parse(body) as { error: string }).error === 'HostDraining';

/** Gives the command `drain`. Returns its exit code and output. */
async function drain({ runtimeDir }: Host, isUndone = false): Promise<[number, string]> {
  let written = '';
  const out = { write: (part: string) => (written += part) };
  return [await drainApplication({ runtimeDir, out }, isUndone, new AbortController().signal), written];
}

const setDraining = ({ runtimeDir }: Host, draining: boolean) =>
  askOperator({ runtimeDir }, 'put /api/drain', { body: { draining } });

Draining('finishes what runs in all of its processes, and leaves the rest to another host', async () => {
  await using one = await started(['--workers', '2']);
  await using other = await started();
  assert.equal(await drain(other), [
    0,
    'draining: 0 requests, 0 tasks and 0 calls run\n' +
      'nothing runs: "aana-host stop" stops the application, "aana-host drain --undo" takes this back\n',
  ]);

  const file = join(folder, 'let-go');
  const counts = async (): Promise<Record<string, number>> =>
    (await askOperator({ runtimeDir: one.runtimeDir }, 'get /api/tasks/count', {})) as never;
  const ids = await many(
    6,
    async () => valueOf<{ task_id: string }>(await send(one, '/hold?defer=true', { file })).task_id,
  );
  await until(async () => (await counts())['running'] === 2);
  const held = many(4, () => send(one, '/hold', { file }));

  // Clients of kept connections, each of which a refusal sends to the other host.
  let isOver = false;
  const answers: Answer[] = [];
  const refused: Answer[] = [];
  const client = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let host = one;
    while (!isOver) {
      const answer = await send(host, '/who', {}, agent);
      if (host === one && answer.status === 503) {
        refused.push(answer);
        host = other;
      } else answers.push(answer);
    }
    agent.destroy();
  };
  const load = many(8, client);
  await until(async () => answers.length > 50);
  await setDraining(other, false);
  const before = await setDraining(one, true);
  assert.is(before.draining?.tasks, 2);
  assert.ok((before.draining?.requests ?? 0) >= 4, JSON.stringify(before));
  await until(async () => refused.length === 8);
  assert.ok(refused.every(isRefused), JSON.stringify(refused));

  // All of its processes refuse, say that they are not ready, and answer operators.
  const ready = await many(12, () => send(one, '/api/ready'));
  assert.ok(ready.every(({ status, body }) => status === 503 && body === '{"ready":false,"draining":true}'));
  assert.ok((await many(12, () => send(one, '/who', {}))).every(isRefused));
  assert.ok((await many(12, () => send(one, '/tasks/count'))).every(isRefused));
  for (const path of ['/livez', '/version', '/api/status', '/metrics']) assert.is((await send(one, path)).status, 200);

  // The other host runs the tasks that have waited.
  await until(async () => (await counts())['running'] === 4);
  const waits = drain(one);
  writeFileSync(file, '');
  const [code, output] = await waits;
  assert.is(code, 0);
  assert.match(output, /\n?draining: 0 requests, 0 tasks and 0 calls run\nnothing runs/);
  assert.ok((await held).every(({ status }) => status === 200));
  await until(async () => (await counts())['completed'] === 6);
  const pids = await Promise.all(
    ids.map(async (id) => valueOf<{ result: { pid: number } }>(await send(other, `/tasks/get/${id}`)).result.pid),
  );
  assert.is(pids.filter((pid) => pid === other.server.process.pid).length, 4);

  assert.is(await one.server.stop(), 0);
  isOver = true;
  await load;
  assert.equal(
    answers.filter(({ status }) => status !== 200),
    [],
  );
});

Draining('takes requests again after the command with --undo, also in a worker that starts meanwhile', async () => {
  await using host = await started(['--workers', '2']);
  const workers = async (): Promise<number[]> => {
    const found = new Set(
      (await many(12, () => send(host, '/who', {}))).map((one) => valueOf<{ pid: number }>(one).pid),
    );
    return [...found].filter((pid) => pid !== host.server.process.pid);
  };
  let worker: number | undefined;
  await until(async () => ([worker] = await workers())[0] !== undefined);
  await using attached = await connect({ runtime_dir: host.runtimeDir });
  const talk = await attached.handle('talk');
  const say = (): Promise<unknown> => talk.call('say', { text: 'hello', how: 'well' });
  assert.is(await say(), 'hello');
  assert.is((await drain(host))[0], 0);
  const error = (): Promise<string> =>
    say().then(
      () => '',
      ({ name }: Error) => name,
    );
  await until(async () => (await error()) !== '');
  assert.is(await error(), 'HostDraining');
  let status = '';
  await applicationStatus({ runtimeDir: host.runtimeDir, out: { write: (part) => (status += part) } }, false);
  assert.match(status, '  draining: 0 requests, 0 tasks and 0 calls run\n');
  process.kill(worker!, 'SIGKILL');
  await host.server.waitFor(/worker ended; it starts again(?:.*\n)+?.*worker ready/);
  for (let i = 0; i < 5; i += 1) assert.ok((await many(12, () => send(host, '/who', {}))).every(isRefused));
  assert.equal(await drain(host, true), [0, 'the application takes new requests and tasks\n']);
  await until(async () => (await workers()).length === 1);
  assert.is((await send(host, '/api/ready')).status, 200);
  await until(async () => (await error()) === '');

  assert.is((await drain(host))[0], 0);
  assert.is(await host.server.stop(), 0);
});

Draining.run();
