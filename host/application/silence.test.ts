// Marked secrets pass through a real server, in success and in failure. Neither its log nor its error answers contain
// them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp } from 'aana-host';
import { loadConfig } from '../base/config/index.ts';
import { createLogger } from '../base/core/log/logger.ts';
import { TalkativeConfig, TalkativeDeployment } from './fixtures/talkative-deployment.ts';

const PROMPT = 'PROMPTSECRET what ails me?';
const FILE = 'FILESECRET';
const USERINFO = 'URLSECRET';
const MARKS = ['PROMPTSECRET', FILE, USERINFO, 'HOOKSECRET', 'GATEWAYSECRET'];

interface Server extends AsyncDisposable {
  readonly app: AanaApp;
  readonly url: string;
  readonly log: () => string;
}

const Silence = suite('silence about contents');
let folder = '';
Silence.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-silence-'));
});
Silence.after(() => rm(folder, { recursive: true, force: true }));

async function start(content: boolean): Promise<Server> {
  const lines: string[] = [];
  const data = await mkdtemp(join(folder, 'data-'));
  const base = {
    cache_dir: loadConfig().cache_dir,
    data_dir: data,
    media: { temp_dir: data },
    api_service: { enabled: true },
    task_queue: { max_retries: 1 },
    log: { level: 'debug' as const, content },
  };
  const config = loadConfig({ cwd: data, env: {}, base });
  const app = new AanaApp({
    config,
    log: createLogger({ level: 'debug', format: 'json', write: (line) => lines.push(line) }),
    progress: { write: () => true },
  });
  app.registerDeployment('talker', TalkativeDeployment.options({ user_config: new TalkativeConfig({}) }));
  const input = z.strictObject({
    prompt: z.string(),
    how: z.enum(['well', 'throw', 'later', 'here', 'output']).default('well'),
    n: z.number().default(0),
    file: z.string().meta({ 'x-aana-file': true }).optional(),
  });
  app.registerEndpoint({
    ...{ name: 'ask', path: '/ask', input, output: z.strictObject({ answer: z.string() }) },
    run: async ({ prompt, how }) => {
      if (how === 'here') throw new Error(`cannot answer ${prompt}`);
      if (how === 'output') return { answer: { prompt } as never };
      return { answer: await app.handle(TalkativeDeployment, 'talker', { num_retries: 0 }).say({ text: prompt, how }) };
    },
  });
  app.registerEndpoint({
    ...{ name: 'spell', path: '/spell', input, output: z.string() },
    run: async function* ({ prompt }) {
      yield* app.handle(TalkativeDeployment, 'talker').spell({ text: prompt });
    },
  });
  const source = z.strictObject({ url: z.string() });
  app.registerEndpoint({
    name: 'listen',
    path: '/listen',
    input: source,
    output: z.any(),
    run: async ({ url }) => void (await app.openAudio({ url })),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  return {
    app,
    url: app.url ?? '',
    log: () => lines.join(''),
    [Symbol.asyncDispose]: () => app.shutdown({ graceMs: 0 }),
  };
}

interface Asked {
  readonly path: string;
  readonly body: object;
  readonly file?: boolean;
  readonly key: string;
  /** The expected answer. */
  readonly status: number;
  readonly error?: string;
}

async function send(url: string, { path, body, file = false, key, status, error }: Asked): Promise<string> {
  const form = new FormData();
  form.append('body', JSON.stringify(body));
  if (file) form.append('f', new Blob([FILE.repeat(1000)]), 'a.bin');
  const response = await fetch(url + path, { method: 'POST', headers: { 'x-api-key': key }, body: form });
  const text = await response.text();
  assert.is(response.status, status, text);
  if (error !== undefined) assert.match(text, `"error":"${error}"`);
  return text;
}

function assertSilent(what: string, text: string, key: string): void {
  for (const mark of [...MARKS, key])
    assert.not.ok(
      text.includes(mark),
      `${what} says ${mark}: ${text.slice(Math.max(0, text.indexOf(mark) - 300), text.indexOf(mark) + 50)}`,
    );
}

Silence('keeps contents of requests, files, keys and models out of logs and errors', async () => {
  await using server = await start(false);
  const { app, url, log } = server;
  assert.ok(app.apiKeys);
  const { apiKey: key } = await app.apiKeys.create({ user_id: 'ann', hmac_secret: 'HOOKSECRET-0123456789' });
  const { apiKey: given } = await app.apiKeys.create({ user_id: 'old' }, 'GATEWAYSECRET-0123456789');
  const prompt = PROMPT;

  assert.match(await send(url, { path: '/ask', body: { prompt }, key, status: 200 }), 'PROMPTSECRET');
  assert.match(
    await send(url, { path: '/ask', body: { prompt, file: 'f' }, file: true, key: given, status: 200 }),
    'PROMPTSECRET',
  );

  const failures: Asked[] = [
    { path: '/ask', body: { prompt, how: 'here' }, key, status: 500, error: 'Error' },
    { path: '/ask', body: { prompt, how: 'throw' }, key, status: 500, error: 'RangeError' },
    { path: '/ask', body: { prompt, how: 'output' }, key, status: 500, error: 'OutputError' },
    { path: '/ask', body: { prompt, how: 'later' }, key, status: 503, error: 'ReplicaLostError' },
    { path: '/spell', body: { prompt }, key, status: 200, error: 'TypeError' },
    {
      path: '/listen',
      body: { url: `http://${USERINFO}:${USERINFO}@127.0.0.1:8081/a.mp4?token=${USERINFO}#${USERINFO}` },
      key,
      status: 403,
      error: 'PrivateAddressException',
    },
    { path: '/ask', body: { prompt }, key: 'GATEWAYSECRET-9876543210', status: 401, error: 'ApiKeyNotFound' },
    { path: '/ask', body: { prompt }, key: `${key}x`, status: 401, error: 'ApiKeyNotFound' },
    { path: '/api/keys', body: { prompt }, key, status: 403, error: 'AdminOnlyAccess' },
    { path: `/none?key=${key}&prompt=PROMPTSECRET`, body: {}, key, status: 404, error: 'NotFound' },
  ];
  for (const failure of failures) assertSilent(`the answer of ${failure.path}`, await send(url, failure), key);

  // A 422 explains the fault to the client; the log does not.
  await send(url, { path: '/ask', body: { prompt, n: 'PROMPTSECRET' }, key, status: 422 });
  await send(url, { path: '/ask', body: { question: prompt }, file: true, key, status: 422 });

  const { apiKey: admin } = await app.apiKeys.create({ user_id: 'root', is_admin: true });
  const mistaken = await fetch(`${url}/api/keys/${key}`, { method: 'DELETE', headers: { 'x-api-key': admin } });
  assert.is(mistaken.status, 422);
  assertSilent('the answer to a key in a URL', await mistaken.text(), key);

  // A key that was made elsewhere can have any form. Somebody may put it where its name belongs, or where other
  // services expect it.
  for (const [method, path, status, headers] of [
    ['DELETE', `/api/keys/${given}`, 422, { 'x-api-key': admin }],
    ['GET', `/api/keys/${given}`, 422, { 'x-api-key': admin }],
    ['PUT', `/api/subscriptions/${given}`, 422, { 'x-api-key': admin }],
    ['POST', `/api/keys/${given}`, 405, { 'x-api-key': admin }],
    ['POST', `/api/keys/${given}`, 401, {}],
    ['POST', `/${given}/ask`, 404, { authorization: `Bearer ${given}` }],
    ['POST', `/bot${given}/ask`, 404, { 'x-api-key': given }],
    ['POST', `/${given}/ask`, 404, { 'x-api-key': admin }],
    ['POST', `/ask/${encodeURIComponent('GATEWAYSECRET 0123456789')}`, 401, {}],
    ['GET', '/tasks/GATEWAYSECRET-0123456789', 404, { 'x-api-key': admin }],
  ] as const) {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(method === 'POST' || method === 'PUT' ? { body: '{"is_active":true}' } : {}),
    });
    const text = await response.text();
    assert.is(response.status, status, `${method} ${path}: ${text}`);
    if (status === 422) assertSilent(`the answer to ${method} ${path}`, text, key);
  }

  const task = JSON.parse(
    await send(url, { path: '/ask?defer=true', body: { prompt, how: 'throw' }, key, status: 200 }),
  ) as { task_id: string };
  await (await fetch(`${url}/tasks/${task.task_id}/events`, { headers: { 'x-api-key': key } })).text();
  const { result } = (await (
    await fetch(`${url}/tasks/${task.task_id}`, { headers: { 'x-api-key': key } })
  ).json()) as { result: object };
  assert.match(JSON.stringify(result), '"error":"RangeError"');
  assertSilent('the result of a failed task', JSON.stringify(result), key);

  await app.shutdown({ graceMs: 0 });
  assert.match(
    log(),
    /"message":"request failed".*"error":"RangeError".*talkative-deployment/,
    'where it failed is known',
  );
  assert.match(log(), /"message":"uncaught exception"/);
  assertSilent('the log', log(), key);
  for (const path of ['/ask', '/api/keys/…', '/…/ask', `/tasks/${task.task_id}`, '/none'])
    assert.ok(log().includes(`"path":"${path}"`), `the log has ${path}`);
});

Silence('is broken only in the log, and only if the operator wants it', async () => {
  await using server = await start(true);
  assert.ok(server.app.apiKeys);
  const { apiKey: key } = await server.app.apiKeys.create({ user_id: 'ann' });
  assertSilent(
    'the answer',
    await send(server.url, {
      path: '/ask',
      body: { prompt: PROMPT, how: 'throw' },
      key,
      status: 500,
      error: 'RangeError',
    }),
    key,
  );
  assert.match(
    server.log(),
    /"message":"request failed".*"content":"cannot tokenize \\"PROMPTSECRET what ails me\?\\"/,
  );
  assert.not.ok(server.log().includes(key));
});

Silence.run();
