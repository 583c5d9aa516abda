// Batches with the official client, over a real model, a real server and SQLite.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../../native/lib/fixtures/tiny-embedding.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { LlamaEmbeddingDeployment } from 'aana-host';
import { ASK, CHAT, jsonl, lineOf, WRONG_INPUTS } from '../fixtures/batch-inputs.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../fixtures/openai-app.ts';

type Batch = OpenAI.Batches.Batch;
type Endpoint = OpenAI.Batches.BatchCreateParams['endpoint'];

/** A line of an output or error file. */
interface AnswerLine {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: { readonly object?: string; readonly error?: { readonly code: string; readonly param: string } };
  } | null;
  readonly error: { readonly code: string } | null;
}

const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled']);

const Batches = suite('batches with the official client');
let at: OpenAiApp;
let ann: OpenAI;
let bob: OpenAI;

Batches.before(async () => {
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      openai: { batches: { maximum_requests: 1000 } },
      limits: { max_json_bytes: 500_000 },
    },
    prepare: (app, tiny) => {
      registerEndless(app, tiny);
      const path = join(tiny, '../bert.gguf');
      writeTinyBert(path);
      app.registerDeployment('bert', LlamaEmbeddingDeployment.options({ user_config: { model_id: path } }));
    },
  });
  [ann, bob] = [await clientOf('ann'), await clientOf('bob')];
});
Batches.after(async () => at?.[Symbol.asyncDispose]());

async function clientOf(user: string, scopes?: readonly string[]): Promise<OpenAI> {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: user, ...(scopes && { scopes: [...scopes] }) });
  return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
}

async function create(content: string | Buffer, endpoint: Endpoint = CHAT, client = ann): Promise<Batch> {
  const file = await client.files.create({ file: await toFile(Buffer.from(content), 'in.jsonl'), purpose: 'batch' });
  return client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
}

async function reached(id: string, isThere: (batch: Batch) => boolean, client = ann): Promise<Batch> {
  let batch!: Batch;
  await until(async () => isThere((batch = await client.batches.retrieve(id))));
  return batch;
}

const ended = (id: string, client = ann): Promise<Batch> => reached(id, ({ status }) => ENDED.has(status), client);

async function linesOf(file: string | undefined): Promise<AnswerLine[]> {
  const text = await (await ann.files.content(file!)).text();
  assert.ok(text.endsWith('\n'));
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AnswerLine);
}

