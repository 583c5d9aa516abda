// Requests as clients and libraries really send them, which OpenAI's, Anthropic's or vLLM's servers answer.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Lenient = suite('requests as clients send them');
let at: OpenAiApp;

Lenient.before(async () => {
  at = await startOpenAiApp({
    config: { openai: { responses: { created_after: 60 } } }, // the header of a slow answer still names what is ignored
    prepare: (app, tiny) => {
      const path = join(dirname(tiny), 'roomy.gguf');
      writeTinyLlama(path, { contextTokens: 4096 });
      app.registerDeployment(
        'roomy',
        llamaOptions(path, { model_kwargs: { n_ctx: 4096, n_threads: 1, n_seq_max: 1 } }),
      );
      app.registerDeployment(
        'formed',
        llamaOptions(tiny, { default_sampling_params: { structured_outputs: { choice: ['a'] } } }),
      );
    },
  });
});
Lenient.after(async () => at?.[Symbol.asyncDispose]());

interface Answer {
  readonly choices: { message: { content: string; tool_calls?: { function: { arguments: string } }[] } }[];
}

const user = (content: string) => ({ role: 'user', content });
const HELLO = { model: 'tiny', max_tokens: 2, messages: [user('Hello')] };

async function served(path: string, body: object): Promise<{ answer: Answer; ignored: string | null }> {
  const response = await at.post(path, body);
  const text = await response.text();
  assert.is(response.status, 200, `${JSON.stringify(body).slice(0, 500)}: ${text}`);
  return { answer: JSON.parse(text) as Answer, ignored: response.headers.get('x-aana-ignored-parameters') };
}

const called = (text: string) => [{ id: 'c1', type: 'function', function: { name: 'now', arguments: text } }];
const result = { role: 'tool', tool_call_id: 'c1', content: '12:00' };

/** Messages of the assistant, with those that follow them. */
const HISTORIES: readonly (readonly object[])[] = [
  ...['', ' ', '{"city": "Par', '[1]', 'null', '"{}"'].map((text) => [
    { role: 'assistant', content: null, tool_calls: called(text) },
    result,
  ]),
  [{ role: 'assistant', content: null }],
  [{ role: 'assistant' }],
  [{ role: 'assistant', content: [] }],
  [{ role: 'assistant', refusal: 'I cannot.' }],
  [{ role: 'assistant', content: null, audio: { id: 'audio_1' } }],
  [
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    { role: 'function', name: 'f', content: null },
  ],
  [{ role: 'assistant', content: 'a', tool_calls: [], function_call: null, refusal: null, audio: null }],
  [{ role: 'assistant', content: 'a', name: 'b', annotations: [{ type: 'url_citation' }], reasoning_content: 'c' }],
  [
    { role: 'assistant', tool_calls: called('{}') },
    { ...result, content: null },
  ],
  ...[undefined, null, { city: 'Paris' }].map((given) => [
    { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'now', arguments: given } }] },
    result,
  ]),
  [
    { role: 'assistant', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'f', content: 'b' },
  ],
];

Lenient('dialogs are taken as clients have stored them', async () => {
  for (const history of HISTORIES) {
    const messages = [user('time?'), ...history, user('and now?')];
    await served('/v1/chat/completions', { ...HELLO, messages });
    await served('/v1/tokenize', { model: 'tiny', messages });
  }
  for (const text of ['', '{"city": "Par', '[1]'])
    await served('/v1/responses', {
      model: 'tiny',
      max_output_tokens: 16,
      input: [
        user('time?'),
        { type: 'function_call', call_id: 'c', name: 'now', arguments: text },
        { type: 'function_call_output', call_id: 'c', output: '12:00' },
      ],
    });
});

