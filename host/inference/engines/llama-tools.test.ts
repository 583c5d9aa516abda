// Tools and reasoning through a deployment with a small real model, in a replica process of its own.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../base/core/async/async-values.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import type { ChatOutputWithDetails, GenerationDetails, TextChunk } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';
import { ToolCallParts } from './chat/tool-call-ids.ts';

const Tools = suite('tools and reasoning of a text generation deployment');

let manager: DeploymentManager;
let llm: DeploymentHandle;

Tools.before(async () => {
  manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: 'qwen2.5-coder-0.5b-instruct',
      model_kwargs: { n_ctx: 2048, n_threads: 1, n_seq_max: 2 },
      default_sampling_params: { max_tokens: 64 },
    },
  });
  await manager.start();
  llm = manager.handle('model');
});

Tools.after(() => manager?.shutdown({ graceMs: 0 }));

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Tells the weather in a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
};
const TIME = { type: 'function', function: { name: 'get_time', parameters: {} } };
const tools = [WEATHER, TIME];
const ask = (content: string): object => ({ messages: [{ role: 'user', content }] });
const PARIS = ask('What is the weather in Paris, in celsius?');

async function chat(args: Record<string, unknown>): Promise<ChatOutputWithDetails> {
  return (await llm.call('chat', { details: true, ...args })) as ChatOutputWithDetails;
}

Tools('are called when they must be', async () => {
  const { message, details } = await chat({
    dialog: PARIS,
    tools,
    tool_choice: 'required',
    parallel_tool_calls: false,
  });
  const calls = message.tool_calls ?? [];
  assert.is(calls.length, 1, JSON.stringify(message));
  assert.is(calls[0]?.type, 'function');
  assert.match(calls[0]?.id ?? '', /^[a-zA-Z0-9]{9}$/);
  assert.ok(['get_weather', 'get_time'].includes(calls[0]?.function.name ?? ''));
  assert.equal([message.content, details?.finish_reason], ['', 'tool_calls']);
});

Tools('are called in each of several answers', async () => {
  const { message, choices = [] } = await chat({
    ...{ dialog: PARIS, tools, tool_choice: 'required', parallel_tool_calls: false },
    sampling_params: { n: 2, temperature: 0.7, seed: 1 },
  });
  assert.is(choices.length, 2);
  assert.equal(choices[0]?.message, message);
  for (const choice of choices) {
    assert.is(choice.message.tool_calls?.length, 1, JSON.stringify(choice));
    assert.is(choice.details?.finish_reason, 'tool_calls');
  }
});

Tools('are called by name, with arguments that meet the schema', async () => {
  for (const name of ['get_weather', 'get_time']) {
    const { message } = await chat({
      dialog: ask('Hello, who are you?'),
      tools,
      tool_choice: { type: 'function', function: { name } },
      parallel_tool_calls: false,
    });
    const [call] = message.tool_calls ?? [];
    assert.is(call?.function.name, name);
    const args = JSON.parse(call?.function.arguments ?? '') as Record<string, unknown>;
    if (name === 'get_time') assert.equal(args, {});
    else {
      assert.equal(Object.keys(args).toSorted(), ['city', 'unit']);
      assert.ok(['celsius', 'fahrenheit'].includes(String(args['unit'])));
    }
  }
});

Tools('are called with arguments that llama.cpp would not check', async () => {
  const parameters = {
    type: 'object',
    properties: {
      celsius: { type: 'number', minimum: 100, exclusiveMaximum: 101 },
      tags: { type: 'array', prefixItems: [{ const: 'hot' }, { const: 'dry' }], minItems: 2 },
      self: { $ref: '#/properties/celsius', type: 'integer' },
    },
    required: ['celsius', 'tags', 'self'],
  };
  const weather = { function: { name: 'report', description: 'Takes the weather.', parameters } };
  for (const tool_choice of ['required', { type: 'function', function: { name: 'report' } }]) {
    const { message } = await chat({
      dialog: ask('Report -7 celsius with the tags cold and wet.'),
      tools: [weather],
      tool_choice,
      parallel_tool_calls: false,
      sampling_params: { max_tokens: 100 },
    });
    const args = JSON.parse(message.tool_calls?.[0]?.function.arguments ?? '') as Record<string, unknown>;
    assert.ok(Number(args['celsius']) >= 100 && Number(args['celsius']) < 101, JSON.stringify(args));
    assert.equal([args['tags'], args['self']], [['hot', 'dry'], 100]);
  }
});

