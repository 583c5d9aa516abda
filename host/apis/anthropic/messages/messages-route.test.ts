// The official client against real models over a real socket.
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { THINKING_TEMPLATE } from '../../../inference/engines/fixtures/thinking-template.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from '../../openai/fixtures/openai-app.ts';

const Messages = suite('messages with the official client of Anthropic');
let at: OpenAiApp;
let client: Anthropic;

Messages.before(async () => {
  const path = await testModel('smollm2-135m-instruct');
  const kwargs = { n_ctx: 2048, n_threads: 1, n_seq_max: 2 };
  at = await startOpenAiApp({
    config: { openai: { aliases: { 'claude-haiku': 'smol' } } },
    prepare: (app, tiny) => {
      registerEndless(app, tiny);
      app.registerDeployment('smol', llamaOptions(path, { model_kwargs: kwargs }));
      app.registerDeployment(
        'thinker',
        llamaOptions(path, { model_kwargs: { ...kwargs, n_ctx: 512, chat_template: THINKING_TEMPLATE } }),
      );
    },
  });
  client = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
});
Messages.after(async () => at?.[Symbol.asyncDispose]());

const CAPITAL = {
  model: 'smol',
  max_tokens: 30,
  temperature: 0,
  messages: [{ role: 'user' as const, content: 'What is the capital of France? Answer with one word.' }],
};

const COUNTING = { ...CAPITAL, messages: [{ role: 'user' as const, content: 'Count from one to ten in words.' }] };

/** The weather, for tools. */
const WEATHER = {
  name: 'get_weather',
  description: 'Tells the weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { enum: ['Paris', 'Rome'] } },
    required: ['city'],
  },
};

/** Returns the text of an answer, which has nothing else. */
function textOf({ content }: Anthropic.Message): string {
  assert.equal(
    content.map(({ type }) => type),
    ['text'],
  );
  return (content[0] as Anthropic.TextBlock).text;
}

const promptTokens = ({ input_tokens: computed, cache_read_input_tokens: cached }: Anthropic.Usage): number =>
  computed + (cached ?? 0);

Messages('a dialog gets an answer with its stop reason and usage', async () => {
  const request = { ...CAPITAL, model: 'claude-haiku', system: 'You are brief.' };
  const { data: message, response, request_id: id } = await client.messages.create(request).withResponse();
  assert.match(message.id, /^msg_[0-9a-f]{32}$/);
  assert.match(textOf(message), /Paris/);
  assert.equal(
    [message.type, message.role, message.model, message.stop_reason, message.stop_sequence],
    ['message', 'assistant', 'claude-haiku', 'end_turn', null],
  );
  assert.is(id, response.headers.get('x-request-id'));
  assert.is(response.headers.get('x-aana-ignored-parameters'), null);
  const { input_tokens: counted } = await client.messages.countTokens({
    model: 'smol',
    system: request.system,
    messages: request.messages,
  });
  const { input_tokens: computed, cache_read_input_tokens: cached, output_tokens: written } = message.usage;
  assert.equal([computed, cached], [counted, 0]);
  assert.ok(written > 0);
  const again = await client.messages.create(request);
  assert.ok(again.usage.cache_read_input_tokens! > 0, JSON.stringify(again.usage));
  assert.is(promptTokens(again.usage), counted);
});

Messages('a stream has the same message as the whole answer', async () => {
  const whole = await client.messages.create(CAPITAL);
  const texts: string[] = [];
  const stream = client.messages.stream(CAPITAL).on('text', (text) => texts.push(text));
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  const message = await stream.finalMessage();
  assert.is(textOf(message), textOf(whole));
  assert.is(texts.join(''), textOf(whole));
  assert.is(message.stop_reason, 'end_turn');
  assert.is(promptTokens(message.usage), promptTokens(whole.usage));
  assert.is(message.usage.output_tokens, whole.usage.output_tokens);
  assert.equal(types.slice(0, 3), ['message_start', 'content_block_start', 'content_block_delta']);
  assert.equal(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
});

Messages('a stream begins with the tokens of its prompt, while the model is still busy with another one', async () => {
  const request = { model: 'endless', max_tokens: 60_000, messages: CAPITAL.messages };
  const running = client.messages.stream(request);
  await running.emitted('text'); // it takes the only place of the engine
  const begin = await at.post('/v1/messages', { ...request, max_tokens: 2, stream: true });
  const reader = begin.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('\n\n')) text += (await reader.read()).value ?? '\n\n';
  const [, data = 'null'] = /^event: message_start\ndata: (.*)\n\n$/.exec(text) ?? [];
  const { input_tokens: counted } = await client.messages.countTokens({ model: 'tiny', messages: CAPITAL.messages });
  const { usage } = JSON.parse(data).message as Anthropic.Message;
  assert.equal([usage.input_tokens, usage.output_tokens], [counted, 0]);
  running.abort();
  await running.done().catch(() => {});
  for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value;
  assert.match(text, /event: message_stop\n/);
});

