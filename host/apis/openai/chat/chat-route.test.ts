// The official client against real models over a real socket.
import OpenAI, { APIError, BadRequestError, NotFoundError } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { testModel } from '../../../test/helpers/models.ts';
import type { Quotation } from '../../../base/schemas/index.ts';
import { quotationProblem } from '../../../test/campaign/quotes/check-quotations.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Chat = suite('chat completions with the official client');
const SMOL = 'smollm2-135m-instruct';
let at: OpenAiApp;
let client: OpenAI;

Chat.before(async () => {
  const path = await testModel(SMOL);
  at = await startOpenAiApp({
    config: { openai: { aliases: { 'gpt-4o-mini': 'smol' } } },
    prepare: (app) =>
      app.registerDeployment('smol', llamaOptions(path, { model_kwargs: { n_ctx: 2048, n_threads: 1, n_seq_max: 4 } })),
  });
  client = at.client;
});
Chat.after(async () => at?.[Symbol.asyncDispose]());

const CAPITAL = [{ role: 'user', content: 'What is the capital of France? Answer with one word.' }] as const;

Chat('a dialog gets an answer with its finish reason and usage', async () => {
  const { data, response } = await client.chat.completions
    .create({ model: 'gpt-4o-mini', messages: [...CAPITAL], temperature: 0, max_completion_tokens: 30 })
    .withResponse();
  assert.match(data.id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.equal([data.object, data.model], ['chat.completion', 'gpt-4o-mini']);
  const [choice] = data.choices;
  assert.match(choice!.message.content!, /Paris/);
  assert.equal([choice!.index, choice!.finish_reason, choice!.message.role], [0, 'stop', 'assistant']);
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = data.usage!;
  assert.ok(prompt > 10 && completion > 0);
  assert.is(total, prompt + completion);
  assert.ok(data.created > 1_700_000_000);
  assert.ok(response.headers.get('x-request-id'));
  assert.is(response.headers.get('x-aana-ignored-parameters'), null);
});

Chat('an answer that quotes has its quotations, whole and streamed', async () => {
  const segments = [
    { id: 0, text: ' The capital of France is the city of Paris,', start: 0, end: 3.5 },
    { id: 1, text: ' and that of Spain is Madrid.', start: 3.5, end: 5 },
  ];
  const quote = { type: 'string', format: 'quote' };
  const request = {
    model: 'smol',
    messages: [
      { role: 'user', content: `${segments[0]!.text} What is the capital of France? Answer with a quotation.` },
    ],
    temperature: 0,
    max_tokens: 60,
    structured_outputs: {
      quote_of: ['No use.', segments],
      max_words: 12,
      json: { type: 'object', properties: { quote }, required: ['quote'], additionalProperties: false },
    },
  } as const;
  const { choices } = await client.chat.completions.create(
    request as never as OpenAI.ChatCompletionCreateParamsNonStreaming,
  );
  const { content, ...message } = choices[0]!.message;
  const { quotations } = message as unknown as { quotations: Quotation[] };
  assert.equal(JSON.parse(content!), { quote: quotations[0]!.text });
  assert.is(quotationProblem(quotations[0]!, [[], segments], 5, 12), undefined);
  const stream = await client.chat.completions.create({
    ...request,
    stream: true,
  } as never as OpenAI.ChatCompletionCreateParamsStreaming);
  const deltas = [];
  for await (const chunk of stream) deltas.push(chunk.choices[0]!.delta);
  assert.equal(deltas.map((delta) => delta.content ?? '').join(''), content);
  assert.equal(deltas.at(-1), { quotations } as object);
  const answered = { ...choices[0]!.message } as OpenAI.ChatCompletionMessageParam;
  const next = [...request.messages, answered, CAPITAL[0]] as OpenAI.ChatCompletionMessageParam[];
  await client.chat.completions.create({ model: 'smol', messages: next, max_tokens: 1 });
});

Chat('a stream has one id, one role, the same text, and usage only when asked', async () => {
  const request = { model: 'smol', messages: [...CAPITAL], temperature: 0, max_tokens: 30 };
  const whole = await client.chat.completions.create(request);
  for (const asked of [false, true]) {
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      ...(asked && { stream_options: { include_usage: true } }),
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.is(new Set(chunks.map(({ id }) => id)).size, 1);
    const choices = chunks.flatMap((chunk) => chunk.choices);
    assert.equal(choices[0]!.delta, { role: 'assistant', content: '' });
    assert.is(choices.filter(({ delta }) => delta.role).length, 1);
    assert.is(choices.map(({ delta }) => delta.content ?? '').join(''), whole.choices[0]!.message.content);
    assert.equal(
      choices.map(({ finish_reason: reason }) => reason).filter((reason) => reason !== null),
      ['stop'],
    );
    const last = chunks.at(-1)!;
    if (!asked) assert.ok(chunks.every((chunk) => !('usage' in chunk)));
    else {
      assert.equal(last.choices, []);
      assert.is(last.usage!.total_tokens, whole.usage!.total_tokens);
      assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
    }
  }
});

Chat('events on the wire end with [DONE]', async () => {
  const response = await at.post('/v1/chat/completions', {
    model: 'tiny',
    messages: [{ role: 'user', content: 'Once upon a time' }],
    stream: true,
    max_tokens: 3,
  });
  assert.is(response.status, 200);
  assert.is(response.headers.get('content-type'), 'text/event-stream');
  const events = (await response.text()).split('\n\n');
  assert.is(events.pop(), '');
  assert.is(events.pop(), 'data: [DONE]');
  for (const event of events) assert.is(JSON.parse(event.slice('data: '.length)).object, 'chat.completion.chunk');
});

Chat('several answers have their own seeds, finish reasons and log-probabilities', async () => {
  const { choices, usage } = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: 'Once upon a time' }],
    n: 3,
    temperature: 1,
    seed: -5,
    max_tokens: 6,
    logprobs: true,
    top_logprobs: 2,
  });
  assert.equal(
    choices.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.ok(new Set(choices.map(({ message }) => message.content)).size > 1);
  for (const { finish_reason: reason, logprobs, message } of choices) {
    assert.is(reason, 'length');
    assert.is(logprobs!.content!.length, 6);
    assert.ok(logprobs!.content!.every(({ top_logprobs: top, logprob }) => top.length === 2 && logprob <= 0));
    assert.is(
      logprobs!
        .content!.map(({ token }) => token)
        .join('')
        .trim(),
      message.content!.trim(),
    );
  }
  assert.is(usage!.completion_tokens, 18);
});