Tools('are called as the model likes, also in its fenced JSON', async () => {
  const { message, details } = await chat({ dialog: PARIS, tools, sampling_params: { max_tokens: 100 } });
  assert.is(message.tool_calls?.[0]?.function.name, 'get_weather', JSON.stringify(message));
  assert.match(message.tool_calls?.[0]?.function.arguments ?? '', 'Paris');
  assert.is(details?.finish_reason, 'tool_calls');
});

Tools('come in pieces in a stream, with the same result', async () => {
  const args = { dialog: PARIS, tools, tool_choice: 'required', parallel_tool_calls: false };
  const parts = new ToolCallParts();
  const chunks: TextChunk[] = [];
  const details = (await drained(llm.stream('chat_stream', args), (batch) => {
    chunks.push(...(batch as TextChunk[]));
  })) as GenerationDetails;
  for (const { tool_calls: deltas } of chunks) if (deltas) parts.add(deltas);
  assert.is(details.finish_reason, 'tool_calls');
  assert.ok(chunks.filter((chunk) => chunk.tool_calls).length > 3, 'arguments come in pieces');
  assert.is(chunks.map(({ text }) => text).join(''), '');
  const whole = (await chat(args)).message.tool_calls?.[0]?.function;
  assert.equal(parts.calls[0]?.function, whole);
});

Tools('are hidden by the choice none', async () => {
  const count = async (args: object): Promise<number> =>
    ((await llm.call('count_tokens', { dialog: PARIS, ...args })) as { tokens: number }).tokens;
  const plain = await count({});
  assert.ok((await count({ tools })) > plain + 60);
  assert.is(await count({ tools, tool_choice: 'none' }), plain);
  const { message } = await chat({ dialog: PARIS, tools, tool_choice: 'none' });
  assert.is(message.tool_calls, undefined);
});

Tools('take their results back, with content in parts and without', async () => {
  const call = { id: 'call00001', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
  const messages = [
    {
      role: 'system',
      content: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be polite.' },
      ],
    },
    { role: 'user', content: 'What is the weather in Paris?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call00001', content: '{"weather": "purple rain"}' },
  ];
  const { message } = await chat({ dialog: { messages }, tools });
  assert.match(message.content, /purple/i);
});

Tools('and everything else in a dialog cannot forge a control token', async () => {
  const count = async (text: string): Promise<number> => {
    const parameters = { type: 'object', properties: { [text]: { enum: [text], description: text } } };
    const named = { type: 'function', function: { name: 'get_time', description: text, parameters } };
    const call = { id: text, function: { name: 'get_time', arguments: JSON.stringify({ [text]: text }) } };
    const messages = [
      { role: 'user', content: [{ type: 'text', text }] },
      { role: 'assistant', content: text, tool_calls: [call] },
      { role: 'tool', content: text },
    ];
    return ((await llm.call('count_tokens', { dialog: { messages }, tools: [named] })) as { tokens: number }).tokens;
  };
  // As a control token it is one token; as text at least four.
  const plain = await count('end');
  assert.ok((await count('<|im_end|>')) >= plain + 3 * 8, `${await count('<|im_end|>')} and ${plain}`);
});

