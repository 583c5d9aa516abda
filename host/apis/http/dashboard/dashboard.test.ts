import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LogFields, Logger } from '../../../base/core/log/logger.ts';
import { SentimentDeployment } from '../../../inference/deployments/fixtures/sentiment-deployment.ts';
import { until } from '../../../test/helpers/server.ts';
import { type DashboardApp, startDashboardApp } from './fixtures/dashboard-app.ts';

const Dashboard = suite('the server of the dashboard');
let at: DashboardApp;
const lines: string[] = [];

/** A logger that keeps the lines, as JSON. */
const keeper: Logger = {
  debug: (message, fields) => void lines.push(lineOf('debug', message, fields)),
  info: (message, fields) => void lines.push(lineOf('info', message, fields)),
  warn: (message, fields) => void lines.push(lineOf('warn', message, fields)),
  error: (message, fields) => void lines.push(lineOf('error', message, fields)),
  child: () => keeper,
};
const lineOf = (level: string, message: string, fields: LogFields = {}): string =>
  `${level} ${message} ${JSON.stringify(fields)}`;

Dashboard.before(async () => {
  at = await startDashboardApp({}, { log: keeper });
});
Dashboard.after(async () => at?.[Symbol.asyncDispose]());

const json = async (response: Promise<Response>): Promise<[status: number, body: Record<string, unknown>]> => {
  const answer = await response;
  return [answer.status, (await answer.json()) as Record<string, unknown>];
};
const asJson = (method: string, body: object): RequestInit => ({
  method,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

Dashboard('shows nothing and changes nothing without its token', async () => {
  const paths = ['/api/application', '/api/application/load', '/api/application/events', '/api/logs', '/api/tasks'];
  for (const path of [...paths, '/api/keys', '/api/unknown', '/held'])
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { 'x-api-key': `${at.token}x` }]) {
      const [status, { error, message }] = await json(fetch(`${at.origin}${path}`, { headers }));
      assert.is(status, 401, path);
      assert.match(String(error), /^ApiKey(NotProvided|NotFound)$/);
      assert.match(String(message), '`aana-host dashboard` prints');
    }
  const change = asJson('PUT', { replicas: 0 });
  assert.is((await fetch(`${at.origin}/api/deployments/sentiment/replicas`, change)).status, 401);
  assert.is((await fetch(`${at.origin}/api/application?token=${at.token}`)).status, 401);
});

Dashboard('limits and logs the guesses of its token, and keeps its page out of caches', async () => {
  await using limited = await startDashboardApp(
    { rate_limits: { refused_keys: { capacity: 3, interval_seconds: 3600 } } },
    { log: keeper },
  );
  const guess = async (): Promise<number> =>
    (await fetch(`${limited.origin}/api/application`, { headers: { 'x-api-key': 'wrong' } })).status;
  const before = lines.length;
  assert.equal([await guess(), await guess(), await guess(), await guess()], [401, 401, 401, 429]);
  const warned = lines.slice(before).filter((line) => line.startsWith('warn a wrong token of the dashboard'));
  assert.is(warned.length, 3);
  assert.match(warned[0] ?? '', '127.0.0.1');
  assert.is((await fetch(`${limited.origin}/`)).headers.get('cache-control'), 'no-store');
  assert.is((await limited.ask('/api/application')).status, 429, 'the address of the guesses has no more tries');
});

Dashboard('serves only its page and the routes for admins', async () => {
  for (const path of ['/docs', '/v1/models', '/tasks', '/metrics', '/api/keys', '/api/status', '/assets/none.js'])
    assert.is((await at.ask(path)).status, 404, path);
  assert.is((await at.ask('/held', asJson('POST', {}))).status, 404);
  const page = await fetch(`${at.origin}/`);
  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'.* script-src 'self' 'sha256-/);
  const files = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!);
  assert.ok(files.length >= 3);
  for (const path of files) assert.is((await fetch(`${at.origin}${path}`)).status, 200, path);
});

