// Spans of the database in the traces of requests and of background work, over a real application and SQLite.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../base/core/log/logger.ts';
import { cannotRun } from '../inference/engines/fixtures/cannot-run.ts';
import { type OpenAiApp, startOpenAiApp } from '../apis/openai/fixtures/openai-app.ts';
import { sqliteDatabases, sqliteModule } from '../data/storage/fixtures/databases.ts';
import { Storage } from '../data/storage/index.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { Receiver } from '../data/webhooks/fixtures/receiver.ts';
import type { Config } from '../base/config/index.ts';
import { userPorts } from './ports/user-ports.ts';
import { Recorder, type RecordedSpan } from './fixtures/recorder.ts';

const PLACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const SECRET = 'the patient has a secret';

const Off = suite('a database without telemetry');
Off('is the same object for work in a trace', async () => {
  const databases = sqliteDatabases();
  await using storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule });
  assert.is(storage.inTrace(PLACE), storage);
  assert.is(storage.inTrace(undefined), storage);
  await databases.end();
});
Off.run();

const Ports = suite('spans of what plugins store');
Ports('are below the call of the plugin, without keys and values', async () => {
  const databases = sqliteDatabases();
  const telemetry = new Recorder();
  await using storage = new Storage({ config: await databases.create(), log: silentLogger, sqliteModule, telemetry });
  const service = { share_repositories: false, shared_storage: [], maximum_repository_bytes_per_user: null };
  const portsOf = userPorts(storage, { ...service } as unknown as Config['api_service']);
  const ports = portsOf({ userId: 'ann', traceparent: PLACE });
  await ports.storage.set('notes', 'a-key', Buffer.from(SECRET));
  await ports.storage.get('notes', 'a-key');
  await ports.repositories.read((repositories) => repositories.captions.list('a-video', { limit: 1 }));
  await portsOf({ userId: 'ann' }).storage.get('notes', 'a-key');
  const seen = telemetry.spans.map(({ parent, outcome }) => [parent, outcome?.attributes?.['db.collection.name']]);
  assert.equal(seen.slice(1), [
    [PLACE, 'plugin_values'],
    [PLACE, 'caption'],
  ]);
  assert.is(seen[0]?.[0], PLACE); // the write also counts the bytes of the user
  assert.not.match(JSON.stringify(telemetry.spans), /a-key|a-video|secret|ann/);
  await databases.end();
});
Ports.run();

const Spans = suite('spans of the database');
let recorder: Recorder;
let at: OpenAiApp;
let receiver: Receiver;
let folder: string;
let key: string;
let client: OpenAI;

Spans.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-spans-'));
  recorder = new Recorder();
  receiver = await Receiver.start();
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      webhook: { allow_private_urls: true },
      usage: { http: { url: `${receiver.url}/usage`, interval_s: 0.1 } },
      data_dir: folder,
    },
    options: { telemetry: recorder },
  });
  ({ apiKey: key } = await at.app.apiKeys!.create({ user_id: 'ann', is_admin: true }));
  client = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: key, maxRetries: 0 });
});
Spans.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await receiver?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const isOfDatabase = ({ name }: RecordedSpan): boolean => name.endsWith(' sqlite');

/** Returns what the database did below the last span with this name: `read api_keys`. */
function workOf(name: string): string[] {
  const place = recorder.spans.findLast((one) => one.name === name)?.traceparent;
  return recorder.spans
    .filter((one) => isOfDatabase(one) && one.parent === place)
    .map(({ outcome }) => `${outcome?.attributes?.['db.operation.name']} ${outcome?.attributes?.['db.query.summary']}`);
}

/** Asserts that the database did something for the last span with this name. */
function shows(name: string, what: string): void {
  const work = workOf(name);
  assert.ok(
    work.some((text) => text.includes(what)),
    `${name}: ${work.join(', ')}`,
  );
}

const becomes = (name: string, what: string): Promise<void> =>
  until(async () => workOf(name).some((text) => text.includes(what))).catch(() => shows(name, what));

