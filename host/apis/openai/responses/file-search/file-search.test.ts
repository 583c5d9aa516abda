// Responses of models that search vector stores, with the official client, real embeddings and SQLite.
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LlamaEmbeddingDeployment } from 'aana-host';
import { cannotRun } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { testModel } from '../../../../test/helpers/models.ts';
import { until } from '../../../../test/helpers/server.ts';
import { skip } from '../../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from '../../fixtures/openai-app.ts';
import { type Given, PlainModel, ScriptedModel, type ScriptedTurn, TURN } from '../../fixtures/scripted-model.ts';

type Request = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Response = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;
type Search = OpenAI.Responses.ResponseFileSearchToolCall;

const Searches = suite('responses that search files');
let at: OpenAiApp;
let ann: OpenAI;
let bob: OpenAI;
let store: string;
/** The names of the files by their ids. */
const names = new Map<string, string>();

const TEXTS = {
  'cats.txt': 'Cats sleep for most of the day. A cat purrs when it is content, and hunts mice at night.',
  'bread.txt': 'Knead the dough, let it rise for two hours, and bake the bread in a hot oven until it is brown.',
};

Searches.before(async () => {
  const [smol, minilm] = await Promise.all([testModel('smollm2-135m-instruct'), testModel('all-minilm-l6-v2')]);
  at = await startOpenAiApp({
    config: { api_service: { enabled: true }, task_queue: { num_workers: 1 } },
    prepare: (app, tiny) => {
      registerEndless(app, tiny);
      app.registerDeployment('smol', llamaOptions(smol, { model_kwargs: { n_ctx: 2048, n_threads: 1, n_seq_max: 2 } }));
      app.registerDeployment(
        'minilm',
        LlamaEmbeddingDeployment.options({
          user_config: { model_id: minilm, model_kwargs: { n_threads: 1, n_ctx: 256 } },
        }),
      );
      app.registerDeployment('script', ScriptedModel.options());
      app.registerDeployment('plain', PlainModel.options());
    },
  });
  [ann, bob] = [await clientOf('ann'), await clientOf('bob')];
  store = (await ann.vectorStores.create({ name: 'Notes' })).id;
  for (const [name, text] of Object.entries(TEXTS)) {
    const { id } = await ann.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'assistants' });
    const read = await ann.vectorStores.files.createAndPoll(store, { file_id: id, attributes: { name } });
    assert.is(read.status, 'completed');
    names.set(id, name);
  }
});
Searches.after(async () => at?.[Symbol.asyncDispose]());

async function clientOf(user: string, scopes?: string[]): Promise<OpenAI> {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: user, ...(scopes && { scopes }) });
  return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
}

const toolOf = (more: object = {}): OpenAI.Responses.FileSearchTool => ({
  type: 'file_search',
  vector_store_ids: [store],
  ...more,
});
const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
};
const RESULTS = 'file_search_call.results' as const;
const asking = (...queries: string[]): readonly [string, string] => ['file_search', JSON.stringify({ queries })];

/** Returns a request whose answer has these turns, and then tells what the model was given. */
const scripted = (turns: readonly ScriptedTurn[], more: Partial<Request> = {}): Request => ({
  model: 'script',
  input: JSON.stringify(turns),
  tools: [toolOf()],
  ...more,
});

async function eventsOf(request: Request): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of await ann.responses.create({ ...request, stream: true })) events.push(event);
  return events;
}