Messages('a stream with a prompt that is too long is refused before it begins', async () => {
  const response = await at.post('/v1/messages', {
    ...{ model: 'tiny', max_tokens: 2, stream: true },
    messages: [{ role: 'user', content: 'dog '.repeat(2000) }],
  });
  assert.is(response.status, 400);
  const body = await response.text();
  assert.match(body, /prompt is too long: \d+ tokens > 512 maximum/);
});

Messages('events on the wire have the name of their type', async () => {
  const response = await at.post('/v1/messages', { ...CAPITAL, model: 'tiny', max_tokens: 3, stream: true });
  assert.is(response.status, 200);
  assert.is(response.headers.get('content-type'), 'text/event-stream');
  const events = (await response.text()).split('\n\n');
  assert.is(events.pop(), '');
  for (const event of events) {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
    assert.is(JSON.parse(data ?? 'null')?.type, name);
  }
});

Messages('an answer ends at its limit and with the context', async () => {
  const cut = await client.messages.create({ ...COUNTING, max_tokens: 12 });
  assert.equal([cut.stop_reason, cut.usage.output_tokens], ['max_tokens', 12]);
  const full = await client.messages.create({
    model: 'tiny',
    max_tokens: 5000,
    messages: [{ role: 'user', content: 'Once upon a time' }],
  });
  assert.is(full.stop_reason, 'model_context_window_exceeded');
});

Messages('an answer ends at a stop sequence, which it names', async () => {
  const text = textOf(await client.messages.create({ ...COUNTING, max_tokens: 12 }));
  const stop = text.slice(8, 12);
  const request = { ...COUNTING, stop_sequences: ['never', stop] };
  const whole = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  for (const message of [whole, streamed]) {
    assert.equal([message.stop_reason, message.stop_sequence], ['stop_sequence', stop]);
    assert.is(textOf(message), text.slice(0, text.indexOf(stop)));
  }
});

Messages('an answer goes on with the last message, which counts', async () => {
  const messages = [...CAPITAL.messages, { role: 'assistant' as const, content: 'The capital of France is' }];
  const message = await client.messages.create({ ...CAPITAL, messages, max_tokens: 5 });
  assert.match(textOf(message), /^\s*Paris/);
  const { input_tokens: counted } = await client.messages.countTokens({ model: 'smol', messages });
  assert.is(promptTokens(message.usage), counted);
  const streamed = await client.messages.stream({ ...CAPITAL, messages, max_tokens: 5 }).finalText();
  assert.is(streamed, textOf(message));
});

Messages('a call of a tool is a block with checked arguments, whole and in pieces', async () => {
  const request = {
    ...CAPITAL,
    max_tokens: 60,
    messages: [{ role: 'user' as const, content: 'What is the weather in Paris?' }],
    tools: [WEATHER],
    tool_choice: { type: 'any' as const, disable_parallel_tool_use: true },
  };
  const whole = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  for (const { content, stop_reason: reason } of [whole, streamed]) {
    assert.is(reason, 'tool_use');
    const calls = content.filter((block) => block.type === 'tool_use');
    assert.is(calls.length, 1);
    assert.is(calls[0]!.name, 'get_weather');
    assert.ok(['Paris', 'Rome'].includes((calls[0]!.input as { city: string }).city));
  }
  const { input_tokens: counted } = await client.messages.countTokens({
    model: 'smol',
    messages: request.messages,
    tools: request.tools,
    tool_choice: request.tool_choice,
  });
  assert.is(promptTokens(whole.usage), counted);
  const named = await client.messages.create({
    ...request,
    tools: [WEATHER, { name: 'other', input_schema: { type: 'object' } }],
    tool_choice: { type: 'tool', name: 'other', disable_parallel_tool_use: true },
  });
  assert.equal(
    named.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
    ['other'],
  );
  const none = await client.messages.create({ ...request, tool_choice: { type: 'none' } });
  assert.not.equal(none.stop_reason, 'tool_use');
});

Messages('the tool runner of the client sends results back', async () => {
  const cities: string[] = [];
  const runner = client.beta.messages.toolRunner({
    ...CAPITAL,
    max_tokens: 60,
    messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
    tools: [
      betaZodTool({
        name: 'get_weather',
        description: WEATHER.description,
        inputSchema: z.object({ city: z.enum(['Paris', 'Rome']) }),
        run: ({ city }) => {
          cities.push(city);
          return [{ type: 'text', text: 'sunny' }];
        },
      }),
    ],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    max_iterations: 2,
  });
  const message = await runner.runUntilDone();
  assert.is(cities.length, 2);
  assert.is(message.stop_reason, 'tool_use');
});

Messages('a result that is an error, with text behind it, and thinking are parts of a dialog', async () => {
  const message = await client.messages.create({
    ...CAPITAL,
    system: [{ type: 'text', text: 'You are brief.', cache_control: { type: 'ephemeral' } }],
    tools: [WEATHER],
    tool_choice: { type: 'none' },
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'What is the weather in Paris?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'A tool knows that.', signature: '' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'no such city', is_error: true },
          { type: 'text', text: 'Say it in one word.' },
        ],
      },
    ],
  });
  assert.ok(textOf(message).length > 0);
});

