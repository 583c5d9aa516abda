// Responses with the official client, against real models over a real socket.
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { THINKING_TEMPLATE } from '../../../inference/engines/fixtures/thinking-template.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Responses = suite('responses with the official client');
let at: OpenAiApp;
let client: OpenAI;

Responses.before(async () => {
  const path = await testModel('smollm2-135m-instruct');
  at = await startOpenAiApp({
    prepare: (app) => {
      app.registerDeployment('smol', llamaOptions(path, { model_kwargs: { n_ctx: 2048, n_threads: 1, n_seq_max: 4 } }));
      app.registerDeployment(
        'thinker',
        llamaOptions(path, {
          model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 1, chat_template: THINKING_TEMPLATE },
        }),
      );
    },
  });
  client = at.client;
});
Responses.after(async () => at?.[Symbol.asyncDispose]());

const CAPITAL = 'What is the capital of France? Answer with one word.';
const ASK = { model: 'smol', input: CAPITAL, temperature: 0, max_output_tokens: 30 } as const;

type Event = OpenAI.Responses.ResponseStreamEvent;

async function eventsOf(request: OpenAI.Responses.ResponseCreateParamsNonStreaming): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of await client.responses.create({ ...request, stream: true })) events.push(event);
  return events;
}

const finalOf = (events: readonly Event[]): OpenAI.Responses.Response =>
  (events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response;

Responses('a text gets a response with its usage', async () => {
  const response = await client.responses.create({
    ...ASK,
    metadata: { topic: 'cities' },
    user: 'me',
    instructions: 'Be brief.',
  });
  assert.match(response.id, /^resp_[0-9a-f]{32}$/);
  assert.match(response.output_text, /Paris/);
  const [message] = response.output;
  assert.equal([message!.type, message!.id!.slice(0, 4), response.output.length], ['message', 'msg_', 1]);
  assert.equal(
    [response.status, response.error, response.incomplete_details, response.metadata, response.instructions],
    ['completed', null, null, { topic: 'cities' }, 'Be brief.'],
  );
  const { input_tokens: input, output_tokens: output, total_tokens: total } = response.usage!;
  assert.ok(input > 10 && output > 0);
  assert.is(total, input + output);
  assert.ok(response.completed_at! >= response.created_at);
});

Responses('a response is the answer of a chat completion with the same parameters', async () => {
  const sampling = { model: 'smol', temperature: 1, top_p: 0.9, ...{ seed: 7, top_k: 20 } };
  const response = await client.responses.create({
    ...sampling,
    instructions: 'You are a poet.',
    input: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi!' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Write a line.' }] },
    ],
    max_output_tokens: 20,
  });
  const { choices } = await client.chat.completions.create({
    ...sampling,
    messages: [
      { role: 'developer', content: 'You are a poet.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi!' },
      { role: 'user', content: 'Write a line.' },
    ],
    max_completion_tokens: 20,
  });
  assert.is(response.output_text, choices[0]!.message.content);
});

