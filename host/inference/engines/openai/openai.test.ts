// The deployment over scripted servers: recorded answers, failures, and hostile servers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../../base/core/async/async-values.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import type { Implementation } from '../../replicas/process/implementation.ts';
import { type CallContext, CallClient } from '../../rpc/index.ts';
import type { ChatOutputWithDetails, GenerationDetails } from '../../../base/schemas/index.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { OpenAITextGenerationConfig, OpenAITextGenerationDeployment } from '../../deployments/index.ts';
import { start } from './openai.ts';
import {
  type Answer,
  asEvent,
  ENDING,
  events,
  json,
  piece,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.test.fixture.ts';

const OpenAi = suite<{ server: ScriptedServer }>('text generation by another server');

OpenAi.before.each(async (context) => {
  context.server = await startScriptedServer();
});
OpenAi.after.each(async ({ server }) => server[Symbol.asyncDispose]());

type Config = Partial<ConstructorParameters<typeof OpenAITextGenerationConfig>[0]>;

async function open({ baseUrl }: ScriptedServer, config: Config = {}): Promise<Implementation> {
  const parsed = new OpenAITextGenerationConfig({ base_url: baseUrl, start_wait_s: 0, ...config });
  const spec = await OpenAITextGenerationDeployment.prepare(parsed, {
    ...{ log: silentLogger, signal: context().signal, env: { AANA_TEST_KEY: 'secret-key' }, numGpus: 0 },
    ...{ models: {} as never, cpus: async () => 1, progress: () => {} },
  });
  return start(JSON.parse(JSON.stringify(spec)) as never, {
    log: silentLogger,
    onModels: () => {},
    artifactPath: () => Promise.reject(new Error('no artifacts')),
    growingPaths: () => Promise.reject(new Error('no artifacts')),
    progress: () => {},
    host: new CallClient(() => {}),
  });
}

const EVENTS = { 'content-type': 'text/event-stream' };

const context = (signal = new AbortController().signal, deadlineAt?: number): CallContext => ({ signal, deadlineAt });
const dialog = { messages: [{ role: 'user', content: 'Hi' }] };

function call(
  implementation: Implementation,
  method: string,
  args: object,
  terms: CallContext = context(),
): Promise<unknown> {
  const method_ = implementation.methods[method];
  return Promise.resolve(method_?.(args as Record<string, unknown>, terms) as Promise<unknown>);
}

function stream(
  implementation: Implementation,
  args: object = { dialog },
  terms: CallContext = context(),
): AsyncIterable<{ text: string }, unknown> {
  return implementation.methods['chat_stream']?.(args as Record<string, unknown>, terms) as AsyncIterable<
    { text: string },
    unknown
  >;
}

async function collected(values: AsyncIterable<{ text: string }, unknown>): Promise<{ texts: string[]; end: unknown }> {
  const texts: string[] = [];
  const end = await drained(values, ({ text }) => void texts.push(text));
  return { texts, end };
}

const answerOf = (value: unknown): string => (value as { message: { content: string } }).message.content;

OpenAi('keeps its connection for later answers, and closes that of a cancelled one', async ({ server }) => {
  const implementation = await open(server);
  const isKeptAfter = async (): Promise<boolean> => {
    const before = server.connections;
    assert.equal((await collected(stream(implementation))).texts, ['a']);
    return server.connections === before;
  };
  server.answers = [events(piece('a'), ...ENDING)];
  await until(isKeptAfter, 'an answer comes over the connection of an earlier one');
  const client = new AbortController();
  server.answers = [(response) => void response.writeHead(200, EVENTS).write(piece('a'))];
  await errorOf(
    drained(stream(implementation, { dialog }, context(client.signal)), () => client.abort(new Error('left'))),
    Error,
  );
  assert.is(await server.seen.at(-1)!.left, true);
  server.answers = [events(piece('a'), ...ENDING)];
  await until(isKeptAfter, 'it goes on');
});

OpenAi('gives an answer at once whose connection the server does not end after it', async ({ server }) => {
  const implementation = await open(server);
  server.answers = [(response) => void response.writeHead(200, EVENTS).write([piece('a'), ...ENDING].join(''))];
  for (let n = 0; n < 2; n += 1) assert.equal((await collected(stream(implementation))).texts, ['a']);
  assert.equal(await Promise.all(server.seen.map(({ left }) => left)), [true, true]);
});

OpenAi('streams an answer with its details, and sends the key, the headers and the parameters', async ({ server }) => {
  server.answers = [
    events(asEvent({ choices: [{ delta: { role: 'assistant' } }] }), piece('Hel'), piece('lo'), ...ENDING),
  ];
  const remote = await open(server, {
    api_key_env: 'AANA_TEST_KEY',
    headers: { 'x-team': 'a' },
    default_sampling_params: { temperature: 0.5, top_k: 40 },
  });
  const { texts, end } = await collected(
    stream(remote, { dialog, sampling_params: { max_tokens: 9, top_k: -1, stop: ['x'], dry_base: 2, top_p: null } }),
  );
  assert.equal(texts, ['Hel', 'lo']);
  const { finish_reason: reason, usage } = end as { finish_reason: string; usage: object };
  assert.is(reason, 'stop');
  assert.equal(usage, { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 2 });
  const [request] = server.seen;
  assert.is(request?.path, '/v1/chat/completions');
  assert.is(request?.headers.authorization, 'Bearer secret-key');
  assert.is(request?.headers['x-team'], 'a');
  assert.is(request?.headers['traceparent'], undefined);
  assert.equal(request?.body, {
    model: 'm',
    messages: dialog.messages,
    temperature: 0.5,
    max_tokens: 9,
    top_p: 1,
    top_k: -1,
    min_p: 0,
    repetition_penalty: 1,
    stop: ['x'],
    stream: true,
    stream_options: { include_usage: true },
  });
});

const several = { n: 2, temperature: 0.5, seed: 4 };

OpenAi('passes the place of a call in its trace on where the configuration says so', async ({ server }) => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  server.answers = [events(piece('a'), ...ENDING), events(piece('a'), ...ENDING)];
  const remote = await open(server, { propagate_trace: true });
  await collected(stream(remote, { dialog }, { ...context(), traceparent }));
  await collected(stream(remote, { dialog }));
  assert.equal(
    server.seen.map(({ headers }) => headers['traceparent']),
    [traceparent, undefined],
  );
});