const finalOf = (events: readonly Event[]): Response =>
  (events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response;
const searchesIn = ({ output }: Pick<Response, 'output'>): Search[] =>
  output.filter((item) => item.type === 'file_search_call');
const givenIn = ({ output_text: text }: Pick<Response, 'output_text'>): Given => JSON.parse(text) as Given;
const typesIn = ({ output }: Response): string[] => output.map(({ type }) => type);
const citedIn = ({ output }: Response): string[] =>
  output.flatMap((item) =>
    item.type === 'message' && item.content[0]?.type === 'output_text'
      ? item.content[0].annotations.map((one) => (one.type === 'file_citation' ? one.filename : one.type))
      : [],
  );

/** A response without what two responses need not share. */
const comparable = (response: Response): unknown =>
  JSON.parse(
    JSON.stringify(response, (key, value: unknown) =>
      ['id', 'created_at', 'completed_at', 'cached_tokens', 'output_text', 'output_parsed', 'parsed'].includes(key)
        ? undefined
        : value,
    ).replaceAll(/[0-9a-f]{9}\\"/g, 'call\\"'),
  );

Searches('give the model the parts that fit, cite their files, and sum the tokens', async () => {
  const response = await ann.responses.create(
    scripted([{ reasoning: 'Hm.', text: 'I look.', calls: [asking('What do kittens do?', 'How is a loaf made?')] }], {
      tools: [toolOf({ max_num_results: 1 })],
      include: [RESULTS],
      max_output_tokens: 100,
    }),
  );
  assert.equal(typesIn(response), ['reasoning', 'message', 'file_search_call', 'message']);
  const [search] = searchesIn(response);
  assert.match(search!.id, /^fs_[0-9a-f]{32}$/);
  assert.equal([search!.status, search!.queries.length, search!.results!.length], ['completed', 2, 1]);
  const [result] = search!.results!;
  assert.is(names.get(result!.file_id!), result!.filename);
  assert.is(TEXTS[result!.filename as keyof typeof TEXTS], result!.text);
  assert.equal(result!.attributes, { name: result!.filename });
  const [, before, , after] = response.output;
  const partOf = (item: typeof before) => (item?.type === 'message' ? item.content[0]! : assert.unreachable());
  assert.equal((partOf(before) as OpenAI.Responses.ResponseOutputText).annotations, []);
  const text = partOf(after) as OpenAI.Responses.ResponseOutputText;
  assert.equal(text.annotations, [
    { type: 'file_citation', file_id: result!.file_id, filename: result!.filename, index: 0 },
  ]);
  const { messages, tools, choice, max_tokens } = JSON.parse(text.text) as Given;
  assert.equal(
    messages.slice(1).map(({ role, content }) => [role, content]),
    [
      ['assistant', 'I look.'],
      ['tool', `[1] ${result!.filename}\n${result!.text}`],
    ],
  );
  assert.equal([tools, choice, max_tokens], [['file_search'], 'auto', 100 - TURN.completion]);
  const usage = response.usage!;
  assert.equal(
    [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens, usage.total_tokens],
    [2 * TURN.prompt, 2 * TURN.cached, 2 * TURN.completion, 2 * (TURN.prompt + TURN.completion)],
  );
});

Searches('are the same streamed as whole, with their events in order', async () => {
  const turns = [{ text: 'I look.', calls: [asking('cats'), asking('bread', 'dough')] }];
  for (const include of [[], [RESULTS]]) {
    const events = await eventsOf(scripted(turns, { include }));
    assert.equal(
      events.map(({ sequence_number: number }) => number),
      events.map((_, number) => number),
    );
    const final = finalOf(events);
    assert.equal(comparable(final), comparable(await ann.responses.create(scripted(turns, { include }))));
    const added = await ann.responses.stream({ ...scripted(turns, { include }), stream: true }).finalResponse();
    assert.equal(comparable(added), comparable(final), 'the client adds up the events');
    for (const [index, item] of final.output.entries()) {
      const own = events.filter((event) => 'output_index' in event && event.output_index === index);
      const kinds = own.map(({ type }) => type.replace('response.', '')).filter((type) => !type.includes('delta'));
      assert.equal([kinds[0], kinds.at(-1)], ['output_item.added', 'output_item.done']);
      assert.equal((own.at(-1) as OpenAI.Responses.ResponseOutputItemDoneEvent).item, item);
      if (item.type === 'file_search_call')
        assert.equal(
          kinds.slice(1, -1),
          ['in_progress', 'searching', 'completed'].map((state) => `file_search_call.${state}`),
        );
    }
    assert.is(events.filter(({ type }) => type === 'response.output_text.annotation.added').length, 2);
    assert.equal(citedIn(final).toSorted(), ['bread.txt', 'cats.txt']);
    assert.equal(
      searchesIn(final).map(({ results }) => results?.length ?? null),
      include.length > 0 ? [2, 2] : [null, null],
    );
  }
});

Searches('obey the filter, the threshold and the choice of the client', async () => {
  const turns = [{ calls: [asking('cats')] }];
  const found = async (more: object): Promise<(string | undefined)[]> => {
    const response = await ann.responses.create(scripted(turns, { tools: [toolOf(more)], include: [RESULTS] }));
    return searchesIn(response)[0]!.results!.map(({ filename }) => filename);
  };
  assert.equal(await found({ filters: { type: 'eq', key: 'name', value: 'bread.txt' } }), ['bread.txt']);
  assert.equal(await found({ filters: { type: 'eq', key: 'name', value: 'none' } }), []);
  assert.equal(await found({ ranking_options: { ranker: 'none', score_threshold: 1 } }), []);
  const tools = [toolOf(), WEATHER];
  const seen = async (choice: Request['tool_choice']): Promise<unknown[]> => {
    const { tools: all, choice: told } = givenIn(
      await ann.responses.create(scripted([], { tools, tool_choice: choice! })),
    );
    return [all, told];
  };
  const named = { type: 'function', function: { name: 'file_search' } };
  assert.equal(await seen({ type: 'file_search' }), [['file_search', 'weather'], named]);
  assert.equal(await seen('none'), [['file_search', 'weather'], 'none']);
  const allowed = { type: 'allowed_tools' as const, mode: 'required' as const, tools: [{ type: 'file_search' }] };
  assert.equal(await seen(allowed), [['file_search'], 'required']);
  const after = await ann.responses.create(scripted(turns, { tools, tool_choice: allowed }));
  assert.equal([givenIn(after).tools, givenIn(after).choice], [['file_search'], 'auto']);
});

Searches('go with calls of functions, which the client answers', async () => {
  const turns = [{ calls: [asking('cats'), ['weather', '{}'] as const] }];
  const tools = [toolOf({ max_num_results: 1 }), WEATHER];
  const first = await ann.responses.create(scripted(turns, { tools }));
  assert.equal(typesIn(first), ['file_search_call', 'function_call']);
  assert.is(searchesIn(first)[0]!.results!.length, 1, 'the model has not read them yet');
  const call = first.output[1] as OpenAI.Responses.ResponseFunctionToolCall;
  const second = await ann.responses.create({
    model: 'script',
    tools,
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }],
  });
  assert.equal(
    givenIn(second).messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])),
    [`[1] cats.txt\n${TEXTS['cats.txt']}`, 'sunny'],
  );
});