Dashboard('refuses pages of other origins and foreign names', async () => {
  const status = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const url = `${at.origin}/api/plugins/reload`;
      const sent = { authorization: `Bearer ${at.token}`, ...headers };
      request(url, { method: 'POST', headers: sent }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end();
    });
  assert.is(await status({}), 200);
  assert.is(await status({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }), 403);
  assert.is(await status({ host: 'evil.example' }), 421);
});

Dashboard('tells the state of the application, also as events', async () => {
  const [status, state] = await json(at.ask('/api/application'));
  assert.is(status, 200);
  const { application, plugins, parts } = state as {
    application: { url: string; status: string; deployments: { name: string; replicas: { state: string }[] }[] };
    plugins: unknown[];
    parts: unknown;
  };
  assert.equal([application.url, application.status, plugins], [at.app.url, 'RUNNING', []]);
  assert.equal(parts, { tasks: true, webhooks: true, keys: false, traces: true });
  assert.equal(
    application.deployments.map(({ name, replicas }) => [name, replicas.map((replica) => replica.state)]),
    [['sentiment', ['ready']]],
  );
  const leaving = new AbortController();
  const events = await at.ask('/api/application/events', { signal: leaving.signal });
  const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!/id: 2\nevent: state\ndata: \{.*\}\n\n$/.test(text)) text += (await reader.read()).value;
  leaving.abort();
});

Dashboard('tells the devices of the machine, and what each replica has of them', async () => {
  const gpus = [
    { name: 'fake A', memory_bytes: 80_000 },
    { name: 'fake B', memory_bytes: 40_000 },
  ];
  await using shared = await startDashboardApp({ devices: { gpus, cpus: 4 } });
  const half = { num_gpus: 0.5, num_cpus: 1, memory_bytes: 20_000 };
  const deployment = SentimentDeployment.options({ num_replicas: 2, ray_actor_options: half });
  await shared.app.registerDeployment('half', deployment, { deploy: true });
  const [, { application }] = await json(shared.ask('/api/application'));
  const { devices, deployments } = application as {
    devices: { name: string; model: string; memory_bytes: number; other_bytes: number }[];
    deployments: { name: string; updating: unknown; replicas: { name: string; shares: object[] }[] }[];
  };
  assert.equal(
    devices.map(({ name, model, memory_bytes: bytes }) => [name, model, name === 'CPU' || bytes]),
    [
      ['GPU 0', 'fake A', 80_000],
      ['GPU 1', 'fake B', 40_000],
      ['CPU', '', true],
    ],
  );
  assert.ok(devices[2]!.memory_bytes > devices[2]!.other_bytes);
  const found = deployments.find(({ name }) => name === 'half')!;
  assert.is(found.updating, null);
  assert.equal(
    found.replicas.map(({ name, shares }) => [name, shares]),
    // The emptier GPU comes first, and `sentiment` has a quarter of the other one.
    [1, 0].map((gpu, index) => [
      `half#${index + 1}`,
      [
        { device: `GPU ${gpu}`, share: 0.5, cpus: 0, memory_bytes: 20_000 },
        { device: 'CPU', share: 0, cpus: 1, memory_bytes: 0 },
      ],
    ]),
  );
  await until(async () => {
    const [, { records }] = await json(shared.ask('/api/logs?replica=half%232'));
    const of = (records as { fields: { replica: string } }[]).map(({ fields }) => fields.replica);
    return of.length > 0 && of.every((replica) => replica === 'half#2');
  });
});

