// Custom tools with the official client against a real model, and by OpenAI's package for Python.
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';
import { PythonModels } from '../fixtures/python-models.ts';

const Tools = suite('custom tools');
let at: OpenAiApp;
let client: OpenAI;

Tools.before(async () => {
  const path = await testModel('smollm2-135m-instruct');
  at = await startOpenAiApp({
    prepare: (app) =>
      app.registerDeployment('smol', llamaOptions(path, { model_kwargs: { n_ctx: 2048, n_threads: 1, n_seq_max: 2 } })),
  });
  client = at.client;
});
Tools.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await python?.[Symbol.asyncDispose]();
});

const TIME = String.raw`([01]\d|2[0-3]):[0-5]\d`;
const ALARM = { name: 'set_alarm', description: 'Sets an alarm at a time' };
const REGEX = { definition: `^${TIME}$`, syntax: 'regex' as const };
const SUM = 'start: NUMBER (" + " NUMBER)~1..2\nNUMBER: "0".."9"~1..3';
const LARK = { definition: SUM, syntax: 'lark' as const };
const ASK = {
  model: 'smol',
  messages: [{ role: 'user' as const, content: 'Wake me at seven.' }],
  temperature: 0,
  max_tokens: 80,
};
const alarm = (grammar: { definition: string; syntax: 'regex' | 'lark' }) => ({
  type: 'custom' as const,
  custom: { ...ALARM, format: { type: 'grammar' as const, grammar } },
});
const FORCED = { type: 'custom' as const, custom: { name: ALARM.name } };
const FUNCTION = {
  type: 'function' as const,
  function: {
    name: 'tell',
    parameters: { type: 'object', properties: { what: { enum: ['a', 'b'] } }, required: ['what'] },
  },
};

type Calls = OpenAI.ChatCompletionMessageToolCall[];
const inputsOf = (calls: Calls | undefined): string[] =>
  (calls ?? []).map((call) => (call.type === 'custom' ? call.custom.input : `a call of a ${call.type}`));

Tools('that must be called are called with a text of their grammar', async () => {
  for (const [grammar, form] of [
    [REGEX, new RegExp(`^${TIME}$`)],
    [LARK, /^\d{1,3}( \+ \d{1,3}){1,2}$/],
  ] as const)
    for (const tool_choice of [
      FORCED,
      'required' as const,
      { type: 'allowed_tools' as const, allowed_tools: { mode: 'required' as const, tools: [FORCED] } },
    ]) {
      const request = { ...ASK, tools: [alarm(grammar)], tool_choice, parallel_tool_calls: false };
      const [choice] = (await client.chat.completions.create(request)).choices;
      assert.equal([choice!.finish_reason, choice!.message.content], ['tool_calls', null]);
      const [call, ...others] = choice!.message.tool_calls!;
      assert.is(others.length, 0);
      assert.ok(call!.id);
      assert.is(call!.type === 'custom' && call!.custom.name, ALARM.name);
      assert.match(inputsOf([call!])[0]!, form);
    }
});

Tools('have any text without a format, which comes in pieces in a stream', async () => {
  for (const format of [undefined, { type: 'text' as const }]) {
    const tools = [{ type: 'custom' as const, custom: { ...ALARM, ...(format && { format }) } }, FUNCTION];
    const request = { ...ASK, tools, tool_choice: FORCED, seed: 1 };
    const { choices } = await client.chat.completions.create(request);
    const [input] = inputsOf(choices[0]!.message.tool_calls);
    const deltas = [];
    let finish: string | null = null;
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      deltas.push(...((chunk.choices[0]!.delta.tool_calls ?? []) as unknown as CustomDelta[]));
      finish = chunk.choices[0]!.finish_reason ?? finish;
    }
    assert.is(deltas[0]!.type, 'custom');
    assert.ok(deltas[0]!.id);
    assert.is(deltas[0]!.custom.name, ALARM.name);
    assert.is(deltas.map(({ custom }) => custom.input).join(''), input);
    assert.ok(deltas.length > 2 && deltas.slice(1).every(({ id, custom }) => !id && custom.name === undefined));
    assert.ok(finish === 'tool_calls' || finish === 'length', String(finish));
  }
});