OpenAi('asks vLLM once for several answers', async ({ server }) => {
  const delta = (index: number, value: object, reason?: string, stop?: string | number): string =>
    asEvent({ choices: [{ index, delta: value, finish_reason: reason, stop_reason: stop }] });
  const cached = { prompt_tokens_details: { cached_tokens: 6 } };
  const counted = asEvent({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, ...cached } });
  server.answers = [
    events(
      ...[delta(0, { content: 'He' }), delta(1, { content: 'Bye' }), delta(0, { content: 'llo' })],
      ...[delta(1, {}, 'length', 2), delta(0, {}, 'stop', 'o'), counted, 'data: [DONE]\n\n'],
    ),
  ];
  const remote = await open(server);
  const { message, choices, details } = (await call(remote, 'chat', {
    ...{ dialog, details: true, assistant_prefix: 'Oh ', sampling_params: several },
  })) as ChatOutputWithDetails;
  assert.equal([server.seen.length, server.seen[0]?.body['n'], server.seen[0]?.body['seed']], [1, 2, 4]);
  assert.is(message.content, 'Oh Hello');
  assert.equal(
    choices?.map(({ message: { content }, details: ended }) => [content, ended?.finish_reason, ended?.stop_reason]),
    [
      ['Oh Hello', 'stop', 'o'],
      ['Oh Bye', 'length', undefined],
    ],
  );
  assert.equal(details?.usage, { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 5 });
});

OpenAi('asks llama-server once for each of several answers', async ({ server }) => {
  server.answers = [events(piece('one'), ...ENDING), events(piece('two'), ...ENDING)];
  const remote = await open(server, { server: 'llama-server' });
  const answer = (await call(remote, 'chat', {
    dialog,
    details: true,
    sampling_params: several,
  })) as ChatOutputWithDetails;
  assert.equal(answer.choices?.map((choice) => choice.message.content).toSorted(), ['one', 'two']);
  assert.equal(
    server.seen.map(({ body }) => [body['n'], body['seed']]),
    [
      [undefined, 4],
      [undefined, 5],
    ],
  );
  assert.equal(answer.details?.usage, { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 4 });
});