Searches('end: a model that only searches loses the tool, and wrong calls are told to it', async () => {
  const endless = Array.from({ length: 50 }, () => ({ calls: [asking('cats')] }));
  const all = await ann.responses.create(scripted(endless, { include: [RESULTS] }));
  assert.equal([all.status, searchesIn(all).at(-1)!.status], ['completed', 'failed']);
  const made = searchesIn(all).filter(({ status }) => status === 'completed').length;
  assert.ok(made > 1 && searchesIn(all).length === made + 1, `${made} searches`);
  const few = await ann.responses.create(
    scripted([{ calls: [asking('cats'), asking('bread')] }], { max_tool_calls: 1 } as object),
  );
  assert.equal(
    searchesIn(few).map(({ status }) => status),
    ['completed', 'failed'],
  );
  assert.equal([givenIn(few).tools, givenIn(few).messages.at(-1)!.content], [[], 'No search was made.']);
  for (const wrong of ['', '{"queries":', '{"queries":[]}', '[]', 'null', '{"queries":["a"],"more":1}']) {
    const response = await ann.responses.create(scripted([{ calls: [['file_search', wrong]] }]));
    assert.equal([searchesIn(response)[0]!.status, searchesIn(response)[0]!.queries], ['failed', []]);
    assert.is(givenIn(response).messages.at(-1)!.content, 'No search was made.');
  }
  const cut = scripted([{ calls: [asking('cats')], isCut: true }]);
  for (const response of [await ann.responses.create(cut), finalOf(await eventsOf(cut))]) {
    assert.equal([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.equal(
      response.output.map((item) => 'status' in item && item.status),
      ['incomplete'],
    );
  }
});

Searches('are stored, and given back', async () => {
  const turns = [{ calls: [asking('cats')] }];
  for (const include of [[], [RESULTS]]) {
    const response = await ann.responses.create(scripted(turns, { include, tools: [toolOf({ max_num_results: 1 })] }));
    const { output } = await ann.responses.retrieve(response.id);
    assert.equal(output, response.output);
    const next = scripted([]).input as string;
    const input = [...output, { role: 'user', content: next }] as OpenAI.Responses.ResponseInputItem[];
    const continued = await ann.responses.create({ model: 'script', previous_response_id: response.id, input: next });
    const repeated = await ann.responses.create({ model: 'script', input });
    const told = (given: Given): string[] =>
      given.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
    const wanted = include.length > 0 ? [`[1] cats.txt\n${TEXTS['cats.txt']}`] : [];
    assert.equal([told(givenIn(continued)), told(givenIn(repeated))], [wanted, wanted]);
    const items = await ann.responses.inputItems.list(repeated.id, { order: 'asc' });
    assert.equal(items.data.slice(0, 1), output.slice(0, 1));
    const reference = { type: 'item_reference' as const, id: searchesIn(response)[0]!.id };
    const referred = await ann.responses.create({
      model: 'script',
      input: [reference, { role: 'user', content: next }],
    });
    assert.equal(told(givenIn(referred)), wanted);
  }
});

Searches('are the same in the background, whole and as events', async () => {
  const given = scripted([{ text: 'I look.', calls: [asking('cats', 'bread')] }], { include: [RESULTS] });
  const waited = await ann.responses.create(given);
  const alike = (response: Response): unknown => comparable({ ...response, background: false });
  const begun = await ann.responses.create({ ...given, background: true });
  let response = begun;
  await until(async () => (response = await ann.responses.retrieve(begun.id)).status !== 'queued' && !!response.usage);
  assert.equal(alike(response), alike(waited));
  const events = await eventsOf({ ...given, background: true });
  assert.equal(alike(finalOf(events)), alike(waited));
  assert.equal(
    events.flatMap(({ type }) => (type.includes('file_search_call') ? [type.split('.').at(-1)] : [])),
    ['in_progress', 'searching', 'completed'],
  );
  const next = scripted([]).input as string;
  const continued = await ann.responses.create({ model: 'script', previous_response_id: begun.id, input: next });
  assert.ok(givenIn(continued).messages.some(({ role, content }) => role === 'tool' && content.includes('cats.txt')));
});

Searches('in the background fail if the store is deleted before the task begins', async () => {
  const { id } = await ann.vectorStores.create({});
  const before = await ann.responses.create({ model: 'endless', input: 'Go on.', background: true });
  await until(async () => (await ann.responses.retrieve(before.id)).status === 'in_progress');
  const tools = [toolOf({ vector_store_ids: [id] })];
  const waiting = await ann.responses.create({
    ...scripted([{ calls: [asking('cats')] }], { tools }),
    background: true,
  });
  await ann.vectorStores.delete(id);
  assert.is((await ann.responses.retrieve(waiting.id)).status, 'queued');
  await ann.responses.cancel(before.id);
  let failed!: Response;
  await until(async () => (failed = await ann.responses.retrieve(waiting.id)).status === 'failed');
  assert.match(failed.error!.message, new RegExp(id));
  assert.equal(failed.output, []);
});

Searches('are made for the requests of a batch, within the rights of its key', async () => {
  const given = scripted([{ calls: [asking('cats')] }], { tools: [toolOf({ max_num_results: 1 })] });
  const lost = { ...given, tools: [toolOf({ vector_store_ids: [`vs_${'0'.repeat(32)}`] })] };
  const lines = [given, lost].map((body, n) => ({ custom_id: `${n}`, method: 'POST', url: '/v1/responses', body }));
  const file = await toFile(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')), 'lines.jsonl');
  const paths = ['/v1/responses', '/v1/files', '/v1/files/*', '/v1/batches', '/v1/batches/*'];
  const answersOf = async (client: OpenAI): Promise<unknown[]> => {
    const { id: input } = await client.files.create({ file, purpose: 'batch' });
    const { id } = await client.batches.create({
      ...{ input_file_id: input, endpoint: '/v1/responses', completion_window: '24h' },
    });
    let batch!: OpenAI.Batch;
    await until(async () => (batch = await client.batches.retrieve(id)).status === 'completed');
    const texts = [batch.output_file_id, batch.error_file_id].map(async (name) =>
      name == null ? '' : (await client.files.content(name)).text(),
    );
    const told = (await Promise.all(texts)).join('').trim().split('\n');
    return told.map((line) => {
      const { response } = JSON.parse(line) as { response: { status_code: number; body: Response } };
      return [response.status_code, response.status_code === 200 ? citedIn(response.body) : response.body.error!.code];
    });
  };
  assert.equal(await answersOf(ann), [
    [200, ['cats.txt']],
    [404, 'vector_store_not_found'],
  ]);
  assert.equal(await answersOf(await clientOf('ann', paths)), [
    [403, 'insufficient_permissions'],
    [403, 'insufficient_permissions'],
  ]);
});

Searches('of a real model are forced with tool_choice', async () => {
  const request = {
    model: 'smol',
    input: 'What do cats do at night?',
    temperature: 0,
    max_output_tokens: 200,
    tools: [toolOf({ max_num_results: 1 }), WEATHER],
    tool_choice: { type: 'file_search' },
    include: [RESULTS],
  } as const satisfies Request;
  const response = await ann.responses.create(request);
  const [search] = searchesIn(response);
  assert.equal(
    [response.output[0]!.type, search!.status, search!.results!.length],
    ['file_search_call', 'completed', 1],
  );
  assert.ok(search!.queries.every((query) => query.length > 0 && query.length <= 256));
  const events = await eventsOf(request);
  assert.equal(comparable(finalOf(events)), comparable(response));
  const { input_tokens: bare } = await ann.responses.inputTokens.count({ model: 'smol', input: request.input });
  const { input_tokens: told } = await ann.responses.inputTokens.count({
    ...{ model: 'smol', input: request.input, tools: [toolOf()] },
  });
  assert.ok(told! >= bare!);
});

Searches('are refused with what is wrong, before the model writes', async () => {
  const missing = `vs_${'0'.repeat(32)}`;
  const ids = (...all: string[]): Partial<Request> => ({ tools: [WEATHER, toolOf({ vector_store_ids: all })] });
  const expired = await ann.vectorStores.create({});
  await ann.vectorStores.delete(expired.id);
  const shared = await clientOf('ann', ['/v1/responses']);
  const ours: OpenAI.Responses.FunctionTool = { ...WEATHER, name: 'file_search' };
  for (const [client, more, status, param, message] of [
    [ann, { ...ids(store, missing), background: true }, 404, 'tools[1].vector_store_ids[1]', /vs_0+/],
    [shared, { background: true }, 403, null, /vector stores/],
    [ann, ids(store, missing), 404, 'tools[1].vector_store_ids[1]', /vs_0+/],
    [ann, ids('../x'), 404, 'tools[1].vector_store_ids[0]', /\.\.\/x/],
    [ann, ids(expired.id), 404, 'tools[1].vector_store_ids[0]', /No vector store/],
    [bob, ids(store), 404, 'tools[1].vector_store_ids[0]', /No vector store/],
    [ann, ids(), 400, 'tools[1].vector_store_ids', /./],
    [ann, ids(...Array.from({ length: 11 }, () => store)), 400, 'tools[1].vector_store_ids', /./],
    [ann, { tools: [toolOf({ filters: { type: 'no' } })] }, 400, 'tools[0].filters.key', /./],
    [ann, { tools: [toolOf({ max_num_results: 51 })] }, 400, 'tools[0].max_num_results', /./],
    [
      ann,
      { tools: [toolOf({ ranking_options: { hybrid_search: {} } })] },
      400,
      'tools[0].ranking_options.hybrid_search',
      /./,
    ],
    [ann, { tools: [toolOf(), toolOf()] }, 400, 'tools', /different names/],
    [ann, { tools: [ours, toolOf()] }, 400, 'tools', /different names/],
    [ann, { tools: [WEATHER], tool_choice: { type: 'file_search' } }, 400, 'tool_choice', /file_search/],
    [ann, { model: 'plain' }, 400, null, /calls no tools/],
    [shared, {}, 403, null, /vector stores/],
  ] as const) {
    const request = scripted([{ calls: [asking('cats')] }], more as Partial<Request>);
    for (const stream of [false, true]) {
      const error = await errorOf(client.responses.create({ ...request, stream }), APIError);
      assert.equal([error.status, error.param ?? null], [status, param], `${JSON.stringify(more)}: ${error.message}`);
      assert.match(error.message, message);
    }
  }
  assert.equal((await ann.responses.create(scripted([]))).status, 'completed', 'the server goes on');
});

Searches('need a deployment for embeddings', async () => {
  await using bare = await startOpenAiApp();
  const request = { ...scripted([], { model: 'tiny' }) };
  const error = await errorOf(bare.client.responses.create(request), APIError);
  assert.equal([error.status, error.code], [503, 'no_embedding_model']);
});

if (cannotRun !== undefined) skip('responses that search files', cannotRun);
else Searches.run();