/** What the client's types do not have. */
interface CustomDelta {
  readonly id?: string;
  readonly type?: string;
  readonly custom: { readonly name?: string; readonly input: string };
}

Tools('stand beside functions', async () => {
  const { choices } = await client.chat.completions.create({
    ...ASK,
    tools: [alarm(REGEX), FUNCTION],
    tool_choice: { type: 'function', function: { name: 'tell' } },
  });
  const [call] = choices[0]!.message.tool_calls!;
  assert.is(call!.type === 'function' && call!.function.name, 'tell');
});

Tools('and their results can be sent back', async () => {
  const tools = [alarm(REGEX)];
  const { choices } = await client.chat.completions.create({ ...ASK, tools, tool_choice: FORCED });
  const { message } = choices[0]!;
  const answered = await client.chat.completions.create({
    ...ASK,
    messages: [...ASK.messages, message, { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'Done.' }],
    max_tokens: 8,
    tools,
    tool_choice: 'none',
  });
  assert.ok(answered.choices[0]!.message.content!.length > 0);
  assert.is(answered.choices[0]!.message.tool_calls, undefined);
});

const FLAT = {
  model: 'smol',
  input: 'Wake me at seven.',
  temperature: 0,
  max_output_tokens: 80,
  tools: [{ type: 'custom' as const, ...ALARM, format: { type: 'grammar' as const, ...REGEX } }],
  tool_choice: { type: 'custom' as const, name: ALARM.name },
};

Tools('are items of responses, whose dialog goes on with their results', async () => {
  const first = await client.responses.create(FLAT);
  assert.equal(first.tools, FLAT.tools);
  assert.equal(first.tool_choice, FLAT.tool_choice);
  const [item] = first.output;
  if (item?.type !== 'custom_tool_call') return assert.unreachable(item?.type);
  assert.match(item.id!, /^ctc_[0-9a-f]{32}$/);
  assert.is(item.name, ALARM.name);
  assert.match(item.input, new RegExp(`^${TIME}$`));

  const output = { type: 'custom_tool_call_output' as const, call_id: item.call_id, output: 'Done.' };
  const rest = { ...FLAT, tool_choice: 'none' as const, max_output_tokens: 8 };
  const continued = await client.responses.create({ ...rest, previous_response_id: first.id, input: [output] });
  const whole = await client.responses.create({
    ...rest,
    input: [{ role: 'user', content: FLAT.input }, item, output],
  });
  assert.is(continued.output_text, whole.output_text);
  assert.ok(whole.output_text.length > 0);
  const listed = await client.responses.inputItems.list(whole.id, { order: 'asc' });
  assert.equal(
    listed.data.map(({ type }) => type),
    ['message', 'custom_tool_call', 'custom_tool_call_output'],
  );
  const counted = await client.responses.inputTokens.count({ ...FLAT, input: 'a', tool_choice: 'auto' });
  assert.ok(counted.input_tokens > 10);
});

Tools('are streamed as events of responses', async () => {
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ ...FLAT, stream: true })) events.push(event);
  const deltas = events.flatMap((event) =>
    event.type === 'response.custom_tool_call_input.delta' ? [event.delta] : [],
  );
  const done = events.find((event) => event.type === 'response.custom_tool_call_input.done')!;
  const last = events.at(-1)!;
  if (last.type !== 'response.completed') return assert.unreachable(last.type);
  const item = last.response.output[0]!;
  assert.ok(deltas.length > 0);
  assert.is(deltas.join(''), done.input);
  assert.equal([item.type === 'custom_tool_call' && item.input, item.id], [done.input, done.item_id]);
  const final = await client.responses.stream(FLAT).finalResponse();
  assert.is(final.output[0]!.type, 'custom_tool_call');
});

Tools('are made in the background, too', async () => {
  const made = await client.responses.create({ ...FLAT, background: true, stream: true });
  const types = new Set<string>();
  for await (const event of made) types.add(event.type);
  assert.ok(types.has('response.custom_tool_call_input.done'), [...types].join());
});

