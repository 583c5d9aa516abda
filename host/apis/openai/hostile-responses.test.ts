// Requests for responses that nobody should send, and requests that end before their answer.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from './fixtures/openai-app.ts';

const Hostile = suite('hostile requests for responses');
let at: OpenAiApp;

Hostile.before(async () => {
  // A refusal that takes long on a busy machine still has its status.
  at = await startOpenAiApp({ config: { openai: { responses: { created_after: 60 } } }, prepare: registerEndless });
});
Hostile.after(async () => at?.[Symbol.asyncDispose]());

const TALE = { model: 'tiny', input: 'Once upon a time', max_output_tokens: 2 };
const items = (...input: unknown[]): object => ({ ...TALE, input });
const user = { role: 'user', content: 'a' };
const call = (n: number) => ({ type: 'function_call', call_id: `c${n}`, name: 'f', arguments: '{}' });

const REFUSED: [what: string, status: number, param: string | null, body: object][] = [
  ['20,000 items', 400, 'input', items(...Array.from({ length: 20_000 }, () => user))],
  ['10,000 calls in a row', 400, 'input', items(...Array.from({ length: 9999 }, (_, n) => call(n)))],
  ['no items', 400, 'input', items()],
  ['a number', 400, 'input', { ...TALE, input: 7 }],
  ['an item of another type', 400, 'input[0].type', items({ type: 'conversation', id: 'c' })],
  ['an item that is a text', 400, 'input[1]', items(user, 'a')],
  ['an item of the type __proto__', 400, 'input[0].type', items({ type: '__proto__' })],
  ['an id with a zero byte', 400, 'input[0].id', items({ ...user, id: 'a\0' })],
  ['an id of 10,000 characters', 400, 'input[0].id', items({ ...user, id: 'a'.repeat(10_000) })],
  ['two items of the same id', 400, 'input[1].id', items({ ...user, id: 'a' }, { ...user, id: 'a' })],
  ['a reference to nothing', 400, 'input[0].id', items({ type: 'item_reference', id: 'msg_0' })],
  ['an output of no call', 400, 'input[0].call_id', items({ type: 'function_call_output', call_id: 'c', output: 'x' })],
  [
    'an output before its call',
    400,
    'input[0].call_id',
    items({ type: 'function_call_output', call_id: 'c1', output: 'x' }, call(1)),
  ],
  [
    'an image',
    400,
    'input[0].content[0].type',
    items({ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }),
  ],
  [
    'an unknown file',
    404,
    'input[0].content[0].file_id',
    items({ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }),
  ],
  [
    'the address of a file',
    400,
    'input[0].content[0].type',
    items({ role: 'user', content: [{ type: 'input_file', file_url: 'http://127.0.0.1/a.txt' }] }),
  ],
  ['a role of nobody', 400, 'input[0].role', items({ role: 'wizard', content: 'a' })],
  [
    'an unknown previous response',
    400,
    'previous_response_id',
    { ...TALE, previous_response_id: `resp_${'0'.repeat(32)}` },
  ],
  ['a previous response with a zero byte', 400, 'previous_response_id', { ...TALE, previous_response_id: 'resp_\0' }],
  ['a previous response of 1 MB', 400, 'previous_response_id', { ...TALE, previous_response_id: 'x'.repeat(1e6) }],
  [
    '17 keys of metadata',
    400,
    'metadata',
    { ...TALE, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ''])) },
  ],
  ['metadata that is no text', 400, 'metadata.a', { ...TALE, metadata: { a: {} } }],
  ['background that is no boolean', 400, 'background', { ...TALE, background: 'yes' }],
  ['background that is not stored', 400, 'background', { ...TALE, background: true, store: false }],
  ['a conversation', 400, 'conversation', { ...TALE, conversation: 'conv_1' }],
  ['a tool of the server', 400, 'tools[0].type', { ...TALE, tools: [{ type: 'web_search' }] }],
  ['a choice of an unknown tool', 400, 'tool_choice', { ...TALE, tool_choice: { type: 'function', name: 'f' } }],
  ['a format that is none', 400, 'text.format.type', { ...TALE, text: { format: { type: 'xml' } } }],
  [
    'a schema of a file',
    400,
    'text.format',
    { ...TALE, text: { format: { type: 'json_schema', name: 'a', schema: { $ref: 'file:///etc/passwd' } } } },
  ],
  ['likeliest tokens without include', 400, 'top_logprobs', { ...TALE, top_logprobs: 2 }],
  ['an unknown model', 404, 'model', { ...TALE, model: 'gpt-9' }],
  ['a prompt beyond the context', 400, 'input', { ...TALE, input: 'dog '.repeat(2000) }],
];

for (const [what, status, param, body] of REFUSED)
  Hostile(`${what} is refused with ${status}`, async () => {
    for (const stream of [false, true]) {
      const response = await at.post('/v1/responses', { ...body, ...(stream && { stream }) });
      const text = await response.text();
      assert.is(response.status, status, text.slice(0, 500));
      const { error } = JSON.parse(text) as { error: { message: string; param: string | null } };
      assert.is(error.param, param, text.slice(0, 500));
      assert.ok(error.message.length > 0 && error.message.length < 2000, `${error.message.length} characters`);
    }
    const after = await at.post('/v1/responses', TALE);
    assert.is(after.status, 200, await after.text());
  });

Hostile('ids of no response are not found, whatever they have', async () => {
  for (const id of ['resp_1', `resp_${'0'.repeat(32)}`, '%00', '..%2f..', 'x'.repeat(2000), "'%20or%20''='"])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input_items'],
      ['GET', '?stream=true&starting_after=1'],
      ['POST', '/cancel'],
    ] as const) {
      const response = await fetch(`${at.url}/v1/responses/${id}${path}`, { method });
      assert.is(response.status, 404, `${method} ${id}${path}`);
      const { error } = (await response.json()) as { error: { code: string } };
      assert.is(error.code, 'response_not_found');
    }
});

/** Parameters of an answer that never ends: the context forgets its beginning. */
const ENDLESS = { model: 'endless', input: 'a', max_output_tokens: 100_000_000, overflow: 'shift' } as const;

Hostile('a client that leaves ends its response, which is not stored', async () => {
  const leaving = new AbortController();
  const stream = await at.client.responses.create({ ...ENDLESS, stream: true }, { signal: leaving.signal });
  let id = '';
  for await (const event of stream) {
    if (event.type === 'response.created') ({ id } = event.response);
    if (event.type === 'response.output_text.delta') leaving.abort();
  }
  assert.match(id, /^resp_/);
  // The only place of the engine is free again.
  assert.is((await at.client.responses.create({ ...ENDLESS, max_output_tokens: 1 })).status, 'incomplete');
  assert.is((await fetch(`${at.url}/v1/responses/${id}`)).status, 404);
});

Hostile('an error in a stream is a failed response with what was written', async () => {
  await using other = await startOpenAiApp({
    config: { limits: { invocation_timeout_s: 2 } },
    prepare: registerEndless,
  });
  const response = await other.client.responses.stream(ENDLESS).finalResponse();
  assert.equal([response.status, response.error?.code], ['failed', 'server_error']);
  assert.match(response.error!.message, /was ended after 2 seconds/);
  assert.ok(response.output_text.length > 0);
  assert.is((await fetch(`${other.url}/v1/responses/${response.id}`)).status, 404);
});

if (cannotRun !== undefined) skip('hostile requests for responses', cannotRun);
else Hostile.run();