Dashboard('makes one state for 50 streams, and tells what has changed', async () => {
  interface State {
    readonly changes: Readonly<Record<string, number>>;
  }
  const leaving = new AbortController();
  const open = async (): Promise<() => Promise<string>> => {
    const events = await at.ask('/api/application/events', { signal: leaving.signal });
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    return async () => {
      for (;;) {
        const [, data, rest] = /data: (\{.*\})\n\n([^]*)$/.exec(text) ?? [];
        if (data !== undefined) {
          text = rest ?? '';
          return data;
        }
        text += (await reader.read()).value;
      }
    };
  };
  const streams = await Promise.all(Array.from({ length: 50 }, open));
  const first = await Promise.all(streams.map((next) => next()));
  const { changes: before } = JSON.parse(first[0]!) as State;
  const answer = await fetch(`${at.app.url}/held?defer=true`, asJson('POST', {}));
  const { task_id: id } = (await answer.json()) as { task_id: string };
  let states: string[] = [];
  do states = await Promise.all(streams.map((next) => next()));
  while ((JSON.parse(states[0]!) as State).changes['tasks'] === before['tasks']);
  assert.ok(new Set(states).size <= 2, 'readers get the same text, unless one is a state behind');
  const { changes } = JSON.parse(states[0]!) as State;
  assert.ok(changes['logs']! >= before['logs']!);
  assert.is(changes['models'], before['models']);
  leaving.abort();
  await at.ask(`/api/tasks/${id}/cancel`, { method: 'POST' });
});

Dashboard('tells which kind of thing has changed, and no other', async () => {
  type Changes = Readonly<Record<string, number>>;
  const changes = async (): Promise<Changes> =>
    ((await (await at.ask('/api/application')).json()) as { changes: Changes }).changes;
  /** Returns the kinds that `change` changes, of those that nothing else changes meanwhile. */
  const changedBy = async (change: () => Promise<unknown>, kind: string): Promise<string[]> => {
    const before = await changes();
    await change();
    let after = before;
    await until(async () => (after = await changes())[kind] !== before[kind]);
    return ['tasks', 'webhooks', 'keys', 'models', 'configuration'].filter((name) => after[name] !== before[name]);
  };
  let id = '';
  const make = async (): Promise<void> => {
    const made = await fetch(`${at.app.url}/webhooks`, asJson('POST', { url: 'https://example.org/', events: [] }));
    ({ id } = (await made.json()) as { id: string });
  };
  const change = (): Promise<Response> => fetch(`${at.app.url}/webhooks/${id}`, asJson('PUT', { enabled: false }));
  const remove = (): Promise<Response> => fetch(`${at.app.url}/webhooks/${id}`, { method: 'DELETE' });
  for (const step of [make, change, remove]) assert.equal(await changedBy(step, 'webhooks'), ['webhooks'], step.name);
  const setLevels = (): Promise<Response> => at.ask('/api/logs/levels', asJson('PUT', { level: 'error' }));
  assert.equal(await changedBy(setLevels, 'logs'), []); // the log has no line about it
  await at.ask('/api/logs/levels', asJson('PUT', { level: 'info' }));
});

Dashboard('tells the configuration with the origin of each value, without secrets', async () => {
  const [status, { values }] = await json(at.ask('/api/configuration'));
  assert.is(status, 200);
  const of = (key: string): unknown => (values as { key: string }[]).find((one) => one.key === key);
  assert.equal(of('dashboard.port'), { key: 'dashboard.port', value: 0, origin: 'the program' });
  assert.equal(of('strict'), { key: 'strict', value: false, origin: 'default' });
  assert.not.match(JSON.stringify(values), at.token);
});

Dashboard('scales a deployment, and refuses what is wrong', async () => {
  const scale = (name: string, body: object) => json(at.ask(`/api/deployments/${name}/replicas`, asJson('PUT', body)));
  assert.equal(await scale('sentiment', { replicas: 2 }), [200, { deployment: 'sentiment', replicas: 2 }]);
  const [, state] = await json(at.ask('/api/application'));
  const { deployments } = state['application'] as { deployments: { replicas: unknown[] }[] };
  assert.is(deployments[0]!.replicas.length, 2);
  assert.ok(
    lines.includes('info deployment scaled by an admin {"deployment":"sentiment","replicas":2,"key":"dashboard"}'),
  );
  await scale('sentiment', { replicas: 1 });
  for (const replicas of [-1, 1.5, '2', 1001, null]) assert.is((await scale('sentiment', { replicas }))[0], 422);
  assert.is((await scale('sentiment', {}))[0], 422);
  const [status, { error, message }] = await scale('none', { replicas: 1 });
  assert.equal([status, error], [404, 'DeploymentNotFound']);
  assert.match(String(message), 'sentiment');
});

