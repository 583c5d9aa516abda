// Each setting that says that it is live changes a running host when a configuration is applied.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { loadConfig, SETTINGS } from '../../base/config/index.ts';
import { setAt } from '../../base/config/values.ts';
import { deferred } from '../../base/core/deferred.ts';
import { EchoTextGeneration } from '../../inference/deployments/fixtures/echo-text-generation.ts';
import { watPlugin } from '../../endpoints/plugins/fixtures/wat-plugin.ts';
import { ask } from '../../apis/http/fixtures/guarded-app.ts';
import type { AanaApp } from '../app.ts';
import { until } from '../../test/helpers/server.ts';
import { makeApp, makeFolder } from '../fixtures/test-app.ts';
import { planChanges } from './plan.ts';

const Live = suite('settings that are live');
const folder = makeFolder();
const FEW = { capacity: 1000, interval_seconds: 60 };
let app: AanaApp;
let [url, key, admin] = ['', '', ''];
/** Called when a run of `/held` begins. Resolves when the run may end. */
let onHeld = (): Promise<void> => Promise.resolve();

Live.before(async () => {
  app = makeApp(folder, {}, { api_service: { enabled: true }, task_queue: { num_workers: 1, reserved_workers: 0 } });
  app.registerDeployment('echo', EchoTextGeneration.options());
  const form = { input: z.strictObject({}), output: z.any() };
  app.registerEndpoint({ ...form, name: 'now', path: '/now', run: async () => 'done' });
  app.registerEndpoint({ ...form, name: 'held', path: '/held', run: async () => onHeld() });
  const settings = { key: { type: 'string', description: 'A key.', required: true } };
  app.registerPlugins(await watPlugin(join(folder, 'wat'), { go: '(i32.const 7)', manifest: { settings } }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  url = app.url!;
  key = (await app.apiKeys!.create({ user_id: 'ann', key_id: 'ann-1' })).apiKey;
  admin = (await app.apiKeys!.create({ user_id: 'root', is_admin: true })).apiKey;
});
Live.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function apply(settings: object): Promise<void> {
  const { status, body } = await ask(`${url}/api/configuration/apply`, {
    ...{ key: admin, body: { deployments: {}, ...settings } },
  });
  assert.is(status, 200, JSON.stringify(body));
  assert.match(String(body), /"state":"applied"/);
}

/** Returns what `then` sees while a request of ann to `/held`, or the task that `query` makes of it, runs. */
async function besideHeld(query: string, then: () => Promise<unknown>): Promise<unknown> {
  const [begun, ended] = [deferred(), deferred()];
  onHeld = () => {
    begun.resolve();
    return ended.promise;
  };
  const held = ask(`${url}/held${query}`, { key, body: {} });
  await begun.promise;
  const seen = await then();
  ended.resolve();
  await held;
  onHeld = () => Promise.resolve();
  await until(async () => {
    const { total, completed = 0 } = (await ask(`${url}/tasks/count`, { key })).body;
    return total === completed;
  });
  return seen;
}

const status = async (path: string): Promise<number> => (await ask(`${url}${path}`, { key, body: {} })).status;
const policies = async () => (await ask(`${url}/now`, { key, body: {} })).headers.get('ratelimit-policy');
const write = () => ask(`${url}/v1/completions`, { key, body: { model: 'echo', prompt: 'a b c', max_tokens: 3 } });
const tokens = async () => (await write()).body.usage?.completion_tokens;
const twice = async (one: () => Promise<{ readonly status: number }>) => [(await one()).status, (await one()).status];
const documentation = () => ask(`${url}/openapi.json`);
const priority = () => status('/now?defer=true&priority=50');
async function watchers(): Promise<unknown> {
  return besideHeld('?defer=true', async () => {
    const { tasks } = (await ask(`${url}/tasks?status=running`, { key })).body;
    const watch = async () => fetch(`${url}/tasks/${tasks[0].id}/events`, { headers: { 'x-api-key': key } });
    const streams = [await watch(), await watch()];
    for (const { body } of streams) await body?.cancel();
    return streams.map((stream) => stream.status);
  });
}

/** A value of each setting, and what ann sees of it. */
const EFFECTS: Readonly<Record<string, readonly [value: unknown, seen: () => Promise<unknown>]>> = {
  'rate_limits.default': [FEW, policies],
  'rate_limits.endpoints': [{ '/now': FEW }, policies],
  'rate_limits.users': [{ ann: FEW }, policies],
  'rate_limits.keys': [{ 'ann-1': FEW }, policies],
  'rate_limits.documentation': [{ capacity: 1, interval_seconds: 3600 }, () => twice(documentation)],
  'user_limits.max_output_tokens': [1, tokens],
  'user_limits.tokens_per_minute': [9000, async () => (await write()).headers.get('x-ratelimit-limit-tokens')],
  'user_limits.tokens_per_month': [1, () => twice(write)],
  'user_limits.max_requests': [1, () => besideHeld('', () => status('/now'))],
  'user_limits.users': [{ ann: { max_output_tokens: 1 } }, tokens],
  'user_limits.keys': [{ 'ann-1': { max_output_tokens: 1 } }, tokens],
  'task_queue.maximum_waiting_tasks_per_user': [
    1,
    () => besideHeld('?defer=true', async () => [await priority(), await priority()]),
  ],
  'task_queue.maximum_stored_bytes_per_user': [1, () => status('/now?defer=true')],
  'task_queue.maximum_watchers_per_user': [1, watchers],
  'task_queue.maximum_priority': [0, priority],
  'task_queue.maximum_execution_timeout': [1, () => status('/now?defer=true&execution_timeout=100')],
  'task_queue.users': [{ ann: { maximum_priority: 0 } }, priority],
  'openai.aliases': [{ gpt: 'echo' }, () => ask(`${url}/v1/models/gpt`, { key }).then(({ status: code }) => code)],
  plugin_settings: [{ wat: { key: 'k' } }, () => status('/wat/go')],
};

/** Those of models on demand need a hub: `host/apis/openai/on-demand.test.ts` changes them. */
const isOnDemand = (key: string): boolean => key.startsWith('openai.on_demand.');
const live = SETTINGS.filter(({ isLive, key }) => isLive && !isOnDemand(key)).map((setting) => setting.key);

Live('are those whose effects are tested here', () => {
  assert.equal(Object.keys(EFFECTS).toSorted(), live.toSorted());
});

for (const [name, [value, seen]] of Object.entries(EFFECTS))
  Live(`change a running host: ${name}`, async () => {
    const before = await seen();
    const settings = {};
    setAt(settings, name, value);
    await apply(settings);
    assert.not.equal(await seen(), before);
    await apply({});
    assert.equal(await seen(), before);
  });

Live('change what the document of a host without keys says about limits', async () => {
  await using open = makeApp(folder, {}, { dashboard: { port: 0 }, data_dir: join(folder, 'open') });
  await open.listen({ host: '127.0.0.1', port: 0 });
  await open.deploy();
  const { origin, hash } = new URL(await open.openDashboard());
  const fails = async () =>
    Object.keys((await ask(`${open.url}/openapi.json`)).body.paths['/tasks/count'].get.responses);
  assert.not.ok((await fails()).includes('429'));
  await fetch(`${origin}/api/configuration/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${hash.replace('#token=', '')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ deployments: {}, rate_limits: { default: FEW } }),
  });
  assert.ok((await fails()).includes('429'));
});

Live('are refused by the plan where nothing applies them', () => {
  const [now, next] = [{}, { user_limits: { max_requests: 3 } }].map((content) =>
    loadConfig({ cwd: folder, env: {}, content: JSON.stringify(content) }),
  );
  const none = { wanted: new Map(), registered: new Map(), endpoints: [] };
  const refusedBy = (liveSections: readonly string[]) =>
    planChanges({ now: now!, next: next!, ...none, liveSections }).plan.refused.map((one) => one.key);
  assert.equal([refusedBy(['user_limits']), refusedBy([])], [[], ['user_limits.max_requests']]);
});

Live.run();