OpenAi('refuses a server that sends more answers than were asked for', async ({ server }) => {
  const remote = await open(server);
  server.answers = [events(asEvent({ choices: [{ index: 1, delta: { content: 'x' } }] }))];
  assert.match((await errorOf(call(remote, 'chat', { dialog }))).message, 'more answers than were asked for');
  server.answers = [events(piece('x'), ...ENDING)];
  assert.match(
    (await errorOf(call(remote, 'chat', { dialog, sampling_params: several }))).message,
    'ended before it was whole',
  );
});

OpenAi('refuses to forget a part of the context, and to shorten prompts where it cannot count', async ({ server }) => {
  server.answers = [events(piece('x'), ...ENDING)];
  for (const [models, overflow, reason] of [
    [{ id: 'm', owned_by: 'vllm', max_model_len: 100 }, 'shift', 'the API has no request for it'],
    [{ id: 'm', owned_by: 'vllm' }, 'truncate_middle', 'it does not tell the length of its context'],
    [{ id: 'm', owned_by: 'x' }, 'truncate_middle', 'it does not count tokens as vllm and llama-server do'],
  ] as const) {
    server.models = json(200, { object: 'list', data: [models] });
    const remote = await open(server);
    for (const answer of [
      call(remote, 'chat', { dialog, overflow }),
      call(remote, 'generate', { prompt: 'a', overflow }),
    ]) {
      const { name, message } = await errorOf(answer);
      assert.is(name, 'NotSupportedByServer');
      assert.match(message, `cannot take overflow "${overflow}": ${reason}`);
    }
    assert.is(answerOf(await call(remote, 'chat', { dialog, overflow: 'error' })), 'x');
  }
});

OpenAi('leaves out the middle tokens of a prompt that is too long for vLLM', async ({ server }) => {
  const numbers = Array.from({ length: 130 }, (_, at) => at);
  server.answers = [json(200, { count: 130, max_model_len: 100, tokens: numbers }), events(piece('x'), ...ENDING)];
  const remote = await open(server);
  const { details } = (await call(remote, 'generate', {
    prompt: 'a',
    overflow: 'truncate_middle',
    sampling_params: { max_tokens: 20 },
    details: true,
  })) as { details: { dropped?: unknown } };
  assert.equal(details.dropped, { tokens: 50 });
  assert.equal(server.seen[1]?.body['prompt'], [...numbers.slice(0, 40), ...numbers.slice(90)]);
});

OpenAi('sends the form of an answer with a name for its schema', async ({ server }) => {
  server.answers = [events(piece('{}'), ...ENDING)];
  const remote = await open(server);
  const schema = { type: 'object' };
  await call(remote, 'chat', { dialog, response_format: { type: 'json_schema', json_schema: { schema } } });
  const body = server.seen[0]?.body as { response_format?: unknown };
  assert.equal(body.response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } });
});

OpenAi('passes tools on, and reads calls and reasoning', async ({ server }) => {
  const delta = (value: object): string => asEvent({ choices: [{ delta: value }] });
  const toolCall = (value: object): string => delta({ tool_calls: [{ index: 0, ...value }] });
  const answer = events(
    delta({ reasoning_content: 'Hm' }),
    delta({ reasoning: ', yes.' }),
    toolCall({ id: 'a1', type: 'function', function: { name: 'weather', arguments: '' } }),
    toolCall({ function: { arguments: '{"city": ' } }),
    toolCall({ function: { arguments: '"Paris"}' } }),
    asEvent({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }),
    asEvent({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 3 } },
    }),
    'data: [DONE]\n\n',
  );
  server.answers = [answer, answer];
  const remote = await open(server);
  const tools = [{ type: 'function', function: { name: 'weather', parameters: {} } }];
  const args = { dialog, tools, tool_choice: 'required', parallel_tool_calls: false, chat_template_kwargs: { a: 1 } };
  const { message, details } = (await call(remote, 'chat', { ...args, details: true })) as ChatOutputWithDetails;
  assert.equal(message, {
    role: 'assistant',
    content: '',
    reasoning_content: 'Hm, yes.',
    tool_calls: [{ id: 'a1', type: 'function', function: { name: 'weather', arguments: '{"city": "Paris"}' } }],
  });
  assert.equal([details?.finish_reason, details?.usage.reasoning_tokens], ['tool_calls', 3]);
  await call(remote, 'chat', { ...args, tool_choice: 'none' });
  assert.equal(
    server.seen.map(({ body }) => {
      const { tools: sent, tool_choice: choice, parallel_tool_calls: parallel } = body as Partial<typeof args>;
      return [sent, choice, parallel];
    }),
    [
      [tools, 'required', false],
      [undefined, undefined, undefined],
    ],
  );
});