/** Runs work that must fail, and returns the status, the code and the parameter of its error. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const { status, code, param } = await errorOf(work, APIError);
  return [status, code, param];
}

Batches('answer each line as its route does, and count what they took', async () => {
  const url = CHAT;
  const lines = [
    ...Array.from({ length: 20 }, (_, n) => lineOf(`ask-${n}`, ASK)),
    lineOf('wrong', { ...ASK, temperature: 7 }),
    lineOf('stream', { ...ASK, stream: true }),
    lineOf('long', { ...ASK, messages: [{ role: 'user', content: 'a '.repeat(5000) }] }),
  ];
  const file = await ann.files.create({ file: await toFile(Buffer.from(jsonl(lines)), 'in.jsonl'), purpose: 'batch' });
  const made = await ann.batches.create({
    input_file_id: file.id,
    endpoint: url,
    completion_window: '24h',
    metadata: { topic: 'tales' },
    output_expires_after: { anchor: 'created_at', seconds: 7200 },
  });
  assert.match(made.id, /^batch_[0-9a-f]{32}$/);
  assert.equal(
    [made.object, made.endpoint, made.input_file_id, made.completion_window, made.metadata, made.status],
    ['batch', url, file.id, '24h', { topic: 'tales' }, 'validating'],
  );
  assert.is(made.expires_at, made.created_at + 86_400);

  const batch = await ended(made.id);
  assert.equal(batch.errors, undefined);
  assert.equal([batch.status, batch.model], ['completed', 'tiny']);
  assert.equal(batch.request_counts, { total: 23, completed: 20, failed: 3 });
  assert.ok(made.created_at <= batch.in_progress_at! && batch.in_progress_at! <= batch.finalizing_at!);
  assert.ok(batch.finalizing_at! <= batch.completed_at!);
  const alone = await ann.chat.completions.create(ASK as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);
  assert.is(batch.usage!.input_tokens, 20 * alone.usage!.prompt_tokens);
  assert.is(batch.usage!.output_tokens, 20 * alone.usage!.completion_tokens);
  assert.is(batch.usage!.total_tokens, 20 * alone.usage!.total_tokens);

  const output = await linesOf(batch.output_file_id);
  assert.equal(
    output.map((line) => [line.custom_id, line.response?.status_code, line.response?.body.object, line.error]),
    Array.from({ length: 20 }, (_, n) => [`ask-${n}`, 200, 'chat.completion', null]),
  );
  assert.equal(
    (await linesOf(batch.error_file_id)).map(({ custom_id: id, response }) => [
      id,
      response?.status_code,
      response?.body.error?.param,
    ]),
    [
      ['wrong', 400, 'temperature'],
      ['stream', 400, 'stream'],
      ['long', 400, 'messages'],
    ],
  );
  const stored = await ann.files.retrieve(batch.output_file_id!);
  assert.equal([stored.purpose, stored.expires_at], ['batch_output', stored.created_at + 7200]);
  assert.equal(await refusal(ann.batches.cancel(batch.id)), [409, 'batch_ended', null]);
  await ann.files.delete(file.id);
});

Batches('take completions, embeddings and responses', async () => {
  for (const [endpoint, body, object] of [
    ['/v1/completions', { model: 'tiny', prompt: ['a', 'b'], max_tokens: 2 }, 'text_completion'],
    ['/v1/embeddings', { model: 'bert', input: ['a', 'b'] }, 'list'],
    ['/v1/responses', { model: 'tiny', input: 'Once', max_output_tokens: 2 }, 'response'],
  ] as const) {
    const batch = await ended((await create(jsonl([lineOf('one', body, endpoint)]), endpoint)).id);
    const [line] = await linesOf(batch.output_file_id);
    assert.is(line?.response?.body.object, object);
    assert.ok(batch.usage!.input_tokens > 0);
  }
});

Batches('are seen, cancelled and listed by their user only', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push((await create(jsonl([lineOf('one', ASK)]), CHAT, bob)).id);
  for (const id of ids) await ended(id, bob);
  const [id] = ids;
  assert.equal(await refusal(ann.batches.retrieve(id!)), [404, 'batch_not_found', 'batch_id']);
  assert.equal(await refusal(ann.batches.cancel(id!)), [404, 'batch_not_found', 'batch_id']);
  const seen: string[] = [];
  for await (const batch of bob.batches.list({ limit: 2 })) seen.push(batch.id);
  assert.equal(seen, ids.toReversed());
  assert.equal(await refusal(bob.batches.list({ after: 'x' })), [400, null, 'after']);
  const file = await bob.files.create({ file: await toFile(Buffer.from('{}'), 'a'), purpose: 'batch' });
  const start = (given: object): Promise<unknown> =>
    ann.batches.create({ input_file_id: file.id, endpoint: CHAT, completion_window: '24h', ...given });
  assert.equal(await refusal(start({})), [404, 'file_not_found', 'input_file_id']);
  assert.equal(await refusal(start({ completion_window: '1h' })), [400, null, 'completion_window']);
  assert.equal(await refusal(start({ endpoint: '/v1/rerank' })), [400, null, 'endpoint']);
  const other = await ann.files.create({ file: await toFile(Buffer.from('{}'), 'a'), purpose: 'user_data' });
  assert.equal(await refusal(start({ input_file_id: other.id })), [400, null, 'input_file_id']);
});

Batches('end when they are cancelled, with the answers until then', async () => {
  const endless = { ...ASK, model: 'endless', max_tokens: undefined };
  const lines = [lineOf('first', ASK), ...Array.from({ length: 50 }, (_, n) => lineOf(`${n}`, endless))];
  const { id, input_file_id: input } = await create(jsonl(lines));
  await reached(id, (batch) => batch.request_counts!.completed === 1);
  assert.equal(await refusal(ann.files.delete(input)), [409, 'file_in_use', null]);
  const cancelling = await ann.batches.cancel(id);
  assert.equal([cancelling.status, typeof cancelling.cancelling_at], ['cancelling', 'number']);
  const batch = await ended(id);
  assert.equal([batch.status, typeof batch.cancelled_at, batch.error_file_id], ['cancelled', 'number', undefined]);
  assert.equal(batch.request_counts, { total: 51, completed: 1, failed: 0 });
  assert.equal(
    (await linesOf(batch.output_file_id)).map((line) => line.custom_id),
    ['first'],
  );
  assert.is((await ann.batches.cancel(id)).status, 'cancelled');
  await ann.files.delete(input);
  const { choices } = await ann.chat.completions.create({
    model: 'endless',
    messages: [{ role: 'user', content: 'a' }],
    max_tokens: 1,
  });
  assert.is(choices.length, 1, 'the place of the model is free');
});

Batches('that wait for a place end at once when they are cancelled', async () => {
  const endless = jsonl([lineOf('a', { ...ASK, model: 'endless', max_tokens: undefined })]);
  const running = await create(endless);
  await reached(running.id, ({ status }) => status === 'in_progress');
  const waiting = await create(endless); // a user has one of the two places
  const cancelled = await ann.batches.cancel(waiting.id);
  assert.equal([cancelled.status, typeof cancelled.cancelled_at], ['cancelled', 'number']);
  await ann.batches.cancel(running.id);
  assert.is((await ended(running.id)).status, 'cancelled');
});

Batches('expire, and say so for each request without an answer', async () => {
  const endless = { ...ASK, model: 'endless', max_tokens: undefined };
  const lines = [lineOf('first', ASK), ...['a', 'b', 'c'].map((name) => lineOf(name, endless))];
  const { id } = await create(jsonl(lines));
  await reached(id, (batch) => batch.request_counts!.completed === 1);
  await using storage = new Storage({ config: at.app.config.db_config, log: silentLogger, sqliteModule });
  await storage.write(({ connection }) => connection.query('update batches set expires_at = 1 where id = $1', [id]));
  const batch = await ended(id);
  assert.equal([batch.status, typeof batch.expired_at], ['expired', 'number']);
  assert.equal(batch.request_counts, { total: 4, completed: 1, failed: 3 });
  assert.equal(
    (await linesOf(batch.output_file_id)).map((line) => line.custom_id),
    ['first'],
  );
  assert.equal(
    (await linesOf(batch.error_file_id)).map((line) => [line.custom_id, line.response, line.error?.code]),
    ['a', 'b', 'c'].map((name) => [name, null, 'batch_expired']),
  );
});

Batches('let other requests of their user go first', async () => {
  const long = { ...ASK, model: 'endless', max_tokens: 1000 }; // four of them take seconds
  const { id } = await create(jsonl(Array.from({ length: 8 }, (_, n) => lineOf(`${n}`, long))));
  await reached(id, ({ status }) => status === 'in_progress');
  await ann.chat.completions.create({
    model: 'endless',
    messages: [{ role: 'user', content: 'Once' }],
    max_tokens: 1,
  });
  const { completed } = (await ann.batches.retrieve(id)).request_counts!;
  assert.ok(completed < 4, `${completed} requests of the batch, of which 4 came before, were answered first`);
  await ann.batches.cancel(id);
  assert.is((await ended(id)).status, 'cancelled');
});

Batches('use only the models that their key allows', async () => {
  const limited = await clientOf('ann', ['model:endless']);
  const batch = await ended((await create(jsonl([lineOf('a', ASK)]), CHAT, limited)).id);
  assert.equal(
    [batch.status, batch.errors?.data?.map(({ code, line, param }) => [code, line, param])],
    ['failed', [['model_not_found', 1, 'body.model']]],
  );
  const files = await clientOf('ann', ['/v1/files', '/v1/files/*', '/v1/batches']);
  assert.equal(await refusal(create(jsonl([lineOf('a', ASK)]), CHAT, files)), [403, 'insufficient_permissions', null]);
});

Batches('are tasks: one that an admin ends has failed', async () => {
  const { id } = await create(
    jsonl([
      lineOf('a', { ...ASK, model: 'endless' }),
      lineOf('b', { ...ASK, model: 'endless', max_tokens: 1_000_000 }),
    ]),
  );
  await reached(id, ({ status }) => status === 'in_progress');
  const headers = { authorization: `Bearer ${ann.apiKey}` };
  let running: { id: string; endpoint: string }[] = [];
  await until(async () => {
    const listed = await fetch(`${at.url}/tasks?status=running`, { headers });
    ({ tasks: running } = (await listed.json()) as { tasks: typeof running });
    return running.length === 1; // the tasks of earlier batches end after them
  });
  assert.is(running[0]!.endpoint, '/v1/batches');
  await fetch(`${at.url}/tasks/${running[0]!.id}/cancel`, { method: 'POST', headers });
  const batch = await ann.batches.retrieve(id);
  assert.equal([batch.status, batch.errors?.data?.[0]?.code], ['failed', 'task_ended']);
});

for (const [title, content, errors] of WRONG_INPUTS)
  Batches(`fail with each error of the input: ${title}`, async () => {
    const batch = await ended((await create(content)).id);
    assert.is(batch.status, 'failed');
    assert.is(typeof batch.failed_at, 'number');
    assert.equal(
      batch.errors!.data!.map(({ code, line, param }) => [code, line, param]),
      errors,
    );
    assert.ok(batch.errors!.data!.every(({ message }) => message && message.length < 1000));
    assert.equal([batch.output_file_id, batch.request_counts!.completed], [undefined, 0]);
  });

Batches('take what editors write: a mark, CRLF, blank lines, no newline at the end, and any id', async () => {
  const ids = ['\0', 'é\ud83d\ude00', "'; drop table batches; --", ' '];
  const text = ids.map((id) => JSON.stringify(lineOf(id, ASK))).join('\r\n\r\n');
  const batch = await ended((await create(`\ufeff${text}`)).id);
  assert.equal(batch.request_counts, { total: 4, completed: 4, failed: 0 });
  assert.equal(
    (await linesOf(batch.output_file_id)).map((line) => line.custom_id),
    ids,
  );
});

Batches('leave no file behind that nobody can see', async () => {
  const stored = [];
  for (const client of [ann, bob]) for await (const { id } of client.files.list()) stored.push(id);
  const { data_dir: dataDir } = at.app.config;
  assert.equal(readdirSync(join(dataDir, 'files')).toSorted(), stored.toSorted());
});

if (cannotRun === undefined) Batches.run();
else skip('batches', cannotRun);
