// Batches of messages with the official client, over a real model, a real server and SQLite.
import Anthropic, { APIError, BadRequestError, ConflictError, NotFoundError } from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { Storage } from '../../../data/storage/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../../openai/fixtures/openai-app.ts';

type Batch = Anthropic.Messages.MessageBatch;
type Params = Anthropic.Messages.BatchCreateParams.Request['params'];

const ASK: Params = { model: 'tiny', max_tokens: 3, messages: [{ role: 'user', content: 'Once upon a time' }] };
const ENDLESS: Params = { ...ASK, model: 'endless', max_tokens: 1_000_000 };
const NONE = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };

const Batches = suite('batches of Anthropic’s API');
let at: OpenAiApp;
let ann: Anthropic;
let bob: Anthropic;

Batches.before(async () => {
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      openai: { batches: { maximum_requests: 1000 } },
      limits: { max_json_bytes: 200_000 },
    },
    prepare: registerEndless,
  });
  [ann, bob] = [await clientOf('ann'), await clientOf('bob')];
});
Batches.after(async () => at?.[Symbol.asyncDispose]());

async function clientOf(user: string, scopes?: readonly string[]): Promise<Anthropic> {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: user, ...(scopes && { scopes: [...scopes] }) });
  return new Anthropic({ baseURL: at.url, apiKey, maxRetries: 0 });
}

const create = (params: Readonly<Record<string, object>>, client = ann): Promise<Batch> =>
  client.messages.batches.create({
    requests: Object.entries(params).map(([custom_id, of]) => ({ custom_id, params: of as Params })),
  });

async function ended(id: string, client = ann): Promise<Batch> {
  let batch!: Batch;
  await until(async () => (batch = await client.messages.batches.retrieve(id)).processing_status === 'ended');
  return batch;
}

async function resultsOf(id: string, client = ann): Promise<Map<string, Anthropic.Messages.MessageBatchResult>> {
  const results = new Map<string, Anthropic.Messages.MessageBatchResult>();
  for await (const { custom_id: name, result } of await client.messages.batches.results(id)) results.set(name, result);
  return results;
}

const typesOf = async (id: string): Promise<string[][]> =>
  [...(await resultsOf(id))].map(([name, { type }]) => [name, type]);

/** Runs work with the database of the server. */
async function withStorage<T>(work: (storage: Storage) => Promise<T>): Promise<T> {
  await using storage = new Storage({ config: at.app.config.db_config, log: silentLogger, sqliteModule });
  return await work(storage);
}

/** Waits until so many requests of a batch have an answer, which the API tells only at the end. */
const answered = (id: string, count: number): Promise<void> =>
  withStorage((storage) =>
    until(async () => (await storage.read(({ batchRuns }) => batchRuns.answeredLines(id))).size === count),
  );

Batches('answer each request as its route does, and tell the errors of single ones', async () => {
  const made = await create({
    'ask-0': ASK,
    ask_1: { ...ASK, system: 'Be brief.' },
    wrong: { ...ASK, temperature: 7 },
    empty: {},
    gone: { ...ASK, model: 'gone' },
    stream: { ...ASK, stream: true },
    file: {
      ...ASK,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' } }],
        },
      ],
    },
    long: { ...ASK, messages: [{ role: 'user', content: 'a '.repeat(5000) }] },
  });
  assert.match(made.id, /^msgbatch_[0-9a-f]{32}$/);
  assert.equal(
    [made.type, made.processing_status, made.request_counts, made.results_url, made.ended_at, made.archived_at],
    ['message_batch', 'in_progress', { ...NONE, processing: 8 }, null, null, null],
  );
  assert.is(Date.parse(made.expires_at) - Date.parse(made.created_at), 86_400_000);

  const batch = await ended(made.id);
  assert.equal(batch.request_counts, { ...NONE, succeeded: 2, errored: 6 });
  assert.ok(Date.parse(batch.ended_at!) >= Date.parse(batch.created_at));
  assert.is(batch.results_url, `${at.url}/v1/messages/batches/${batch.id}/results`);
  const results = await resultsOf(batch.id);
  const { id: _, ...alone } = await ann.messages.create(ASK);
  const first = results.get('ask-0');
  assert.is(first?.type, 'succeeded');
  const { id, ...message } = (first as Anthropic.Messages.MessageBatchSucceededResult).message;
  assert.match(id, /^msg_/);
  assert.equal([message.type, message.content, message.stop_reason], [alone.type, alone.content, alone.stop_reason]);
  const errors = [...results].flatMap(([name, result]) =>
    result.type === 'errored' ? [[name, result.error.type, result.error.error.type, result.error.error.message]] : [],
  );
  assert.equal(
    errors.map(([name, ...types]) => [name, ...types.slice(0, 2)]),
    [
      ['wrong', 'error', 'invalid_request_error'],
      ['empty', 'error', 'invalid_request_error'],
      ['gone', 'error', 'not_found_error'],
      ['stream', 'error', 'invalid_request_error'],
      ['file', 'error', 'invalid_request_error'],
      ['long', 'error', 'invalid_request_error'],
    ],
  );
  const texts = [/temperature/, /model/, /gone/, /stream/, /content\[0\]\.source\.data/, /^prompt is too long: \d+ /];
  for (const [n, text] of texts.entries()) assert.match(errors[n]!.at(-1)!, text);
  await errorOf(ann.messages.batches.cancel(batch.id), ConflictError);
});

