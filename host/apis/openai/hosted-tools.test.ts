// Tools that only the servers of others run, with the official clients over a real model.
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { APIError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Hosted = suite('hosted tools');
const IGNORED = 'x-aana-ignored-parameters';
let at: OpenAiApp;
let claude: Anthropic;

Hosted.before(async () => {
  at = await startOpenAiApp({ config: { openai: { hosted_tools: 'drop' } } });
  claude = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
});
Hosted.after(async () => at?.[Symbol.asyncDispose]());

const parameters = { type: 'object' as const, properties: { city: { type: 'string', maxLength: 2 } } };
const own: OpenAI.Responses.FunctionTool = { type: 'function', name: 'weather', parameters, strict: false };
const TOOLS: OpenAI.Responses.Tool[] = [
  { type: 'web_search' },
  { type: 'web_search_preview' },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'image_generation' },
  { type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'linux' },
  { type: 'mcp', server_label: 'a', server_url: 'http://127.0.0.1:9/mcp' },
];
const NAMES = TOOLS.map(({ type }) => `tools[].${type}`).join(', ');
const ASK = { model: 'tiny', input: 'Once', max_output_tokens: 2 };
const SEARCH = { type: 'web_search_20250305' as const, name: 'web_search' as const };
const CLAUDE = { model: 'tiny', max_tokens: 2, messages: [{ role: 'user' as const, content: 'Once' }] };

Hosted('of OpenAI are dropped and named, alone and beside functions', async () => {
  const bare = await at.client.responses.create(ASK);
  const alone = await at.client.responses.create({ ...ASK, tools: TOOLS }).withResponse();
  assert.is(alone.response.headers.get(IGNORED), NAMES);
  assert.equal([alone.data.tools, alone.data.usage?.input_tokens], [[], bare.usage?.input_tokens]);
  const beside = await at.client.responses.create({ ...ASK, tools: [...TOOLS, own] }).withResponse();
  assert.is(beside.response.headers.get(IGNORED), NAMES);
  assert.equal(
    beside.data.tools.map(({ type }) => type),
    ['function'],
  );
  const { input_tokens: counted } = await at.client.responses.inputTokens.count({
    ...{ model: 'tiny', input: 'Once', tools: [...TOOLS, own] },
  });
  const { input_tokens: wanted } = await at.client.responses.inputTokens.count({
    ...{ model: 'tiny', input: 'Once', tools: [own] },
  });
  assert.is(counted, wanted);
});

Hosted('of Anthropic are dropped and named, alone and beside functions', async () => {
  const alone = await claude.messages.create({ ...CLAUDE, tools: [SEARCH] }).withResponse();
  assert.is(alone.response.headers.get(IGNORED), 'tools[].web_search_20250305');
  const tools = [SEARCH, { name: 'weather', input_schema: parameters }];
  const beside = await claude.messages.countTokens({ model: 'tiny', messages: CLAUDE.messages, tools });
  assert.equal(
    beside,
    await claude.messages.countTokens({ model: 'tiny', messages: CLAUDE.messages, tools: tools.slice(1) }),
  );
});

Hosted('keep the places of the tools behind them in errors and in the header', async () => {
  const wrong = (tool: object): OpenAI.Responses.Tool => ({ ...own, ...tool }) as OpenAI.Responses.FunctionTool;
  for (const [tool, param] of [
    [{ name: 'a b' }, 'tools[1].name'],
    [{ type: 'custom', format: { type: 'grammar', syntax: 'regex', definition: '(' } }, 'tools[1].format.definition'],
  ] as const) {
    const request = { ...ASK, tools: [TOOLS[0]!, wrong(tool)] };
    const error = await errorOf(at.client.responses.create(request), APIError);
    assert.is(error.status, 400);
    assert.ok(error.param?.startsWith(param), `${error.param}: ${error.message}`);
  }
  const unique = { type: 'object', properties: { a: { type: 'array', uniqueItems: true, items: { type: 'string' } } } };
  const request = { ...ASK, tools: [TOOLS[0]!, wrong({ parameters: unique })] };
  const { response } = await at.client.responses.create(request).withResponse();
  assert.is(
    response.headers.get(IGNORED),
    'tools[].web_search, tools[1].parameters.properties.a.uniqueItems',
    'what the grammar cannot hold is named where the client has it',
  );
});

Hosted('that the model must call are refused', async () => {
  const chosen = { ...ASK, tools: [TOOLS[1]!], tool_choice: { type: 'web_search_preview' as const } };
  assert.is((await errorOf(at.client.responses.create(chosen), APIError)).param, 'tool_choice');
  const required = { ...ASK, tools: [TOOLS[0]!], tool_choice: 'required' as const };
  assert.is((await errorOf(at.client.responses.create(required), APIError)).param, 'tool_choice');
  const named = { ...CLAUDE, tools: [SEARCH], tool_choice: { type: 'tool' as const, name: 'web_search' } };
  assert.match((await errorOf(claude.messages.create(named), AnthropicError)).message, /'tool_choice'/);
});

Hosted('are refused with `strict`, and without the setting', async () => {
  for (const openai of [{ hosted_tools: 'drop' as const, strict: true }, {}]) {
    await using other = await startOpenAiApp({ config: { openai } });
    for (const [path, body] of [
      ['/v1/responses', { ...ASK, tools: [own, TOOLS[0]] }],
      ['/v1/messages', { ...CLAUDE, tools: [{ name: 'weather', input_schema: parameters }, SEARCH] }],
    ] as const) {
      const response = await other.post(path, body);
      assert.is(response.status, 400);
      assert.match(await response.text(), /'tools\[1\]\.type': this server has/);
    }
  }
});

if (cannotRun !== undefined) skip('hosted tools', cannotRun);
else Hosted.run();
