// Responses in the background with the official client, over a real model, SQLite and PostgreSQL.
import OpenAI, { APIError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../../data/storage/fixtures/databases.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { until } from '../../../../test/helpers/server.ts';
import { skip } from '../../../../test/skip.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../../fixtures/openai-app.ts';

type Response = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;

const TALE = { model: 'tiny', input: 'Once upon a time', max_output_tokens: 5, temperature: 0 } as const;
const BACKGROUND = { ...TALE, background: true } as const;
const ENDLESS = { ...BACKGROUND, model: 'endless', max_output_tokens: 60_000 } as const;

interface Context {
  at: OpenAiApp;
  /** Two users. */
  ann: OpenAI;
  bob: OpenAI;
}

/** Runs work that must fail, and returns the status, the code and the parameter of its error. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const { status, code, param } = await errorOf(work, APIError);
  return [status, code, param];
}

const hasEnded = ({ status }: Response): boolean => status !== 'queued' && status !== 'in_progress';

async function reached(client: OpenAI, id: string, isThere: (response: Response) => boolean): Promise<Response> {
  let response!: Response;
  await until(async () => isThere((response = await client.responses.retrieve(id))));
  return response;
}

async function collected(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const numbersOf = (events: readonly Event[]): number[] => events.map(({ sequence_number: number }) => number);
const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);
const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');

function backgroundTests(databases: TestDatabases): void {
  const Background = suite<Context>(`responses in the background over ${databases.title}`);
  Background.before(async (context) => {
    const at = await startOpenAiApp({
      config: { db_config: await databases.create(), api_service: { enabled: true } },
      prepare: registerEndless,
    });
    const clientOf = async (user: string): Promise<OpenAI> => {
      const { apiKey } = await at.app.apiKeys!.create({ user_id: user });
      return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
    };
    Object.assign(context, { at, ann: await clientOf('ann'), bob: await clientOf('bob') });
  });
  Background.after(async ({ at }) => {
    await at?.[Symbol.asyncDispose]();
    await databases.end();
  });

  Background('are stored at once and are those of a request that waits', async ({ ann, bob }) => {
    const begun = await ann.responses.create({ ...BACKGROUND, metadata: { a: 'b' } });
    assert.equal([begun.status, begun.background, begun.output], ['queued', true, []]);
    const ended = await reached(ann, begun.id, hasEnded);
    const waited = await ann.responses.create({ ...TALE, metadata: { a: 'b' } });
    assert.is(ended.output_text, waited.output_text);
    assert.equal(
      [ended.status, ended.incomplete_details, ended.usage!.total_tokens, ended.metadata, ended.background],
      [waited.status, waited.incomplete_details, waited.usage!.total_tokens, waited.metadata, true],
    );
    assert.is((await ann.responses.inputItems.list(begun.id)).data.length, 1);
    assert.is((await refusal(bob.responses.retrieve(begun.id)))[0], 404);
    assert.is((await refusal(bob.responses.cancel(begun.id)))[0], 404);

    const next = await ann.responses.create({ ...BACKGROUND, input: 'and then', previous_response_id: begun.id });
    const waitedNext = await ann.responses.create({ ...TALE, input: 'and then', previous_response_id: waited.id });
    assert.is((await reached(ann, next.id, hasEnded)).output_text, waitedNext.output_text);
  });

  Background('are refused when they cannot be made', async ({ ann }) => {
    assert.equal(await refusal(ann.responses.create({ ...BACKGROUND, store: false })), [400, null, 'background']);
    assert.equal(await refusal(ann.responses.create({ ...BACKGROUND, model: 'nothing' })), [
      404,
      'model_not_found',
      'model',
    ]);
    assert.equal((await refusal(ann.responses.create({ ...BACKGROUND, previous_response_id: 'resp_0' })))[0], 400);
    const long = await ann.responses.create({ ...BACKGROUND, input: 'a '.repeat(2000) });
    const { status, error } = await reached(ann, long.id, hasEnded);
    assert.equal([status, error?.code], ['failed', 'context_length_exceeded']);
    assert.match(error!.message, /token/);
    assert.equal(await refusal(ann.responses.create({ ...TALE, previous_response_id: long.id })), [
      400,
      null,
      'previous_response_id',
    ]);
  });

  Background('are cancelled while they run, and more than once', async ({ ann }) => {
    const running = await ann.responses.create(ENDLESS);
    await reached(ann, running.id, ({ status }) => status === 'in_progress');
    assert.equal(await refusal(ann.responses.create({ ...TALE, previous_response_id: running.id })), [
      400,
      null,
      'previous_response_id',
    ]);
    for (let n = 0; n < 2; n += 1) {
      const cancelled = (await ann.responses.cancel(running.id)) as Response;
      assert.equal([cancelled.status, cancelled.output], ['cancelled', []]);
    }
    const removed = await ann.responses.create(ENDLESS);
    await reached(ann, removed.id, ({ status }) => status === 'in_progress');
    await ann.responses.delete(removed.id);
    assert.is((await refusal(ann.responses.retrieve(removed.id)))[0], 404);

    // The only place of the model is free again.
    const short = await ann.responses.create({ ...ENDLESS, max_output_tokens: 3 });
    const ended = await reached(ann, short.id, hasEnded);
    assert.is(ended.status, 'incomplete');
    assert.equal(((await ann.responses.cancel(short.id)) as Response).status, 'incomplete');
    const waited = await ann.responses.create(TALE);
    assert.equal(await refusal(ann.responses.cancel(waited.id)), [400, null, 'response_id']);
    assert.is((await refusal(ann.responses.cancel('resp_0')))[0], 404);
  });

  Background('are streamed, and a stream goes on after any of its events', async ({ ann }) => {
    const events = await collected(await ann.responses.create({ ...BACKGROUND, stream: true }));
    assert.equal(
      numbersOf(events),
      events.map((_, n) => n),
    );
    assert.equal(typesOf(events).slice(0, 3), ['response.created', 'response.queued', 'response.in_progress']);
    const last = events.at(-1) as OpenAI.Responses.ResponseIncompleteEvent;
    const { id } = last.response;
    assert.is(last.type, 'response.incomplete');
    const stored = await ann.responses.retrieve(id);
    assert.is(textOf(events), stored.output_text);
    assert.equal(last.response.output, stored.output);
    for (const after of [undefined, 0, 1, 5, events.length - 2, events.length - 1, 10_000]) {
      const query = { stream: true as const, ...(after !== undefined && { starting_after: after }) };
      assert.equal(await collected(await ann.responses.retrieve(id, query)), events.slice((after ?? -1) + 1));
    }
    assert.is((await ann.responses.stream({ response_id: id }).finalResponse()).output_text, stored.output_text);

    const unstreamed = await ann.responses.create(BACKGROUND);
    assert.equal(await refusal(ann.responses.retrieve(unstreamed.id, { stream: true })), [400, null, 'stream']);
  });

  Background('end with their task', async ({ ann, at }) => {
    const { id } = await ann.responses.create(ENDLESS);
    await reached(ann, id, ({ status }) => status === 'in_progress');
    const headers = { 'x-api-key': ann.apiKey! };
    const { tasks } = (await (await fetch(`${at.url}/tasks?status=running`, { headers })).json()) as {
      tasks: { id: string; endpoint: string }[];
    };
    const [task] = tasks.filter(({ endpoint }) => endpoint === '/v1/responses');
    await fetch(`${at.url}/tasks/${task!.id}/cancel`, { method: 'POST', headers });
    assert.is((await ann.responses.retrieve(id)).status, 'cancelled');
  });

  Background('go on when the reader of their events leaves', async ({ ann }) => {
    const stream = await ann.responses.create({ ...ENDLESS, stream: true });
    let id = '';
    let seen = 0;
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      seen = event.sequence_number;
      if (event.type === 'response.output_text.delta') break;
    }
    const later: Event[] = [];
    for await (const event of await ann.responses.retrieve(id, { stream: true, starting_after: seen })) {
      later.push(event);
      if (later.length === 3) await ann.responses.cancel(id);
    }
    assert.equal(
      numbersOf(later),
      later.map((_, n) => seen + 1 + n),
    );
    assert.is(typesOf(later).at(-1), 'response.cancelled');
  });

  Background.run();
}

if (cannotRun !== undefined) skip('responses in the background', cannotRun);
else {
  const postgres = await postgresDatabases();
  backgroundTests(sqliteDatabases());
  if (typeof postgres === 'string') skip('responses in the background over PostgreSQL', postgres);
  else backgroundTests(postgres);
}
