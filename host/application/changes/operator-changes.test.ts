// Changes of operators over restarts of an application, with its database and real replicas.
import { rmSync } from 'node:fs';
import { kill } from 'node:process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApplicationReport, DeploymentHistory } from '../../apis/http/index.ts';
import { AanaApp, type ConfigInput, type ConnectOptions, createLogger, loadConfig } from 'aana-host';
import { RelayDeployment } from '../../inference/deployments/fixtures/relay-deployment.ts';
import { SampleDeployment } from '../../inference/deployments/fixtures/sample-deployment.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { until } from '../../test/helpers/server.ts';
import { makeFolder } from '../fixtures/test-app.ts';

type Deployments = NonNullable<ConfigInput['deployments']>;

interface Answer {
  readonly status: number;
  readonly text: string;
  /** What the text says as JSON. */
  readonly body: { readonly error?: string; readonly application: ApplicationReport } & DeploymentHistory;
}

interface Host {
  /** It listens. */
  readonly app: AanaApp;
  /** The messages of its log. */
  readonly messages: string[];
  ask(method: string, path: string, body?: object): Promise<Answer>;
}

interface Opening {
  readonly at?: ConnectOptions;
  readonly devices?: ConfigInput['devices'];
}

const Kept = suite('changes of operators over restarts');
let folder = '';
let hosts: AanaApp[] = [];

Kept.before.each(() => {
  folder = makeFolder();
});
Kept.after.each(async () => {
  for (const app of hosts) await app.shutdown({ graceMs: 0 });
  hosts = [];
  rmSync(folder, { recursive: true, force: true });
});

const sample = (options: object = {}): Deployments[string] => ({
  type: 'SampleDeployment',
  user_config: {},
  ...options,
});

const socketPath = (): string => `unix:${join(folder, 'http.sock')}`;