Lenient('a call that is no JSON is shown to the model as it was', async () => {
  const tokens = async (text: string): Promise<string> => {
    const messages = [user('time?'), { role: 'assistant', content: null, tool_calls: called(text) }, result];
    return JSON.stringify((await served('/v1/tokenize', { model: 'tiny', messages })).answer);
  };
  assert.is(await tokens(''), await tokens('{}'));
  assert.is(await tokens('{"a": '), await tokens(JSON.stringify({ invalid_arguments: '{"a": ' })));
  const first = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
  const old = [user('a'), first, { role: 'function', name: 'f', content: 'b' }];
  const call = { id: 'call00001', type: 'function', function: first.function_call };
  const now = [
    user('a'),
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: 'b' },
  ];
  const [asOld, asNow] = [old, now].map((messages) => served('/v1/tokenize', { model: 'tiny', messages }));
  assert.equal((await asOld)?.answer, (await asNow)?.answer);
});

Lenient('dialogs of Anthropic’s API are taken as clients have stored them', async () => {
  for (const [input, content] of [
    ['{"city": "Par', null],
    [null, 'a'],
    [undefined, undefined],
  ])
    await served('/v1/messages', {
      model: 'tiny',
      max_tokens: 2,
      messages: [
        user('time?'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'now', input }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content }] },
      ],
    });
});

Lenient('a format of the answer does not keep a model from the call that it must make', async () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'boolean' } },
    required: ['a'],
    additionalProperties: false,
  };
  const format = { type: 'json_schema', name: 'f', schema, strict: true };
  const chat = {
    ...HELLO,
    max_tokens: 20,
    tools: [{ type: 'function', function: { name: 'now', parameters: schema } }],
  };
  const choices = ['required', { type: 'function', function: { name: 'now' } }];
  const roomy = [
    { response_format: { type: 'json_schema', json_schema: { name: 'f', schema } } },
    { structured_outputs: { choice: ['a'] } },
    { guided_json: schema },
    { guided_regex: 'a+' },
    { guided_choice: ['a'] },
    { guided_grammar: 'root ::= "a"' },
    { grammar: 'root ::= "a"' },
    { json_schema: schema },
  ].map((form) => ({ model: 'roomy', ...form }));
  for (const form of [...roomy, { model: 'formed' }])
    for (const tool_choice of choices) {
      const { answer } = await served('/v1/chat/completions', { ...chat, ...form, tool_choice });
      assert.is(answer.choices[0]?.message.content || null, null, JSON.stringify(form));
    }
  for (const form of [{ model: 'roomy', guided_choice: ['a'] }, { model: 'formed' }]) {
    const { answer } = await served('/v1/chat/completions', { ...chat, ...form, tool_choice: 'none' });
    assert.is(answer.choices[0]?.message.content, 'a', 'without the call the form counts');
  }
  const response = { model: 'roomy', input: 'a', max_output_tokens: 20, text: { format } };
  const flat = [{ type: 'function', name: 'now', parameters: schema }];
  await served('/v1/responses', { ...response, tools: flat, tool_choice: 'required' });
  const claude = {
    model: 'roomy',
    max_tokens: 20,
    messages: [user('a')],
    output_config: { format: { type: 'json_schema', schema } },
  };
  const own = [{ name: 'now', input_schema: schema }];
  await served('/v1/messages', { ...claude, tools: own, tool_choice: { type: 'any' } });
});

Lenient('several greedy answers are the same, and a top_p of 0 is the likeliest token', async () => {
  const several = await served('/v1/chat/completions', { ...HELLO, n: 2, temperature: 0 });
  const [first, second] = several.answer.choices.map(({ message }) => message.content);
  assert.is(second, first);
  const likeliest = await served('/v1/chat/completions', { ...HELLO, top_p: 0, temperature: 1 });
  assert.is(likeliest.answer.choices[0]?.message.content, first);
  const tools = Array.from({ length: 200 }, (_, n) => ({ type: 'function', function: { name: `f${n}` } }));
  await served('/v1/tokenize', { model: 'tiny', messages: [user('a')], tools });
});

const { schemas } = JSON.parse(
  readFileSync(join(packageRoot, 'host/base/structured-output/fixtures/pydantic-schemas.json'), 'utf8'),
) as { schemas: Readonly<Record<string, object>> };
const UNIQUE = { type: 'object', properties: { v: { type: 'array', items: { type: 'null' }, uniqueItems: true } } };

