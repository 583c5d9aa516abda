// A configuration is applied to a running application.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaApp, type AanaError, type ConfigInput, loadConfig, silentLogger } from 'aana-host';
import { RelayDeployment } from '../../inference/deployments/fixtures/relay-deployment.ts';
import { SampleDeployment } from '../../inference/deployments/fixtures/sample-deployment.ts';
import { makeFolder } from '../fixtures/test-app.ts';

const Changes = suite('a configuration that is applied');
let folder = '';
let app: AanaApp;
let origin: string;
let token: string;

type Deployments = NonNullable<ConfigInput['deployments']>;
interface Plan {
  readonly id: string;
  readonly changes: readonly Record<string, unknown>[];
  readonly refused: readonly { readonly key: string; readonly reason: string }[];
  readonly unchanged: number;
}
interface Event {
  readonly deployment: string | null;
  readonly state: string;
  readonly text: string;
}

const sample = (config: Record<string, unknown> = {}, options: object = {}) => ({
  type: 'SampleDeployment',
  user_config: config,
  ...options,
});

Changes.before(async () => {
  folder = makeFolder();
  const base: ConfigInput = {
    ...{ cache_dir: join(folder, 'cache'), data_dir: join(folder, 'data'), dashboard: { port: 0 } },
    ...{ devices: { gpus: [] }, media: { temp_dir: folder } },
  };
  const deployments: Deployments = { one: sample({ model: join(folder, 'a') }) };
  const config = loadConfig({ cwd: folder, env: {}, base, content: JSON.stringify({ deployments }) });
  app = new AanaApp({
    config,
    definitions: [SampleDeployment, RelayDeployment.options().definition],
    log: silentLogger,
    progress: { write: () => true },
  });
  Object.assign(app.models, { pull: async (id: string) => ({ path: id }) });
  app.configure(config);
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  const url = new URL(await app.openDashboard());
  [origin, token] = [url.origin, url.hash.replace('#token=', '')];
});
Changes.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function send(what: 'plan' | 'apply', config: object, query = ''): Promise<Response> {
  return fetch(`${origin}/api/configuration/${what}${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(config),
  });
}
const plan = async (config: object): Promise<Plan> => (await (await send('plan', config)).json()) as Plan;
const apply = async (config: object, query = ''): Promise<Event[]> =>
  [...(await (await send('apply', config, query)).text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
    JSON.parse(data!),
  );
const failure = async (answer: Promise<Response>): Promise<[number, AanaError & { error: string }]> => {
  const response = await answer;
  return [response.status, (await response.json()) as AanaError & { error: string }];
};
const ends = (events: readonly Event[]): string[] =>
  events.filter(({ state }) => state !== 'progress').map(({ deployment, state }) => `${deployment} ${state}`);
const specOf = async (name: string): Promise<Record<string, unknown>> =>
  (await app.handle(name).call('spec', {})) as Record<string, unknown>;
const names = (): string[] => Object.keys(app.status().deployments).filter((name) => name !== 'app');

Changes('has none before it until one was applied', async () => {
  const headers = { authorization: `Bearer ${token}` };
  for (const method of ['GET', 'POST']) {
    const [status, { error }] = await failure(fetch(`${origin}/api/configuration/rollback`, { method, headers }));
    assert.equal([status, error], [409, 'NoPreviousConfiguration']);
  }
});

Changes('shows what would change, and what needs a restart', async () => {
  const made = await plan({
    deployments: { two: sample(), one: sample({ model: 'b' }, { num_replicas: 2 }) },
    port: 9,
  });
  assert.equal(made.changes, [
    { kind: 'add', deployment: 'two', how: 'start', keys: [] },
    { kind: 'change', deployment: 'one', how: 'rolling', keys: ['num_replicas', 'user_config.model'] },
  ]);
  assert.equal(
    made.refused.map(({ key }) => key),
    ['port'],
  );
  assert.equal((await plan({ deployments: {} })).changes, [
    { kind: 'remove', deployment: 'one', how: 'stop', keys: [] },
  ]);
  const [status, { error }] = await failure(send('apply', { deployments: {}, port: 9 }));
  assert.equal([status, error, names()], [409, 'ChangesRefused', ['one']]);
});

Changes('refuses a wrong configuration and another plan by name', async () => {
  for (const [config, named] of [
    [{ deployments: { one: { type: 'None' } } }, /unknown type None/],
    [{ deployments: { one: sample({}, { replicas: 2 }) } }, /replicas/],
    [{ deployment: {} }, /unknown key "deployment"/],
    [{ __proto__: null, port: 'x' }, /port/],
  ] as const) {
    const [status, { message }] = await failure(send('plan', config));
    assert.is(status, 422);
    assert.match(message, named);
  }
  const [status, { error }] = await failure(send('apply', { deployments: {} }, '?plan_id=other'));
  assert.equal([status, error], [409, 'PlanChanged']);
  assert.is((await fetch(`${origin}/api/configuration/apply`, { method: 'POST' })).status, 401);
});

Changes('adds, replaces and removes deployments under load, and no call fails', async () => {
  const stop = new AbortController();
  let calls = 0;
  const load = Array.from({ length: 4 }, async () => {
    for (; !stop.signal.aborted; calls += 1) await specOf('one');
  });
  const config = { deployments: { one: sample({ model: 'b' }), two: sample() } };
  const { id } = await plan(config);
  assert.equal(ends(await apply(config, `?plan_id=${id}`)), [
    ...['two begins', 'two done', 'one begins', 'one done', 'null applied'],
  ]);
  assert.is((await specOf('one'))['path'], 'b');
  const events = await apply({ deployments: { one: sample({ model: 'b' }) } });
  assert.equal([ends(events).at(-1), names()], ['null applied', ['one']]);
  stop.abort();
  await Promise.all(load);
  assert.ok(calls > 0);
  assert.equal((await plan({ deployments: { one: sample({ model: 'b' }) } })).changes, []);
});

Changes('takes everything back when a deployment does not start', async () => {
  const { one } = app.status().deployments;
  const events = await apply({
    deployments: { new: sample(), one: sample({ model: 'b', start: 'reject' }) },
  });
  assert.equal(ends(events).slice(0, 2), ['new begins', 'new done']);
  assert.equal(ends(events).slice(-3), ['one failed', 'new undone', 'null rolled-back']);
  assert.match(events.at(-1)!.text, /nothing was changed: one: .*model\.bin is truncated/s);
  assert.equal([names(), app.status().deployments['one']], [['one'], one]);
  assert.is((await specOf('one'))['path'], 'b');
  const added = await apply({ deployments: { one: sample({ model: 'b' }), bad: sample({ start: 'reject' }) } });
  assert.is(ends(added).at(-1), 'null rolled-back');
  assert.equal([names(), app.status().status], [['one'], 'RUNNING']);
});

Changes('adds and removes deployments together with those that call them', async () => {
  const one = sample({ model: 'b' });
  const relay = (next: string) => ({ type: 'RelayDeployment', handles: { next } });
  const asked = async (name: string): Promise<unknown> =>
    ((await app.handle(name).call('ask', { method: 'spec' })) as Record<string, unknown>)['path'];
  const steps = async (deployments: Deployments): Promise<string[]> =>
    ends(await apply({ deployments })).filter((step) => step.endsWith(' done') || step.startsWith('null '));
  assert.equal(await steps({ one, caller: relay('called'), called: sample({ model: 'x' }) }), [
    ...['called done', 'caller done', 'null applied'],
  ]);
  assert.is(await asked('caller'), 'x');
  assert.equal(await steps({ one, caller: relay('new'), new: sample({ model: 'y' }) }), [
    ...['new done', 'caller done', 'called done', 'null applied'],
  ]);
  assert.is(await asked('caller'), 'y');
  const [status, { error, message }] = await failure(send('apply', { deployments: { one, caller: relay('new') } }));
  assert.equal([status, error], [409, 'ChangesRefused']);
  assert.match(message, 'deployments.new: it cannot be removed, because caller calls it');
  assert.equal(await steps({ one }), ['caller done', 'new done', 'null applied']);
  assert.equal(names(), ['one']);
});

Changes('goes back to the configuration before, and back again', async () => {
  const rollback = async (method: 'GET' | 'POST', query = ''): Promise<Response> =>
    fetch(`${origin}/api/configuration/rollback${query}`, { method, headers: { authorization: `Bearer ${token}` } });
  const modelOf = async (): Promise<unknown> => (await specOf('one'))['path'];
  const back = async (query = ''): Promise<string | undefined> =>
    /"state":"([a-z-]+)","text":"[^"]*"\}\n\n$/.exec(await (await rollback('POST', query)).text())?.[1];
  await apply({ deployments: { one: sample({ model: 'b' }) } });
  await apply({ deployments: { one: sample({ model: 'c' }), more: sample() } });
  const planned = (await (await rollback('GET')).json()) as Plan;
  assert.equal(
    planned.changes.map(({ kind, deployment }) => [kind, deployment]),
    [
      ['change', 'one'],
      ['remove', 'more'],
    ],
  );
  assert.is(await back(`?plan_id=${planned.id}`), 'applied');
  assert.equal([await modelOf(), names()], ['b', ['one']]);
  assert.is((await failure(rollback('POST', `?plan_id=${planned.id}`)))[1].error, 'PlanChanged');
  assert.is(await back(), 'applied');
  assert.equal([await modelOf(), names()], ['c', ['one', 'more']]);
  await back();
  const ofProgram = sample({ model: join(folder, 'own') });
  await app.registerDeployment('own', ofProgram, { deploy: true });
  await apply({ deployments: { one: sample({ model: 'b' }), own: sample({ model: 'd' }) } });
  assert.is((await specOf('own'))['path'], 'd');
  assert.is(await back(), 'applied');
  assert.is((await specOf('own'))['path'], join(folder, 'own'), 'the program had registered it');
});

Changes.run();