OpenAi('reads events however the server cuts its bytes', async ({ server }) => {
  const text = [': ping\r\n\r\n', 'event: x\r\n', piece('Grüße 😀').replace(/\n/g, '\r\n'), ...ENDING].join('');
  server.answers = [
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const bytes = Buffer.from(text);
      const next = (at: number): void => {
        if (at >= bytes.length) return void response.end();
        response.write(bytes.subarray(at, at + 3), () => setImmediate(next, at + 3));
      };
      next(0);
    },
  ];
  assert.is(answerOf(await call(await open(server), 'chat', { dialog })), 'Grüße 😀');
});

OpenAi('continues a text, a batch, and an answer with a prefix', async ({ server }) => {
  server.answers = [
    (response, { body }) =>
      events(
        asEvent({ choices: [{ text: `${String(body['prompt'])}!`, finish_reason: 'length' }] }),
        ...ENDING.slice(1),
      )(response, { body } as never),
  ];
  const remote = await open(server, { max_parallel: 2 });
  const args = { prompts: ['a', 'b', 'c'], details: true };
  const batch = (await call(remote, 'generate_batch', args)) as {
    texts: string[];
    details: { finish_reason: string }[];
  };
  assert.equal(batch.texts, ['a!', 'b!', 'c!']);
  assert.is(batch.details[2]?.finish_reason, 'length');
  server.answers = [events(piece(' you'), ...ENDING)];
  assert.is(answerOf(await call(remote, 'chat', { dialog, assistant_prefix: 'Thank' })), 'Thank you');
  const body = server.seen.at(-1)?.body ?? {};
  assert.equal(body['messages'], [...dialog.messages, { role: 'assistant', content: 'Thank' }]);
  assert.is(body['continue_final_message'], true);
  assert.is(body['add_generation_prompt'], false);
});

OpenAi('refuses a sampling parameter that the server does not know, by name', async ({ server }) => {
  const remote = await open(server, { server: 'openai' });
  const refused = await errorOf(call(remote, 'chat', { dialog, sampling_params: { top_k: 5 } }));
  assert.is(refused.name, 'InvalidSamplingParams');
  assert.match(refused.message, /\(openai\) cannot take the sampling parameter top_k; only vllm and llama-server can/);
  const everywhere = await errorOf(
    call(await open(server), 'chat', { dialog, sampling_params: { dry_multiplier: 1, dry_base: 2 } }),
  );
  assert.match(everywhere.message, /\(vllm\) cannot take the sampling parameter dry_multiplier; only llama-server can/);
  for (const params of [{ reproducible: true }, { prompt_logprobs: 0 }]) {
    const here = await errorOf(call(await open(server), 'chat', { dialog, sampling_params: params }));
    assert.match(here.message, new RegExp(`${Object.keys(params)}; use a LlamaTextGenerationDeployment for it`));
  }
  const prefixed = await errorOf(call(remote, 'chat', { dialog, assistant_prefix: 'x' }));
  assert.is(prefixed.name, 'NotSupportedByServer');
  assert.is((await errorOf(call(remote, 'count_tokens', { text: 'x' }))).name, 'NotSupportedByServer');
  assert.equal(server.seen, []);
});

OpenAi('names an adapter as the model of vLLM', async ({ server }) => {
  server.answers = [events(piece('a'), ...ENDING)];
  await call(await open(server), 'chat', { dialog, adapter: 'legal' });
  assert.is(server.seen[0]?.body['model'], 'legal');
  const refused = await errorOf(call(await open(server, { server: 'openai' }), 'chat', { dialog, adapter: 'legal' }));
  assert.match(refused.message, /\(openai\) has no adapters by name; only vllm has/);
});

