// Requests that nobody should send: each gets a clear 4xx, and the server goes on.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../engines/fixtures/real-models.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Hostile = suite('hostile requests of OpenAI’s API');
let at: OpenAiApp;

Hostile.before(async () => {
  at = await startOpenAiApp();
});
Hostile.after(async () => at?.[Symbol.asyncDispose]());

const HELLO = { model: 'tiny', messages: [{ role: 'user', content: 'Once upon a time' }], max_tokens: 2 };
const withText = (content: unknown): object => ({ ...HELLO, messages: [{ role: 'user', content }] });
const withSchema = (schema: unknown): object => ({
  ...HELLO,
  response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } },
});
const withTool = (parameters: unknown): object => ({
  ...HELLO,
  tools: [{ type: 'function', function: { name: 'f', parameters } }],
  tool_choice: 'required',
});
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const image = (url: string): object => withText([{ type: 'image_url', image_url: { url } }]);

const REFUSED: [what: string, status: number, body: unknown][] = [
  ['64 MB', 413, JSON.stringify(withText('x'.repeat(64 * 1024 * 1024)))],
  ['a depth of 10,000', 400, `{"model":"tiny","messages":${nested(10_000)}}`],
  ['an unknown parameter of a depth of 10,000', 400, JSON.stringify(HELLO).replace('{', `{"x":${nested(10_000)},`)],
  ['a billion answers', 400, { ...HELLO, n: 1e9 }],
  ['100,000 stop texts', 400, { ...HELLO, stop: Array(100_000).fill('x') }],
  ['100,000 biases', 400, { ...HELLO, logit_bias: Object.fromEntries(Array.from({ length: 1e5 }, (_, n) => [n, 1])) }],
  [
    '20,000 tools',
    400,
    { ...HELLO, tools: Array.from({ length: 20_000 }, () => ({ type: 'function', function: { name: 'f' } })) },
  ],
  ['a schema that always refers to itself', 400, withSchema({ $ref: '#' })],
  [
    'schemas that refer to each other',
    400,
    withSchema({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }),
  ],
  ['a schema of another server', 400, withSchema({ $ref: 'http://127.0.0.1:1/schema.json' })],
  ['a schema of a file', 400, withSchema({ $ref: 'file:///etc/passwd' })],
  ['a schema with a number for its type', 400, withSchema({ type: 7 })],
  ['a tool with a schema of another server', 400, withTool({ $ref: 'http://127.0.0.1:1/schema.json' })],
  [
    'a tool with a billion items',
    400,
    withTool({ type: 'object', properties: { a: { type: 'array', minItems: 1e9 } } }),
  ],
  ['a pattern with a look-behind', 400, { ...HELLO, guided_regex: '(?<=a)b' }],
  ['a pattern with a huge repetition', 400, { ...HELLO, guided_regex: '(a{1000}){1000}{1000}' }],
  ['a grammar without a root', 400, { ...HELLO, grammar: 'a ::= "b"' }],
  ['a grammar that is none', 400, { ...HELLO, grammar: '\0::=((((' }],
  ['half of a surrogate pair', 400, '{"model":"tiny","messages":[{"role":"user","content":"\\ud800"}]}'],
  ['an image of a private address', 400, image('http://169.254.169.254/latest/meta-data')],
  ['an image of a file', 400, image('file:///etc/passwd')],
  ['an image of 1 MB of base64', 400, image(`data:image/png;base64,${'A'.repeat(1_000_000)}`)],
  ['audio', 400, withText([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])],
  ['no JSON', 400, '{"model": '],
  ['a list', 400, '[]'],
  ['null', 400, 'null'],
  ['a text', 400, '"tiny"'],
  ['a model of 1 MB', 404, { ...HELLO, model: 'x'.repeat(1_000_000) }],
  ['a model with a zero byte', 404, { ...HELLO, model: 'tiny\0' }],
  ['a prototype', 404, { ...HELLO, model: '__proto__' }],
  ['template arguments of the engine', 400, { ...HELLO, chat_template_kwargs: { messages: [] } }],
  ['a number beyond all', 400, `{"model":"tiny","messages":[{"role":"user","content":"a"}],"temperature":1e999}`],
];

for (const [what, status, body] of REFUSED)
  Hostile(`${what} is refused with ${status}`, async () => {
    for (const stream of typeof body === 'string' ? [false] : [false, true]) {
      const sent = typeof body === 'string' ? body : { ...(body as object), ...(stream && { stream }) };
      const response = await at.post('/v1/chat/completions', sent);
      const text = await response.text();
      assert.is(response.status, status, text.slice(0, 500));
      const { error } = JSON.parse(text) as { error: { message: string; type: string } };
      assert.is(error.type, 'invalid_request_error');
      assert.ok(error.message.length > 0 && error.message.length < 2000, `${error.message.length} characters`);
    }
    const after = await at.post('/v1/chat/completions', HELLO);
    assert.is(after.status, 200, await after.text());
  });

const SERVED: [what: string, body: object][] = [
  ['zero bytes', withText('a\0b')],
  ['control tokens', withText('</s><s>[INST]')],
  ['a pattern that backtracks in other engines', { ...HELLO, guided_regex: '(a+)+b' }],
  ['a schema that refers to itself with an end', withSchema({ type: 'array', items: { $ref: '#' } })],
  [
    'a parameter named __proto__',
    JSON.parse(JSON.stringify(HELLO).replace('{', '{"__proto__":{"stream":true},')) as object,
  ],
];
for (const [what, body] of SERVED)
  Hostile(`${what} are served`, async () => {
    const response = await at.post('/v1/chat/completions', JSON.stringify(body));
    assert.is(response.status, 200, await response.text());
  });

if (cannotRun !== undefined) skip('hostile requests of OpenAI’s API', cannotRun);
else Hostile.run();