Responses('the events of a stream are in order, and add up to the response', async () => {
  const events = await eventsOf(ASK);
  assert.equal(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  const types = events.map(({ type }) => type);
  const deltas = types.filter((type) => type === 'response.output_text.delta').length;
  assert.ok(deltas > 0);
  assert.equal(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    ...Array<string>(deltas).fill('response.output_text.delta'),
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  assert.is(finalOf(events).usage!.total_tokens, (await client.responses.create(ASK)).usage!.total_tokens);

  const stream = client.responses.stream(ASK);
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => (text += delta));
  const final = await stream.finalResponse();
  assert.match(final.output_text, /Paris/);
  assert.is(text, final.output_text);
  const stored = await client.responses.retrieve(final.id);
  assert.equal(
    final.output.map((item) => (item.type === 'message' ? item.content.map(({ type }) => type) : item.type)),
    stored.output.map((item) => (item.type === 'message' ? item.content.map(({ type }) => type) : item.type)),
  );
  assert.equal([final.output_text, final.usage], [stored.output_text, stored.usage]);
});

Responses('events on the wire have names, and no [DONE] follows', async () => {
  const response = await at.post('/v1/responses', { model: 'tiny', input: 'Once', stream: true, max_output_tokens: 3 });
  assert.equal([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
  const events = (await response.text()).split('\n\n');
  assert.is(events.pop(), '');
  for (const event of events) {
    const [name, data] = event.split('\ndata: ');
    assert.is(name, `event: ${JSON.parse(data!).type}`);
  }
  assert.match(events.at(-1)!, /^event: response\.incomplete\n/);
});

Responses('a limit of tokens makes the response and its message incomplete', async () => {
  const response = await client.responses.create({ model: 'tiny', input: 'Once upon a time', max_output_tokens: 3 });
  const [message] = response.output as OpenAI.Responses.ResponseOutputMessage[];
  assert.equal(
    [response.status, response.incomplete_details, message!.status, response.usage!.output_tokens],
    ['incomplete', { reason: 'max_output_tokens' }, 'incomplete', 3],
  );
});

Responses('log-probabilities are told when they are asked for, in events, too', async () => {
  const request = {
    model: 'tiny',
    input: 'Once upon a time',
    max_output_tokens: 4,
    temperature: 0,
    include: ['message.output_text.logprobs' as const],
    top_logprobs: 2,
  };
  const [message] = (await client.responses.create(request)).output as OpenAI.Responses.ResponseOutputMessage[];
  const [part] = message!.content as OpenAI.Responses.ResponseOutputText[];
  assert.equal(
    part!.logprobs!.map(({ top_logprobs: top }) => top.length),
    [2, 2, 2, 2],
  );
  const deltas = (await eventsOf(request)).flatMap((event) =>
    event.type === 'response.output_text.delta' ? event.logprobs : [],
  );
  assert.equal(
    deltas.map(({ token }) => token),
    part!.logprobs!.map(({ token }) => token),
  );
});

Responses('a schema binds the answer, and the parse helper reads it', async () => {
  const City = z.object({ city: z.string().max(20), population: z.number().int() });
  const { output_parsed: parsed } = await client.responses.parse({
    model: 'smol',
    input: 'Tell me the capital of France.',
    text: { format: zodTextFormat(City, 'city') },
    temperature: 0,
    max_output_tokens: 100,
  });
  assert.is(typeof parsed!.city, 'string');
  assert.ok(Number.isInteger(parsed!.population));
  const any = await client.responses.create({
    ...ASK,
    text: { format: { type: 'json_object' } },
    ...{ max_output_tokens: 60 },
  });
  assert.is(any.output_text.trimStart()[0], '{');
});

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather of a city',
  parameters: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
  strict: true,
} as const satisfies OpenAI.Responses.FunctionTool;
const CALL = {
  model: 'smol',
  input: 'What is the weather in Paris?',
  tools: [WEATHER],
  tool_choice: { type: 'function', name: 'get_weather' },
  parallel_tool_calls: false,
  temperature: 0,
  max_output_tokens: 60,
} as const satisfies OpenAI.Responses.ResponseCreateParams;

Responses('a function is called, and its output continues the dialog', async () => {
  const asked = await client.responses.create({ ...CALL, tools: [...CALL.tools] });
  const [call] = asked.output as OpenAI.Responses.ResponseFunctionToolCall[];
  assert.equal(
    [call!.type, call!.name, call!.status, asked.status],
    ['function_call', 'get_weather', 'completed', 'completed'],
  );
  assert.ok(['Paris', 'Rome'].includes((JSON.parse(call!.arguments) as { city: string }).city));
  const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'sunny' };
  const stored = await client.responses.create({ ...ASK, input: [output], previous_response_id: asked.id });
  const whole = await client.responses.create({
    ...ASK,
    input: [{ role: 'user', content: CALL.input }, ...asked.output, output] as OpenAI.Responses.ResponseInput,
    store: false,
  });
  assert.ok(stored.output_text.length > 0);
  assert.is(stored.output_text, whole.output_text);
  assert.is(stored.usage!.input_tokens, whole.usage!.input_tokens);
});

Responses('the events of a call have its arguments in pieces', async () => {
  const events = await eventsOf({ ...CALL, tools: [...CALL.tools], tool_choice: 'required' });
  const [added] = events.filter((event) => event.type === 'response.output_item.added');
  const [done] = events.filter((event) => event.type === 'response.function_call_arguments.done');
  const pieces = events.filter((event) => event.type === 'response.function_call_arguments.delta');
  assert.is(pieces.map(({ delta }) => delta).join(''), done!.arguments);
  assert.equal([added!.item.type, added!.item.id], ['function_call', done!.item_id]);
  const [item] = finalOf(events).output as OpenAI.Responses.ResponseFunctionToolCall[];
  assert.equal([item!.arguments, item!.status], [done!.arguments, 'completed']);
});

Responses('allowed_tools hides the other tools', async () => {
  const tool = (name: string) => ({ type: 'function' as const, name, parameters: { type: 'object' }, strict: false });
  const { output } = await client.responses.create({
    ...ASK,
    input: 'Call a function',
    tools: [tool('first'), tool('second')],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'second' }] },
  });
  assert.ok(output.length > 0 && output.every((item) => item.type === 'function_call' && item.name === 'second'));
});

Responses('reasoning is an item of its own, which can be continued', async () => {
  const request = { model: 'thinker', input: 'Name three colours.', max_output_tokens: 8, temperature: 0 };
  const events = await eventsOf({ ...request, reasoning: { effort: 'low' } });
  const types = new Set(events.map(({ type }) => type));
  assert.ok(types.has('response.reasoning_text.delta') && types.has('response.reasoning_text.done'));
  const response = finalOf(events);
  const [item] = response.output as OpenAI.Responses.ResponseReasoningItem[];
  assert.equal([item!.type, item!.id.slice(0, 3), item!.summary], ['reasoning', 'rs_', []]);
  assert.equal([response.usage!.output_tokens_details.reasoning_tokens, response.reasoning?.effort], [8, 'low']);
  const next = await client.responses.create({ ...request, input: 'And more?', previous_response_id: response.id });
  assert.ok(next.usage!.input_tokens > response.usage!.input_tokens + 8);
});

Responses('the tokens of a dialog are counted as the response counts them', async () => {
  const first = await client.responses.create(ASK);
  const dialog = { model: 'smol', input: 'And of Italy?', previous_response_id: first.id, instructions: 'Be brief.' };
  const { input_tokens: count } = await client.responses.inputTokens.count(dialog);
  const { usage } = await client.responses.create({ ...dialog, max_output_tokens: 1 });
  assert.is(count, usage!.input_tokens);
});

Responses('parameters without effect are named in a header', async () => {
  const { response } = await client.responses
    .create({
      ...{ model: 'tiny', input: 'Once', max_output_tokens: 1, made_up: 1 },
      service_tier: 'flex',
      background: false,
      prompt_cache_key: 'k',
      context_management: [],
    })
    .withResponse();
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'made_up, service_tier, context_management');
});

if (cannotRun !== undefined) skip('responses with the official client', cannotRun);
else Responses.run();