for (const [kind, form, part] of [
  ['vllm', { regex: '[0-9]+', json: null }, { structured_outputs: { regex: '[0-9]+' } }],
  ['vllm', { json: { type: 'object' } }, { structured_outputs: { json: { type: 'object' } } }],
  ['llama-server', { json: '{"type":"array"}' }, { json_schema: { type: 'array' } }],
  ['llama-server', { json_object: true }, { json_schema: { type: 'object' } }],
  ['llama-server', { choice: ['a "b"', 'c\f'] }, { grammar: String.raw`root ::= "a \"b\"" | "c\u000c"` }],
  ['llama-server', { grammar: 'root ::= "x"' }, { grammar: 'root ::= "x"' }],
] as const) {
  OpenAi(`sends the form ${JSON.stringify(form)} to ${kind} as ${JSON.stringify(part)}`, async ({ server }) => {
    server.answers = [events(piece('a'), ...ENDING)];
    const sampling = { sampling_params: { structured_outputs: form } };
    await call(await open(server, { server: kind }), 'chat', { dialog, ...sampling });
    const body = server.seen[0]?.body ?? {};
    for (const [name, value] of Object.entries(part)) assert.equal(body[name], value);
  });
}

for (const [kind, form, name] of [
  ['llama-server', { regex: '[0-9]+' }, 'structured_outputs.regex'],
  ['vllm', { json_object: true, close_json: true }, 'structured_outputs.close_json'],
  ['openai', { json_object: true }, 'structured_outputs'],
  ['openai', { quote_of: ['a b c d e'] }, 'structured_outputs.quote_of'],
  ['vllm', { quote_of: ['a b c d e'], json: true }, 'structured_outputs.quote_of'],
  ['llama-server', { quote_of: ['a b c d e'] }, 'structured_outputs.quote_of'],
] as const) {
  OpenAi(`refuses the form ${JSON.stringify(form)} for ${kind}`, async ({ server }) => {
    const sampling = { sampling_params: { structured_outputs: form } };
    const refused = await errorOf(call(await open(server, { server: kind }), 'chat', { dialog, ...sampling }));
    assert.is(refused.name, 'InvalidSamplingParams');
    assert.ok(refused.message.includes(`the sampling parameter ${name};`), refused.message);
  });
}

OpenAi('refuses a schema that is not JSON', async ({ server }) => {
  const sampling = { sampling_params: { structured_outputs: { json: '{' } } };
  const refused = await errorOf(call(await open(server, { server: 'llama-server' }), 'chat', { dialog, ...sampling }));
  assert.match(refused.message, /the schema in structured_outputs\.json is not JSON/);
});

OpenAi('counts tokens with the route of vLLM', async ({ server }) => {
  server.answers = [json(200, { count: 5, max_model_len: 100, tokens: [1, 2, 3, 4, 5] })];
  assert.equal(await call(await open(server), 'count_tokens', { dialog }), { tokens: 5, max_tokens: 100 });
  assert.is(server.seen[0]?.path, '/tokenize');
});

/** Answers of vLLM for the texts of tokens. */
const TEXTS: Readonly<Record<number, string>> = { 5: 'He', 6: 'llo', 7: ' there', 8: 'é' };
const vllmVocabulary: Answer = (response, request) => {
  const { tokens = [] } = request.body as { tokens?: number[] };
  json(200, { prompt: tokens.map((id) => TEXTS[id] ?? '?').join('') })(response, request);
};

OpenAi('tells the tokens of vLLM and their texts', async ({ server }) => {
  const remote = await open(server);
  server.answers = [json(200, { count: 3, max_model_len: 100, tokens: [5, 6, 5] }), vllmVocabulary];
  const told = await call(remote, 'tokenize', { text: 'HelloHe', add_special_tokens: false });
  assert.equal(told, { tokens: [5, 6, 5], texts: ['He', 'llo', 'He'], max_tokens: 100 });
  assert.equal(
    server.seen.map(({ path, body }) => [path, body['add_special_tokens'] ?? body['tokens']]),
    [
      ['/tokenize', false],
      ['/detokenize', [5]],
      ['/detokenize', [6]],
    ],
  );
  assert.equal(await call(remote, 'detokenize', { tokens: [5, 6, 7] }), { text: 'Hello there' });
  assert.equal(server.seen.at(-1)?.body, { model: 'm', tokens: [5, 6, 7] });
  server.answers = [json(200, { nothing: true })];
  assert.match((await errorOf(call(remote, 'detokenize', { tokens: [5] }))).message, /the tokens have an unknown form/);
  const plain = await open(server, { server: 'openai' });
  for (const [method, args] of [
    ['tokenize', { text: 'x' }],
    ['detokenize', { tokens: [1] }],
  ] as const)
    assert.is((await errorOf(call(plain, method, args))).name, 'NotSupportedByServer');
});

