// Whatever is wrong with a request, the error names it by the path that the client sent, for all routes that translate.
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Paths = suite('the paths of errors');
let at: OpenAiApp;

Paths.before(async () => {
  at = await startOpenAiApp();
});
Paths.after(async () => at?.[Symbol.asyncDispose]());

type Path = readonly (string | number)[];
type Json = Readonly<Record<string, unknown>>;

const SCHEMA = { type: 'object', properties: { a: { type: 'string', pattern: '^b$' } }, required: ['a'] };
const sampling = { temperature: 1, top_p: 0.9, top_k: 5, min_p: 0.1, repetition_penalty: 1.1, logit_bias: { '5': 1 } };
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } };
const MESSAGES = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'a' }] },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'c1', content: 'b' },
  { role: 'user', name: 'ann', content: 'c' },
];
const TOOLS = [
  {
    type: 'custom',
    custom: { name: 'g', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a+' } } },
  },
  { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA, strict: true } },
];
const INPUT = [
  { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
  { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'why' }] },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":"b"}' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'aa' },
  { type: 'function_call_output', call_id: 'c1', output: 'b' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: 'b' },
  { role: 'user', content: 'c' },
];
const FLAT_TOOLS = [
  { type: 'custom', name: 'g', format: { type: 'grammar', syntax: 'regex', definition: 'a+' } },
  { type: 'function', name: 'f', description: 'd', parameters: SCHEMA, strict: true },
];
const CLAUDE = {
  model: 'tiny',
  system: [{ type: 'text', text: 's' }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'b' },
        { type: 'tool_use', id: 't', name: 'f', input: { a: 'b' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't', content: 'c' },
        { type: 'text', text: 'd' },
      ],
    },
  ],
  tools: [{ name: 'f', description: 'd', input_schema: SCHEMA, strict: true }],
};

/** Requests that are answered, each with all of its members that the route translates. */
const REQUESTS: readonly (readonly [path: string, body: Json])[] = [
  [
    '/v1/chat/completions',
    { model: 'tiny', max_completion_tokens: 1, messages: MESSAGES, ...sampling, tools: TOOLS, tool_choice: 'none' },
  ],
  [
    '/v1/chat/completions',
    {
      model: 'tiny',
      max_tokens: 1,
      messages: [MESSAGES[1]],
      structured_outputs: { json: SCHEMA, strict: true },
      n: 2,
      stop: ['x'],
    },
  ],
  ['/v1/chat/completions', { model: 'tiny', max_tokens: 1, messages: [MESSAGES[1]], guided_regex: 'a+' }],
  [
    '/v1/chat/completions',
    {
      model: 'tiny',
      max_tokens: 1,
      messages: [MESSAGES[1]],
      response_format: { type: 'json_schema', json_schema: { name: 'M', schema: SCHEMA, strict: true } },
    },
  ],
  ['/v1/completions', { model: 'tiny', prompt: 'a', max_tokens: 1, ...sampling, guided_json: SCHEMA }],
  ['/v1/completions', { model: 'tiny', prompt: 'a', max_tokens: 1, grammar: 'root ::= "a"' }],
  [
    '/v1/responses',
    { model: 'tiny', max_output_tokens: 16, instructions: 'i', input: INPUT, tools: FLAT_TOOLS, tool_choice: 'none' },
  ],
  [
    '/v1/responses',
    {
      model: 'tiny',
      max_output_tokens: 16,
      input: [INPUT[0]],
      text: { format: { type: 'json_schema', name: 'M', schema: SCHEMA, strict: true } },
    },
  ],
  ['/v1/responses/input_tokens', { model: 'tiny', input: INPUT, tools: FLAT_TOOLS }],
  ['/v1/tokenize', { model: 'tiny', messages: MESSAGES, tools: TOOLS }],
  ['/v1/messages', { ...CLAUDE, max_tokens: 1, stop_sequences: ['x'], temperature: 1, tool_choice: { type: 'none' } }],
  [
    '/v1/messages',
    {
      model: 'tiny',
      max_tokens: 1,
      messages: [CLAUDE.messages[0]],
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    },
  ],
  ['/v1/messages/count_tokens', CLAUDE],
];

/**
 * Values that are wrong in most places: of another type, too large, of a wrong form, or a schema that no grammar holds.
 */
const WRONG: readonly unknown[] = [
  ...[null, true, -1, 1e9, 0.5, '', ' ', '(', 'no name!', 'x'.repeat(300)],
  ...[[], [[]], {}, { not: {} }, { $ref: 'file:///etc/passwd' }, { a: 1 }],
  `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
];

/** Returns the paths of all values of a request. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const own = path.length === 0 ? [] : [path];
  if (typeof value !== 'object' || value === null) return own;
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [...own, ...keys.flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key], [...path, key]))];
}

function changed(value: unknown, [key, ...rest]: Path, wrong: unknown): unknown {
  if (key === undefined) return wrong;
  const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Json) };
  (copy as Record<string | number, unknown>)[key] = changed(
    (value as Record<string | number, unknown>)[key],
    rest,
    wrong,
  );
  return copy;
}

const written = (path: Path): string =>
  path.map((key, n) => (typeof key === 'number' ? `[${key}]` : n === 0 ? key : `.${key}`)).join('');

/** Returns the parameter that an error names. Anthropic's API has it in the message only. */
function named(text: string): string {
  const { error } = JSON.parse(text) as { error: { param?: string | null; message: string } };
  return error.param ?? /'([^']+)'/.exec(error.message)?.[1] ?? '';
}

/** Whether one of the paths leads into the other. */
const areRelated = (a: string, b: string): boolean =>
  [`${a}.`, `${a}[`].some((start) => `${b}.`.startsWith(start)) ||
  [`${b}.`, `${b}[`].some((start) => `${a}.`.startsWith(start));

Paths('are those of the request, in which one value is wrong', async () => {
  const tally = { refused: 0, served: 0 };
  for (const [route, body] of REQUESTS) {
    const good = await at.post(route, body);
    assert.is(good.status, 200, `${route}: ${await good.text()}`);
    const known = new Set(pathsOf(body).map(written));
    const change = fc.record({ path: fc.constantFrom(...pathsOf(body)), wrong: fc.constantFrom(...WRONG) });
    await fc.assert(
      fc.asyncProperty(change, async ({ path, wrong }) => {
        const response = await at.post(route, changed(body, path, wrong) as object);
        const text = await response.text();
        const what = `${route} ${written(path)} = ${JSON.stringify(wrong)?.slice(0, 60)}: ${text.slice(0, 500)}`;
        assert.ok(response.status < 500, what);
        if (response.status === 200) return void (tally.served += 1);
        tally.refused += 1;
        if (response.status === 404) return assert.is(written(path), 'model', what);
        const param = named(text);
        // A wrong value can make another one wrong, which the request has, too: a choice of a tool, an output of a
        // call.
        assert.ok(areRelated(param, written(path)) || known.has(param), `${what} names ${param}`);
      }),
      { numRuns: 30, seed: 7, includeErrorInReport: true },
    );
  }
  assert.ok(tally.refused > 100, JSON.stringify(tally));
});

if (cannotRun === undefined) Paths.run();
else skip('the paths of errors', cannotRun);