const ask = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
  const answer = await fetch(`${at.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, string>;
};

Spans('show the look-up of a key, and nothing for a key that is cached', async () => {
  await ask('GET', '/tasks/count');
  await becomes('GET /tasks/count', 'write UPDATE api_keys'); // the time of its last use
  assert.equal(workOf('GET /tasks/count').sort(), [
    'read SELECT api_keys',
    'read SELECT tasks',
    'write UPDATE api_keys',
  ]);
  await ask('GET', '/tasks/count');
  assert.equal(workOf('GET /tasks/count'), ['read SELECT tasks']);
});

Spans('name the table where there is one', async () => {
  await ask('GET', '/api/keys');
  const span = recorder.spans.findLast(isOfDatabase)!;
  assert.is(span.kind, 'client');
  assert.equal(span.outcome?.attributes, {
    'db.system.name': 'sqlite',
    'db.operation.name': 'read',
    'db.query.summary': 'SELECT api_keys',
    'db.collection.name': 'api_keys',
  });
});

Spans('are in requests for keys, webhooks and tasks', async () => {
  const { key_id: id } = await ask('POST', '/api/keys', { user_id: 'bob' });
  assert.equal(workOf('POST /api/keys'), ['write INSERT api_keys']);
  await ask('PUT', `/api/keys/${id}`, { is_admin: true });
  shows('PUT /api/keys/:key_id', 'UPDATE api_keys');
  await ask('DELETE', `/api/keys/${id}`);
  shows('DELETE /api/keys/:key_id', 'DELETE api_keys');
  const { id: webhook } = await ask('POST', '/webhooks', { url: receiver.url, events: ['task.completed'] });
  shows('POST /webhooks', 'INSERT webhooks');
  for (const [method, path, route, table] of [
    ['GET', '/webhooks', '/webhooks', 'webhooks'],
    ['GET', `/webhooks/${webhook}`, '/webhooks/:webhook_id', 'webhooks'],
    ['GET', `/webhooks/${webhook}/deliveries`, '/webhooks/:webhook_id/deliveries', 'webhook_deliveries'],
    ['GET', '/api/webhooks', '/api/webhooks', 'webhooks'],
    ['GET', '/tasks', '/tasks', 'tasks'],
    ['GET', '/api/tasks', '/api/tasks', 'tasks'],
    ['GET', '/api/tasks/count', '/api/tasks/count', 'tasks'],
  ] as const) {
    await ask(method, path);
    shows(`${method} ${route}`, `SELECT ${table}`);
  }
});

Spans('are in requests for files, uploads, responses and batches, and in the work of their tasks', async () => {
  const hello = { model: 'tiny', input: SECRET, max_output_tokens: 2 };
  const response = await client.responses.create(hello);
  shows('POST /v1/responses', 'INSERT responses');
  await client.responses.retrieve(response.id);
  assert.ok(workOf('GET /v1/responses/:response_id').length > 0);
  await client.responses.delete(response.id);
  assert.ok(workOf('DELETE /v1/responses/:response_id').length > 0);

  const upload = await client.uploads.create({
    bytes: 3,
    filename: 'a',
    mime_type: 'text/plain',
    purpose: 'user_data',
  });
  await client.uploads.parts.create(upload.id, { data: await toFile(Buffer.from('abc'), 'a') });
  assert.ok(workOf('POST /v1/uploads/:upload_id/parts').length > 1);

  const made = await client.responses.create({ ...hello, background: true });
  await until(async () => (await client.responses.retrieve(made.id)).status === 'incomplete');
  await becomes('aana.task.attempt', 'UPDATE tasks');
  shows('aana.task.attempt', 'responses');

  const line = { custom_id: 'a', method: 'POST', url: '/v1/responses', body: hello };
  const file = await client.files.create({
    file: await toFile(Buffer.from(`${JSON.stringify(line)}\n`), 'in.jsonl'),
    purpose: 'batch',
  });
  shows('POST /v1/files', 'INSERT files');
  const batch = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/responses',
    completion_window: '24h',
  });
  shows('POST /v1/batches', 'INSERT tasks');
  let ended = batch;
  await until(
    async () =>
      !['validating', 'in_progress', 'finalizing'].includes((ended = await client.batches.retrieve(batch.id)).status),
  );
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  await becomes('aana.task.attempt', 'UPDATE tasks');
  shows('aana.task.attempt', 'INSERT files');
});

Spans('are in attempts to deliver webhooks, and in the work on records of usage', async () => {
  await becomes('aana.webhook.attempt', 'UPDATE webhook_deliveries');
  await becomes('aana.usage.store', 'INSERT usage_records');
  await becomes('aana.usage.send', 'DELETE usage_records');
});

Spans('have one of two names, and neither values nor keys', async () => {
  const all = recorder.spans.filter(isOfDatabase);
  assert.equal([...new Set(all.map(({ name }) => name))].sort(), ['read sqlite', 'write sqlite']);
  const ended = all.flatMap(({ outcome }) => (outcome ? [String(outcome.attributes?.['db.query.summary'])] : []));
  for (const summary of ended) assert.match(summary, /^[A-Z]+ \w+(; [A-Z]+ \w+)*$/, JSON.stringify(summary));
  assert.not(
    all.some(({ parent }) => parent === undefined),
    'polls have none',
  );
  const text = JSON.stringify(recorder.spans);
  assert.not.match(text, SECRET);
  assert.not.match(text, key);
  assert.not.match(text, receiver.url);
});

if (cannotRun) skip('spans of the database', cannotRun);
else Spans.run();