OpenAi('sends a prompt of tokens as it is', async ({ server }) => {
  server.answers = [events(asEvent({ choices: [{ index: 0, text: 'x', finish_reason: 'stop' }] }), ...ENDING.slice(1))];
  await call(await open(server), 'generate', { prompt: [5, 6, 7] });
  assert.equal(server.seen[0]?.body['prompt'], [5, 6, 7]);
});

const numbered = (id: number, logprob: number): object => ({ token: `token_id:${id}`, logprob, bytes: [1, 2] });

for (const [method, args, logprobs, asked] of [
  [
    'chat',
    { dialog },
    {
      content: [{ ...numbered(5, -0.5), top_logprobs: [numbered(8, -2), numbered(5, -0.5), numbered(6, -9999.5)] }],
    },
    { logprobs: true, top_logprobs: 2, return_tokens_as_token_ids: true },
  ],
  [
    'generate',
    { prompt: 'x' },
    {
      ...{ tokens: ['token_id:5'], token_logprobs: [-0.5], text_offset: [0] },
      top_logprobs: [{ 'token_id:8': -2, 'token_id:5': -0.5, 'token_id:6': -9999.5 }],
    },
    { logprobs: 2, return_tokens_as_token_ids: true },
  ],
] as const) {
  OpenAi(`tells the log-probabilities of vLLM (${method})`, async ({ server }) => {
    const choice = { index: 0, ...(method === 'chat' ? { delta: { content: 'He' } } : { text: 'He' }), logprobs };
    server.answers = [events(asEvent({ choices: [choice] }), ...ENDING), vllmVocabulary];
    const answer = await call(await open(server), method, { ...args, sampling_params: { logprobs: 2 } });
    const [he, e] = [
      { token: 'He', id: 5, logprob: -0.5, bytes: [72, 101] },
      { token: 'é', id: 8, logprob: -2, bytes: [0xc3, 0xa9] },
    ];
    assert.equal((answer as { details: GenerationDetails }).details.logprobs, [{ ...he, top_logprobs: [he, e] }]);
    const body = server.seen[0]?.body ?? {};
    for (const [name, value] of Object.entries(asked)) assert.equal(body[name], value, name);
  });
}

OpenAi('refuses log-probabilities without numbers of tokens', async ({ server }) => {
  const logprobs = { content: [{ token: 'He', logprob: -1, bytes: null, top_logprobs: [] }] };
  server.answers = [events(asEvent({ choices: [{ index: 0, delta: { content: 'He' }, logprobs }] }), ...ENDING)];
  const refused = await errorOf(call(await open(server), 'chat', { dialog, sampling_params: { logprobs: 0 } }));
  assert.match(refused.message, /a token has no number/);
});

const VLLM_TOO_LONG =
  "This model's maximum context length is 100 tokens. However, you requested 140 tokens (130 in the messages, 10 in " +
  'the completion).';