Lenient('the schemas of pydantic bind answers and calls', async () => {
  for (const [name, schema] of Object.entries(schemas)) {
    const format = { type: 'json_schema', json_schema: { name: 'M', schema } };
    await served('/v1/chat/completions', { ...HELLO, response_format: format });
    const tools = [{ type: 'function', function: { name: 'save', parameters: schema } }];
    const { answer } = await served('/v1/chat/completions', {
      ...HELLO,
      model: 'roomy',
      tools,
      tool_choice: 'required',
    });
    assert.ok(answer.choices.length > 0, name);
  }
});

Lenient(
  'keywords that no grammar holds are named by the path of the client, and refused if they must bind',
  async () => {
    const format = { type: 'json_schema', json_schema: { name: 'M', schema: UNIQUE } };
    const tools = [{ type: 'function', function: { name: 'save', parameters: UNIQUE } }];
    const input = { model: 'tiny', input: 'a', max_output_tokens: 16 };
    const claude = { model: 'tiny', max_tokens: 2, messages: [user('a')] };
    const at_ = 'properties.v.uniqueItems';
    const cases: readonly (readonly [path: string, body: object, ignored: string])[] = [
      ['/v1/chat/completions', { ...HELLO, response_format: format }, `response_format.json_schema.schema.${at_}`],
      ['/v1/chat/completions', { ...HELLO, guided_json: UNIQUE }, `guided_json.${at_}`],
      ['/v1/chat/completions', { ...HELLO, structured_outputs: { json: UNIQUE } }, `structured_outputs.json.${at_}`],
      ['/v1/chat/completions', { ...HELLO, tools }, `tools[0].function.parameters.${at_}`],
      ['/v1/completions', { model: 'tiny', prompt: 'a', max_tokens: 2, json_schema: UNIQUE }, `json_schema.${at_}`],
      [
        '/v1/responses',
        { ...input, text: { format: { type: 'json_schema', name: 'M', schema: UNIQUE } } },
        `text.format.schema.${at_}`,
      ],
      [
        '/v1/responses',
        { ...input, tools: [{ type: 'function', name: 'save', parameters: UNIQUE }] },
        `tools[0].parameters.${at_}`,
      ],
      ['/v1/messages', { ...claude, tools: [{ name: 'save', input_schema: UNIQUE }] }, `tools[0].input_schema.${at_}`],
    ];
    for (const [path, body, ignored] of cases) {
      assert.is((await served(path, body)).ignored, ignored, path);
      const streamed = await at.post(path, { ...body, stream: true });
      assert.is(streamed.headers.get('x-aana-ignored-parameters'), ignored, path);
      assert.not.match(await streamed.text(), /unbound/);
    }
    const strict = await at.post('/v1/chat/completions', {
      ...HELLO,
      response_format: { type: 'json_schema', json_schema: { ...format.json_schema, strict: true } },
    });
    assert.is(strict.status, 400);
    assert.match(await strict.text(), /"param":"response_format"/);
  },
);

Lenient('JSON needs no content type, and what is none says which one to send', async () => {
  const send = (body: string | Uint8Array, headers = {}): Promise<Response> =>
    fetch(`${at.url}/v1/chat/completions`, { method: 'POST', body, headers });
  const json = JSON.stringify(HELLO);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [body, headers] of [
    [Buffer.from(json), {}],
    [Buffer.from(` \n${json}`), {}],
    [json, form],
  ] as const)
    assert.is((await send(body, headers)).status, 200);
  for (const [body, headers] of [
    ['hello', form],
    [Buffer.from('hello'), {}],
    [Buffer.from('[]'), {}],
    ['', { 'content-type': 'application/json' }],
    [Buffer.alloc(0), {}],
  ] as const) {
    const response = await send(body, headers);
    assert.ok(response.status === 400 || response.status === 415, String(response.status));
    assert.match(await response.text(), /content-type: application\/json/);
  }
  const cut = await send('{"model":', form);
  assert.is(cut.status, 400);
});

if (cannotRun === undefined) Lenient.run();
else skip('requests as clients send them', cannotRun);