Chat('several answers of a stream are told apart by their index', async () => {
  const stream = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: 'Once upon a time' }],
    n: 2,
    temperature: 1,
    max_tokens: 4,
    stream: true,
  });
  const ends: number[] = [];
  const roles: number[] = [];
  for await (const { choices } of stream)
    for (const { index, finish_reason: reason, delta } of choices) {
      if (reason) ends.push(index);
      if (delta.role) roles.push(index);
    }
  assert.equal(ends.sort(), [0, 1]);
  assert.equal(roles.sort(), [0, 1]);
});

Chat('the same seed gives the same text, and stop texts end it', async () => {
  const ask = (more: object) =>
    client.chat.completions.create({
      model: 'smol',
      messages: [{ role: 'user', content: 'Count from one to ten in words.' }],
      temperature: 1,
      seed: 2 ** 40 + 7,
      max_tokens: 40,
      ...more,
    });
  const [one, two] = [await ask({}), await ask({ seed: 7 })];
  const text = one.choices[0]!.message.content!;
  assert.is(text, two.choices[0]!.message.content);
  const stop = text.slice(8, 12);
  const stopped = await ask({ stop });
  assert.is(stopped.choices[0]!.message.content, text.slice(0, text.indexOf(stop)));
  assert.is(stopped.choices[0]!.finish_reason, 'stop');
});

Chat('a schema binds the answer, and the parse helper reads it', async () => {
  const City = z.object({ city: z.string().max(20), population: z.number().int() });
  const { choices } = await client.chat.completions.parse({
    model: 'smol',
    messages: [{ role: 'user', content: 'Tell me the capital of France.' }],
    response_format: zodResponseFormat(City, 'city'),
    temperature: 0,
    max_tokens: 100,
  });
  const parsed = choices[0]!.message.parsed!;
  assert.is(typeof parsed.city, 'string');
  assert.ok(Number.isInteger(parsed.population));
});

Chat('the tool runner calls a function with checked arguments', async () => {
  const given: unknown[] = [];
  const runner = client.chat.completions.runTools(
    {
      model: 'smol',
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Tells the weather of a city',
            parameters: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
            parse: JSON.parse,
            function: (args: unknown) => {
              given.push(args);
              return 'sunny';
            },
          },
        },
      ],
      temperature: 0,
      max_tokens: 60,
    },
    { maxChatCompletions: 1 },
  );
  await runner.done();
  assert.is(given.length, 1);
  assert.ok(['Paris', 'Rome'].includes((given[0] as { city: string }).city));
  const call = runner.messages.find((message) => message.role === 'assistant');
  assert.is(call!.content, null);
});

Chat('streamed calls of tools come in pieces of one call', async () => {
  const runner = client.chat.completions.stream({
    model: 'smol',
    messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
    tool_choice: 'required',
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
        },
      },
    ],
    parallel_tool_calls: false,
    temperature: 0,
    max_tokens: 60,
  });
  const { choices } = await runner.finalChatCompletion();
  assert.is(choices[0]!.finish_reason, 'tool_calls');
  const [call] = choices[0]!.message.tool_calls!;
  assert.is(call!.type === 'function' && call!.function.name, 'get_weather');
  assert.ok(call!.id);
});