Tools('that cannot be honoured are refused with the name of the parameter', async () => {
  const custom = (format: unknown) => [{ type: 'custom', custom: { name: 'f', format } }];
  const grammar = (syntax: string, definition: unknown) => custom({ type: 'grammar', grammar: { syntax, definition } });
  const big = grammar('regex', 'a'.repeat(16_000))[0]!;
  const definition = 'tools[0].custom.format.grammar.definition';
  const cases: [more: object, param: string][] = [
    [{ tools: grammar('regex', '(') }, definition],
    [{ tools: grammar('regex', String.raw`(a)\1`) }, definition],
    [{ tools: grammar('regex', '(?=a)b') }, definition],
    [{ tools: grammar('regex', 5) }, definition],
    [{ tools: grammar('lark', 'start: start "a"') }, definition],
    [{ tools: grammar('lark', '\ud800') }, definition],
    [{ tools: grammar('gbnf', 'root ::= "a"') }, 'tools[0].custom.format.grammar.syntax'],
    [{ tools: custom({ type: 'xml' }) }, 'tools[0].custom.format.type'],
    [
      { tools: Array.from({ length: 128 }, (_, n) => ({ ...big, custom: { ...big.custom, name: `f${n}` } })) },
      definition.replace('0', '4'),
    ],
    [{ tools: [{ type: 'custom', custom: { name: 'a b' } }] }, 'tools[0].custom.name'],
    [{ tools: [{ type: 'custom', name: 'f' }] }, 'tools[0].custom'],
    [{ tools: [...custom(undefined), { type: 'function', function: { name: 'f' } }] }, 'tools'],
    [{ tools: custom(undefined), tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice'],
    [{ tools: [FUNCTION], tool_choice: { type: 'custom', custom: { name: 'tell' } } }, 'tool_choice'],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f' } }] }] },
      'messages[0].tool_calls[0].custom.input',
    ],
    [{ messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'shell' }] }] }, 'messages[0].tool_calls[0].type'],
  ];
  for (const [more, param] of cases) {
    const response = await at.post('/v1/chat/completions', { ...ASK, ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 200)}: ${text}`);
    const { error } = JSON.parse(text) as { error: { type: string; param: string } };
    assert.equal([error.type, error.param], ['invalid_request_error', param], text);
  }
  const flat = { type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'regex', definition: '(' } };
  for (const [more, param] of [
    [{ tools: [flat] }, 'tools[0].format.definition'],
    [{ tools: [{ type: 'custom', name: 'f', format: { type: 'xml' } }] }, 'tools[0].format.type'],
    [{ tool_choice: { type: 'custom', name: 'f' } }, 'tool_choice'],
    [{ input: [{ type: 'custom_tool_call_output', call_id: 'a', output: 'b' }] }, 'input[0].call_id'],
  ] as const) {
    const response = await at.post('/v1/responses', { ...FLAT, ...more });
    const { error } = (await response.json()) as { error: { param: string } };
    assert.equal([response.status, error.param], [400, param]);
  }
});

const python = cannotRun === undefined ? await PythonModels.start() : undefined;
if (python !== undefined)
  Tools('have the types of OpenAI’s package for Python', async () => {
    const post = async (path: string, body: object): Promise<string> => (await at.post(path, body)).text();
    const events = await post('/v1/responses', { ...FLAT, stream: true });
    const whole = await post('/v1/responses', FLAT);
    const { id } = JSON.parse(whole) as { id: string };
    await python.check(
      [
        'chat.ChatCompletion',
        await post('/v1/chat/completions', { ...ASK, tools: [alarm(REGEX)], tool_choice: FORCED }),
      ],
      ['responses.Response', whole, await (await fetch(`${at.url}/v1/responses/${id}`)).text()],
      ['responses.ResponseStreamEvent', ...[...events.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)],
    );
  });
else skip('custom tools for OpenAI’s package for Python', cannotRun ?? 'pip cannot install openai for Python');

if (cannotRun !== undefined) skip('custom tools', cannotRun);
else Tools.run();