/** Opens the application, by default always on the same socket. `devices` are those of its machine. */
async function open(
  deployments: Deployments,
  { at = { host: socketPath() }, devices = { gpus: [] } }: Opening = {},
): Promise<Host> {
  const messages: string[] = [];
  const base: ConfigInput = {
    ...{ cache_dir: join(folder, 'cache'), data_dir: join(folder, 'data'), dashboard: { port: 0 } },
    ...{ devices, media: { temp_dir: folder }, runtime_dir: join(folder, 'run') },
    db_config: { connection_timeout: 1 },
  };
  const config = loadConfig({ cwd: folder, env: {}, base, content: JSON.stringify({ deployments }) });
  const write = (line: string): void => void messages.push((JSON.parse(line) as { message: string }).message);
  const app = new AanaApp({
    config,
    definitions: [SampleDeployment, RelayDeployment.options().definition],
    log: createLogger({ level: 'info', format: 'json', write }),
    progress: { write: () => true },
  });
  hosts.push(app);
  Object.assign(app.models, { pull: async (id: string) => ({ path: id }) });
  app.configure(config);
  await app.listen(at);
  const url = new URL(await app.openDashboard());
  const headers = { authorization: `Bearer ${url.hash.replace('#token=', '')}`, 'content-type': 'application/json' };
  const ask: Host['ask'] = async (method, path, body) => {
    const answer = await fetch(`${url.origin}/api${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, text, body: (isJson ? JSON.parse(text) : {}) as Answer['body'] };
  };
  return { app, messages, ask };
}

async function start(deployments: Deployments, opening: Opening = {}): Promise<Host> {
  const host = await open(deployments, opening);
  await host.app.deploy();
  return host;
}

async function restart(host: Host, deployments: Deployments, opening: Opening = {}): Promise<Host> {
  await host.app.shutdown({ graceMs: 0 });
  return start(deployments, opening);
}

const replicas = async ({ ask }: Host): Promise<Record<string, number | string>> => {
  const { deployments } = (await ask('GET', '/application')).body.application;
  return Object.fromEntries(
    deployments.map(({ name, status, replicas: all }) => [name, status === 'UNLOADED' ? status : all.length]),
  );
};
const LEFT = 'a deployment starts as an operator left it, not as configured';
const OVERRIDDEN = 'the configuration has another number of replicas than before, so it counts';
const DIFFERS = 'the configuration differs from the one that was applied last; this start has what it says';
const LACKING = 'the replicas that an operator wants cannot be had; the deployment starts as configured';
const told = ({ messages }: Host): string[] =>
  messages.filter((one) => [LEFT, OVERRIDDEN, DIFFERS, LACKING].includes(one));
const scale = async ({ ask }: Host, name: string, count: number): Promise<void> =>
  assert.is((await ask('PUT', `/deployments/${name}/replicas`, { replicas: count })).status, 200);
const history = async ({ ask }: Host, query = ''): Promise<string[]> =>
  (await ask('GET', `/deployments/changes${query}`)).body.changes.map(
    ({ number, epoch, deployment, kind, detail, changed_by: by }) =>
      `${number} ${epoch} ${deployment} ${kind} ${detail} ${by}`,
  );

Kept('a number of replicas stays until the configuration says another one', async () => {
  let host = await start({ one: sample(), two: sample() });
  await scale(host, 'one', 2);
  host = await restart(host, { two: sample(), one: sample({ user_config: { model: 'newer' } }) });
  assert.equal([await replicas(host), told(host)], [{ two: 1, one: 2 }, [LEFT]]);
  host = await restart(host, { one: sample({ num_replicas: 3 }) });
  assert.equal([await replicas(host), told(host)], [{ one: 3 }, [OVERRIDDEN]]);
  host = await restart(host, { one: sample() });
  assert.equal([await replicas(host), told(host)], [{ one: 1 }, []], 'the number was forgotten');
  await scale(host, 'one', 2);
  await scale(host, 'one', 1);
  host = await restart(host, { one: sample() });
  assert.equal([await replicas(host), told(host)], [{ one: 1 }, []], 'it is as configured again');
});

Kept('bounds of autoscaling stay, too', async () => {
  const scaling = { min_replicas: 0, max_replicas: 3 };
  let host = await start({ one: sample({ num_replicas: undefined, autoscaling_config: scaling }) });
  await scale(host, 'one', 2);
  host = await restart(host, { one: sample({ autoscaling_config: scaling }) });
  assert.equal([await replicas(host), told(host)], [{ one: 2 }, [LEFT]]);
  host = await restart(host, { one: sample() });
  assert.equal([await replicas(host), told(host)], [{ one: 1 }, [OVERRIDDEN]]);
});

Kept('an unloaded deployment stays unloaded until it is loaded, but not below one that calls it', async () => {
  const relay = { type: 'RelayDeployment', handles: { next: 'one' } };
  let host = await start({ one: sample(), two: sample(), relay });
  for (const name of ['one', 'two']) assert.is((await host.ask('POST', `/deployments/${name}/unload`)).status, 200);
  host = await restart(host, { one: sample(), two: sample(), relay });
  assert.equal([await replicas(host), told(host)], [{ one: 1, two: 'UNLOADED', relay: 1 }, [LEFT]]);
  assert.is(host.app.status().status, 'RUNNING');
  assert.is((await errorOf(host.app.handle('two').call('spec', {}))).name, 'DeploymentUnloaded');
  assert.is((await host.ask('POST', '/deployments/two/load')).status, 200);
  host = await restart(host, { one: sample(), two: sample(), relay });
  assert.equal([await replicas(host), told(host)], [{ one: 1, two: 1, relay: 1 }, []]);
});

Kept('a start says once that its configuration differs from the one that was applied', async () => {
  let host = await start({ one: sample() });
  await scale(host, 'one', 2);
  const applied = { one: sample({ user_config: { model: 'b' } }), new: sample() };
  await host.ask('POST', '/configuration/apply', { deployments: applied });
  assert.equal(await replicas(host), { one: 1, new: 1 });
  host = await restart(host, applied);
  assert.equal([await replicas(host), told(host)], [{ one: 1, new: 1 }, []]);
  host = await restart(host, { one: sample() });
  assert.equal([await replicas(host), told(host)], [{ one: 1 }, [DIFFERS]]);
  host = await restart(host, { one: sample() });
  assert.equal(told(host), []);
  assert.equal(await history(host), [
    '3 1 one change num_replicas, user_config.model dashboard',
    '2 1 new add  dashboard',
    '1 1 one scale 1 to 2 dashboard',
  ]);
  assert.equal(await history(host, '?deployment=new&limit=1'), ['2 1 new add  dashboard']);
});

Kept('nothing is kept on any free port', async () => {
  const anywhere = { at: { host: '127.0.0.1', port: 0 } };
  let host = await start({ one: sample() }, anywhere);
  await scale(host, 'one', 2);
  await host.app.shutdown({ graceMs: 0 });
  host = await start({ one: sample() }, anywhere);
  assert.equal([await replicas(host), await history(host)], [{ one: 1 }, []]);
});

Kept('a host that is superseded serves on, but changes and starts nothing', async () => {
  const first = await start({
    one: sample(),
    asleep: sample({ autoscaling_config: { min_replicas: 0, max_replicas: 1 } }),
  });
  const socket = join(folder, 'http.sock');
  rmSync(socket); // as when two containers have one database
  assert.is((await errorOf(start({ one: sample({ user_config: { start: 'reject' } }) }))).name, 'FailedDeployment');
  await scale(first, 'asleep', 0); // a start that fails takes no control
  rmSync(socket, { force: true });
  const second = await start({ one: sample() });
  const { body } = await second.ask('GET', '/application');
  assert.equal(body.application.controller, { epoch: 2, superseded: null });
  const refused = await first.ask('PUT', '/deployments/one/replicas', { replicas: 2 });
  assert.equal([refused.status, refused.body.error], [503, 'ControllerSuperseded']);
  for (const path of ['load', 'unload'])
    assert.is((await first.ask('POST', `/deployments/one/${path}`)).body.error, 'ControllerSuperseded');
  const applied = await first.ask('POST', '/configuration/apply', { deployments: {} });
  assert.match(applied.text, /"state":"rolled-back","text":"nothing was changed: process \d+ of .* \(epoch 2\)/);
  const report = (await first.ask('GET', '/application')).body.application;
  assert.match(report.controller.superseded ?? '', /^process \d+ of .* \(epoch 2\) has become the controller of /);
  assert.equal(
    [await replicas(first), await history(second)],
    [{ one: 1, asleep: 0 }, ['1 1 asleep scale 0–1 to 0–1 dashboard']],
  );

  const handle = first.app.handle('one');
  assert.ok(await handle.call('spec', {}));
  assert.is((await errorOf(first.app.handle('asleep').call('spec', {}))).name, 'ControllerSuperseded');
  kill((await handle.call('pid', {})) as number, 'SIGKILL');
  await until(async () => (await errorOf(handle.call('spec', {})))?.name === 'ControllerSuperseded');
  assert.ok(await second.app.handle('one').call('spec', {}));
  assert.is(first.messages.filter((message) => message === 'this host is no longer the controller').length, 1);
});

Kept('nobody changes deployments during a start, which has the control only when it has succeeded', async () => {
  const first = await start({ one: sample() });
  rmSync(join(folder, 'http.sock'));
  const second = await open({ one: sample(), stuck: sample({ user_config: { start: 'hang' } }) });
  const starting = errorOf(second.app.deploy());
  await until(async () => second.app.status().deployments['one']?.status === 'RUNNING');
  for (const [method, path, body] of [
    ['PUT', 'replicas', { replicas: 2 }],
    ['POST', 'unload'],
    ['POST', 'load'],
  ] as const) {
    const { status, body: answer } = await second.ask(method, `/deployments/one/${path}`, body);
    assert.equal([status, answer.error], [503, 'NotReady']);
  }
  await second.app.shutdown({ graceMs: 0 });
  await starting;
  await scale(first, 'one', 2);
  assert.equal(await history(first), ['1 1 one scale 1 to 2 dashboard']);
});

Kept('a number that cannot be had any more does not prevent a start, and is kept for the next one', async () => {
  const roomy: Opening['devices'] = { gpus: [], memory_bytes: 2 ** 40, cpus: 4 };
  const one = sample({ ray_actor_options: { num_cpus: 1 } });
  let host = await start({ one, two: one }, { devices: roomy });
  await scale(host, 'one', 3);
  host = await restart(host, { one, two: one }, { devices: { ...roomy, cpus: 2 } });
  assert.equal([await replicas(host), told(host)], [{ one: 1, two: 1 }, [LEFT, LACKING]]);
  host = await restart(host, { one, two: one }, { devices: roomy });
  assert.equal([await replicas(host), told(host)], [{ one: 3, two: 1 }, [LEFT]]);
});

Kept('a smaller number is there from the beginning of a start', async () => {
  const devices: Opening['devices'] = { gpus: [], memory_bytes: 2 ** 40, cpus: 3 };
  const one = sample({ ray_actor_options: { num_cpus: 1 }, num_replicas: 3 });
  let host = await start({ one }, { devices });
  await scale(host, 'one', 1);
  host = await restart(host, { one, two: sample({ ray_actor_options: { num_cpus: 2 } }) }, { devices });
  assert.equal([await replicas(host), told(host)], [{ one: 1, two: 1 }, [LEFT]]);
});

Kept.run();