Chat('allowed_tools hides the other tools', async () => {
  const tool = (name: string) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object', properties: {} } },
  });
  const { choices } = await client.chat.completions.create({
    model: 'smol',
    messages: [{ role: 'user', content: 'Call a function' }],
    tools: [tool('first'), tool('second')],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'second' } }] },
    },
    temperature: 0,
    max_tokens: 60,
  });
  const calls = choices[0]!.message.tool_calls!;
  assert.ok(calls.length > 0);
  assert.ok(calls.every((call) => call.type === 'function' && call.function.name === 'second'));
});

Chat('an answer can be sent back, with developer messages and lists of texts', async () => {
  const { choices } = await client.chat.completions.create({
    model: 'smol',
    messages: [...CAPITAL],
    temperature: 0,
    max_tokens: 20,
  });
  const again = await client.chat.completions.create({
    model: 'smol',
    messages: [
      { role: 'developer', content: 'You are brief.' },
      ...CAPITAL,
      { ...choices[0]!.message, annotations: [], audio: null } as OpenAI.ChatCompletionMessageParam,
      { role: 'user', content: [{ type: 'text', text: 'And of Italy?' }] },
    ],
    temperature: 0,
    max_tokens: 20,
  });
  assert.ok(again.choices[0]!.message.content!.length > 0);
});

Chat('an answer goes on with the last message', async () => {
  const { choices } = await client.chat.completions.create({
    model: 'smol',
    messages: [...CAPITAL, { role: 'assistant', content: 'The capital of France is' }],
    temperature: 0,
    max_tokens: 5,
    ...{ continue_final_message: true, add_generation_prompt: false },
  });
  assert.match(choices[0]!.message.content!, /^\s*Paris/);
});

Chat('extensions of vLLM and llama-server bind and sample the answer', async () => {
  const ask = async (more: object): Promise<string> => {
    const { choices } = await client.chat.completions.create({
      model: 'smol',
      messages: [{ role: 'user', content: 'Is the sky blue?' }],
      temperature: 1,
      max_tokens: 12,
      ...more,
    });
    return choices[0]!.message.content!;
  };
  assert.ok(['yes', 'no'].includes(await ask({ guided_choice: ['yes', 'no'] })));
  assert.match(await ask({ guided_regex: '[0-9]{4}' }), /^[0-9]{4}$/);
  assert.match(await ask({ grammar: 'root ::= "a" | "b"' }), /^[ab]$/);
  assert.is(typeof JSON.parse(await ask({ guided_json: { type: 'boolean' } })), 'boolean');
  assert.is(await ask({ top_k: 1 }), await ask({ top_k: 1, seed: 3 }));
  assert.is(await ask({ min_p: 1 }), await ask({ top_k: 1 }));
});

Chat('parameters without effect are named in a header', async () => {
  const { response } = await client.chat.completions
    .create({
      model: 'tiny',
      messages: [{ role: 'user', content: 'Once' }],
      max_tokens: 1,
      store: true,
      service_tier: 'auto',
      user: 'me',
      verbosity: 'low',
      ...{ made_up: 1, 'odd\nname': 2 },
    })
    .withResponse();
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'store, verbosity, made_up, ?');
});

/** Runs work that must fail, and returns the error of the client. */
async function failure(work: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  const result = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.instance(result, APIError);
  return result as InstanceType<typeof APIError>;
}

const HELLO = { model: 'tiny', messages: [{ role: 'user' as const, content: 'Once upon a time' }], max_tokens: 1 };

Chat('errors are the typed exceptions of the client', async () => {
  const unknown = await failure(client.chat.completions.create({ ...HELLO, model: 'gpt-5' }));
  assert.instance(unknown, NotFoundError);
  assert.equal([unknown.status, unknown.code, unknown.param], [404, 'model_not_found', 'model']);
  assert.match(unknown.message, /"gpt-5" does not exist: the models are tiny, smol, gpt-4o-mini/);

  const wrong = await failure(client.chat.completions.create({ ...HELLO, temperature: 9 }));
  assert.instance(wrong, BadRequestError);
  assert.equal([wrong.type, wrong.param], ['invalid_request_error', 'temperature']);

  const long = await failure(
    client.chat.completions.create({ ...HELLO, messages: [{ role: 'user', content: 'dog '.repeat(2000) }] }),
  );
  assert.instance(long, BadRequestError);
  assert.is(long.code, 'context_length_exceeded');

  const image = await failure(
    client.chat.completions.create({
      ...HELLO,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://127.0.0.1/a.png' } }] }],
    }),
  );
  assert.equal([image.status, image.code, image.param], [400, 'unsupported_parameter', 'messages[0].content[0].type']);

  const route = await failure(client.post('/fine_tuning/jobs', { body: {} }));
  assert.equal([route.status, route.code], [404, 'unknown_url']);
});