Batches('have as many bytes as one body, and their requests may be longer when they are stored', async () => {
  const post = (numbers: number): Promise<Response> =>
    fetch(`${at.url}/v1/messages/batches`, {
      method: 'POST',
      headers: { 'x-api-key': ann.apiKey!, 'content-type': 'application/json' },
      body: JSON.stringify({ requests: [{ custom_id: 'a', params: { ...ASK, metadata: { n: ['N'] } } }] }).replace(
        '"N"',
        Array(numbers).fill('1e20').join(','), // stored with 21 digits each
      ),
    });
  assert.is((await post(50_000)).status, 413);
  const { id } = (await (await post(30_000)).json()) as Batch;
  await ended(id);
  assert.equal(await typesOf(id), [['a', 'succeeded']]);
});

Batches('are refused whole where the shape is wrong', async () => {
  const twice = [1, 2].map(() => ({ custom_id: 'a', params: ASK }));
  for (const [requests, message] of [
    [[], /requests/],
    [undefined, /requests/],
    [[{ custom_id: 'a' }], /requests\[0\]\.params/],
    [[{ custom_id: 'a', params: [] }], /requests\[0\]\.params/],
    [[{ custom_id: '', params: ASK }], /requests\[0\]\.custom_id/],
    [[{ custom_id: 'a b', params: ASK }], /requests\[0\]\.custom_id/],
    [[{ custom_id: 'a'.repeat(65), params: ASK }], /requests\[0\]\.custom_id/],
    [twice, /requests\[1\]\.custom_id/],
    [Array.from({ length: 1001 }, (_, n) => ({ custom_id: `${n}`, params: ASK })), /1000 requests/],
  ] as const) {
    const error = await errorOf(ann.messages.batches.create({ requests: requests as never }), BadRequestError);
    assert.is(error.type, 'invalid_request_error');
    assert.match(error.message, message);
  }
});

Batches('are seen, listed, cancelled and deleted by their user only', async () => {
  const cleo = await clientOf('cleo');
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.unshift((await create({ one: ASK }, cleo)).id);
  for (const id of ids) await ended(id, cleo);
  const [id] = ids;
  const { batches } = bob.messages;
  for (const work of ['retrieve', 'cancel', 'delete', 'results'] as const)
    assert.is((await errorOf<APIError>(batches[work](id!), NotFoundError)).type, 'not_found_error');
  const direct = await fetch(`${at.url}/v1/messages/batches/${id}/results`, { headers: { 'x-api-key': bob.apiKey! } });
  assert.is(direct.status, 404);
  assert.equal((await batches.list()).data, []);
  for (const limit of [1, 2, 4, 5, 20]) {
    const seen: string[] = [];
    for await (const batch of cleo.messages.batches.list({ limit })) seen.push(batch.id);
    assert.equal(seen, ids, String(limit));
  }
  const page = async (query: Anthropic.Messages.BatchListParams): Promise<unknown[]> => {
    const { data, has_more: hasMore, first_id: first, last_id: last } = await cleo.messages.batches.list(query);
    assert.equal([first, last], [data[0]?.id ?? null, data.at(-1)?.id ?? null]);
    return [data.map((batch) => ids.indexOf(batch.id)), hasMore];
  };
  assert.equal(await page({ limit: 2, after_id: ids[1]! }), [[2, 3], true]);
  assert.equal(await page({ limit: 2, after_id: ids[2]! }), [[3, 4], false]);
  assert.equal(await page({ limit: 2, before_id: ids[3]! }), [[1, 2], true]);
  assert.equal(await page({ limit: 2, before_id: ids[2]! }), [[0, 1], false]);
  assert.equal(await page({ after_id: ids[4]! }), [[], false]);
  for (const query of [{ limit: 0 }, { limit: 1001 }, { after_id: 'x' }, { before_id: `batch_${'0'.repeat(32)}` }])
    assert.is((await errorOf(cleo.messages.batches.list(query), APIError)).status, 400);
  const openai = await fetch(`${at.url}/v1/batches`, { headers: { authorization: `Bearer ${cleo.apiKey}` } });
  assert.equal(((await openai.json()) as { data: unknown[] }).data, [], 'OpenAI’s API has other batches');
});