for (const [title, answer, name, message, data] of [
  [
    'vLLM says that the prompt is too long',
    json(400, { object: 'error', message: VLLM_TOO_LONG, type: 'BadRequestError', code: 400 }),
    'PromptTooLongException',
    /maximum context length is 100/,
    { prompt_len: 130, max_len: 100 },
  ],
  [
    'llama-server says that the prompt is too long',
    json(400, {
      error: { code: 400, message: 'too long', type: 'exceed_context_size_error', n_prompt_tokens: 130, n_ctx: 100 },
    }),
    'PromptTooLongException',
    /too long/,
    { prompt_len: 130, max_len: 100 },
  ],
  [
    'OpenAI says that the prompt is too long',
    json(400, { error: { message: 'reduce it', type: 'invalid_request_error', code: 'context_length_exceeded' } }),
    'PromptTooLongException',
    /reduce it/,
    { prompt_len: null, max_len: null },
  ],
  [
    'the key is wrong',
    json(401, { error: { message: 'Incorrect key secr**key' } }),
    'RemoteAccessDenied',
    /refuses access \(401\); check api_key/,
    {},
  ],
  [
    'the model is unknown',
    json(404, { error: { message: 'no such model' } }),
    'RemoteModelNotFound',
    /no such model/,
    { model_name: 'm' },
  ],
  ['a value is refused', json(422, { detail: 'x' }), 'RemoteRequestRefused', /status 422/, { model_name: 'm' }],
  [
    'the server fails',
    json(500, { error: 'CUDA error' }),
    'InferenceException',
    /status 500: CUDA error/,
    { model_name: 'm' },
  ],
  [
    'the server redirects',
    json(302, {}, { location: 'http://127.0.0.1:9/' }),
    'InferenceException',
    /redirects/,
    { model_name: 'm' },
  ],
  [
    'the server is busy for too long',
    json(429, { error: { message: 'slow down' } }, { 'retry-after': '90' }),
    'RemoteServerUnavailable',
    /not available \(429\): slow down/,
    { retry_after_s: 90 },
  ],
  [
    'an event has an error',
    events(asEvent({ error: { message: 'out of cells', code: 500 } })),
    'RemoteRequestRefused',
    /out of cells/,
    { model_name: 'm' },
  ],
  [
    'the answer is a page',
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    'InferenceException',
    /content type "text\/html"/,
    { model_name: 'm' },
  ],
  [
    'an event is not JSON',
    events('data: {"choices": [\n\n'),
    'InferenceException',
    /no valid answer: it is not JSON/,
    { model_name: 'm' },
  ],
  [
    'an event has another form',
    events('data: {"choices": 5}\n\n'),
    'InferenceException',
    /unknown form/,
    { model_name: 'm' },
  ],
  [
    'a line does not end',
    (response) => endless(response, 'data: xxxxxxxx'),
    'InferenceException',
    /has a line of more than/,
    { model_name: 'm' },
  ],
  ['the answer ends early', events(piece('a')), 'InferenceException', /ended before it was whole/, { model_name: 'm' }],
  [
    'the connection breaks after a piece',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(piece('a'), () => setTimeout(() => response.destroy(), 50));
    },
    'InferenceException',
    /broke off/,
    { model_name: 'm' },
  ],
] as readonly (readonly [string, ScriptedServer['models'], string, RegExp, object])[]) {
  OpenAi(`throws ${name} when ${title}, and asks once`, async ({ server }) => {
    server.answers = [answer];
    const error = await errorOf(call(await open(server, { api_key: 'secret-key' }), 'chat', { dialog }));
    assert.is(error.name, name);
    assert.match(error.message, message);
    assert.equal(error.data, data);
    assert.is(server.seen.length, 1);
    assert.not.match(JSON.stringify([error.message, error.data, error.stack]), /secret-key|secr\*\*/);
  });
}

function endless(response: Parameters<ScriptedServer['models']>[0], text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const block = Buffer.alloc(1 << 20, text);
  const more = (): void => {
    while (!response.destroyed && response.write(block));
  };
  response.on('drain', more);
  more();
}

OpenAi('repeats a request after failures that pass, before the first piece', async ({ server }) => {
  const whole = events(piece('ok'), ...ENDING);
  const cut: ScriptedServer['models'] = (response) => response.destroy();
  const begun: ScriptedServer['models'] = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n', () => response.destroy());
  };
  server.answers = [cut, begun, json(503, {}, { 'retry-after': '1' }), whole];
  const remote = await open(server, { max_retries: 3 });
  const started = performance.now();
  assert.is(answerOf(await call(remote, 'chat', { dialog })), 'ok');
  assert.is(server.seen.length, 4);
  assert.ok(performance.now() - started > 1000, 'Retry-After was kept');
  server.answers = [json(503, { error: { message: 'Loading model' } }, { 'retry-after': '0' })];
  server.seen.length = 0;
  assert.is((await errorOf(call(remote, 'chat', { dialog }))).name, 'RemoteServerUnavailable');
  assert.is(server.seen.length, 4);
});

/** Answers with one piece and then nothing. */
const hanging: ScriptedServer['models'] = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(piece('a'));
};

