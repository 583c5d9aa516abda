// The same requests that nobody should send, in the dialects of three APIs: each gets a clear 4xx, and the server goes
// on.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Hostile = suite('hostile requests in the dialects of three APIs');
let at: OpenAiApp;

Hostile.before(async () => {
  at = await startOpenAiApp();
});
Hostile.after(async () => at?.[Symbol.asyncDispose]());

/** How an API asks for the same things. */
interface Dialect {
  readonly path: string;
  /** Returns a request with this text of the user, or other content. */
  hello(content: unknown): object;
  /** Returns the members that ask for an answer of a schema. */
  schema(schema: unknown): object;
  /** Returns the members that ask for a call of a function with these parameters. */
  tool(name: string, parameters: unknown): object;
}

const chat = (content: unknown): object => ({ model: 'tiny', messages: [{ role: 'user', content }], max_tokens: 2 });

const DIALECTS: readonly Dialect[] = [
  {
    path: '/v1/chat/completions',
    hello: chat,
    schema: (schema) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } },
    }),
    tool: (name, parameters) => ({
      tools: [{ type: 'function', function: { name, parameters } }],
      tool_choice: 'required',
    }),
  },
  {
    path: '/v1/responses',
    hello: (content) => ({ model: 'tiny', input: [{ role: 'user', content }], max_output_tokens: 2 }),
    schema: (schema) => ({ text: { format: { type: 'json_schema', name: 'a', strict: true, schema } } }),
    tool: (name, parameters) => ({ tools: [{ type: 'function', name, parameters }], tool_choice: 'required' }),
  },
  {
    path: '/v1/messages',
    hello: chat,
    schema: (schema) => ({ output_config: { format: { type: 'json_schema', schema } } }),
    tool: (name, parameters) => ({ tools: [{ name, input_schema: parameters }], tool_choice: { type: 'any' } }),
  },
];

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const object = (properties: object): object => ({ type: 'object', properties, required: Object.keys(properties) });
/** Returns a request with other members in front. */
const prefixed = ({ hello }: Dialect, members: string): string =>
  JSON.stringify(hello('a')).replace('{', `{${members},`);
const withSchema = (schema: unknown) => (dialect: Dialect) => ({ ...dialect.hello('a'), ...dialect.schema(schema) });
const withTool =
  (parameters: unknown, name = 'f') =>
  (dialect: Dialect) => ({
    ...dialect.hello('a'),
    ...dialect.tool(name, parameters),
  });

type Row = readonly [what: string, status: number, body: (dialect: Dialect) => unknown];

const REFUSED: readonly Row[] = [
  ['64 MB', 413, ({ hello }) => hello('x'.repeat(64 * 1024 * 1024))],
  ['a depth of 10,000', 400, (dialect) => prefixed(dialect, `"metadata":${nested(10_000)}`)],
  ['an unknown parameter of a depth of 10,000', 400, (dialect) => prefixed(dialect, `"x":${nested(10_000)}`)],
  ['a content of a depth of 50', 400, ({ hello }) => hello(JSON.parse(nested(50)))],
  [
    '20,000 tools',
    400,
    (dialect) => {
      const [tool] = (dialect.tool('f', {}) as { readonly tools: readonly unknown[] }).tools;
      return { ...dialect.hello('a'), tools: Array(20_000).fill(tool) };
    },
  ],
  [
    '100,000 messages',
    400,
    ({ hello }) => {
      const body = hello('a') as Readonly<Record<string, unknown>>;
      const name = 'input' in body ? 'input' : 'messages';
      return { ...body, [name]: Array(100_000).fill((body[name] as unknown[])[0]) };
    },
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
  [
    'a schema with a huge repetition in a pattern',
    400,
    withSchema(object({ a: { type: 'string', pattern: '(a{1000}){1000}{1000}' } })),
  ],
  ['a schema with a look-behind', 400, withSchema(object({ a: { type: 'string', pattern: '(?<=a)b' } }))],
  ['a schema with a billion items', 400, withSchema(object({ a: { type: 'array', items: {}, minItems: 1e9 } }))],
  ['a function with a schema of another server', 400, withTool({ $ref: 'http://127.0.0.1:1/schema.json' })],
  ['a function whose name has a zero byte', 400, withTool(object({}), 'f\0')],
  ['a function whose name has 1 MB', 400, withTool(object({}), 'f'.repeat(1_000_000))],
  ['half of a surrogate pair', 400, ({ hello }) => JSON.stringify(hello('a')).replace('"a"', '"\\ud800"')],
  ['half of a surrogate pair in a key', 400, (dialect) => prefixed(dialect, '"\\udc00":1')],
  ['no JSON', 400, () => '{"model": '],
  ['bytes that are no UTF-8', 400, () => Buffer.from([0x22, 0xff, 0x22])],
  ['nothing', 400, () => ''],
  ['a list', 400, () => '[]'],
  ['null', 400, () => 'null'],
  ['a text', 400, () => '"tiny"'],
  ['a model of 1 MB', 400, ({ hello }) => ({ ...hello('a'), model: 'x'.repeat(1_000_000) })],
  ['a model with a zero byte', 404, ({ hello }) => ({ ...hello('a'), model: 'tiny\0' })],
  ['a prototype', 404, ({ hello }) => ({ ...hello('a'), model: '__proto__' })],
  ['a number beyond all', 400, (dialect) => prefixed(dialect, '"temperature":1e999')],
  [
    'a billion tokens of the wrong type',
    400,
    ({ hello }) => ({ ...hello('a'), max_tokens: '1e9', max_output_tokens: '1e9' }),
  ],
];

const SERVED: readonly Row[] = [
  ['a function with a billion items', 200, withTool(object({ a: { type: 'array', minItems: 1e9 } }))],
  ['zero bytes', 200, ({ hello }) => hello('a\0b')],
  ['control tokens', 200, ({ hello }) => hello('</s><s>[INST]<|im_end|>')],
  ['a schema that refers to itself with an end', 200, withSchema({ type: 'array', items: { $ref: '#' } })],
  [
    'a pattern that backtracks in other engines',
    200,
    withSchema(object({ a: { type: 'string', pattern: '^(a+)+b$' } })),
  ],
  ['a parameter named __proto__', 200, (dialect) => prefixed(dialect, '"__proto__":{"stream":true}')],
];

for (const dialect of DIALECTS) {
  const send = async (body: unknown): Promise<{ readonly status: number; readonly text: string }> => {
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await fetch(at.url + dialect.path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: raw ? (body as string) : JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };

  for (const [what, status, body] of REFUSED)
    Hostile(`${what} is refused by ${dialect.path} with ${status}`, async () => {
      const answer = await send(body(dialect));
      assert.is(answer.status, status, answer.text.slice(0, 500));
      const { error } = JSON.parse(answer.text) as { readonly error: { readonly message: string } };
      if (status === 413) assert.match(error.message, /limit is 4194304 bytes \(limits\.max_json_bytes\)/);
      assert.ok(error.message.length > 0 && error.message.length < 2000, `${error.message.length} characters`);
      const after = await send(dialect.hello('Once upon a time'));
      assert.is(after.status, 200, after.text);
    });

  for (const [what, status, body] of SERVED)
    Hostile(`${what} are served by ${dialect.path}`, async () => {
      const answer = await send(body(dialect));
      assert.is(answer.status, status, answer.text.slice(0, 500));
    });
}

if (cannotRun !== undefined) skip('hostile requests in the dialects of three APIs', cannotRun);
else Hostile.run();