Messages('thinking is a block before the text, and can be switched off', async () => {
  const request = { ...CAPITAL, model: 'thinker', max_tokens: 12 };
  const message = await client.messages.create({ ...request, thinking: { type: 'enabled', budget_tokens: 1024 } });
  const [block] = message.content;
  assert.is(block?.type, 'thinking');
  assert.is(message.usage.output_tokens_details?.thinking_tokens, message.usage.output_tokens);
  let thinking = '';
  const signatures: string[] = [];
  const stream = client.messages
    .stream(request)
    .on('thinking', (delta) => (thinking += delta))
    .on('signature', (signature) => signatures.push(signature));
  const types: string[] = [];
  for await (const event of stream) types.push(event.type === 'content_block_delta' ? event.delta.type : event.type);
  const streamed = await stream.finalMessage();
  assert.equal(signatures, [(block as Anthropic.ThinkingBlock).signature]);
  assert.ok(signatures[0], 'clients drop thinking without a signature');
  assert.is(types[types.indexOf('signature_delta') + 1], 'content_block_stop');
  assert.is(thinking, (block as Anthropic.ThinkingBlock).thinking);
  assert.equal(streamed.content, message.content);
  const messages = [...request.messages, { role: 'assistant' as const, content: message.content }, ...request.messages];
  const next = await client.messages.create({ ...request, messages });
  assert.ok(promptTokens(next.usage) > promptTokens(message.usage), 'the client sends the block back as it came');
  assert.ok(textOf(await client.messages.create({ ...request, thinking: { type: 'disabled' } })).length > 5);
});

/** Returns how many tokens a message of the user has. */
const countOf = async (content: Anthropic.MessageParam['content']): Promise<number> =>
  (await client.messages.countTokens({ model: 'smol', messages: [{ role: 'user', content }] })).input_tokens;

Messages('documents and search results are texts for the model', async () => {
  const title = 'Towns';
  const data = 'Zürich is a town.';
  const wanted = await countOf(`${title}\n${data}`);
  const base64 = Buffer.from(data).toString('base64');
  const text = { type: 'text' as const, text: data };
  const sources = [
    { type: 'text', media_type: 'text/plain', data },
    { type: 'base64', media_type: 'text/plain', data: base64 },
    { type: 'content', content: data },
    { type: 'content', content: [text] },
  ] as Anthropic.DocumentBlockParam['source'][];
  for (const source of sources)
    assert.is(await countOf([{ type: 'document', title, source }]), wanted, JSON.stringify(source));
  const found = await countOf([{ type: 'search_result', title, source: 'a.txt', content: [text] }]);
  assert.is(found, await countOf(`${title}\na.txt\n${data}`));
  const result = (content: NonNullable<Anthropic.ToolResultBlockParam['content']>) =>
    client.messages.countTokens({
      model: 'smol',
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] },
      ],
    });
  assert.equal(
    await result([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }]),
    await result(data),
  );
});

Messages('the model calls the tools of bash, the text editor and the memory, which the client runs', async () => {
  const tools = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'text_editor_20250124', name: 'str_replace_editor' },
    { type: 'text_editor_20250429', name: 'str_replace_based_edit_tool' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 1000 },
    { type: 'memory_20250818', name: 'memory' },
  ] as Anthropic.ToolUnion[];
  for (const tool of tools) {
    const { name } = tool as { name: string };
    const { content } = await client.messages.create({
      ...CAPITAL,
      max_tokens: 40,
      messages: [{ role: 'user', content: 'Show the file a.txt.' }],
      tools: [tool],
      tool_choice: { type: 'tool', name, disable_parallel_tool_use: true },
    });
    const calls = content.filter((block) => block.type === 'tool_use');
    assert.equal(
      calls.map((call) => call.name),
      [name],
    );
  }
});

Messages('a schema binds the answer, and the parse helper reads it', async () => {
  const City = z.object({ city: z.string(), population: z.number().int() });
  const { parsed_output: parsed } = await client.messages.parse({
    ...CAPITAL,
    max_tokens: 200,
    output_config: { format: zodOutputFormat(City) },
  });
  assert.is(typeof parsed!.city, 'string');
  assert.ok(Number.isInteger(parsed!.population));
});

Messages('parameters without effect are named in a header', async () => {
  const { response } = await client.messages
    .create({
      ...CAPITAL,
      model: 'tiny',
      max_tokens: 1,
      metadata: { user_id: 'me' },
      service_tier: 'standard_only',
      inference_geo: 'eu',
      ...{ made_up: 1 },
    })
    .withResponse();
  assert.is(response.headers.get('x-aana-ignored-parameters'), 'inference_geo, made_up');
});

if (cannotRun !== undefined) skip('messages with the official client of Anthropic', cannotRun);
else Messages.run();