Chat('wrong parameters are refused with their names', async () => {
  const cases: [more: object, param: string | null][] = [
    [{ n: 1e9 }, 'n'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    [{ stop: Array(10_000).fill('x') }, 'stop'],
    [{ stop: '' }, 'stop'],
    [{ stop: ['\ud800'] }, 'stop[0]'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'messages[0].content[0].type'],
    [{ logit_bias: { x: 1 } }, 'logit_bias.x'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
    [{ response_format: { type: 'json_object' }, guided_choice: ['a'] }, 'response_format'],
    [{ guided_choice: ['a'], guided_regex: 'b' }, 'guided_choice'],
    [{ continue_final_message: true }, 'continue_final_message'],
    [{ seed: 1.5 }, 'seed'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ stream: 'yes' }, 'stream'],
    [{ model: undefined }, 'model'],
  ];
  for (const [more, param] of cases) {
    const response = await at.post('/v1/chat/completions', { ...HELLO, ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 100)}: ${text}`);
    const { error } = JSON.parse(text);
    assert.equal([error.type, error.param], ['invalid_request_error', param], text);
  }
});

Chat('the root has the contract of the original, with which the official client copes', async () => {
  const original = new OpenAI({ baseURL: at.url, apiKey: 'any', maxRetries: 0 });
  const request = { model: 'smol', messages: [...CAPITAL], temperature: 0, max_tokens: 10 };
  const response = await at.post('/chat/completions', request);
  const body = (await response.json()) as { id: string; created: number; choices: [{ message: { content: string } }] };
  assert.match(body.id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.equal(body, {
    id: body.id,
    object: 'chat.completion',
    model: 'smol',
    created: body.created,
    choices: [{ index: 0, message: { content: body.choices[0].message.content, role: 'assistant' } }],
  });
  assert.match(body.choices[0].message.content, 'Paris');

  const { data, response: head } = await original.chat.completions.create({ ...request, stream: true }).withResponse();
  assert.is(head.headers.get('content-type'), 'application/json-seq');
  let text = '';
  for await (const chunk of data) {
    assert.is(chunk.choices[0]!.delta.role, 'assistant');
    text += chunk.choices[0]!.delta.content;
  }
  assert.is(text, body.choices[0].message.content);

  const unknown = await at.post('/chat/completions', { ...request, model: 'gpt-4' });
  assert.is(unknown.status, 404);
  assert.equal(await unknown.json(), { error: { message: 'The model `gpt-4` does not exist.' } });
  assert.instance(await failure(original.chat.completions.create({ ...request, model: 'gpt-4' })), NotFoundError);

  const refused = await at.post('/chat/completions', { ...request, n: 2 });
  assert.is(refused.status, 422);
  const { error, data: entries } = (await refused.json()) as { error: string; data: [{ type: string; loc: string[] }] };
  assert.equal([error, entries[0].type, entries[0].loc], ['ValidationError', 'extra_forbidden', ['n']]);
});

Chat('the beginning of a dialog that was computed before is told as cached', async () => {
  const request = { model: 'smol', messages: [...CAPITAL], temperature: 0, max_tokens: 2 };
  const first = await client.chat.completions.create(request);
  const second = await client.chat.completions.create(request);
  const cached = second.usage!.prompt_tokens_details!.cached_tokens!;
  assert.ok(cached > 0 && cached < second.usage!.prompt_tokens, `${cached} of ${second.usage!.prompt_tokens}`);
  assert.is(second.usage!.prompt_tokens, first.usage!.prompt_tokens);
  assert.is(second.choices[0]!.message.content, first.choices[0]!.message.content);
  let streamed: number | undefined;
  const stream = await client.chat.completions.create({
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const { usage } of stream) streamed = usage?.prompt_tokens_details?.cached_tokens;
  assert.ok(streamed! > 0);
});

Chat('models are listed with their states and what they can do', async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.equal(ids, ['tiny', 'smol', 'gpt-4o-mini']);
  const alias = (await client.models.retrieve('gpt-4o-mini')) as OpenAI.Model & Record<string, unknown>;
  assert.equal(
    [alias.object, alias['deployment'], alias['state'], alias['capabilities']],
    ['model', 'smol', 'RUNNING', ['chat', 'completions', 'tokenize']],
  );
  const { error } = await failure(client.models.retrieve('a/b c'));
  assert.is((error as { code: string }).code, 'model_not_found');
});

if (cannotRun !== undefined) skip('chat completions with the official client', cannotRun);
else Chat.run();