Batches('end when they are cancelled; requests without an answer say so; then they can be deleted', async () => {
  const { id } = await create({ first: ASK, a: ENDLESS, b: ENDLESS });
  await answered(id, 1);
  await errorOf(ann.messages.batches.delete(id), ConflictError);
  const direct = await fetch(`${at.url}/v1/messages/batches/${id}/results`, { headers: { 'x-api-key': ann.apiKey! } });
  assert.is(direct.status, 409);
  const canceling = await ann.messages.batches.cancel(id);
  assert.equal(
    [canceling.processing_status, typeof canceling.cancel_initiated_at, canceling.results_url],
    ['canceling', 'string', null],
  );
  const batch = await ended(id);
  assert.equal(batch.request_counts, { ...NONE, succeeded: 1, canceled: 2 });
  assert.equal(await typesOf(id), [
    ['first', 'succeeded'],
    ['a', 'canceled'],
    ['b', 'canceled'],
  ]);
  assert.equal(await ann.messages.batches.delete(id), { id, type: 'message_batch_deleted' });
  await errorOf(ann.messages.batches.retrieve(id), NotFoundError);
});

Batches('that wait for a place end at once when they are cancelled, with all results', async () => {
  const running = await create({ first: ASK, a: ENDLESS });
  await answered(running.id, 1);
  const waiting = await create({ a: ENDLESS, b: ASK }); // a user has one of the two places
  const batch = await ann.messages.batches.cancel(waiting.id);
  assert.equal([batch.processing_status, batch.request_counts], ['ended', { ...NONE, canceled: 2 }]);
  assert.equal(await typesOf(waiting.id), [
    ['a', 'canceled'],
    ['b', 'canceled'],
  ]);
  await ann.messages.batches.cancel(running.id);
  await ended(running.id);
});

Batches('expire, and say so for each request without an answer', async () => {
  const { id } = await create({ first: ASK, a: ENDLESS, b: ENDLESS });
  await answered(id, 1);
  await withStorage((storage) =>
    storage.write(({ connection }) => connection.query('update batches set expires_at = 1 where id = $1', [id])),
  );
  assert.equal((await ended(id)).request_counts, { ...NONE, succeeded: 1, expired: 2 });
  assert.equal(await typesOf(id), [
    ['first', 'succeeded'],
    ['a', 'expired'],
    ['b', 'expired'],
  ]);
});

Batches('whose task an admin ends are errored', async () => {
  const { id } = await create({ first: ASK, a: ENDLESS });
  await answered(id, 1);
  const headers = { authorization: `Bearer ${ann.apiKey}` };
  let running: { id: string }[] = [];
  await until(async () => {
    const listed = await fetch(`${at.url}/tasks?status=running`, { headers });
    ({ tasks: running } = (await listed.json()) as { tasks: { id: string }[] });
    return running.length === 1; // the tasks of earlier batches end after them
  });
  await fetch(`${at.url}/tasks/${running[0]!.id}/cancel`, { method: 'POST', headers });
  assert.equal((await ended(id)).request_counts, { ...NONE, errored: 2 });
  assert.equal(await typesOf(id), [
    ['first', 'errored'],
    ['a', 'errored'],
  ]);
});

Batches('use only what their key allows', async () => {
  const limited = await clientOf('ann', ['model:endless']);
  const { id } = await create({ a: ASK }, limited);
  await ended(id);
  const result = (await resultsOf(id)).get('a') as Anthropic.Messages.MessageBatchErroredResult;
  assert.is(result.error.error.type, 'not_found_error');
  const batchesOnly = await clientOf('ann', ['/v1/messages/batches']);
  assert.is((await errorOf(create({ a: ASK }, batchesOnly), APIError)).status, 403);
});

Batches('leave no input behind when they are refused', async () => {
  await using limited = await startOpenAiApp({ config: { task_queue: { enabled: false } } });
  const client = new Anthropic({ baseURL: limited.url, apiKey: 'none', maxRetries: 0 });
  await errorOf(create({ a: ASK }, client), BadRequestError);
  assert.equal((await limited.client.files.list()).data, []);
});

Batches('are deleted with their files, which count for their user until then', async () => {
  const dan = await clientOf('dan');
  const files = async (): Promise<string[]> => {
    const listed = await fetch(`${at.url}/v1/files`, { headers: { authorization: `Bearer ${dan.apiKey}` } });
    return ((await listed.json()) as { data: { purpose: string }[] }).data.map(({ purpose }) => purpose);
  };
  const { id } = await create({ a: ASK }, dan);
  await ended(id, dan);
  assert.equal(await files(), ['batch_output', 'batch']);
  await dan.messages.batches.delete(id);
  assert.equal(await files(), []);
});

if (cannotRun !== undefined) skip('batches of Anthropic’s API', cannotRun);
else Batches.run();