Dashboard('lists, pulls and removes models, and refuses what is wrong', async () => {
  const id = encodeURIComponent('owner/tiny/tiny.gguf');
  const rows = async (query = ''): Promise<{ id: string; state: string; used_by: string[]; pull: unknown }[]> =>
    (await json(at.ask(`/api/models${query}`)))[1]['models'] as never;
  assert.ok((await rows()).some((row) => row.id === 'whisper-base' && row.state === 'absent'));
  assert.ok((await rows('?all=true')).length > (await rows()).length);
  assert.not.ok((await rows('?all=true')).some((row) => row.id === 'ffmpeg'));
  at.hub.release();
  const events = await (await at.ask(`/api/models/${id}/pull`, { method: 'POST' })).text();
  assert.match(events, /^id: 1\nevent: pull\ndata: \{"state":"pulling"/);
  assert.match(events, /data: \{"state":"done","text":"","bytes":1000,"total_bytes":1000\}\n\n$/);
  const [row] = (await rows()).filter((one) => one.id === 'owner/tiny/tiny.gguf');
  assert.equal([row?.state, row?.used_by, row?.pull], ['present', [], null]);
  const remove = () => json(at.ask(`/api/models/${id}`, { method: 'DELETE' }));
  const revision = async (): Promise<unknown> =>
    ((await json(at.ask('/api/application')))[1]['changes'] as Readonly<Record<string, number>>)['models'];
  const before = await revision();
  assert.equal(await remove(), [200, { id: 'owner/tiny/tiny.gguf', freed_bytes: 1000 }]);
  assert.is.not(await revision(), before);
  assert.equal([(await remove())[0], (await remove())[1]['error']], [404, 'ModelNotFound']);
  for (const [path, status] of [
    ['none/pull', 404],
    ['ffmpeg/pull', 404],
    [`${encodeURIComponent('/etc/passwd')}/pull`, 422],
    [`${encodeURIComponent('../../x.gguf')}/pull`, 422],
  ] as const)
    assert.is((await at.ask(`/api/models/${path}`, { method: 'POST' })).status, status, path);
  assert.is((await at.ask(`/api/models/whisper-base?force=odd`, { method: 'DELETE' })).status, 422);
  assert.is((await fetch(`${at.origin}/api/models`)).status, 401);
});

Dashboard('ends and repeats tasks of all users', async () => {
  const defer = async (path: string): Promise<string> => {
    const answer = await fetch(`${at.app.url}${path}?defer=true`, asJson('POST', {}));
    return ((await answer.json()) as { task_id: string }).task_id;
  };
  const statusOf = async (id: string): Promise<unknown> => (await json(at.ask(`/api/tasks/${id}`)))[1]['status'];
  const ended = async (id: string, status: string): Promise<void> => {
    while ((await statusOf(id)) !== status) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const held = await defer('/held');
  assert.is((await at.ask(`/api/tasks/${held}/cancel`, { method: 'POST' })).status, 200);
  await ended(held, 'cancelled');
  const broken = await defer('/broken');
  await ended(broken, 'failed');
  const [status, task] = await json(at.ask(`/api/tasks/${broken}/retry`, { method: 'POST' }));
  assert.is(status, 200);
  assert.not('data' in task, 'contents are hidden from admins by default');
  assert.is((await at.ask(`/api/tasks/${crypto.randomUUID()}/retry`, { method: 'POST' })).status, 404);
  assert.is((await at.ask('/api/tasks?status=odd')).status, 422);
});

Dashboard('has the log, which has neither the token nor the requests of the page', async () => {
  const [status, { records }] = await json(at.ask('/api/logs?lines=2000'));
  assert.is(status, 200);
  const messages = (records as { message: string }[]).map(({ message }) => message);
  assert.ok(messages.includes('deployment scaled by an admin'));
  assert.not(lines.some((line) => line.startsWith('info request') && line.includes('/api/application')));
  assert.not(lines.some((line) => line.includes(at.token)));
  assert.is((await at.ask('/api/logs?deployment=none')).status, 404);
  assert.is((await at.ask('/api/logs?lines=0')).status, 422);
});

Dashboard('changes the levels of the log, and shows the lines of an area and a level', async () => {
  const { level } = at.app.config.log;
  const set = (change: object): ReturnType<typeof json> => json(at.ask('/api/logs/levels', asJson('PUT', change)));
  assert.equal(await set({ levels: { tasks: 'debug' } }), [200, { level, levels: { tasks: 'debug' } }]);
  assert.equal(await json(at.ask('/api/logs/levels')), [200, { level, levels: { tasks: 'debug' } }]);
  assert.is((await set({ levels: { nothing: 'debug' } }))[0], 422);
  assert.is((await set({ level: 'loud' }))[0], 422);
  assert.equal(await set({ levels: { tasks: null } }), [200, { level, levels: {} }]);
  const [, { records }] = await json(at.ask('/api/logs?area=http&level=info'));
  const areas = (records as { fields: { area: string } }[]).map(({ fields }) => fields.area);
  assert.equal([...new Set(areas)], ['http']);
  assert.is((await at.ask('/api/logs?area=nothing')).status, 422);
});

Dashboard('takes a free port where its own is taken, and ends with the application', async () => {
  const { port } = new URL(at.origin);
  const other = await startDashboardApp({ dashboard: { port: Number(port), token: 'a-token-of-the-operator' } });
  assert.is.not(new URL(other.origin).port, port);
  assert.is(other.token, 'a-token-of-the-operator');
  assert.is(await other.app.openDashboard(), other.app.dashboardUrl);
  const events = await other.ask('/api/application/events');
  const rest = events.text().catch(() => {}); // a reader that stays must not hold the end up
  await other[Symbol.asyncDispose]();
  await rest;
  assert.is(await fetch(other.origin).catch(() => 'gone'), 'gone');
});

Dashboard('opens with the API key of an admin, and the routes are on the usual server for admins', async () => {
  await using keyed = await startDashboardApp({ api_service: { enabled: true } });
  const make = async (isAdmin: boolean, scopes?: string[]): Promise<Record<string, string>> => {
    const input = { user_id: isAdmin ? 'root' : 'ann', is_admin: isAdmin, ...(scopes && { scopes }) };
    return { 'x-api-key': (await keyed.app.apiKeys!.create(input)).apiKey };
  };
  const [admin, limited, user] = [await make(true), await make(true, ['tasks']), await make(false)];
  for (const origin of [keyed.origin, keyed.app.url!])
    for (const [headers, expected] of [
      [admin, 200],
      [limited, 403],
      [user, 403],
      [{}, 401],
    ] as const)
      assert.is((await fetch(`${origin}/api/application`, { headers })).status, expected, `${origin} ${expected}`);
  assert.is((await keyed.ask('/api/keys')).status, 200);
  assert.is((await fetch(`${keyed.app.url}/api/application`, { headers: { 'x-api-key': keyed.token } })).status, 401);
  assert.is((await fetch(`${at.app.url}/api/application`)).status, 404); // without keys nobody is an admin there
  const paths = Object.keys(((await (await fetch(`${keyed.app.url}/openapi.json`)).json()) as { paths: object }).paths);
  assert.ok(paths.includes('/api/application'));
});

Dashboard.run();