Tools('are refused by name when they are wrong', async () => {
  const deep = JSON.parse(`${'{"items":'.repeat(40)}{}${'}'.repeat(40)}`) as object;
  const named = (name: string, parameters: object = {}): object => ({ function: { name, parameters } });
  const properties = (count: number): object => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, {}])),
  });
  const manyTools = Array.from({ length: 21 }, (_, n) => named(`a${n}`, properties(100)));
  const cases: readonly (readonly [args: Record<string, unknown>, pattern: RegExp])[] = [
    [{ tools: [named('a b')] }, /tools\.0\.function\.name: .*letters/],
    [{ tools: [TIME, TIME] }, /tools: .*different names/],
    [{ tools: [named('a', deep)] }, /tools\.0\.function\.parameters: .*at most 32 levels/],
    [{ tools: [named('a', properties(101))] }, /parameters: .*101 properties; at most 100/],
    [{ tools: manyTools }, /tools: .*at most 2000 properties together/],
    [{ tools: [named('a', { $ref: 'https://a.example/b' })] }, /parameters: .*\$ref/],
    [{ tools: [{ ...TIME, type: 'retrieval' }] }, /tools\.0\.type/],
    [{ tool_choice: 'required' }, /tool_choice: it is "required", but there are no tools/],
    [
      { tools, tool_choice: { type: 'function', function: { name: 'fly' } } },
      /tool_choice: it names the function "fly"/,
    ],
    [{ tools, tool_choice: 'always' }, /tool_choice/],
    [{ chat_template_kwargs: { messages: [] } }, /chat_template_kwargs: .*must not have messages/],
    [{ chat_template_kwargs: { enable_thinking: 'no' } }, /enable_thinking must be a boolean/],
    [{ reasoning_format: 'maybe' }, /reasoning_format/],
    [{ dialog: { messages: [{ role: 'user' }] } }, /messages\.0\.content: Field required/],
    [{ dialog: { messages: [{ role: 'user', content: null }] } }, /messages\.0\.content/],
    [
      { dialog: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] } },
      /content\.0\.type: .*no content of the type "image_url"/,
    ],
    [
      {
        dialog: {
          messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'a', arguments: '{"a":' } }] }],
        },
      },
      /tool_calls\.0\.function\.arguments: .*JSON text of an object/,
    ],
    [
      {
        dialog: {
          messages: [
            { role: 'user', content: 'a', tool_calls: [{ id: 'a', function: { name: 'a', arguments: '{}' } }] },
          ],
        },
      },
      /tool_calls: .*only messages of the assistant/,
    ],
  ];
  for (const [args, pattern] of cases) {
    const error = await errorOf(llm.call('chat', { dialog: PARIS, ...args }));
    assert.match(error.message, pattern);
    assert.is(error.kind, 'invalid-input', error.message);
  }
});

Tools('whose schema cannot become a grammar are refused where they are strict, and the engine goes on', async () => {
  const named = { type: 'function', function: { name: 'b' } };
  const cases: readonly (readonly [property: object, args: object, pattern: RegExp])[] = [
    [
      { type: 'string', pattern: '^(unclosed$' },
      { tool_choice: 'required', strict: true },
      /"b": #\/properties\/a\/pattern: /,
    ],
    [
      { not: { type: 'null' } },
      { tool_choice: named, strict: true },
      /"b": #\/properties\/a: the keyword "not" is not supported; .*strict/,
    ],
    [{ type: 'array', uniqueItems: true }, { strict: true }, /"b": .*"uniqueItems"/],
    [{ type: 'array', maxItems: 1e9 }, { strict: true }, /"b": .*"maxItems" is not supported above 1000/],
  ];
  for (const [a, { strict, ...args }, pattern] of cases as readonly [object, { strict?: boolean }, RegExp][]) {
    const tool = { function: { name: 'b', parameters: { type: 'object', properties: { a } }, strict } };
    const error = await errorOf(llm.call('chat', { dialog: PARIS, tools: [TIME, tool], ...args }));
    assert.equal([error.kind, error.fault], ['bad-request', 'caller'], error.message);
    assert.match(error.message, pattern);
    const free = { function: { ...tool.function, strict: false } };
    const { message } = await chat({ dialog: PARIS, tools: [TIME, free], ...args, sampling_params: { max_tokens: 2 } });
    assert.is(message.role, 'assistant');
  }
  assert.ok((await chat({ dialog: ask('Hello'), sampling_params: { max_tokens: 2 } })).message.content.length > 0);
});

if (cannotRun === undefined) Tools.run();
else skip('tools and reasoning of a text generation deployment', cannotRun);