OpenAi('closes the connection when the call is cancelled or its reader leaves', async ({ server }) => {
  server.answers = [hanging];
  const remote = await open(server);
  const controller = new AbortController();
  const reason = new Error('client went away');
  const reading = collected(stream(remote, { dialog }, context(controller.signal)));
  while (server.seen.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort(reason);
  assert.is(await reading.catch((error: unknown) => error), reason);
  assert.is(await server.seen[0]?.left, true);
  for await (const { text } of stream(remote)) {
    assert.is(text, 'a');
    break;
  }
  assert.is(await server.seen[1]?.left, true);
});

OpenAi(
  'stops at the deadline of the call, at its own time limit, and when the server is silent',
  async ({ server }) => {
    server.answers = [hanging];
    const remote = await open(server);
    const late = await errorOf(call(remote, 'chat', { dialog }, context(undefined, performance.now() + 2000)));
    assert.is(late.name, 'DeadlineExceeded');
    assert.is(await server.seen[0]?.left, true);
    const slow = await errorOf(call(await open(server, { timeout_s: 0.1 }), 'chat', { dialog }));
    assert.match(slow.message, /^the request to m was stopped: it took longer than timeout_s, 0\.1 s/);
    const silent = await errorOf(call(await open(server, { idle_timeout_s: 1 }), 'chat', { dialog }));
    assert.match(silent.message, /broke off: .* sent nothing for 1 s/);
  },
);

OpenAi('refuses to start with a clear reason', async ({ server }) => {
  const two = json(200, { data: [{ id: 'a' }, { id: 'b' }] });
  for (const [models, config, message] of [
    [two, {}, /set user_config\.model, because http:\S+ has a, b/],
    [two, { model: 'c' }, /has no model c; it has a, b/],
    [json(401, {}), { model: 'c' }, /refuses access \(401\)/],
    [json(404, {}), {}, /404/],
    [json(200, 'x'), {}, /lists no models/],
    [two, { api_key_env: 'AANA_NO_SUCH_KEY' }, /environment variable AANA_NO_SUCH_KEY is not set/],
  ] as const) {
    server.models = models;
    assert.match((await errorOf(open(server, config))).message, message);
  }
  await server[Symbol.asyncDispose]();
  const error = await errorOf(open(server));
  assert.match(error.message, /gave no answer: the connection was refused/);
  Object.assign(server, await startScriptedServer());
});

OpenAi('starts without a list of models, and waits for a server that loads its model', async ({ server }) => {
  server.models = json(404, {});
  const { info } = await open(server, { model: 'mine' });
  assert.equal(info, { model: 'mine', server: 'openai', address: `${server.baseUrl}/`, contextTokens: undefined });
  const ready = json(200, { data: [{ id: 'm', owned_by: 'llamacpp', meta: { n_ctx: 64 } }] });
  server.models = (response, request) => {
    server.models = ready;
    json(503, { error: { message: 'Loading model' } })(response, request);
  };
  const waited = await open(server, { start_wait_s: 20, model: 'any name' });
  assert.equal(waited.info, {
    model: 'any name',
    server: 'llama-server',
    address: `${server.baseUrl}/`,
    contextTokens: 64,
  });
});

for (const [config, message] of [
  [{ base_url: 'ftp://x/v1' }, /base_url: .*must be an http or https address/],
  [{ base_url: 'http://user:secret-key@x/v1' }, /base_url: .*must be an http or https address/],
  [{ base_url: 'http://x/v1', api_key: 'secret-key\n' }, /api_key: has characters that no header can have/],
  [{ base_url: 'http://x/v1', api_key: 'secret-key', api_key_env: 'KEY' }, /must not be given together/],
  [{ base_url: 'http://x/v1', headers: { Host: 'secret-key' } }, /headers\.Host: .*is set by the deployment/],
] as const) {
  OpenAi(`refuses the configuration ${Object.keys(config).join(', ')} and does not show a key`, () => {
    try {
      const accepted = new OpenAITextGenerationConfig(config as never);
      assert.unreachable(accepted.base_url);
    } catch (error) {
      assert.match((error as Error).message, message);
      assert.not.match((error as Error).message, /secret-key/);
    }
  });
}

OpenAi.run();
